//! The state of a study: what its events, taken in order, amount to.
//!
//! Nothing here decides anything. A record is either admitted, and changes the state, or is
//! refused, and changes nothing.

use std::collections::HashMap;

use crate::config::Config;
use crate::design::{Design, Value};
use crate::error::{Error, Result};
use crate::event::{Event, Header, Record};
use crate::problem::Problem;
use crate::space::Space;

/// One design, one objective, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// Its number, counting from zero.
    pub id: u64,
    /// Where.
    pub design: Design,
    /// Which objective, by its place in the problem.
    pub objective: usize,
    /// The price when it was asked for; 0 if it was imported.
    pub cost: f64,
    /// Whether it belongs to the first designs, chosen without a model.
    pub initial: bool,
    /// Whether it was asked for; otherwise it was imported.
    pub asked: bool,
    /// What became of it.
    pub status: Status,
}

/// What became of an evaluation.
#[derive(Debug, Clone, PartialEq)]
pub enum Status {
    /// Its result is awaited.
    Pending,
    /// Its result, in the units of the objective.
    Told(f64),
    /// It ended without a result, for this reason.
    Failed(String),
    /// It will not be made.
    Withdrawn,
}

impl Status {
    /// The status in a word, as in "is recorded as failed".
    fn word(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Told(_) => "completed",
            Self::Failed(_) => "failed",
            Self::Withdrawn => "withdrawn",
        }
    }
}

/// A study's state as the replay of its events.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct History {
    /// What is optimised.
    pub(crate) problem: Problem,
    /// How.
    pub(crate) config: Config,
    /// From which all random numbers come.
    pub(crate) seed: u64,
    /// The cube of the problem.
    pub(crate) space: Space,
    /// All evaluations; each stands at the index that is its number.
    pub(crate) evaluations: Vec<Evaluation>,
    /// Number of records applied.
    pub(crate) position: u64,
    /// Where each evaluation lies in the cube.
    points: Vec<Vec<f64>>,
    /// The evaluations with results, in the order in which these arrived.
    told: Vec<usize>,
    /// What each objective costs now.
    costs: Vec<f64>,
}

/// What an event does to a history that admits it.
enum Change {
    Add { evaluation: Evaluation, point: Vec<f64> },
    Settle { index: usize, status: Status },
    Price { objective: usize, cost: f64 },
}

impl History {
    /// The state after all of `records`, which must begin with the creation of the study.
    pub(crate) fn replay(records: &[Record]) -> Result<Self> {
        let (first, rest) =
            records.split_first().ok_or_else(|| corrupt(0, "the journal is empty"))?;
        let mut history = Self::create(first)?;
        for record in rest {
            history.apply(record)?;
        }
        Ok(history)
    }

    /// The state after the first record.
    fn create(record: &Record) -> Result<Self> {
        Header { format: record.format }.check()?;
        let Event::Created { problem, config, seed } = &record.event else {
            return Err(corrupt(0, "a journal must begin with the creation of the study"));
        };
        // Not all that is refused today: a study that an earlier version began must open.
        problem.check_replayable().map_err(|error| corrupt(0, error))?;
        config.check_replayable(problem).map_err(|error| corrupt(0, error))?;
        Ok(Self {
            space: Space::new(problem),
            costs: problem.objectives.iter().map(|objective| objective.cost).collect(),
            problem: problem.clone(),
            config: config.clone(),
            seed: *seed,
            evaluations: Vec::new(),
            position: 1,
            points: Vec::new(),
            told: Vec::new(),
        })
    }

    /// Takes in the next record. A history that refuses one is as it was before.
    pub(crate) fn apply(&mut self, record: &Record) -> Result<()> {
        Header { format: record.format }.check()?;
        let change = self.admit(&record.event).map_err(|error| match error {
            Error::CorruptJournal { .. } => error,
            other => corrupt(self.position, other),
        })?;
        self.carry_out(change);
        self.position += 1;
        Ok(())
    }

    /// Fails, with an error for whoever caused the event, if [`apply`](Self::apply) would refuse
    /// it. To be asked before the event is written down.
    pub(crate) fn check(&self, event: &Event) -> Result<()> {
        self.admit(event).map(|_| ())
    }

