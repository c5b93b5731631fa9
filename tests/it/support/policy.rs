//! The policies under which tests run: two small houses, and what single subjects add to them.

/// dee writes, ana and bob approve, carol releases, olga is on call, ines imports, root is admin; ci reports, web resolves.
/// `dev` takes nothing; `production` is protected: dev first, a plan, a gate, one approval of the owners, acknowledgement.
macro_rules! house {
    () => {
        r#"
[[environment]]
name = "dev"

[[environment]]
name = "production"
protected = true
after = "dev"
plan = [[25, "1m"], [50, "1m"], [100]]
gates = ["accuracy"]
approvals = [{ gate = "review", group = "@owning", count = 1 }]
acknowledge_hidden = true

[gate.accuracy]
at_least = 0.9
reporters = ["service:ci"]
override = "owners"

[group.owners]
members = ["person:ana", "person:bob", "person:dee"]

[[role]]
who = "person:dee"
role = "author"
[[role]]
who = "person:ana"
role = "approver"
[[role]]
who = "person:bob"
role = "approver"
[[role]]
who = "person:carol"
role = "releaser"
[[role]]
who = "person:olga"
role = "oncall"
[[role]]
who = "person:ines"
role = "importer"
[[role]]
who = "person:root"
role = "admin"
[[role]]
who = "service:ci"
role = "evaluator"
[[role]]
who = "service:web"
role = "service"
"#
    };
}

/// fay writes, the owners approve, carol releases, olga is on call, root is admin; ci reports.
macro_rules! crew {
    () => {
        r#"
[group.owners]
members = ["person:ana", "person:bob", "person:fay"]

[[role]]
who = "person:fay"
role = "author"
[[role]]
who = "group:owners"
role = "approver"
[[role]]
who = "person:carol"
role = "releaser"
[[role]]
who = "person:olga"
role = "oncall"
[[role]]
who = "person:root"
role = "admin"
[[role]]
who = "service:ci"
role = "evaluator"
"#
    };
}

/// Of a registry that is served by a process of its own: carol is on call too, ines may write what she imports.
pub const PROGRAM: &str = concat!(
    house!(),
    r#"
[group.importers]
members = ["person:ines"]

[[role]]
who = "person:carol"
role = "oncall"
[[role]]
who = "person:ines"
role = "author"
"#
);

/// Of a registry that is served by the test: each role is somebody's alone; rita reads, audi audits, pia
/// guards privacy, site is public, eve is from elsewhere.
pub const SERVED: &str = concat!(
    house!(),
    r#"
[[role]]
who = "person:dee"
role = "author"
namespace = "support.**"
[[role]]
who = "person:rita"
role = "reader"
[[role]]
who = "person:audi"
role = "auditor"
[[role]]
who = "person:pia"
role = "privacy"
[[role]]
who = "service:site"
role = "public"
[[role]]
who = "person:eve"
role = "reader"
namespace = "elsewhere.**"
"#
);

/// Of a registry without a server: `dev` takes nothing, `stage` rolls out in steps, `production` takes everything. Besides the
/// crew, eve and bob are safety.
pub const WORLD: &str = concat!(
    r#"
[[environment]]
name = "dev"

[[environment]]
name = "stage"
plan = [[25, "30m"], [50, "30m"], [100]]

[[environment]]
name = "production"
protected = true
after = "dev"
gates = ["quality"]
approvals = [{ gate = "owner", group = "@owning", count = 1 }, { gate = "safety", group = "safety", count = 1 }]
safe_default = "required"
acknowledge_hidden = true
expires = "7d"

[gate.quality]
at_least = 0.9
reporters = ["service:ci"]
override = "safety"
"#,
    crew!(),
    r#"
[group.safety]
members = ["person:bob", "person:eve"]

[person.ana]
also = ["person:ana.work"]

[[role]]
who = "group:safety"
role = "approver"
"#
);

/// Of random acts: `stage` is protected, so that safe defaults move by its rule; it takes a gate and one owner.
pub const MACHINE: &str = concat!(
    r#"
[[environment]]
name = "stage"
protected = true
plan = [[25, "30m"], [50, "30m"], [100]]
gates = ["quality"]
approvals = [{ gate = "owner", group = "@owning", count = 1 }]

[gate.quality]
at_least = 0.9
reporters = ["service:ci"]
"#,
    crew!()
);
