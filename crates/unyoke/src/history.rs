//! The state of a study: what its events, taken in order, amount to.
//!
//! Nothing here decides anything. A record is either admitted, and changes the state, or is
//! refused, and changes nothing.

use std::collections::{BTreeMap, HashMap};

use crate::config::Config;
use crate::design::{Design, Value};
use crate::error::{Error, Result};
use crate::event::{Event, Header, Record};
use crate::problem::{Cost, LearnedCost, Problem, Scale};
use crate::reading::{Outcome, Reading, Results};
use crate::space::Space;

/// One design, one measurement, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// Its number, counting from zero.
    pub id: u64,
    /// The design, as it was suggested or as it was really made.
    pub design: Design,
    /// Which measurement, by its place in the problem; `None` for results from elsewhere.
    pub measurement: Option<usize>,
    /// The outputs it gives, by their places in the problem.
    pub outputs: Vec<usize>,
    /// What it was expected to cost when it was asked for; 0 for results from elsewhere.
    pub cost: f64,
    /// What it really cost, where that is known.
    pub paid: Option<f64>,
    /// What failed attempts before this one really cost.
    pub sunk: f64,
    /// How often it was made pending again after it had failed.
    pub retried: u32,
    /// Whether it belongs to the first designs, chosen without a model.
    pub initial: bool,
    /// Whether it was asked for; otherwise its results come from elsewhere.
    pub asked: bool,
    /// What became of it.
    pub status: Status,
}

impl Evaluation {
    /// What has been paid for it so far. A failure costs as much as a success.
    pub fn spent(&self) -> f64 {
        let current = match self.status {
            Status::Completed(_) | Status::Failed(_) => self.paid.unwrap_or(self.cost),
            Status::Pending | Status::Withdrawn => 0.0,
        };
        self.sunk + current
    }

    /// What was measured of an output, if anything.
    pub fn reading(&self, output: usize) -> Option<Reading> {
        match &self.status {
            Status::Completed(results) => results.get(output),
            _ => None,
        }
    }

    /// Whether it ended without a value of this output, which it should have given.
    pub fn lacks(&self, output: usize) -> bool {
        let ended = match &self.status {
            Status::Completed(results) => results.get(output).is_none(),
            Status::Failed(_) => true,
            Status::Pending | Status::Withdrawn => false,
        };
        ended && self.outputs.contains(&output)
    }
}

/// What became of an evaluation.
#[derive(Debug, Clone, PartialEq)]
pub enum Status {
    /// Its result is awaited.
    Pending,
    /// It gave these values.
    Completed(Results),
    /// It ended without a result, for this reason.
    Failed(String),
    /// It will not be made.
    Withdrawn,
}

impl Status {
    /// The status in a word, as in "is recorded as failed".
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Completed(_) => "completed",
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
    /// Where each was to be made, which may have been elsewhere.
    suggested: Vec<Vec<f64>>,
    /// The evaluations with results, in the order in which these arrived.
    completed: Vec<usize>,
    /// What each measurement costs now.
    costs: Vec<Cost>,
}

