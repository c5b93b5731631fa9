//! A state machine: random acts on one pointer and one safe default, against a naive model of the rules, on both engines.

use super::support::engines::on_each_engine;
use super::support::policy::MACHINE;
use super::support::world::{World, act, ballot, env, key, kill, wish};
use countersign::model::{Action, BasisPoints, Code, Digest, Promotion, PromotionState, Refusal, Verdict};
use countersign::wire::pointers::{Rollback, StepTo};
use countersign::wire::promotions::OpenPromotion as Wish;
use countersign::wire::versions::Reason;
use countersign::workflow::{
    HoldPointer, KillPointer, LiftVersion, QuarantineVersion, ResumePointer, RollbackPointer, StepPointer, UndoKill,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::collections::BTreeMap;

const VERSIONS: usize = 4;
const VOTERS: [&str; 3] = ["person:ana", "person:bob", "person:fay"];
const KILLERS: [&str; 2] = ["person:olga", "person:carol"];

#[derive(Debug, Clone)]
enum Op {
    Report(usize, bool),
    Open {
        to: usize,
        percent: Option<u16>,
        revive: bool,
        named: bool,
        safe: bool,
    },
    Vote {
        row: usize,
        who: usize,
        verdict: Verdict,
    },
    Apply(usize),
    Up(Option<u16>),
    Down(Option<u16>),
    Hold,
    Resume,
    Rollback(Option<usize>),
    Kill(usize),
    Undo(usize),
    Quarantine(usize),
    Lift(usize),
    Later(i64),
    /// Opens (a revive where the pointer is killed), approves by ana and applies: so that random sequences get anywhere.
    Ship {
        to: usize,
        percent: Option<u16>,
        safe: bool,
    },
}

fn op() -> impl Strategy<Value = Op> {
    let to = 0..VERSIONS;
    let percent = prop_oneof![Just(None), Just(Some(5000)), Just(Some(10_000))];
    let verdict = prop_oneof![3 => Just(Verdict::Approve), 1 => Just(Verdict::Reject), 1 => Just(Verdict::Retract)];
    let share = prop_oneof![2 => Just(None), 1 => (0..=10_000u16).prop_map(Some)];
    prop_oneof![
        2 => (to.clone(), prop::bool::weighted(0.8)).prop_map(|(to, pass)| Op::Report(to, pass)),
        3 => (to.clone(), percent.clone(), prop::bool::weighted(0.2), any::<bool>(), prop::bool::weighted(0.2))
            .prop_map(|(to, percent, revive, named, safe)| Op::Open { to, percent, revive, named, safe }),
        4 => (0..6usize, 0..3usize, verdict).prop_map(|(row, who, verdict)| Op::Vote { row, who, verdict }),
        4 => (0..6usize).prop_map(Op::Apply),
        3 => share.clone().prop_map(Op::Up),
        2 => share.prop_map(Op::Down),
        1 => Just(Op::Hold),
        1 => Just(Op::Resume),
        3 => prop_oneof![3 => Just(None), 1 => to.clone().prop_map(Some)].prop_map(Op::Rollback),
        2 => (0..2usize).prop_map(Op::Kill),
        4 => (0..2usize).prop_map(Op::Undo),
        1 => to.clone().prop_map(Op::Quarantine),
        4 => to.clone().prop_map(Op::Lift),
        1 => (1..400i64).prop_map(Op::Later),
        10 => (to, percent, prop::bool::weighted(0.15)).prop_map(|(to, percent, safe)| Op::Ship { to, percent, safe }),
    ]
}

#[derive(Debug, Clone, PartialEq)]
struct Pointer {
    digest: usize,
    share: u16,
    killed: bool,
    held: bool,
    baseline: Option<usize>,
    revision: i64,
    plan: Vec<u16>,
}

impl Pointer {
    fn next(&self) -> Option<u16> {
        self.plan.iter().copied().find(|share| *share > self.share)
    }
    fn runs(&self) -> bool {
        !self.killed && self.share < 10_000 && self.next().is_some()
    }
}

#[derive(Debug, Clone)]
struct Row {
    row: Promotion,
    to: usize,
    safe: bool,
    revive: bool,
    from: Option<usize>,
    revision: i64,
    baseline: Option<usize>,
    plan: Vec<u16>,
    default: Option<usize>,
    state: PromotionState,
    votes: BTreeMap<usize, Verdict>,
}

/// What was applied to the pointer: a word, from, to, share, who, when.
#[derive(Debug, Clone)]
struct Done {
    word: &'static str,
    from: Option<usize>,
    to: usize,
    share: u16,
    by: usize,
    at: i64,
    id: uuid::Uuid,
}

/// The rules, told once more and as plainly as can be.
#[derive(Debug, Default)]
struct Model {
    now: i64,
    pointer: Option<Pointer>,
    default: Option<usize>,
    /// How many changes of the pointer a digest's last approval as safe default came after.
    approved: [usize; VERSIONS],
    passed: [bool; VERSIONS],
    marked: [bool; VERSIONS],
    rows: Vec<Row>,
    done: Vec<Done>,
}

impl Model {
    fn running(&self) -> Option<uuid::Uuid> {
        let pointer = self.pointer.as_ref()?;
        let last = self.done.iter().rev().find(|done| matches!(done.word, "promote" | "revive" | "rollback"))?;
        (last.word != "rollback" && last.to == pointer.digest).then_some(last.id)
    }

    /// Plan and baseline of a wish, where it may be opened.
    fn opens(&self, to: usize, percent: Option<u16>, revive: bool, named: bool, safe: bool) -> Option<(Vec<u16>, Option<usize>)> {
        if safe {
            let whole = percent.is_none_or(|share| share == 10_000);
            return (!revive && whole && self.default != Some(to)).then(|| (vec![10_000], None));
        }
        let plan = percent.map_or(vec![2500, 5000, 10_000], |share| vec![share]);
        let Some(pointer) = &self.pointer else { return (!revive).then_some((plan, None)) };
        if revive && !pointer.killed {
            return None;
        }
        if !revive {
            let same = pointer.digest == to && !pointer.killed;
            if same && (pointer.share == 10_000 || pointer.share == plan[0]) {
                return None;
            }
            if pointer.runs() && !(named && self.running().is_some()) {
                return None;
            }
        }
        let usual = match (revive, pointer.share) {
            (true, _) => self.default,
            (false, 10_000) => Some(pointer.digest),
            (false, _) => pointer.baseline,
        };
        let fit = |digest: &usize| {
            let distrusted = self.default == Some(*digest) && self.banned(*digest);
            !(self.marked[*digest] || distrusted || pointer.killed && pointer.digest == *digest)
        };
        let baseline = if plan[0] == 10_000 { None } else { usual.filter(fit) };
        Some((plan, baseline))
    }

    fn ready(&self, row: &Row) -> bool {
        let killed = self.pointer.as_ref().is_some_and(|pointer| pointer.killed);
        let rejected = row.votes.values().any(|verdict| *verdict == Verdict::Reject);
        // fay wrote everything, so her yes never counts; carol opened everything and is no owner.
        let approved = row.votes.iter().any(|(who, verdict)| *who < 2 && *verdict == Verdict::Approve);
        row.state == PromotionState::Open
            && self.unmoved(row)
            && row.default == self.default
            && !self.marked[row.to]
            && killed == row.revive
            && self.passed[row.to]
            && approved
            && !rejected
    }

    fn unmoved(&self, row: &Row) -> bool {
        if row.safe {
            return row.from == self.default;
        }
        row.revision == self.pointer.as_ref().map_or(0, |pointer| pointer.revision)
    }

    fn killed_away(&self, digest: usize) -> bool {
        let last = |found: &dyn Fn(&Done) -> bool| self.done.iter().rposition(found);
        last(&|done| done.word == "kill" && done.from == Some(digest))
            > last(&|done| matches!(done.word, "promote" | "revive" | "undo") && done.to == digest)
    }

    /// Killed, and approved neither here nor as safe default since: nobody may get it.
    fn banned(&self, digest: usize) -> bool {
        let killed = self.done.iter().rposition(|done| done.word == "kill" && done.from == Some(digest));
        self.killed_away(digest) && killed.is_some_and(|at| at >= self.approved[digest])
    }

    fn back(&self, named: Option<usize>) -> Option<usize> {
        let current = self.pointer.as_ref()?.digest;
        let whole = |done: &&Done| done.share == 10_000 && !matches!(done.word, "kill" | "undo");
        let good = |digest: usize| digest != current && !self.marked[digest] && !self.killed_away(digest);
        if let Some(named) = named {
            return self.done.iter().filter(whole).any(|done| done.to == named && good(named)).then_some(named);
        }
        let first = self.done.iter().position(|done| done.word != "kill" && done.to == current)?;
        let gone = |digest: usize| self.done.iter().any(|done| done.word == "rollback" && done.from == Some(digest));
        self.done[..first].iter().rev().filter(whole).map(|done| done.to).find(|digest| good(*digest) && !gone(*digest))
    }

    /// Notes a change of the pointer: the open promotions of it are stale.
    fn moved(&mut self, done: Done, pointer: Pointer) {
        self.done.push(done);
        self.pointer = Some(Pointer { revision: self.pointer.as_ref().map_or(0, |before| before.revision) + 1, ..pointer });
        for row in self.rows.iter_mut().filter(|row| !row.safe && row.state == PromotionState::Open) {
            row.state = PromotionState::Stale;
        }
    }
}

/// The machine: the registry, the model, and what they must agree on.
struct Machine {
    world: World,
    model: Model,
    versions: Vec<Digest>,
}

impl Machine {
    async fn new(world: World) -> Self {
        let mut versions = Vec::new();
        for number in 0..VERSIONS {
            versions.push(world.version(&format!("text {number}")).await);
        }
        let model = Model { passed: [true; VERSIONS], ..Model::default() };
        Self { world, model, versions }
    }

    fn number(&self, digest: Digest) -> usize {
        self.versions.iter().position(|known| *known == digest).unwrap()
    }

    fn done(&self, word: &'static str, to: usize, share: u16, by: usize) -> Done {
        let from = self.model.pointer.as_ref().map(|pointer| pointer.digest);
        Done { word, from, to, share, by, at: self.model.now, id: uuid::Uuid::nil() }
    }

    /// Does one act on both and compares what they say.
    async fn go(&mut self, op: &Op) {
        let pointer = self.model.pointer.clone();
        match op.clone() {
            Op::Report(to, pass) => {
                self.world.report(self.versions[to], Some(if pass { 0.95 } else { 0.1 }), None).await.unwrap();
                self.model.passed[to] = pass;
            }
            Op::Open { to, percent, revive, named, safe } => self.open(to, percent, revive, named, safe).await,
            Op::Vote { row, who, verdict } => self.vote(row, who, verdict).await,
            Op::Apply(row) => self.apply(row).await,
            Op::Ship { to, percent, safe } => {
                let revive = !safe && pointer.is_some_and(|pointer| pointer.killed);
                let before = self.model.rows.len();
                self.open(to, percent, revive, true, safe).await;
                if self.model.rows.len() > before {
                    self.vote(0, 0, Verdict::Approve).await;
                    self.apply(0).await;
                }
            }
            Op::Up(to) => self.up(to, pointer).await,
            Op::Down(to) => self.down(to, pointer).await,
            Op::Hold => self.hold(pointer).await,
            Op::Resume => self.resume(pointer).await,
            Op::Rollback(to) => self.rollback(to, pointer).await,
            Op::Kill(who) => self.kill(who, pointer).await,
            Op::Undo(who) => self.undo(who, pointer).await,
            Op::Quarantine(to) => {
                let body = Reason { rationale: "bad".into() };
                let verb = QuarantineVersion { digest: self.versions[to], body };
                self.world.run("person:ana", verb).await.unwrap();
                self.model.marked[to] = true;
            }
            Op::Lift(to) => {
                let verb = LiftVersion { digest: self.versions[to], body: Reason { rationale: "good".into() } };
                let lifted = self.world.run("person:bob", verb).await;
                assert!(lifted.is_ok() || !self.model.marked[to], "{lifted:?}");
                self.model.marked[to] = false;
            }
            Op::Later(seconds) => {
                self.world.later(seconds);
                self.model.now += seconds;
            }
        }
    }

    async fn open(&mut self, to: usize, percent: Option<u16>, revive: bool, named: bool, safe: bool) {
        let want = self.model.opens(to, percent, revive, named, safe);
        let running = self.model.running().filter(|_| named && !revive && !safe);
        let percent = percent.map(|points| BasisPoints::new(points).unwrap());
        let environment = if safe { "@safe-default" } else { "stage" };
        let body = Wish { percent, revive, supersedes: running, ..wish(environment, self.versions[to], None) };
        let found = self.world.open(body).await;
        agree("open", &found, want.is_some());
        let (Ok(row), Some((plan, baseline))) = (found, want) else { return };
        assert_eq!(row.baseline_digest.map(|digest| self.number(digest)), baseline, "baseline");
        let pointer = self.model.pointer.as_ref();
        self.model.rows.push(Row {
            to,
            safe,
            revive,
            from: if safe { self.model.default } else { pointer.map(|pointer| pointer.digest) },
            revision: if safe { 0 } else { pointer.map_or(0, |pointer| pointer.revision) },
            baseline,
            plan,
            default: self.model.default,
            state: PromotionState::Open,
            votes: BTreeMap::new(),
            row,
        });
    }

    /// The row that a small number means: counted from the newest.
    fn pick(&self, row: usize) -> Option<usize> {
        self.model.rows.len().checked_sub(row + 1)
    }

    async fn vote(&mut self, row: usize, who: usize, verdict: Verdict) {
        let Some(at) = self.pick(row) else { return };
        let row = self.model.rows[at].clone();
        let open = row.state == PromotionState::Open;
        let current = self.model.unmoved(&row) && row.default == self.model.default;
        let want = open
            && match verdict {
                Verdict::Approve => who < 2 && current,
                Verdict::Retract => row.votes.contains_key(&who),
                _ => true,
            };
        let body = ballot(&row.row, verdict, "owner");
        let verb = countersign::workflow::CastVote { id: row.row.promotion_id, body };
        agree("vote", &self.world.run(VOTERS[who], verb).await, want);
        if want && verdict == Verdict::Retract {
            self.model.rows[at].votes.remove(&who);
        } else if want {
            self.model.rows[at].votes.insert(who, verdict);
        }
    }

    async fn apply(&mut self, row: usize) {
        let Some(at) = self.pick(row) else { return };
        let row = self.model.rows[at].clone();
        let want = self.model.ready(&row);
        let found = self.world.apply(row.row.promotion_id).await;
        agree("apply", &found, want);
        if !want {
            return;
        }
        self.model.rows[at].state = PromotionState::Applied;
        if row.safe {
            self.model.default = Some(row.to);
            self.model.approved[row.to] = self.model.done.len();
            for other in self.model.rows.iter_mut().filter(|row| row.safe && row.state == PromotionState::Open) {
                other.state = PromotionState::Stale;
            }
            return;
        }
        let word = if row.revive { "revive" } else { "promote" };
        let done = Done { id: row.row.promotion_id, ..self.done(word, row.to, row.plan[0], 1) };
        let after = Pointer {
            digest: row.to,
            share: row.plan[0],
            killed: false,
            held: false,
            baseline: row.baseline,
            revision: 0,
            plan: row.plan,
        };
        self.model.moved(done, after);
    }

    async fn up(&mut self, to: Option<u16>, pointer: Option<Pointer>) {
        let next = pointer.as_ref().and_then(Pointer::next);
        let to = if to.is_some_and(|to| to % 2 == 0) { next } else { to };
        let want = pointer.as_ref().is_some_and(|pointer| {
            !pointer.killed
                && !pointer.held
                && next.is_some()
                && (to.is_none() || to == next)
                && self.model.running().is_some()
                && !self.model.marked[pointer.digest]
                && self.model.passed[pointer.digest]
        });
        let body = StepTo { to: to.map(|points| BasisPoints::new(points).unwrap()), rationale: "on".into(), ..StepTo::default() };
        let found = self.world.run("person:carol", StepPointer { key: key(), environment: env("stage"), body }).await;
        agree("up", &found, want);
        let (true, Some(pointer), Some(share)) = (want, pointer, next) else { return };
        let baseline = pointer.baseline.filter(|_| share < 10_000);
        let done = self.done("step", pointer.digest, share, 1);
        self.model.moved(done, Pointer { share, baseline, ..pointer });
    }

    async fn down(&mut self, to: Option<u16>, pointer: Option<Pointer>) {
        let before = pointer.as_ref().and_then(|p| p.plan.iter().copied().rfind(|share| *share < p.share));
        let share = to.or(before);
        let want = pointer.as_ref().is_some_and(|p| !p.killed && p.share < 10_000 && share.is_some_and(|share| share < p.share));
        let body = StepTo {
            to: to.map(|points| BasisPoints::new(points).unwrap()),
            down: true,
            rationale: "slow".into(),
            ..StepTo::default()
        };
        let found = self.world.run("person:olga", StepPointer { key: key(), environment: env("stage"), body }).await;
        agree("down", &found, want);
        let (true, Some(pointer), Some(share)) = (want, pointer, share) else { return };
        let done = self.done("step", pointer.digest, share, 0);
        self.model.moved(done, Pointer { share, ..pointer });
    }

    async fn hold(&mut self, pointer: Option<Pointer>) {
        let want = pointer.as_ref().is_some_and(|p| !p.killed && (p.held || p.runs()));
        let found = self.world.run("person:olga", HoldPointer { key: key(), environment: env("stage"), body: act() }).await;
        agree("hold", &found, want);
        if let Some(pointer) = pointer.filter(|pointer| want && !pointer.held) {
            let done = self.done("step", pointer.digest, pointer.share, 0);
            self.model.moved(done, Pointer { held: true, ..pointer });
        }
    }

    async fn resume(&mut self, pointer: Option<Pointer>) {
        let want = pointer.as_ref().is_some_and(|p| p.held && p.runs());
        let found = self.world.run("person:carol", ResumePointer { key: key(), environment: env("stage"), body: act() }).await;
        agree("resume", &found, want);
        if let Some(pointer) = pointer.filter(|_| want) {
            let done = self.done("step", pointer.digest, pointer.share, 1);
            self.model.moved(done, Pointer { held: false, ..pointer });
        }
    }

    async fn rollback(&mut self, to: Option<usize>, pointer: Option<Pointer>) {
        let target = self.model.back(to).filter(|_| pointer.as_ref().is_some_and(|pointer| !pointer.killed));
        let to_digest = to.map(|to| self.versions[to]);
        let body = Rollback { to_digest, rationale: "bad".into(), ..Rollback::default() };
        let found = self.world.run("person:olga", RollbackPointer { key: key(), environment: env("stage"), body }).await;
        agree("rollback", &found, target.is_some());
        let (Some(target), Ok(moved)) = (target, found) else { return };
        assert_eq!(self.number(moved.pointer.unwrap().digest), target, "rollback goes to");
        let done = self.done("rollback", target, 10_000, 0);
        let after =
            Pointer { digest: target, share: 10_000, killed: false, held: true, baseline: None, revision: 0, plan: vec![10_000] };
        self.model.moved(done, after);
    }

    async fn kill(&mut self, who: usize, pointer: Option<Pointer>) {
        let verb = KillPointer { key: key(), environment: env("stage"), body: kill() };
        let found = self.world.run(KILLERS[who], verb).await;
        agree("kill", &found, pointer.is_some());
        if let Some(pointer) = pointer.filter(|pointer| !pointer.killed) {
            let serves = found.unwrap().promotion.to_digest.map(|digest| self.number(digest));
            let fit = |digest: &usize| *digest != pointer.digest && !self.model.marked[*digest] && !self.model.banned(*digest);
            assert_eq!(serves, self.model.default.filter(fit), "what a kill serves");
            let done = self.done("kill", pointer.digest, pointer.share, who);
            self.model.moved(done, Pointer { killed: true, ..pointer });
        }
    }

    async fn undo(&mut self, who: usize, pointer: Option<Pointer>) {
        let last = self.model.done.last().filter(|done| done.word == "kill" && self.model.now - done.at < 600 && done.by == who);
        let want = pointer.is_some() && last.is_some();
        let found = self.world.run(KILLERS[who], UndoKill { key: key(), environment: env("stage"), body: act() }).await;
        agree("undo", &found, want);
        if let Some(pointer) = pointer.filter(|_| want) {
            let done = self.done("undo", pointer.digest, pointer.share, who);
            self.model.moved(done, Pointer { killed: false, ..pointer });
        }
    }

    /// What holds after every act.
    async fn check(&self) {
        let found = self.world.pointer("stage").await;
        let shown = found.as_ref().map(|pointer| Pointer {
            digest: self.number(pointer.digest),
            share: pointer.rollout_pct.get(),
            killed: pointer.killed,
            held: pointer.held,
            baseline: pointer.baseline_digest.map(|digest| self.number(digest)),
            revision: pointer.revision,
            plan: pointer.plan.iter().map(|step| step.0.get()).collect(),
        });
        assert_eq!(shown, self.model.pointer);
        for row in &self.model.rows {
            assert_eq!(self.world.promotion(row.row.promotion_id).await.state, row.state, "{:?}", row.row);
        }
        let Some(pointer) = found else { return };
        assert!(pointer.rollout_pct < BasisPoints::ALL || pointer.baseline_digest.is_none());
        let snapshot = self.world.registry.snapshot.get();
        for unit in 0..16 {
            let unit = format!("unit {unit}");
            let choice = snapshot.resolve(&key(), &env("stage"), Some(&unit), false).unwrap().unwrap();
            let got = choice.served.map(|served| self.number(served.digest));
            for digest in (0..VERSIONS).filter(|digest| self.model.banned(*digest)) {
                assert_ne!(got, Some(digest), "a unit gets what was killed");
            }
            assert!(!pointer.killed || got != Some(self.number(pointer.digest)), "killed, and served");
        }
    }
}

fn agree<T: std::fmt::Debug>(what: &str, found: &Result<T, Refusal>, want: bool) {
    assert_eq!(found.is_ok(), want, "{what}: {found:?}");
    let fault = found.as_ref().err().is_some_and(|refusal| matches!(refusal.code, Code::Internal | Code::Unavailable));
    assert!(!fault, "{what}: {found:?}");
}

#[test]
fn random_acts_do_what_the_rules_say() {
    let full = std::env::var("PROVE").is_ok_and(|how| how == "full");
    let (sequences, length) = if full { (2_000, 30) } else { (6, 40) };
    let seed: [u8; 32] = countersign::clock::Clock::System.bytes();
    println!("seed {}", hex::encode(seed));
    on_each_engine(async |place| {
        let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
        let mut acts = 0;
        let mut changes = BTreeMap::<&str, usize>::new();
        for number in 0..sequences {
            let ops = proptest::collection::vec(op(), length).new_tree(&mut runner).unwrap().current();
            let place = place.another().await;
            let mut machine = Machine::new(World::under(&place, MACHINE).await).await;
            println!("sequence {number}: {ops:?}");
            for op in &ops {
                let (before, revision) = (moves(&machine).await, machine.model.done.len());
                machine.go(op).await;
                machine.check().await;
                let moved = machine.model.done.len() - revision;
                assert_eq!(moves(&machine).await - before, moved, "each move is one event: {op:?}");
                acts += 1;
                if let Some(done) = machine.model.done.last().filter(|_| moved > 0) {
                    *changes.entry(done.word).or_default() += moved;
                }
            }
            machine.world.check_chain().await;
        }
        eprintln!("{acts} acts moved the pointer so: {changes:?}");
        assert!(!full || changes.len() == 6, "some kind of act never did anything");
    });
}

/// How many events moved the pointer.
async fn moves(machine: &Machine) -> usize {
    let moving = |action: Action| countersign::rules::chain::moves_a_pointer(action);
    let events = machine.world.events().await;
    let bodies = events.into_iter().filter_map(|event| event.body);
    bodies.filter(|body| moving(body.action) && body.detail.get("pointer").is_some_and(|pointer| !pointer.is_null())).count()
}
