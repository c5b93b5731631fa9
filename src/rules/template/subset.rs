//! The subset on the syntax tree: each construct that is not named here is refused with line and column.

use super::{Used, syntax, wrong};
use crate::model::{Refusal, Variable, VariableType};
use minijinja::machinery::ast::{BinOpKind, CallArg, CompareOpKind, Expr, Filter, ForLoop, IfCond, Include, Stmt, UnaryOpKind};
use minijinja::machinery::{Span, parse};
use minijinja::value::{Value, ValueKind};
use std::collections::{BTreeSet, HashMap};

/// Names that some reader takes for something else.
const RESERVED: &[&str] = &[
    "and",
    "caller",
    "context",
    "cycler",
    "debug",
    "dict",
    "elif",
    "else",
    "false",
    "for",
    "if",
    "in",
    "is",
    "joiner",
    "kwargs",
    "lipsum",
    "loop",
    "namespace",
    "none",
    "not",
    "null",
    "or",
    "range",
    "self",
    "super",
    "true",
    "undefined",
    "varargs",
];

/// Members that every mapping has in Python, or every object in JavaScript, whatever it holds; and words that nunjucks reads
/// as literals wherever they stand.
const BUILT_IN_MEMBERS: &[&str] = &[
    "clear",
    "constructor",
    "copy",
    "false",
    "fromkeys",
    "get",
    "hasOwnProperty",
    "isPrototypeOf",
    "items",
    "keys",
    "none",
    "null",
    "pop",
    "popitem",
    "propertyIsEnumerable",
    "setdefault",
    "toLocaleString",
    "toString",
    "true",
    "update",
    "valueOf",
    "values",
];

/// Whether a name can be a variable's: `[A-Za-z][A-Za-z0-9_]*`, 60 at most, and no reader's own word.
pub fn is_variable_name(name: &str) -> bool {
    name.len() <= 60
        && name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !RESERVED.contains(&name.to_ascii_lowercase().as_str())
}

/// Parses and checks a template.
pub(super) fn check(source: &str, variables: &[Variable], fragments: &BTreeSet<String>) -> Result<Used, Refusal> {
    let tree = parse(source, "template", syntax()).map_err(|e| {
        let offset = e.range().map_or(0, |range| range.start);
        let what = e.detail().map_or_else(|| e.kind().to_string(), str::to_owned);
        wrong(source, offset, what)
    })?;
    let Stmt::Template(template) = &tree else { return Err(wrong(source, 0, "this is not a template")) };
    let variables = variables.iter().map(|variable| (variable.name.as_str(), variable)).collect();
    let mut walk = Walk { source, variables, fragments, loops: Vec::new(), used: Used::default() };
    walk.body(&template.children)?;
    Ok(walk.used)
}

/// What an expression yields, as far as the declarations say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Boolean,
    /// The literal `none`.
    Null,
    /// A whole json variable: perhaps a list or an object.
    Json,
    /// A member of a json variable, or an item of its list.
    Unknown,
}

/// Where a person would point: the parser begins the span of an operator at the word before its left side.
fn place(expr: &Expr<'_>) -> Span {
    match expr {
        Expr::BinOp(binary) => place(&binary.left),
        Expr::Compare(compare) => place(&compare.expr),
        Expr::IfExpr(inline) => place(&inline.true_expr),
        _ => expr.span(),
    }
}

fn is_comparison(expr: &Expr<'_>) -> bool {
    match expr {
        Expr::Compare(_) => true,
        Expr::BinOp(binary) => !matches!(binary.op, BinOpKind::ScAnd | BinOpKind::ScOr),
        _ => false,
    }
}

struct Walk<'a> {
    source: &'a str,
    variables: HashMap<&'a str, &'a Variable>,
    fragments: &'a BTreeSet<String>,
    loops: Vec<String>,
    used: Used,
}

