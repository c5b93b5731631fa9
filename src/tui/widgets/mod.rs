//! Building blocks of views: they know the theme and no domain.

pub(crate) mod age;
pub(crate) mod ink;
pub(crate) mod pane;
pub(crate) mod put;
pub(crate) mod row;
pub(crate) mod scroll;

/// An environment's name as screens show it: a protected one in capitals and brackets, never by colour alone.
/// Safe defaults move under the last protected environment's rule.
pub(crate) fn environment(name: &str, protected: bool) -> String {
    let name = if name == crate::model::SAFE_DEFAULT { "default" } else { name };
    if protected { format!("[{}]", name.to_uppercase()) } else { name.to_owned() }
}

/// `1 key`, `3 keys`
pub(crate) fn plural(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}
