//! The command line's grammar inside the terminal: a line opens a dialog filled in, or goes somewhere; it never acts by itself.

use crate::model::{Environment, KeyId, KillReason};
use crate::tui::action::Action;
use crate::tui::msg::{Asked, DialogKind, DialogRequest, Filled, Msg, Place, ReviewPane, ReviewTarget};
use crate::tui::nearness::nearest;
use crate::tui::state::Subject;

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    /// Opens a dialog.
    Dialog(DialogKind),
    /// Chooses an action.
    Action(Action),
    /// `review ID`
    Review,
    /// `show KEY`
    Show,
    /// `audit [N]`
    Audit,
    /// `explain [KEY]`
    Explain,
}

/// Every command: its word, its arguments, what it does, a sentence.
const COMMANDS: &[(&str, &str, Verb, &str)] = &[
    ("approve", "[--gate G] [--rationale R]", Verb::Dialog(DialogKind::Approve), "approve the change under review"),
    ("reject", "[--rationale R]", Verb::Dialog(DialogKind::RequestChanges), "block the change until it is answered"),
    ("comment", "[--rationale R]", Verb::Dialog(DialogKind::Comment), "say something about the change"),
    ("kill", "[KEY] [--env E] [--reason R] [--note N]", Verb::Dialog(DialogKind::Kill), "stop serving at once"),
    ("undo-kill", "[KEY] [--env E]", Verb::Dialog(DialogKind::UndoKill), "take your own kill back"),
    (
        "revive",
        "[KEY] [--env E] [--at TIME|--when-ready] [--percent P]",
        Verb::Dialog(DialogKind::Revive),
        "serve again after a kill",
    ),
    ("rollback", "[KEY] [--env E] [--rationale R]", Verb::Dialog(DialogKind::Rollback), "back to what served before"),
    ("apply", "[--rationale R]", Verb::Dialog(DialogKind::Promote), "apply the open promotion"),
    (
        "promote",
        "[--env E] [--at TIME|--when-ready] [--percent P] [--rationale R]",
        Verb::Dialog(DialogKind::Open),
        "open a promotion of the version",
    ),
    ("step", "[KEY] [--env E] [--down] [--to P]", Verb::Dialog(DialogKind::StepUp), "the next share of the plan"),
    ("hold", "[KEY] [--env E]", Verb::Dialog(DialogKind::Hold), "hold the rollout"),
    ("resume", "[KEY] [--env E]", Verb::Dialog(DialogKind::Resume), "let a held rollout go on"),
    ("override", "[--gate G] [--rationale R]", Verb::Dialog(DialogKind::Override), "open one gate for this promotion"),
    ("quarantine", "[--rationale R]", Verb::Dialog(DialogKind::Quarantine), "keep the version from serving"),
    ("lift", "[--rationale R]", Verb::Dialog(DialogKind::Lift), "lift a quarantine"),
    ("withdraw", "[--rationale R]", Verb::Dialog(DialogKind::Withdraw), "take your own promotion back"),
    ("close-review", "[--rationale R]", Verb::Dialog(DialogKind::SettleReview), "review after the fact"),
    ("note", "[--note N]", Verb::Dialog(DialogKind::SettleNote), "give the note that a kill owed"),
    ("draft", "[KEY]", Verb::Dialog(DialogKind::Draft), "write a new version"),
    ("submit", "[--env E]", Verb::Dialog(DialogKind::Submit), "submit the draft for review"),
    ("review", "ID", Verb::Review, "open a promotion"),
    ("show", "KEY", Verb::Show, "show a key and its history"),
    ("audit", "[N]", Verb::Audit, "the trail, at a number"),
    ("explain", "[KEY] [--env E] [--unit U]", Verb::Explain, "what a unit gets, and why"),
    ("inbox", "", Verb::Action(Action::TabInbox), "what waits for you"),
    ("keys", "", Verb::Action(Action::TabKeys), "all keys"),
    ("rollouts", "", Verb::Action(Action::TabRollouts), "what is below 100 % or killed"),
    ("theme", "", Verb::Action(Action::Theme), "the next theme"),
    ("errors", "", Verb::Action(Action::Errors), "what went wrong"),
    ("help", "", Verb::Action(Action::Help), "every action with its key"),
    ("quit", "", Verb::Action(Action::Quit), "leave"),
    ("q", "", Verb::Action(Action::Quit), "leave"),
    ("verify", "", Verb::Action(Action::AuditVerify), "verify the audit chain here"),
];