/// What an event does to a history that admits it.
enum Change {
    Add { evaluation: Evaluation, point: Vec<f64> },
    Settle { index: usize, status: Status, paid: Option<f64>, place: Option<(Design, Vec<f64>)> },
    Reopen { index: usize },
    Price { measurement: usize, cost: Cost },
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
            costs: problem.measurements.iter().map(|m| m.cost.clone()).collect(),
            problem: problem.clone(),
            config: config.clone(),
            seed: *seed,
            evaluations: Vec::new(),
            position: 1,
            points: Vec::new(),
            suggested: Vec::new(),
            completed: Vec::new(),
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
            Event::Asked { evaluation, design, measurement, cost, initial } => {
                let m = self.problem.measurement_index(measurement)?;
                check_cost(measurement, *cost)?;
                let mut new = self.evaluation(*evaluation, design, Status::Pending)?;
                (new.measurement, new.outputs) = (Some(m), self.problem.outputs_of(m));
                (new.cost, new.initial, new.asked) = (*cost, *initial, true);
                self.add(new)
            }
            Event::Added { evaluation, design, values } => {
                self.import(*evaluation, design, self.named(values)?)
            }
            Event::Imported { evaluation, design, objective, value } => {
                let readings = vec![(self.problem.output_index(objective)?, (*value).into())];
                self.import(*evaluation, design, readings)
            }
            Event::Measured { evaluation, values, missing, cost, design } => {
                let readings = self.named(values)?;
                self.complete(*evaluation, readings, missing, *cost, design.as_ref())
            }
            Event::Told { evaluation, value } => {
                let readings = vec![(self.only_output(*evaluation)?, (*value).into())];
                self.complete(*evaluation, readings, &None, None, None)
            }
            Event::Failed { evaluation, reason, cost } => {
                self.settle(*evaluation, Status::Failed(reason.clone()), *cost)
            }
            Event::Withdrawn { evaluation } => self.settle(*evaluation, Status::Withdrawn, None),
            Event::Retried { evaluation } => self.reopen(*evaluation),
            Event::CostChanged { measurement, cost } => {
                let index = self.problem.measurement_index(measurement)?;
                self.check_new_cost(measurement, cost)?;
                Ok(Change::Price { measurement: index, cost: cost.clone() })
            }
        }
    }

    /// An evaluation as if its results came from elsewhere, given that its number is the next one.
    fn evaluation(&self, id: u64, design: &Design, status: Status) -> Result<Evaluation> {
        let next = self.evaluations.len() as u64;
        if id != next {
            return Err(self.nonsense(format!("evaluation {id} stands where {next} must follow")));
        }
        Ok(Evaluation {
            id,
            design: design.clone(),
            measurement: None,
            outputs: vec![],
            cost: 0.0,
            paid: None,
            sunk: 0.0,
            retried: 0,
            initial: false,
            asked: false,
            status,
        })
    }

    fn add(&self, evaluation: Evaluation) -> Result<Change> {
        let point = self.space.encode(&evaluation.design)?;
        Ok(Change::Add { evaluation, point })
    }

    fn import(&self, id: u64, design: &Design, readings: Vec<(usize, Reading)>) -> Result<Change> {
        if readings.is_empty() {
            return Err(self.nonsense("results without a value"));
        }
        self.check_readings(&readings)?;
        let outputs = readings.iter().map(|(output, _)| *output).collect();
        let status = Status::Completed(Results::new(readings, None));
        self.add(Evaluation { outputs, ..self.evaluation(id, design, status)? })
    }

    /// Values by the places of their outputs.
    fn named(&self, values: &BTreeMap<String, Reading>) -> Result<Vec<(usize, Reading)>> {
        let place =
            |(name, reading): (&String, &Reading)| Ok((self.problem.output_index(name)?, *reading));
        values.iter().map(place).collect()
    }

    /// The output of an evaluation that gives a single one.
    fn only_output(&self, id: u64) -> Result<usize> {
        match self.evaluations[self.index(id)?].outputs[..] {
            [output] => Ok(output),
            _ => Err(self.wrong_outputs(id, "say which value belongs to which, by name")),
        }
    }

    fn wrong_outputs(&self, id: u64, reason: impl Into<String>) -> Error {
        let outputs = self.evaluations.get(id as usize).map_or(&[][..], |e| &e.outputs);
        let outputs = outputs.iter().map(|k| self.problem.outputs[*k].name.clone()).collect();
        Error::WrongOutputs { id, outputs, reason: reason.into() }
    }

    /// The event that records what somebody says came out of an evaluation: its values, or that it
    /// failed if none of them is a number.
    pub(crate) fn ended(&self, id: u64, outcome: Outcome) -> Result<Event> {
        let Outcome { only, mut values, missing, cost, design } = outcome;
        let is_alone = only.is_some();
        if let Some(reading) = only {
            let output = self.only_output(id)?;
            values.insert(self.problem.outputs[output].name.clone(), reading);
        }
        let (values, not_finite): (BTreeMap<_, _>, BTreeMap<_, _>) =
            values.into_iter().partition(|(_, reading)| reading.value.is_finite());
        let not_finite = not_finite.iter().map(|(name, reading)| match is_alone {
            true => format!("the result is {}", reading.value),
            false => format!("{name} is {}", reading.value),
        });
        let reasons: Vec<String> = missing.into_iter().chain(not_finite).collect();
        let missing = (!reasons.is_empty()).then(|| reasons.join("; "));
        if values.is_empty() {
            let reason = missing.unwrap_or_else(|| "gave no value".to_owned());
            return Ok(Event::Failed { evaluation: id, reason, cost });
        }
        Ok(Event::Measured { evaluation: id, values, missing, cost, design })
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
    pub(crate) fn missing(&self, results: &[(Design, String, Reading)]) -> Vec<usize> {
        let mut there: HashMap<Known<'_>, usize> = HashMap::new();
        for evaluation in &self.evaluations {
            let Status::Completed(results) = &evaluation.status else { continue };
            for (output, reading) in results.iter() {
                let output = &self.problem.outputs[output].name;
                let known = self.known(&evaluation.design, output, reading.value);
                *there.entry(known).or_default() += 1;
            }
        }
        let mut missing = vec![];
        for (place, (design, output, reading)) in results.iter().enumerate() {
            match there.get_mut(&self.known(design, output, reading.value)) {
                Some(times) if *times > 0 => *times -= 1,
                _ => missing.push(place),
            }
        }
        missing
    }

    /// A result as something to compare.
    fn known<'a>(&self, design: &'a Design, output: &'a str, value: f64) -> Known<'a> {
        let values = self.problem.parameters.iter().filter_map(|p| design.get(p.name()));
        Known { design: values.map(KnownValue::new).collect(), output, value: bits(value) }
    }

    /// A result is welcome however late, but only once.
    fn complete(
        &self,
        id: u64,
        readings: Vec<(usize, Reading)>,
        missing: &Option<String>,
        cost: Option<f64>,
        design: Option<&Design>,
    ) -> Result<Change> {
        let index = self.index(id)?;
        let Evaluation { status, outputs, .. } = &self.evaluations[index];
        if let Status::Completed(_) = status {
            return Err(Error::AlreadySettled { id, how: status.word() });
        }
        if let Some((other, _)) = readings.iter().find(|(output, _)| !outputs.contains(output)) {
            let name = &self.problem.outputs[*other].name;
            return Err(self.wrong_outputs(id, format!("{name} is not one of these")));
        }
        if readings.is_empty() {
            return Err(self.wrong_outputs(id, "no value was given"));
        }
        self.check_readings(&readings)?;
        self.check_paid(index, cost)?;
        let place = design.map(|design| Ok((design.clone(), self.space.encode(design)?)));
        let place = place.transpose().map_err(|error: Error| error)?;
        let status = Status::Completed(Results::new(readings, missing.clone()));
        Ok(Change::Settle { index, status, paid: cost, place })
    }

    /// An end without result, which only an evaluation that has not ended can come to.
    fn settle(&self, id: u64, status: Status, paid: Option<f64>) -> Result<Change> {
        let index = self.index(id)?;
        self.check_paid(index, paid)?;
        match &self.evaluations[index].status {
            Status::Pending => Ok(Change::Settle { index, status, paid, place: None }),
            settled => Err(Error::AlreadySettled { id, how: settled.word() }),
        }
    }

    fn reopen(&self, id: u64) -> Result<Change> {
        let index = self.index(id)?;
        match &self.evaluations[index].status {
            Status::Failed(_) => Ok(Change::Reopen { index }),
            other => Err(Error::AlreadySettled { id, how: other.word() }),
        }
    }

    fn check_readings(&self, readings: &[(usize, Reading)]) -> Result<()> {
        for (output, Reading { value, sd }) in readings {
            let output = &self.problem.outputs[*output];
            let refuse = |name: String, value: f64, must: &str| {
                let (value, must) = (value.to_string(), must.to_owned());
                Err(Error::BadValue { parameter: name, value, must })
            };
            if output.formula.is_some() {
                let must = "left out: it is a formula, known everywhere";
                return refuse(output.name.clone(), *value, must);
            }
            if !value.is_finite() {
                return refuse(output.name.clone(), *value, "a finite number");
            }
            if output.scale == Scale::Log && *value <= 0.0 {
                return refuse(output.name.clone(), *value, "positive: it is on a log scale");
            }
            if let Some(sd) = sd.filter(|sd| !(sd.is_finite() && *sd >= 0.0)) {
                let name = format!("the standard error of {}", output.name);
                return refuse(name, sd, "finite and not negative");
            }
        }
        Ok(())
    }

    /// Whether this can be the cost of a measurement.
    fn check_new_cost(&self, measurement: &str, cost: &Cost) -> Result<()> {
        match cost {
            Cost::Constant(cost) | Cost::Learned(LearnedCost { guess: cost, .. }) => {
                check_cost(measurement, *cost)
            }
            Cost::Formula(text) => self.space.bind(text).map(|_| ()),
        }
    }

    fn check_paid(&self, index: usize, cost: Option<f64>) -> Result<()> {
        match cost {
            Some(cost) if !(cost.is_finite() && cost >= 0.0) => {
                let measurement = self.evaluations[index].measurement;
                let name = measurement.map_or("", |m| &self.problem.measurements[m].name);
                Err(Error::BadValue {
                    parameter: format!("the cost of {name}"),
                    value: cost.to_string(),
                    must: "finite and not negative".to_owned(),
                })
            }
            _ => Ok(()),
        }
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
                if let Status::Completed(_) = evaluation.status {
                    self.completed.push(self.evaluations.len());
                }
                self.evaluations.push(evaluation);
                self.suggested.push(point.clone());
                self.points.push(point);
            }
            Change::Settle { index, status, paid, place } => {
                if let Status::Completed(_) = status {
                    self.completed.push(index);
                }
                let evaluation = &mut self.evaluations[index];
                (evaluation.status, evaluation.paid) = (status, paid);
                if let Some((design, point)) = place {
                    (evaluation.design, self.points[index]) = (design, point);
                }
            }
            Change::Reopen { index } => {
                let evaluation = &mut self.evaluations[index];
                evaluation.sunk += evaluation.paid.take().unwrap_or(0.0);
                evaluation.retried += 1;
                evaluation.status = Status::Pending;
            }
            Change::Price { measurement, cost } => self.costs[measurement] = cost,
        }
    }

    /// Where evaluation `id`, which must exist, lies in the cube.
    pub(crate) fn point(&self, id: u64) -> &[f64] {
        &self.points[id as usize]
    }

    /// Where evaluation `id`, which must exist, was to be made.
    pub(crate) fn suggested_point(&self, id: u64) -> &[f64] {
        &self.suggested[id as usize]
    }

    /// Points and values of an output, in the order in which they arrived and in its own units.
    pub(crate) fn observations(&self, output: usize) -> impl Iterator<Item = (&[f64], Reading)> {
        let value = move |e: &Evaluation| Some((e.id, e.reading(output)?));
        self.completed().filter_map(value).map(|(id, reading)| (self.point(id), reading))
    }

    /// Evaluations that have results, in the order in which these arrived.
    pub(crate) fn completed(&self) -> impl Iterator<Item = &Evaluation> {
        self.completed.iter().map(|&index| &self.evaluations[index])
    }

    /// Points at which a value of the output is awaited.
    pub(crate) fn pending(&self, output: usize) -> impl Iterator<Item = &[f64]> {
        let is_pending = |e: &Evaluation| e.status == Status::Pending;
        self.points_where(move |e| is_pending(e) && e.outputs.contains(&output))
    }

    /// Points at which the output could not be measured.
    pub(crate) fn failed(&self, output: usize) -> impl Iterator<Item = &[f64]> {
        self.points_where(move |e| e.lacks(output))
    }

    fn points_where(&self, wanted: impl Fn(&Evaluation) -> bool) -> impl Iterator<Item = &[f64]> {
        let pairs = self.evaluations.iter().zip(&self.points);
        pairs.filter(move |(e, _)| wanted(e)).map(|(_, point)| point.as_slice())
    }

    /// Evaluations that were asked for and not withdrawn, in order of their numbers.
    pub(crate) fn asked(&self) -> impl Iterator<Item = &Evaluation> {
        self.evaluations.iter().filter(|e| e.asked && e.status != Status::Withdrawn)
    }

    /// What all evaluations that were asked for and came to an end have cost.
    pub(crate) fn spent(&self) -> f64 {
        self.evaluations.iter().map(Evaluation::spent).sum()
    }

    /// What all evaluations under way are expected to cost.
    pub(crate) fn pending_cost(&self) -> f64 {
        let pending = self.evaluations.iter().filter(|e| e.status == Status::Pending);
        pending.map(|evaluation| evaluation.cost).sum()
    }

    /// What those of one measurement have cost.
    pub(crate) fn spent_on(&self, measurement: usize) -> f64 {
        let own = self.evaluations.iter().filter(|e| e.measurement == Some(measurement));
        own.map(Evaluation::spent).sum()
    }

    /// What a measurement costs now.
    pub(crate) fn cost(&self, measurement: usize) -> &Cost {
        &self.costs[measurement]
    }

    /// Number of values of an output.
    pub(crate) fn count(&self, output: usize) -> usize {
        self.observations(output).count()
    }
}