    fn admit(&self, event: &Event) -> Result<Change> {
        match event {
            Event::Created { .. } => Err(self.nonsense("the study was created before")),
            Event::Asked { evaluation, design, objective, cost, initial } => {
                let index = self.problem.objective_index(objective)?;
                check_cost(objective, *cost)?;
                let mut new = self.evaluation(*evaluation, design, index, Status::Pending)?;
                (new.cost, new.initial, new.asked) = (*cost, *initial, true);
                self.add(new)
            }
            Event::Imported { evaluation, design, objective, value } => {
                let index = self.problem.objective_index(objective)?;
                let status = self.told_status(index, *value)?;
                self.add(self.evaluation(*evaluation, design, index, status)?)
            }
            Event::Told { evaluation, value } => self.tell(*evaluation, *value),
            Event::Failed { evaluation, reason } => {
                self.settle(*evaluation, Status::Failed(reason.clone()))
            }
            Event::Withdrawn { evaluation } => self.settle(*evaluation, Status::Withdrawn),
            Event::CostChanged { objective, cost } => {
                let index = self.problem.objective_index(objective)?;
                check_cost(objective, *cost)?;
                Ok(Change::Price { objective: index, cost: *cost })
            }
        }
    }

    /// An evaluation as if imported, given that its number is the next one.
    fn evaluation(
        &self,
        id: u64,
        design: &Design,
        objective: usize,
        status: Status,
    ) -> Result<Evaluation> {
        let next = self.evaluations.len() as u64;
        if id != next {
            return Err(self.nonsense(format!("evaluation {id} stands where {next} must follow")));
        }
        let design = design.clone();
        Ok(Evaluation { id, design, objective, cost: 0.0, initial: false, asked: false, status })
    }

    fn add(&self, evaluation: Evaluation) -> Result<Change> {
        let point = self.space.encode(&evaluation.design)?;
        Ok(Change::Add { evaluation, point })
    }

    /// Fails if the evaluation is recorded as failed: a value that arrives later contradicts that,
    /// and somebody has to decide. Journals may hold such decisions.
    pub(crate) fn refuse_failed(&self, id: u64) -> Result<()> {
        match &self.evaluations[self.index(id)?].status {
            failed @ Status::Failed(_) => Err(Error::AlreadySettled { id, how: failed.word() }),
            _ => Ok(()),
        }
    }

    /// Which of `results` the study does not have yet, by their places. What is listed more often
    /// than the study has it is missing for the rest.
    pub(crate) fn missing(&self, results: &[(Design, String, f64)]) -> Vec<usize> {
        let mut there: HashMap<Known<'_>, usize> = HashMap::new();
        for evaluation in &self.evaluations {
            if let Status::Told(value) = evaluation.status {
                let objective = &self.problem.objectives[evaluation.objective].name;
                *there.entry(self.known(&evaluation.design, objective, value)).or_default() += 1;
            }
        }
        let mut missing = vec![];
        for (place, (design, objective, value)) in results.iter().enumerate() {
            match there.get_mut(&self.known(design, objective, *value)) {
                Some(times) if *times > 0 => *times -= 1,
                _ => missing.push(place),
            }
        }
        missing
    }

    /// A result as something to compare.
    fn known<'a>(&self, design: &'a Design, objective: &'a str, value: f64) -> Known<'a> {
        let values = self.problem.parameters.iter().filter_map(|p| design.get(p.name()));
        Known { design: values.map(KnownValue::new).collect(), objective, value: bits(value) }
    }

    /// A result is welcome however late, but only once.
    fn tell(&self, id: u64, value: f64) -> Result<Change> {
        let index = self.index(id)?;
        let Evaluation { objective, status, .. } = &self.evaluations[index];
        if let Status::Told(_) = status {
            return Err(Error::AlreadySettled { id, how: status.word() });
        }
        let status = self.told_status(*objective, value)?;
        Ok(Change::Settle { index, status })
    }

