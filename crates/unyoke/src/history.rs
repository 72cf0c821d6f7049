//! The state of a study: what its events, taken in order, amount to.
//!
//! Nothing here decides anything. A record is either admitted, and changes the state, or is
//! refused, and changes nothing.

mod evaluation;
mod queue;
mod redefining;

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::config::{Config, Wishes};
use crate::design::{Design, Value};
use crate::error::{Error, Result};
use crate::event::{Event, Header, Pause, Record};
use crate::problem::{Cost, LearnedCost, Problem, Scale};
use crate::reading::{Outcome, Reading, Results};
use crate::remembered::Remembered;
use crate::space::Space;

pub use evaluation::{Evaluation, Status, Superseded};
pub use queue::QueueEntry;

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
    /// The design of that.
    asked_at: Vec<Design>,
    /// The evaluations that have ended, in the order in which they did. Those that were corrected or
    /// retracted keep their place.
    ended: Vec<usize>,
    /// What each measurement costs now.
    costs: Vec<Cost>,
    /// Designs that users want to be measured; each stands at the index that is its number.
    pub(crate) queue: Vec<QueueEntry>,
    /// The measurements that cannot be made for a while, by name.
    pub(crate) pauses: BTreeMap<String, Pause>,
    /// The last change of the budget.
    pub(crate) budget: Option<BudgetChange>,
    /// What was worked out of all this.
    pub(crate) remembered: Remembered,
}

/// That the most that may be spent has changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BudgetChange {
    /// How many records the journal had before.
    pub position: u64,
    /// The most, in the unit of costs; without it there is no limit.
    pub cost: Option<f64>,
}