/// Commands whose word begins with what was typed, a whole word first: word, arguments, sentence.
pub(super) fn matching(line: &str) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> + use<'_> {
    let word = line.split_whitespace().next().unwrap_or_default();
    let whole = line.contains(' ');
    let fits = move |name: &str| if whole { name == word } else { name.starts_with(word) };
    // A short word of its own stands for another one: it is found by those who type it, and not listed.
    let listed = move |name: &str| fits(name) && (name != "q" || word == "q");
    let mut found: Vec<_> = COMMANDS.iter().filter(|command| listed(command.0)).collect();
    found.sort_by_key(|command| command.0 != word);
    found.into_iter().map(|command| (command.0, command.1, command.3))
}

/// What a line asks for; the subject fills what it leaves out.
///
/// # Errors
/// What is wrong with it, and what would be right.
pub(super) fn read(line: &str, subject: &Subject) -> Result<Msg, String> {
    let words = split(line)?;
    let Some((word, rest)) = words.split_first() else { return Err("type a command, or part of one".into()) };
    let Some((.., verb, _)) = COMMANDS.iter().find(|(name, ..)| name == word) else {
        return Err(format!("there is no command `{word}`{}", nearest(word, COMMANDS.iter().map(|c| c.0))));
    };
    let mut arguments = Arguments::read(rest)?;
    match verb {
        Verb::Action(action) => Ok(Msg::Chosen(*action)),
        Verb::Audit => {
            let seq = arguments.free.first().map(|n| n.trim_start_matches('#').parse::<u64>());
            let seq = seq.transpose().map_err(|_| "audit takes the number of an event, like `audit 17204`".to_owned())?;
            Ok(Msg::Went(Place::Audit(seq)))
        }
        Verb::Review => {
            let id = arguments.free.first().ok_or("review takes the id of a promotion")?;
            let id = id.parse().map_err(|_| format!("{id:?} is not the id of a promotion"))?;
            Ok(Msg::Went(Place::Review(ReviewTarget::Promotion(id, ReviewPane::Diff))))
        }
        Verb::Show => {
            let key = arguments.free.first().ok_or("show takes a key")?;
            Ok(Msg::Went(Place::Keys(Some(key.parse::<KeyId>().map_err(|e| e.to_string())?))))
        }
        Verb::Explain => arguments.explain(subject).map(|asked| Msg::Went(Place::Explain(asked))),
        Verb::Dialog(kind) => arguments.dialog(*kind, subject).map(|r| Msg::DialogAsked(Box::new(r))),
    }
}