    /// An end without result, which only an evaluation that has not ended can come to.
    fn settle(&self, id: u64, status: Status) -> Result<Change> {
        let index = self.index(id)?;
        match &self.evaluations[index].status {
            Status::Pending => Ok(Change::Settle { index, status }),
            settled => Err(Error::AlreadySettled { id, how: settled.word() }),
        }
    }

    fn told_status(&self, objective: usize, value: f64) -> Result<Status> {
        if value.is_finite() {
            return Ok(Status::Told(value));
        }
        let parameter = self.problem.objectives[objective].name.clone();
        Err(Error::BadValue { parameter, value: value.to_string(), must: "a finite number".into() })
    }

    fn index(&self, id: u64) -> Result<usize> {
        let index = usize::try_from(id).ok().filter(|&index| index < self.evaluations.len());
        index.ok_or(Error::UnknownEvaluation { id })
    }

    fn nonsense(&self, reason: impl Into<String>) -> Error {
        Error::CorruptJournal { position: self.position, reason: reason.into() }
    }

    fn carry_out(&mut self, change: Change) {
        match change {
            Change::Add { evaluation, point } => {
                if let Status::Told(_) = evaluation.status {
                    self.told.push(self.evaluations.len());
                }
                self.evaluations.push(evaluation);
                self.points.push(point);
            }
            Change::Settle { index, status } => {
                if let Status::Told(_) = status {
                    self.told.push(index);
                }
                self.evaluations[index].status = status;
            }
            Change::Price { objective, cost } => self.costs[objective] = cost,
        }
    }

    /// Where evaluation `id`, which must exist, lies in the cube.
    pub(crate) fn point(&self, id: u64) -> &[f64] {
        &self.points[id as usize]
    }

    /// Points and results of an objective, in the order in which the results arrived and in the
    /// units of the objective.
    pub(crate) fn observations(&self, objective: usize) -> impl Iterator<Item = (&[f64], f64)> {
        self.told(objective).filter_map(|evaluation| match evaluation.status {
            Status::Told(value) => Some((self.point(evaluation.id), value)),
            _ => None,
        })
    }

    /// Evaluations of an objective that have a result, in the order in which these arrived.
    pub(crate) fn told(&self, objective: usize) -> impl Iterator<Item = &Evaluation> {
        let told = self.told.iter().map(|&index| &self.evaluations[index]);
        told.filter(move |evaluation| evaluation.objective == objective)
    }

    /// Points at which a result of the objective is awaited.
    pub(crate) fn pending(&self, objective: usize) -> impl Iterator<Item = &[f64]> {
        self.points_where(objective, |status| matches!(status, Status::Pending))
    }

    /// Points at which the objective could not be evaluated.
    pub(crate) fn failed(&self, objective: usize) -> impl Iterator<Item = &[f64]> {
        self.points_where(objective, |status| matches!(status, Status::Failed(_)))
    }

    fn points_where(
        &self,
        objective: usize,
        wanted: fn(&Status) -> bool,
    ) -> impl Iterator<Item = &[f64]> {
        let matching = move |e: &Evaluation| e.objective == objective && wanted(&e.status);
        let pairs = self.evaluations.iter().zip(&self.points);
        pairs.filter(move |(e, _)| matching(e)).map(|(_, point)| point.as_slice())
    }

    /// Evaluations that were asked for and not withdrawn, in order of their numbers.
    pub(crate) fn asked(&self) -> impl Iterator<Item = &Evaluation> {
        self.evaluations.iter().filter(|e| e.asked && e.status != Status::Withdrawn)
    }

    /// What all evaluations that were asked for and came to an end have cost. A failure costs as
    /// much as a success.
    pub(crate) fn spent(&self) -> f64 {
        self.evaluations.iter().map(price_paid).sum()
    }

    /// What all evaluations under way will have cost.
    pub(crate) fn pending_cost(&self) -> f64 {
        let pending = self.evaluations.iter().filter(|e| e.status == Status::Pending);
        pending.map(|evaluation| evaluation.cost).sum()
    }

    /// What those of one objective have cost.
    pub(crate) fn spent_on(&self, objective: usize) -> f64 {
        self.evaluations.iter().filter(|e| e.objective == objective).map(price_paid).sum()
    }