/// What an event does to a history that admits it.
enum Change {
    Add { evaluation: Evaluation, point: Vec<f64> },
    Settle { index: usize, status: Status, paid: Option<f64>, place: Option<(Design, Vec<f64>)> },
    Supersede { index: usize, status: Status, paid: Option<f64>, place: Option<(Design, Vec<f64>)> },
    Reopen { index: usize },
    Price { measurement: usize, cost: Cost },
    Amend { wishes: Box<Wishes> },
    Redefine { next: Box<History> },
    Queue { entry: QueueEntry },
    Unqueue { entry: usize },
    Skip { index: usize },
    Pause { measurement: String, pause: Pause },
    Resume { measurement: String },
    Budget { cost: Option<f64> },
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
            asked_at: Vec::new(),
            ended: Vec::new(),
            queue: Vec::new(),
            pauses: BTreeMap::new(),
            budget: None,
            remembered: Remembered::default(),
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
        self.remembered.forget();
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
                let new = self.asked_for(*evaluation, design, measurement, *cost)?;
                self.add(Evaluation { initial: *initial, ..new })
            }
            Event::ConfirmationAsked { evaluation, design, measurement, cost, round } => {
                if !(1..=self.position).contains(round) {
                    return Err(self.nonsense(format!("designs recommended from {round} records")));
                }
                let new = self.asked_for(*evaluation, design, measurement, *cost)?;
                self.add(Evaluation { confirms: Some(*round), ..new })
            }
            Event::Queued { entry, design, measurement } => {
                self.queued(*entry, design, measurement.as_deref())
            }
            Event::QueuedAsked { evaluation, design, measurement, cost, entry } => {
                let queued = self.queue.get(*entry as usize);
                if queued.is_none_or(|queued| queued.dropped || queued.design != *design) {
                    return Err(self.nonsense(format!("a design that entry {entry} has not")));
                }
                let new = self.asked_for(*evaluation, design, measurement, *cost)?;
                self.add(Evaluation { queued: Some(*entry), ..new })
            }
            Event::Unqueued { entry } => self.unqueued(*entry),
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
            Event::Skipped { evaluation } => {
                self.settle(*evaluation, Status::Withdrawn, None)?;
                Ok(Change::Skip { index: self.index(*evaluation)? })
            }
            Event::Paused { measurement, until, reason } => {
                self.problem.measurement_index(measurement)?;
                let pause = Pause { until: *until, reason: reason.clone() };
                Ok(Change::Pause { measurement: measurement.clone(), pause })
            }
            Event::Resumed { measurement } => {
                self.problem.measurement_index(measurement)?;
                Ok(Change::Resume { measurement: measurement.clone() })
            }
            Event::BudgetChanged { cost } => match cost {
                Some(cost) if !(cost.is_finite() && *cost >= 0.0) => Err(Error::BadValue {
                    parameter: "the budget".to_owned(),
                    value: cost.to_string(),
                    must: "finite and not negative".to_owned(),
                }),
                cost => Ok(Change::Budget { cost: *cost }),
            },
            Event::Retried { evaluation } => self.reopen(*evaluation),
            Event::Corrected { evaluation, values, missing, cost, design } => {
                let readings = self.named(values)?;
                self.correct(*evaluation, readings, missing, *cost, design.as_ref())
            }
            Event::Retracted { evaluation, reason } => self.retract(*evaluation, reason),
            Event::CostChanged { measurement, cost } => {
                let index = self.problem.measurement_index(measurement)?;
                self.check_new_cost(measurement, cost)?;
                Ok(Change::Price { measurement: index, cost: cost.clone() })
            }
            Event::Redefined { problem, config, was } => {
                Ok(Change::Redefine { next: Box::new(self.redefined(problem, config, was)?) })
            }
            Event::Amended { wishes } => {
                self.config.clone().with_wishes(wishes.clone()).check_replayable(&self.problem)?;
                Ok(Change::Amend { wishes: Box::new(wishes.clone()) })
            }
        }
    }

    /// An evaluation that was asked for, given that its number is the next one.
    fn asked_for(
        &self,
        id: u64,
        design: &Design,
        measurement: &str,
        cost: f64,
    ) -> Result<Evaluation> {
        let m = self.problem.measurement_index(measurement)?;
        check_cost(measurement, cost)?;
        let mut new = self.evaluation(id, design, Status::Pending)?;
        (new.measurement, new.outputs) = (Some(m), self.problem.outputs_of(m));
        (new.cost, new.asked) = (cost, true);
        Ok(new)
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
            confirms: None,
            queued: None,
            asked: false,
            skipped: None,
            status,
            superseded: vec![],
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
        let Outcome { values, missing, cost, design, .. } = self.sorted_out(id, outcome)?;
        if values.is_empty() {
            let reason = missing.unwrap_or_else(|| NO_VALUE.to_owned());
            return Ok(Event::Failed { evaluation: id, reason, cost });
        }
        Ok(Event::Measured { evaluation: id, values, missing, cost, design })
    }

    /// An outcome with names for all values, of which those that are no numbers are reasons why they
    /// are missing.
    fn sorted_out(&self, id: u64, outcome: Outcome) -> Result<Outcome> {
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
        Ok(Outcome { only: None, values, missing, cost, design })
    }

    /// The event that records that something else came out of an evaluation than was said. Outputs
    /// without a new value keep theirs, unless the outcome says why there is none.
    pub(crate) fn corrected(&self, id: u64, outcome: Outcome) -> Result<Event> {
        let known = &self.evaluations[self.index(id)?];
        let named: Vec<String> = outcome.values.keys().cloned().collect();
        // A value without a name is that of the only output.
        let keeps_others = outcome.missing.is_none() && outcome.only.is_none();
        let Outcome { mut values, mut missing, cost, design, .. } = self.sorted_out(id, outcome)?;
        let says_nothing = values.is_empty() && missing.is_none();
        if says_nothing && cost.is_none() && design.is_none() {
            return Err(self.wrong_outputs(id, "no value was given"));
        }
        if let (Status::Completed(results), true) = (&known.status, keeps_others) {
            for (output, reading) in results.iter() {
                let name = &self.problem.outputs[output].name;
                if !named.contains(name) {
                    values.entry(name.clone()).or_insert(reading);
                }
            }
        }
        if missing.is_none() && values.len() < known.outputs.len() {
            missing = match &known.status {
                Status::Completed(results) => results.missing.clone(),
                Status::Failed(reason) => Some(reason.clone()),
                _ => None,
            };
        }
        Ok(Event::Corrected { evaluation: id, values, missing, cost, design })
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
            // What was corrected or retracted is known too: it must not come back with the next import.
            for known in self.ever_known(evaluation) {
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

    /// All results that an evaluation has or had, each once.
    fn ever_known<'a>(&'a self, evaluation: &'a Evaluation) -> HashSet<Known<'a>> {
        let now = (&evaluation.status, &evaluation.design);
        let earlier = evaluation.superseded.iter().map(|s| (&s.status, &s.design));
        let mut known = HashSet::new();
        for (status, design) in earlier.chain([now]) {
            let Status::Completed(results) = status else { continue };
            known.extend(results.iter().map(|(output, reading)| {
                self.known(design, &self.problem.outputs[output].name, reading.value)
            }));
        }
        known
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
        let status = &self.evaluations[index].status;
        if let Status::Completed(_) | Status::Retracted(_) = status {
            return Err(Error::AlreadySettled { id, how: status.word() });
        }
        if readings.is_empty() {
            return Err(self.wrong_outputs(id, "no value was given"));
        }
        self.check_readings_of(index, &readings)?;
        self.check_paid(index, cost)?;
        let place = self.place(design)?;
        let status = Status::Completed(Results::new(readings, missing.clone()));
        Ok(Change::Settle { index, status, paid: cost, place })
    }

    /// Another result in place of the one that was recorded.
    fn correct(
        &self,
        id: u64,
        readings: Vec<(usize, Reading)>,
        missing: &Option<String>,
        cost: Option<f64>,
        design: Option<&Design>,
    ) -> Result<Change> {
        let index = self.index(id)?;
        let Evaluation { status, asked, .. } = &self.evaluations[index];
        let refuse = |how, instead| Err(Error::CannotCorrect { id, how, instead });
        match status {
            Status::Pending => return refuse("pending", "tell its result first"),
            Status::Withdrawn => {
                return refuse("withdrawn", "if it was made after all, tell its result");
            }
            _ if *asked => {}
            _ if cost.is_some() => return refuse("imported", "imported values cost nothing"),
            _ if readings.is_empty() => {
                return refuse("imported", "retract it, if it has no right value");
            }
            _ => {}
        }
        self.check_readings_of(index, &readings)?;
        self.check_paid(index, cost)?;
        let status = match (readings.is_empty(), missing) {
            (false, _) => Status::Completed(Results::new(readings, missing.clone())),
            (true, Some(reason)) => Status::Failed(reason.clone()),
            (true, None) => return Err(self.wrong_outputs(id, "no value was given")),
        };
        Ok(Change::Supersede { index, status, paid: cost, place: self.place(design)? })
    }

    /// No result in place of the one that was recorded.
    fn retract(&self, id: u64, reason: &Option<String>) -> Result<Change> {
        let index = self.index(id)?;
        let status = &self.evaluations[index].status;
        let refuse = |instead| Err(Error::CannotCorrect { id, how: status.word(), instead });
        match status {
            Status::Pending => refuse("withdraw it, if it will not be made"),
            Status::Withdrawn => refuse("it has no result that could be retracted"),
            Status::Retracted(_) => Err(Error::AlreadySettled { id, how: status.word() }),
            Status::Completed(_) | Status::Failed(_) => {
                let status = Status::Retracted(reason.clone());
                Ok(Change::Supersede { index, status, paid: None, place: None })
            }
        }
    }

    /// A design, and where it lies in the cube.
    fn place(&self, design: Option<&Design>) -> Result<Option<(Design, Vec<f64>)>> {
        let Some(design) = design else { return Ok(None) };
        Ok(Some((design.clone(), self.space.encode(design)?)))
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

    /// Fails unless these can be values of what an evaluation measures.
    fn check_readings_of(&self, index: usize, readings: &[(usize, Reading)]) -> Result<()> {
        let Evaluation { id, outputs, .. } = &self.evaluations[index];
        if let Some((other, _)) = readings.iter().find(|(output, _)| !outputs.contains(output)) {
            let name = &self.problem.outputs[*other].name;
            return Err(self.wrong_outputs(*id, format!("{name} is not one of these")));
        }
        self.check_readings(readings)
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
                if evaluation.status.has_ended() {
                    self.ended.push(self.evaluations.len());
                }
                self.asked_at.push(evaluation.design.clone());
                self.evaluations.push(evaluation);
                self.suggested.push(point.clone());
                self.points.push(point);
            }
            Change::Settle { index, status, paid, place } => {
                // It may have failed before. Seldom: looking through all of them takes time.
                if self.evaluations[index].status.has_ended() {
                    self.ended.retain(|ended| *ended != index);
                }
                if status.has_ended() {
                    self.ended.push(index);
                }
                let evaluation = &mut self.evaluations[index];
                (evaluation.status, evaluation.paid) = (status, paid);
                if let Some((design, point)) = place {
                    (evaluation.design, self.points[index]) = (design, point);
                }
            }
            Change::Supersede { index, status, paid, place } => {
                self.supersede(index, status, paid, place);
            }
            Change::Reopen { index } => {
                self.ended.retain(|ended| *ended != index);
                let evaluation = &mut self.evaluations[index];
                evaluation.sunk += evaluation.paid.take().unwrap_or(0.0);
                evaluation.retried += 1;
                evaluation.status = Status::Pending;
            }
            Change::Redefine { next } => *self = *next,
            Change::Queue { entry } => self.queue.push(entry),
            Change::Unqueue { entry } => self.queue[entry].dropped = true,
            Change::Skip { index } => self.skip(index),
            Change::Pause { measurement, pause } => {
                self.pauses.insert(measurement, pause);
            }
            Change::Resume { measurement } => {
                self.pauses.remove(&measurement);
            }
            Change::Budget { cost } => {
                self.budget = Some(BudgetChange { position: self.position, cost });
            }
            Change::Price { measurement, cost } => self.costs[measurement] = cost,
            Change::Amend { wishes } => {
                self.config = self.config.clone().with_wishes(*wishes);
            }
        }
    }

    fn supersede(
        &mut self,
        index: usize,
        status: Status,
        paid: Option<f64>,
        place: Option<(Design, Vec<f64>)>,
    ) {
        let evaluation = &mut self.evaluations[index];
        evaluation.superseded.push(Superseded {
            status: std::mem::replace(&mut evaluation.status, status),
            paid: evaluation.paid,
            design: evaluation.design.clone(),
        });
        evaluation.paid = paid.or(evaluation.paid);
        if let Some((design, point)) = place {
            evaluation.design = design;
            // Nobody suggested another place for what was imported.
            if !evaluation.asked {
                self.asked_at[index].clone_from(&evaluation.design);
                self.suggested[index].clone_from(&point);
            }
            self.points[index] = point;
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
        let ended = self.ended.iter().map(|&index| &self.evaluations[index]);
        ended.filter(|e| matches!(e.status, Status::Completed(_)))
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

    /// Evaluations that were asked for, and neither withdrawn nor retracted, in order of their numbers.
    pub(crate) fn asked(&self) -> impl Iterator<Item = &Evaluation> {
        self.evaluations.iter().filter(|e| e.asked && e.status.counts())
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

/// Why an evaluation failed of which nothing else is known.
const NO_VALUE: &str = "gave no value";

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
mod tests;