impl Walk<'_> {
    fn wrong<T>(&self, span: Span, what: impl std::fmt::Display) -> Result<T, Refusal> {
        Err(wrong(self.source, span.start_offset as usize, what))
    }

    fn outside<T>(&self, span: Span, what: &str) -> Result<T, Refusal> {
        self.wrong(span, format_args!("{what} not in the template subset"))
    }

    fn body(&mut self, statements: &[Stmt<'_>]) -> Result<(), Refusal> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Stmt<'_>) -> Result<(), Refusal> {
        match statement {
            Stmt::EmitRaw(_) => Ok(()),
            Stmt::EmitExpr(emit) => self.output(&emit.expr),
            Stmt::IfCond(branch) => self.branch(branch),
            Stmt::ForLoop(each) => self.each(each, each.span()),
            Stmt::Include(include) => self.include(include, include.span()),
            Stmt::Template(s) => self.outside(s.span(), "a template inside a template is"),
            Stmt::WithBlock(s) => self.outside(s.span(), "`with` is"),
            Stmt::Set(s) => self.outside(s.span(), "`set` is"),
            Stmt::SetBlock(s) => self.outside(s.span(), "`set` is"),
            Stmt::AutoEscape(s) => self.outside(s.span(), "`autoescape` is"),
            Stmt::FilterBlock(s) => self.outside(s.span(), "`filter` blocks are"),
            Stmt::Block(s) => self.outside(s.span(), "`block` is"),
            Stmt::Import(s) => self.outside(s.span(), "imports are"),
            Stmt::FromImport(s) => self.outside(s.span(), "imports are"),
            Stmt::Extends(s) => self.outside(s.span(), "`extends` is"),
            Stmt::Do(s) => self.outside(s.span(), "`do` is"),
            // Statements that this build of the parser does not know.
            #[allow(unreachable_patterns, reason = "the parser's features decide which statements there are")]
            _ => Err(wrong(self.source, 0, "this statement is not in the template subset")),
        }
    }

    fn output(&mut self, expr: &Expr<'_>) -> Result<(), Refusal> {
        match self.expr(expr)? {
            Kind::Text | Kind::Number | Kind::Unknown => Ok(()),
            Kind::Json => self.wrong(place(expr), "readers write lists and objects differently: add `| tojson`"),
            Kind::Boolean => self.wrong(place(expr), "readers write booleans differently: use `if`, or add `| tojson`"),
            Kind::Null => self.wrong(place(expr), "readers write none differently"),
        }
    }

    fn branch(&mut self, branch: &IfCond<'_>) -> Result<(), Refusal> {
        self.condition(&branch.expr)?;
        self.body(&branch.true_body)?;
        self.body(&branch.false_body)
    }

    /// What stands for true or false: an empty list does not do so alike everywhere.
    fn condition(&mut self, expr: &Expr<'_>) -> Result<Kind, Refusal> {
        match self.expr(expr)? {
            Kind::Json => self.wrong(place(expr), "an empty list is true to some readers: ask for `| length`"),
            kind => Ok(kind),
        }
    }

    fn each(&mut self, each: &ForLoop<'_>, span: Span) -> Result<(), Refusal> {
        let Expr::Var(target) = &each.target else {
            return self.outside(each.target.span(), "a loop over pairs is");
        };
        if !is_variable_name(target.id) || self.declared(target.id).is_some() || self.loops.iter().any(|name| name == target.id) {
            return self.wrong(target.span(), format_args!("{:?} cannot name the item of a loop here", target.id));
        }
        if each.recursive || each.filter_expr.is_some() {
            return self.outside(span, "`recursive` and `if` in a loop are");
        }
        if !each.else_body.is_empty() {
            return self.outside(span, "`else` of a loop is");
        }
        if !matches!(each.iter, Expr::Var(_) | Expr::GetAttr(_)) || !matches!(self.expr(&each.iter)?, Kind::Json | Kind::Unknown)
        {
            return self.wrong(place(&each.iter), "a loop goes over a list in a json variable");
        }
        self.loops.push(target.id.to_owned());
        self.body(&each.body)?;
        self.loops.pop();
        Ok(())
    }

    fn include(&mut self, include: &Include<'_>, span: Span) -> Result<(), Refusal> {
        let name = match &include.name {
            Expr::Const(name) => name.value.as_str().map(str::to_owned),
            _ => None,
        };
        let Some(name) = name.filter(|_| !include.ignore_missing) else {
            return self.wrong(span, "an include is the literal name of a fragment and nothing else");
        };
        if !self.fragments.contains(&name) {
            let what = format_args!("the fragment {name:?} is not pinned here (a fragment itself includes none)");
            return self.wrong(include.name.span(), what);
        }
        self.used.fragments.insert(name);
        Ok(())
    }

    fn declared(&self, name: &str) -> Option<&Variable> {
        self.variables.get(name).copied()
    }

    fn expr(&mut self, expr: &Expr<'_>) -> Result<Kind, Refusal> {
        match expr {
            Expr::Var(var) => self.variable(var.id, var.span(), false),
            Expr::GetAttr(attr) => self.member(&attr.expr, attr.name, attr.span()),
            Expr::Const(constant) => self.constant(&constant.value, constant.span()),
            Expr::UnaryOp(unary) => match unary.op {
                // `a not in b` arrives as `not (a in b)`.
                UnaryOpKind::Not if matches!(&unary.expr, Expr::BinOp(inner) if matches!(inner.op, BinOpKind::In)) => {
                    self.outside(place(&unary.expr), "`in` is")
                }
                // nunjucks compiles `not a == b` to `!a == b`.
                UnaryOpKind::Not if is_comparison(&unary.expr) => {
                    self.wrong(unary.span(), "readers bind `not` before a comparison differently: turn the comparison round")
                }
                UnaryOpKind::Not => self.condition(&unary.expr).map(|_| Kind::Boolean),
                UnaryOpKind::Neg if matches!(unary.expr, Expr::Const(_)) => match self.expr(&unary.expr)? {
                    Kind::Number => Ok(Kind::Number),
                    _ => self.wrong(unary.span(), "only a number can be negative"),
                },
                UnaryOpKind::Neg => self.outside(unary.span(), "arithmetic is"),
            },
            Expr::BinOp(binary) => match binary.op {
                BinOpKind::ScAnd | BinOpKind::ScOr => {
                    let (left, right) = (self.condition(&binary.left)?, self.condition(&binary.right)?);
                    Ok(if left == right { left } else { Kind::Unknown })
                }
                BinOpKind::Eq | BinOpKind::Ne => self.comparison(&binary.left, &binary.right, false),
                BinOpKind::Lt | BinOpKind::Lte | BinOpKind::Gt | BinOpKind::Gte => {
                    self.comparison(&binary.left, &binary.right, true)
                }
                BinOpKind::In => self.outside(place(expr), "`in` is"),
                BinOpKind::Concat => self.outside(place(expr), "`~` is"),
                _ => self.outside(place(expr), "arithmetic is"),
            },
            Expr::Compare(compare) => match compare.ops.as_slice() {
                [op] if matches!(op.op, CompareOpKind::In | CompareOpKind::NotIn) => self.outside(place(expr), "`in` is"),
                [op] => {
                    let ordered = !matches!(op.op, CompareOpKind::Eq | CompareOpKind::Ne);
                    self.comparison(&compare.expr, &op.expr, ordered)
                }
                _ => self.wrong(place(expr), "readers read chained comparisons differently: join two with `and`"),
            },
            Expr::Filter(filter) => self.filter(filter, filter.span()),
            Expr::Call(call) => self.outside(call.span(), "calls are"),
            Expr::Test(test) => self.outside(test.span(), "tests with `is` are"),
            Expr::IfExpr(_) => self.outside(place(expr), "`if` inside an expression is"),
            Expr::GetItem(item) => self.outside(item.span(), "brackets after a name are"),
            Expr::Slice(slice) => self.outside(slice.span(), "slices are"),
            Expr::List(list) => self.outside(list.span(), "list literals are"),
            Expr::Tuple(tuple) => self.outside(tuple.span(), "tuples are"),
            Expr::Map(map) => self.outside(map.span(), "object literals are"),
        }
    }

    /// A variable, or the item of a loop; `guarded` by a `default` filter.
    fn variable(&mut self, name: &str, span: Span, guarded: bool) -> Result<Kind, Refusal> {
        if name.starts_with('_') {
            return self.wrong(span, format_args!("{name:?} begins with an underscore"));
        }
        if self.loops.iter().any(|item| item == name) {
            return Ok(Kind::Unknown);
        }
        let Some(variable) = self.declared(name) else {
            return self.wrong(span, format_args!("{name:?} is not declared in `variables`"));
        };
        let (kind, absent) = (variable.kind, !variable.required && variable.default.is_null());
        self.used.variables.insert(name.to_owned());
        if absent && !guarded {
            self.used.unguarded.insert(name.to_owned());
        }
        Ok(match kind {
            VariableType::String => Kind::Text,
            VariableType::Integer | VariableType::Number => Kind::Number,
            VariableType::Boolean => Kind::Boolean,
            VariableType::Json => Kind::Json,
        })
    }

    fn member(&mut self, of: &Expr<'_>, name: &str, span: Span) -> Result<Kind, Refusal> {
        if name.starts_with('_') {
            return self.wrong(span, format_args!("the member {name:?} begins with an underscore"));
        }
        if BUILT_IN_MEMBERS.contains(&name) {
            return self.wrong(span, format_args!("the member {name:?} is something else to some readers; choose another name"));
        }
        if !matches!(of, Expr::Var(_) | Expr::GetAttr(_)) {
            return self.outside(span, "a member of anything but a variable is");
        }
        match self.expr(of)? {
            Kind::Json | Kind::Unknown => Ok(Kind::Unknown),
            _ => self.wrong(span, "only json variables have members"),
        }
    }

    fn constant(&self, value: &Value, span: Span) -> Result<Kind, Refusal> {
        match value.kind() {
            ValueKind::String => Ok(Kind::Text),
            ValueKind::Bool => Ok(Kind::Boolean),
            ValueKind::None => Ok(Kind::Null),
            ValueKind::Number => {
                let portable = if value.is_integer() {
                    i64::try_from(value.clone()).is_ok_and(|n| n.abs() <= 9_007_199_254_740_991)
                } else {
                    f64::try_from(value.clone()).is_ok_and(super::engine::is_portable)
                };
                if portable { Ok(Kind::Number) } else { self.wrong(span, "readers write this number differently") }
            }
            _ => self.outside(span, "this literal is"),
        }
    }

    fn comparison(&mut self, left: &Expr<'_>, right: &Expr<'_>, ordered: bool) -> Result<Kind, Refusal> {
        let (a, b) = (self.expr(left)?, self.expr(right)?);
        if a == Kind::Json || b == Kind::Json {
            return self.wrong(place(left), "readers compare lists and objects differently");
        }
        if ordered && [a, b].iter().any(|kind| matches!(kind, Kind::Boolean | Kind::Null)) {
            return self.wrong(place(left), "only numbers and texts have an order");
        }
        let same = a == b || [a, b].iter().any(|kind| matches!(kind, Kind::Unknown | Kind::Null));
        if same { Ok(Kind::Boolean) } else { self.wrong(place(left), "the two sides are of different types") }
    }

    fn filter(&mut self, filter: &Filter<'_>, span: Span) -> Result<Kind, Refusal> {
        let Some(operand) = &filter.expr else { return self.outside(span, "`filter` blocks are") };
        let mut args = Vec::new();
        for arg in &filter.args {
            let CallArg::Pos(arg) = arg else { return self.outside(span, "a named argument is") };
            args.push((self.expr(arg)?, matches!(arg, Expr::Const(_))));
        }
        let kind = match (filter.name, operand) {
            ("default", Expr::Var(var)) => self.variable(var.id, var.span(), true)?,
            _ => self.expr(operand)?,
        };
        let text = matches!(kind, Kind::Text | Kind::Unknown);
        let list = matches!(kind, Kind::Json | Kind::Unknown);
        match (filter.name, args.as_slice()) {
            ("lower" | "upper" | "trim", []) if text => Ok(Kind::Text),
            ("lower" | "upper" | "trim", []) => self.wrong(span, format_args!("`{}` takes a text", filter.name)),
            ("length", []) if list => Ok(Kind::Number),
            ("length", []) => self.wrong(span, "readers count the length of a text differently; only lists have one"),
            ("join", [] | [(Kind::Text, true)]) if list => Ok(Kind::Text),
            ("join", [] | [(Kind::Text, true)]) => self.wrong(span, "`join` takes a list"),
            ("tojson", []) => Ok(Kind::Text),
            ("default", [(other, _)] | [(other, _), (Kind::Boolean, true)]) => Ok(match (kind, *other) {
                (kind, other) if kind == other => kind,
                (Kind::Json, _) | (_, Kind::Json) => Kind::Json,
                _ => Kind::Unknown,
            }),
            ("lower" | "upper" | "trim" | "length" | "join" | "tojson" | "default", _) => {
                self.wrong(span, format_args!("`{}` does not take these arguments", filter.name))
            }
            (name, _) => self.wrong(
                span,
                format_args!(
                    "the filter {name:?} is not in the template subset: default, join, length, lower, trim, upper, tojson"
                ),
            ),
        }
    }
}