    /// What an evaluation of the objective costs now.
    pub(crate) fn cost(&self, objective: usize) -> f64 {
        self.costs[objective]
    }

    /// Number of results of an objective.
    pub(crate) fn told_count(&self, objective: usize) -> usize {
        self.told(objective).count()
    }
}

/// A result by its numbers: two that are equal are taken for the same measurement.
#[derive(PartialEq, Eq, Hash)]
struct Known<'a> {
    design: Vec<KnownValue<'a>>,
    objective: &'a str,
    value: u64,
}

#[derive(PartialEq, Eq, Hash)]
enum KnownValue<'a> {
    Number(u64),
    Choice(&'a str),
}

impl<'a> KnownValue<'a> {
    fn new(value: &'a Value) -> Self {
        match value {
            Value::Real(number) => Self::Number(bits(*number)),
            Value::Integer(number) => Self::Number(bits(*number as f64)),
            Value::Choice(name) => Self::Choice(name),
        }
    }
}

/// The bits of a number; 0 and -0 are one.
fn bits(number: f64) -> u64 {
    (number + 0.0).to_bits()
}

/// What has been paid for an evaluation so far.
fn price_paid(evaluation: &Evaluation) -> f64 {
    match evaluation.status {
        Status::Told(_) | Status::Failed(_) => evaluation.cost,
        Status::Pending | Status::Withdrawn => 0.0,
    }
}

fn check_cost(objective: &str, cost: f64) -> Result<()> {
    if cost.is_finite() && cost > 0.0 {
        Ok(())
    } else {
        Err(Error::BadCost { objective: objective.to_owned(), cost })
    }
}