/// A result by its numbers: two that are equal are taken for the same measurement.
#[derive(PartialEq, Eq, Hash)]
struct Known<'a> {
    design: Vec<KnownValue<'a>>,
    output: &'a str,
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

fn check_cost(measurement: &str, cost: f64) -> Result<()> {
    if cost.is_finite() && cost > 0.0 {
        Ok(())
    } else {
        Err(Error::BadCost { measurement: measurement.to_owned(), cost })
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
    use crate::problem::{Measurement, Output};
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

    fn asked(evaluation: u64, measurement: &str, x: f64) -> Event {
        let cost = if measurement == "f" { 1.0 } else { 10.0 };
        let design = Design::new().with("x", x);
        Event::Asked { evaluation, design, measurement: measurement.into(), cost, initial: false }
    }

    fn imported(evaluation: u64, objective: &str, x: f64, value: f64) -> Event {
        let design = Design::new().with("x", x);
        Event::Imported { evaluation, design, objective: objective.into(), value }
    }

    fn told(evaluation: u64, value: f64) -> Event {
        Event::Told { evaluation, value }
    }

    fn failed(evaluation: u64) -> Event {
        Event::Failed { evaluation, reason: "crashed".into(), cost: None }
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
        let f: Vec<_> = history.observations(0).map(|(x, reading)| (x, reading.value)).collect();
        assert_eq!(f, [(&[0.75][..], 3.0), (&[2.0][..], 2.0), (&[0.25][..], 1.0)]);
        assert_eq!(history.observations(1).count(), 0);
        assert_eq!((history.count(0), history.count(1)), (3, 0));
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
        let change = Event::CostChanged { measurement: "g".into(), cost: 3.5.into() };
        let history = after([asked(0, "g", 1.0), change, told(0, 1.0)]);
        assert_eq!([history.cost(0), history.cost(1)], [&1.0.into(), &3.5.into()]);
        assert_eq!(history.spent(), 10.0);
    }

    #[test]
    fn a_late_result_is_kept() {
        for end in [failed(0), Event::Withdrawn { evaluation: 0 }] {
            let history = after([asked(0, "f", 0.5), end, told(0, 4.0)]);
            assert_eq!(history.evaluations[0].reading(0), Some(4.0.into()));
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

    /// A study with a run that gives two outputs, and what was recorded of its first evaluation.
    fn of_two(outcome: impl Into<Outcome>) -> (History, Result<()>) {
        let run = Measurement::new("run", ["f", "g"], 5.0);
        let problem = Problem::builder()
            .continuous("x", 0.0, 2.0)
            .output(Output::maximise("f"))
            .output(Output::at_most("g", 1.0).log_scale())
            .measurement(run)
            .build()
            .unwrap();
        let created = Event::Created { problem, config: Config::default(), seed: 7 };
        let mut history = replay([created, asked(0, "run", 0.5)]).unwrap();
        let recorded =
            history.ended(0, outcome.into()).and_then(|event| history.apply(&event.into()));
        (history, recorded)
    }

    #[test]
    fn a_run_that_failed_in_part_keeps_the_values_it_gave() {
        for outcome in [
            Outcome::from([("f", 1.5), ("g", f64::NAN)]),
            Outcome::from([("f", 1.5)]).missing("g is NaN"),
        ] {
            let (history, recorded) = of_two(outcome);
            assert_eq!(recorded, Ok(()));
            assert_eq!((history.count(0), history.count(1)), (1, 0));
            assert_eq!((history.failed(0).count(), history.failed(1).count()), (0, 1));
            let Status::Completed(results) = &history.evaluations[0].status else { panic!() };
            assert_eq!(results.missing.as_deref(), Some("g is NaN"));
            assert_eq!(history.spent(), 10.0);
        }
        let (history, recorded) = of_two([("f", f64::NAN), ("g", f64::INFINITY)]);
        assert_eq!(recorded, Ok(()));
        let reason = "f is NaN; g is inf".to_owned();
        assert_eq!(history.evaluations[0].status, Status::Failed(reason));
    }

    #[test]
    fn values_must_be_those_of_the_measurement_and_possible() {
        let refused = |outcome: Outcome| of_two(outcome).1.unwrap_err().to_string();
        let alone = refused(1.0.into());
        assert!(
            alone.contains("evaluation 0 measures f, g") && alone.contains("by name"),
            "{alone}"
        );
        let unknown = refused([("h", 1.0)].into());
        assert!(unknown.contains("no output is called \"h\""), "{unknown}");
        let negative = refused([("f", 1.0), ("g", -1.0)].into());
        assert!(negative.contains("g is -1, but must be positive"), "{negative}");
        for sd in [-1.0, f64::NAN, f64::INFINITY] {
            let message =
                refused(Outcome::default().value("f", Reading { value: 1.0, sd: Some(sd) }));
            assert!(message.contains("standard error of f"), "{message}");
        }
        for cost in [-1.0, f64::NAN] {
            let message = refused(Outcome::from([("f", 1.0)]).cost(cost));
            assert!(message.contains("cost"), "{message}");
        }
        let (history, recorded) =
            of_two(Outcome::default().value("f", Reading { value: 1.0, sd: Some(0.0) }));
        assert_eq!((recorded, history.count(0)), (Ok(()), 1));
    }

    #[test]
    fn what_really_happened_counts() {
        let outcome = Outcome::from([("f", 1.0), ("g", 2.0)]).cost(7.5);
        let (history, recorded) = of_two(outcome.at(Design::new().with("x", 0.52)));
        assert_eq!(recorded, Ok(()));
        assert_eq!(history.spent(), 7.5);
        assert_eq!(history.evaluations[0].design, Design::new().with("x", 0.52));
        assert_eq!(history.point(0), [0.26]);
    }

    #[test]
    fn a_failed_evaluation_may_be_made_again_and_is_paid_for_once_unless_it_said_otherwise() {
        let retried = || Event::Retried { evaluation: 0 };
        let failed_at = |cost| Event::Failed { evaluation: 0, reason: "no".into(), cost };
        for (cost, total) in [(None, 1.0), (Some(0.25), 1.25)] {
            let history = after([asked(0, "f", 0.5), failed_at(cost), retried()]);
            assert_eq!(history.pending(0).count(), 1);
            assert_eq!(history.failed(0).count(), 0);
            let mut history = history;
            assert!(history.check(&retried()).is_err());
            history.apply(&told(0, 2.0).into()).unwrap();
            assert_eq!(history.spent(), total);
            assert!(history.check(&retried()).is_err());
        }
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
        let (outputs, measurements, limits) = (vec![], vec![], vec![]);
        let problem = Problem { parameters: vec![], outputs, measurements, limits };
        let invalid = Event::Created { problem, config: Config::default(), seed: 0 };
        assert_eq!(position(replay([invalid])), Some(0));
    }

    /// Events that no journal can have after evaluation 0, of f, was asked for.
    fn contradictions() -> Vec<Event> {
        let ask = |design: Design, measurement: &str, cost| {
            let measurement = measurement.into();
            Event::Asked { evaluation: 1, design, measurement, cost, initial: false }
        };
        let x = || Design::new().with("x", 1.0);
        let price = |measurement: &str, cost: f64| Event::CostChanged {
            measurement: measurement.into(),
            cost: cost.into(),
        };
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
        let price = Event::CostChanged { measurement: "f".into(), cost: 0.0.into() };
        let bad = Error::BadCost { measurement: "f".into(), cost: 0.0 };
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
        let observed: Vec<_> = history.observations(0).map(|(x, r)| (x, r.value)).collect();
        assert_eq!(observed, [(&[0.25][..], 0.1), (&[1.0][..], -3.0)]);
        assert_eq!(history.evaluations[2].status, Status::Withdrawn);
        assert_eq!(history.failed(0).collect::<Vec<_>>(), [[0.75]]);
        assert_eq!((history.spent(), history.cost(0)), (3.5, &2.5.into()));
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
            let with = |status: fn(&Status) -> bool| {
                history.evaluations.iter().filter(|e| status(&e.status)).collect::<Vec<_>>()
            };
            let withdrawn = with(|status| *status == Status::Withdrawn);
            // Once for each output that it gives, or could not give.
            let expected: usize = history.evaluations.iter().map(|e| e.outputs.len()).sum();
            let left_out: usize = withdrawn.iter().map(|e| e.outputs.len()).sum();
            let count =
                |k| history.count(k) + history.pending(k).count() + history.failed(k).count();
            let counted: usize = (0..history.problem.outputs.len()).map(count).sum();
            prop_assert_eq!(counted + left_out, expected);
            let measurements = 0..history.problem.measurements.len();
            let parts: f64 = measurements.map(|m| history.spent_on(m)).sum();
            prop_assert!((parts - history.spent()).abs() <= 1e-12 * parts);
        }
    }
}
