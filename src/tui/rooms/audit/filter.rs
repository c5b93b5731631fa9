//! The filter of the trail: `actor:bob env:prod kind:kill`, and words.

use super::slim::Slim;
use crate::model::{Action, Actor};
use crate::wire::world::ListAudit;

/// What a row must be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Filter {
    terms: Vec<(Field, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Actor,
    Environment,
    Action,
    Subject,
    Any,
}

impl Filter {
    /// Reads a line; none when it is blank.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let terms: Vec<(Field, String)> = line
            .split_whitespace()
            .map(|word| {
                let (name, value) = word.split_once(':').unwrap_or(("", word));
                let field = match name {
                    "actor" | "by" => Field::Actor,
                    "env" | "environment" => Field::Environment,
                    "kind" | "action" => Field::Action,
                    "key" | "subject" => Field::Subject,
                    _ => return (Field::Any, word.to_lowercase()),
                };
                (field, value.to_lowercase())
            })
            .filter(|(_, value)| !value.is_empty())
            .collect();
        (!terms.is_empty()).then_some(Self { terms })
    }

    /// Whether a row passes.
    pub(crate) fn admits(&self, row: &Slim) -> bool {
        self.terms.iter().all(|(field, value)| match field {
            Field::Actor => row.actor.to_lowercase().contains(value),
            Field::Environment => row.environment.to_lowercase() == *value,
            // Whole actions as the registry knows them; else what was done, so that a comment is no approval.
            Field::Action => row.action == *value || row.said.contains(value.as_str()),
            Field::Subject => row.subject.to_lowercase().contains(value),
            Field::Any => [row.actor.as_str(), row.said, &row.subject, &row.environment, &row.text]
                .iter()
                .any(|text| text.to_lowercase().contains(value)),
        })
    }

    /// What the registry can filter itself: whole actors and whole actions.
    pub(crate) fn narrow(&self, ask: ListAudit) -> ListAudit {
        let actor =
            self.terms.iter().find(|(f, v)| *f == Field::Actor && v.contains(':')).and_then(|(_, v)| v.parse::<Actor>().ok());
        let action = self.terms.iter().find(|(f, _)| *f == Field::Action).and_then(|(_, v)| v.parse::<Action>().ok());
        ListAudit { actor, action, ..ask }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Timestamp;

    #[test]
    fn every_term_must_hold() {
        let row = Slim {
            seq: 1,
            at: Timestamp(0),
            actor: "bob".into(),
            action: "pointer.kill",
            said: "pointer.kill",
            subject: "support.refund".into(),
            environment: "prod".into(),
            text: "outage KILLED".into(),
        };
        for (line, passes) in [
            ("actor:bob env:prod kind:kill", true),
            ("actor:bo", true),
            ("actor:carol", false),
            ("env:pro", false),
            ("kind:apply", false),
            ("outage refund", true),
            ("key:refund outage ", true),
            ("nothing", false),
        ] {
            assert_eq!(Filter::read(line).unwrap().admits(&row), passes, "{line}");
        }
        assert_eq!(Filter::read("  actor: "), None);
    }

    #[test]
    fn whole_words_are_left_to_the_registry() {
        let ask = Filter::read("actor:person:bob kind:pointer.kill").unwrap().narrow(ListAudit::default());
        assert_eq!(ask.actor, Some(Actor::person("bob")));
        assert_eq!(ask.action, Some(Action::PointerKill));
        assert_eq!(Filter::read("actor:bob kind:kill").unwrap().narrow(ListAudit::default()), ListAudit::default());
    }
}