/// A line in words; quotes keep blanks together.
fn split(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (c, quote) {
            (c, Some(q)) if c == q => quote = None,
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    if let Some(quote) = quote {
        return Err(format!("the quote {quote} is not closed"));
    }
    words.extend(word);
    Ok(words)
}

#[derive(Debug, Default)]
struct Arguments {
    free: Vec<String>,
    environment: Option<Environment>,
    unit: Option<String>,
    down: bool,
    filled: Filled,
}

impl Arguments {
    fn read(words: &[String]) -> Result<Self, String> {
        let mut out = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let Some(flag) = word.strip_prefix("--") else {
                out.free.push(word.clone());
                continue;
            };
            match flag {
                "down" => out.down = true,
                "when-ready" => out.filled.when_ready = true,
                _ => {}
            }
            if matches!(flag, "down" | "when-ready") {
                continue;
            }
            let value = words.next().cloned().ok_or_else(|| format!("--{flag} needs a value"))?;
            match flag {
                "env" => out.environment = Some(value.parse::<Environment>().map_err(|e| e.to_string())?),
                "unit" => out.unit = Some(value),
                "rationale" | "note" => out.filled.rationale = Some(value),
                "reason" => out.filled.reason = Some(value.parse::<KillReason>().map_err(|e| e.to_string())?),
                "gate" => out.filled.gate = Some(value),
                "to" | "percent" => out.filled.to = Some(value),
                "at" => out.filled.at = Some(value),
                other => {
                    let known =
                        ["env", "unit", "rationale", "note", "reason", "gate", "to", "percent", "at", "when-ready", "down"];
                    return Err(format!("there is no --{other}{}", nearest(other, known.into_iter())));
                }
            }
        }
        if out.filled.when_ready && out.filled.at.is_some() {
            return Err("give --at or --when-ready, not both".into());
        }
        Ok(out)
    }

    /// The row's environment counts for the row's key alone.
    fn explain(self, subject: &Subject) -> Result<Asked, String> {
        let named = self.free.first().map(|key| key.parse::<KeyId>().map_err(|e| e.to_string())).transpose()?;
        let here = subject.environment.clone().filter(|_| named.is_none() || named == subject.key);
        let key = named.or_else(|| subject.key.clone()).ok_or("name a key, or move to a row first")?;
        let environment = self.environment.or(here).ok_or("name the environment: --env E")?;
        Ok(Asked { key, environment, unit: self.unit })
    }

    fn dialog(&mut self, kind: DialogKind, subject: &Subject) -> Result<DialogRequest, String> {
        let kind = if self.down && kind == DialogKind::StepUp { DialogKind::StepDown } else { kind };
        let named = self.free.first().map(|k| k.parse::<KeyId>().map_err(|e| e.to_string())).transpose()?;
        let same = named.is_none() || named == subject.key;
        let mut request = match (&named, subject.dialog(kind)) {
            (_, Some(request)) if same => request,
            (Some(key), _) => DialogRequest::new(kind, key.clone()),
            (None, _) => return Err("name a key, or move to a row first".into()),
        };
        if let Some(environment) = self.environment.take() {
            request.environment = Some(environment);
        }
        request.filled = std::mem::take(&mut self.filled);
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialog(line: &str, subject: &Subject) -> DialogRequest {
        match read(line, subject) {
            Ok(Msg::DialogAsked(request)) => *request,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn a_command_opens_the_dialog_filled_in() {
        let line = "kill support.refund.system --env prod --reason outage --note 'INC-2231, on fire'";
        let request = dialog(line, &Subject::default());
        assert_eq!((request.kind, request.key.as_str()), (DialogKind::Kill, "support.refund.system"));
        assert_eq!(request.environment.unwrap().as_str(), "prod");
        assert_eq!(request.filled.reason, Some(KillReason::Outage));
        assert_eq!(request.filled.rationale.as_deref(), Some("INC-2231, on fire"));
    }

    #[test]
    fn a_promotion_can_be_left_to_the_registry() {
        let timed = dialog("promote a.b --env prod --at 2026-12-01T08:00[Europe/Berlin]", &Subject::default());
        assert_eq!((timed.filled.at.as_deref(), timed.filled.when_ready), (Some("2026-12-01T08:00[Europe/Berlin]"), false));
        let ready = dialog("promote a.b --when-ready --env prod", &Subject::default());
        assert_eq!((ready.filled.at, ready.filled.when_ready), (None, true));
        assert_eq!(ready.environment.unwrap().as_str(), "prod");
    }

    #[test]
    fn the_row_under_the_cursor_fills_what_the_line_leaves_out() {
        let subject = Subject {
            key: Some("support.greeting".parse().unwrap()),
            environment: Some("prod".parse().unwrap()),
            ..Subject::default()
        };
        let request = dialog("step --down", &subject);
        assert_eq!((request.kind, request.key.as_str()), (DialogKind::StepDown, "support.greeting"));
        assert_eq!(request.environment.unwrap().as_str(), "prod");
        let other = dialog("kill billing.tone", &subject);
        assert_eq!((other.key.as_str(), other.environment), ("billing.tone", None));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, wanted) in [
            ("", "type a command"),
            ("kil", "no command `kil`; did you mean `kill`?"),
            ("kill", "name a key"),
            ("kill support.Greeting", "\"Greeting\""),
            ("kill a.b --reason fire", "outage"),
            ("kill a.b --evn prod", "no --evn; did you mean `env`?"),
            ("kill a.b --env", "--env needs a value"),
            ("kill a.b --note 'x", "not closed"),
            ("promote a.b --at 2026-12-01T08:00Z --when-ready", "not both"),
            ("review x", "not the id"),
            ("audit x", "number of an event"),
            ("explain", "name a key"),
            ("explain a.b --unit u", "name the environment"),
        ] {
            let error = read(line, &Subject::default()).unwrap_err();
            assert!(error.contains(wanted), "{line}: {error}");
        }
    }

    #[test]
    fn a_whole_word_comes_before_what_it_begins() {
        let first = |line| matching(line).next().map(|found| found.0);
        assert_eq!(first("q"), Some("q"));
        assert_eq!(read("q", &Subject::default()), Ok(Msg::Chosen(Action::Quit)));
        assert_eq!(first("qu"), Some("quarantine"));
        assert!(matching("").all(|found| found.0 != "q"), "not listed beside `quit`");
        assert_eq!(read("verify", &Subject::default()), Ok(Msg::Chosen(Action::AuditVerify)));
    }

    #[test]
    fn no_command_acts_by_itself() {
        let subject = Subject { key: Some("a.b".parse().unwrap()), ..Subject::default() };
        for (word, ..) in COMMANDS {
            let acts = read(word, &subject).is_ok_and(|msg| !matches!(msg, Msg::DialogAsked(_) | Msg::Chosen(_) | Msg::Went(_)));
            assert!(!acts, "{word}");
        }
    }
}