fn corrupt(position: u64, reason: impl ToString) -> Error {
    Error::CorruptJournal { position, reason: reason.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases;
    use crate::event::FORMAT;
    use proptest::prelude::*;

    fn created() -> Event {
        let problem = Problem::builder()
            .continuous("x", 0.0, 2.0)
            .maximise("f", 1.0)
            .minimise("g", 10.0)
            .build()
            .unwrap();
        Event::Created { problem, config: Config::default(), seed: 7 }
    }

    fn asked(evaluation: u64, objective: &str, x: f64) -> Event {
        let cost = if objective == "f" { 1.0 } else { 10.0 };
        let design = Design::new().with("x", x);
        Event::Asked { evaluation, design, objective: objective.into(), cost, initial: false }
    }

    fn imported(evaluation: u64, objective: &str, x: f64, value: f64) -> Event {
        let design = Design::new().with("x", x);
        Event::Imported { evaluation, design, objective: objective.into(), value }
    }

    fn told(evaluation: u64, value: f64) -> Event {
        Event::Told { evaluation, value }
    }

    fn failed(evaluation: u64) -> Event {
        Event::Failed { evaluation, reason: "crashed".into() }
    }

    fn replay(events: impl IntoIterator<Item = Event>) -> Result<History> {
        let records: Vec<Record> = events.into_iter().map(Record::from).collect();
        History::replay(&records)
    }

    /// The history after these events, which follow the creation.
    fn after(events: impl IntoIterator<Item = Event>) -> History {
        replay(std::iter::once(created()).chain(events)).unwrap()
    }

    #[test]
    fn results_are_kept_in_the_order_of_their_arrival() {
        let history = after([
            asked(0, "f", 0.5),
            asked(1, "g", 1.0),
            asked(2, "f", 1.5),
            told(2, 3.0),
            imported(3, "f", 4.0, 2.0),
            told(0, 1.0),
        ]);
        let f: Vec<_> = history.observations(0).collect();
        assert_eq!(f, [(&[0.75][..], 3.0), (&[2.0][..], 2.0), (&[0.25][..], 1.0)]);
        assert_eq!(history.observations(1).count(), 0);
        assert_eq!((history.told_count(0), history.told_count(1)), (3, 0));
        assert_eq!(history.pending(1).collect::<Vec<_>>(), [[0.5]]);
        assert_eq!(history.pending(0).count(), 0);
        assert_eq!(history.position, 7);
        assert_eq!(history.point(3), [2.0]);
        let import = &history.evaluations[3];
        assert_eq!((import.id, import.cost, import.asked), (3, 0.0, false));
    }

    #[test]
    fn what_came_to_an_end_was_paid_for() {
        let mut history = after([asked(0, "f", 0.5), asked(1, "g", 1.0), asked(2, "g", 1.5)]);
        assert_eq!(history.spent(), 0.0);
        for event in [told(0, 1.0), failed(1), Event::Withdrawn { evaluation: 2 }] {
            history.apply(&event.into()).unwrap();
        }
        assert_eq!(history.spent(), 11.0);
        assert_eq!((history.spent_on(0), history.spent_on(1)), (1.0, 10.0));
        assert_eq!(history.failed(1).collect::<Vec<_>>(), [[0.5]]);
        history.apply(&imported(3, "f", 0.1, 0.0).into()).unwrap();
        assert_eq!(history.spent(), 11.0);
    }

    #[test]
    fn a_new_cost_holds_from_then_on() {
        let change = Event::CostChanged { objective: "g".into(), cost: 3.5 };
        let history = after([asked(0, "g", 1.0), change, told(0, 1.0)]);
        assert_eq!((history.cost(0), history.cost(1)), (1.0, 3.5));
        assert_eq!(history.spent(), 10.0);
    }

    #[test]
    fn a_late_result_is_kept() {
        for end in [failed(0), Event::Withdrawn { evaluation: 0 }] {
            let history = after([asked(0, "f", 0.5), end, told(0, 4.0)]);
            assert_eq!(history.evaluations[0].status, Status::Told(4.0));
            assert_eq!(history.observations(0).count(), 1);
            assert_eq!(history.spent(), 1.0);
        }
    }

    #[test]
    fn an_evaluation_is_settled_once() {
        let withdrawn = || Event::Withdrawn { evaluation: 0 };
        let already = |how| Err(Error::AlreadySettled { id: 0, how });
        let history = after([asked(0, "f", 0.5), told(0, 1.0)]);
        for again in [told(0, 1.0), failed(0), withdrawn()] {
            assert_eq!(history.check(&again), already("completed"));
        }
        let history = after([asked(0, "f", 0.5), failed(0)]);
        assert_eq!(history.check(&failed(0)), already("failed"));
        let history = after([asked(0, "f", 0.5), withdrawn()]);
        assert_eq!(history.check(&failed(0)), already("withdrawn"));
        let history = after([imported(0, "f", 0.5, 1.0)]);
        assert_eq!(history.check(&told(0, 2.0)), already("completed"));
    }

    #[test]
    fn a_journal_begins_with_the_creation_and_has_no_other() {
        let position = |result: Result<History>| match result {
            Err(Error::CorruptJournal { position, .. }) => Some(position),
            _ => None,
        };
        assert_eq!(position(replay([])), Some(0));
        assert_eq!(position(replay([told(0, 1.0)])), Some(0));
        assert_eq!(position(replay([created(), created()])), Some(1));
        let problem = Problem { parameters: vec![], objectives: vec![], limits: vec![] };
        let invalid = Event::Created { problem, config: Config::default(), seed: 0 };
        assert_eq!(position(replay([invalid])), Some(0));
    }

    /// Events that no journal can have after evaluation 0, of f, was asked for.
    fn contradictions() -> Vec<Event> {
        let ask = |design: Design, objective: &str, cost| {
            let objective = objective.into();
            Event::Asked { evaluation: 1, design, objective, cost, initial: false }
        };
        let x = || Design::new().with("x", 1.0);
        let price =
            |objective: &str, cost| Event::CostChanged { objective: objective.into(), cost };
        vec![
            created(),
            asked(0, "f", 0.5),
            asked(2, "f", 0.5),
            asked(u64::MAX, "f", 0.5),
            ask(x(), "h", 1.0),
            ask(x(), "f", 0.0),
            ask(x(), "f", f64::NAN),
            ask(Design::new(), "f", 1.0),
            ask(x().with("y", 1.0), "f", 1.0),
            ask(Design::new().with("x", f64::NAN), "f", 1.0),
            ask(Design::new().with("x", "red"), "f", 1.0),
            imported(1, "h", 0.5, 1.0),
            imported(1, "f", 0.5, f64::NAN),
            imported(3, "f", 0.5, 1.0),
            told(1, 1.0),
            told(u64::MAX, 1.0),
            told(0, f64::NAN),
            told(0, f64::INFINITY),
            failed(1),
            Event::Withdrawn { evaluation: 1 },
            price("h", 1.0),
            price("f", -1.0),
            price("f", f64::INFINITY),
        ]
    }

    #[test]
    fn contradictions_are_refused_and_change_nothing() {
        let mut history = after([asked(0, "f", 0.5)]);
        let before = history.clone();
        for event in contradictions() {
            assert!(history.check(&event).is_err(), "{event:?}");
            let Err(Error::CorruptJournal { position: 2, .. }) =
                history.apply(&event.clone().into())
            else {
                panic!("{event:?} was accepted")
            };
            assert_eq!(history, before);
        }
    }

    #[test]
    fn whoever_causes_a_contradiction_learns_what_to_change() {
        let history = after([asked(0, "f", 0.5)]);
        assert_eq!(history.check(&told(5, 1.0)), Err(Error::UnknownEvaluation { id: 5 }));
        let price = Event::CostChanged { objective: "f".into(), cost: 0.0 };
        let bad = Error::BadCost { objective: "f".into(), cost: 0.0 };
        assert_eq!(history.check(&price), Err(bad));
        assert!(matches!(history.check(&told(0, f64::NAN)), Err(Error::BadValue { .. })));
        assert_eq!(history.check(&told(0, 1.0)), Ok(()));
    }

    #[test]
    fn newer_formats_are_refused_and_older_ones_are_not() {
        let newer = |event| Record { format: FORMAT + 1, event };
        let refusal = Error::Format { found: FORMAT + 1, known: FORMAT };
        assert_eq!(History::replay(&[newer(created())]), Err(refusal.clone()));
        let mut history = after([asked(0, "f", 0.5)]);
        assert_eq!(history.apply(&newer(told(0, 1.0))), Err(refusal));
        assert_eq!(history.evaluations[0].status, Status::Pending);
        let older = Record { format: 0, event: told(0, 1.0) };
        assert_eq!(history.apply(&older), Ok(()));
    }

    #[test]
    fn a_journal_of_format_1_replays_for_ever() {
        let text = include_str!("../tests/golden/journal-format-1.jsonl");
        let records: Vec<Record> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let history = History::replay(&records).unwrap();
        let observed: Vec<_> = history.observations(0).collect();
        assert_eq!(observed, [(&[0.25][..], 0.1), (&[1.0][..], -3.0)]);
        assert_eq!(history.evaluations[2].status, Status::Withdrawn);
        assert_eq!(history.failed(0).collect::<Vec<_>>(), [[0.75]]);
        assert_eq!((history.spent(), history.cost(0)), (3.5, 2.5));
    }

    proptest! {
        #[test]
        fn a_journal_cut_anywhere_is_a_valid_history(records in cases::journals()) {
            let mut history = History::replay(&records[..1]).unwrap();
            for (i, record) in records.iter().enumerate().skip(1) {
                history.apply(record).unwrap();
                prop_assert_eq!(&History::replay(&records[..=i]).unwrap(), &history);
                prop_assert_eq!(history.position, i as u64 + 1);
            }
        }

        #[test]
        fn every_evaluation_is_counted_once(records in cases::journals()) {
            let history = History::replay(&records).unwrap();
            let objectives = 0..history.problem.objectives.len();
            let count = |m| {
                history.told_count(m) + history.pending(m).count() + history.failed(m).count()
            };
            let withdrawn = history.evaluations.iter().filter(|e| e.status == Status::Withdrawn);
            let counted: usize = objectives.clone().map(count).sum();
            prop_assert_eq!(counted + withdrawn.count(), history.evaluations.len());
            for m in objectives.clone() {
                prop_assert_eq!(history.observations(m).count(), history.told_count(m));
            }
            let parts: f64 = objectives.map(|m| history.spent_on(m)).sum();
            prop_assert!((parts - history.spent()).abs() <= 1e-12 * parts);
        }
    }
}
