//! A study: ask what to evaluate, tell what came out, read the front.
//!
//! A study is the replay of its journal; nothing else is kept, so a study that was killed, copied
//! or opened elsewhere goes on exactly as it would have. What it says is worked out in `engine`.

use crate::config::{Config, Wishes};
use crate::confirmation;
use crate::contention::Contention;
use crate::design::Design;
use crate::engine::{Engine, Renewed};
use crate::error::{Error, JournalError, Result};
use crate::event::{Event, Pause, Record};
use crate::history::{BudgetChange, Evaluation, History, QueueEntry};
use crate::journal::{Journal, MemoryJournal};
use crate::model_check::ModelCheck;
use crate::plan::Permission;
use crate::predictions::Predictions;
use crate::problem::{Cost, Problem};
use crate::reading::{Outcome, Reading};
use crate::recommend::{Confirmation, Expectation, Front, FrontPoint, MeasuredFront};
use crate::stopping::{self, Appraisal, Stop};
use crate::suggestion::{NextConfirmation, OptionRow, Origin, Scores, Suggestion};

/// How often a suggestion is computed again because others asked for the same thing first.
const SEARCHES: u32 = 64;

/// What became of a suggestion that was to be asked for; see [`Study::ask_for`].
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "there is one at a time, and it is moved once")]
pub enum Asked {
    /// It is pending now, under the number it has here. If something had to come first, such as an
    /// initial evaluation, this is what is pending instead.
    Recorded(Suggestion),
    /// Nothing may be asked for now.
    NotAllowed,
    /// Others asked for the same thing, prices changed, or it is not permitted any more: choose
    /// again.
    Outdated,
}

/// A multi-objective optimisation under way.
///
/// ```
/// use unyoke::{Problem, Study};
///
/// let problem = Problem::builder()
///     .continuous("thickness", 1.0, 5.0)
///     .minimise("mass", 1.0)
///     .minimise("deflection", 10.0)
///     .build()?;
/// let mut study = Study::new(problem)?;
/// for _ in 0..12 {
///     let suggestion = study.ask()?;
///     let thickness = suggestion.design.real("thickness").unwrap_or_default();
///     let value = match suggestion.measurement.as_str() {
///         "mass" => thickness,
///         _ => 1.0 / thickness.powi(3),
///     };
///     study.tell(suggestion.evaluation, value)?;
/// }
/// let front = study.front(10)?;
/// assert!(!front.points.is_empty());
/// # Ok::<(), unyoke::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Study<J = MemoryJournal> {
    journal: J,
    history: History,
}

impl Study<MemoryJournal> {
    /// A study in memory with default settings and seed 0.
    pub fn new(problem: Problem) -> Result<Self> {
        Self::with_config(problem, Config::default(), 0)
    }

    /// A study in memory.
    pub fn with_config(problem: Problem, config: Config, seed: u64) -> Result<Self> {
        Self::create(problem, config, seed, MemoryJournal::default())
    }

    /// The study that these records amount to, in memory: to look at, or to try something out. Like
    /// [`Study::open`] on a journal that holds them, without copying them.
    ///
    /// ```
    /// use unyoke::{Config, Journal, MemoryJournal, Problem, Study};
    ///
    /// let problem = Problem::builder().continuous("x", 0.0, 1.0).minimise("drag", 1.0).build()?;
    /// let journal = MemoryJournal::default();
    /// let mut study = Study::create(problem, Config::default(), 0, journal.clone())?;
    /// let next = study.ask()?;
    /// let looked = Study::replay(journal.read(0)?)?;
    /// assert_eq!(looked.evaluations()[0].design, next.design);
    /// # Ok::<(), unyoke::Error>(())
    /// ```
    pub fn replay(records: Vec<Record>) -> Result<Self> {
        let history = History::replay(&records)?;
        Ok(Self { journal: records.into(), history })
    }
}

impl<J: Journal> Study<J> {
    /// A new study in an empty journal.
    pub fn create(problem: Problem, config: Config, seed: u64, mut journal: J) -> Result<Self> {
        problem.check()?;
        config.check(&problem)?;
        let created = Record::from(Event::Created { problem, config, seed });
        let history = History::replay(std::slice::from_ref(&created))?;
        journal.append(0, &[created])?;
        Ok(Self { journal, history })
    }

    /// The study that a journal holds.
    pub fn open(journal: J) -> Result<Self> {
        let history = History::replay(&journal.read(0)?)?;
        Ok(Self { journal, history })
    }

    /// Takes in what others have written to the journal.
    pub fn refresh(&mut self) -> Result<()> {
        for record in self.journal.read(self.history.position)? {
            self.history.apply(&record)?;
        }
        Ok(())
    }

    /// How many records of the journal it has taken in: the same number, the same state.
    pub fn position(&self) -> u64 {
        self.history.position
    }

    /// Where its events are.
    pub fn journal(&self) -> &J {
        &self.journal
    }

    /// What is optimised.
    pub fn problem(&self) -> &Problem {
        &self.history.problem
    }

    /// How it is searched.
    pub fn config(&self) -> &Config {
        &self.history.config
    }

    /// From which all random numbers come.
    pub fn seed(&self) -> u64 {
        self.history.seed
    }

    /// Every evaluation so far, pending and settled, in order of their numbers.
    pub fn evaluations(&self) -> &[Evaluation] {
        &self.history.evaluations
    }

    /// Cost of all evaluations that were asked for and ran, successful or not.
    pub fn spent(&self) -> f64 {
        self.history.spent()
    }

    /// What is spent already or will be when all evaluations under way have ended.
    pub fn committed(&self) -> f64 {
        self.history.spent() + self.history.pending_cost()
    }

    /// The part of [`Study::spent`] that went to one measurement.
    pub fn spent_on(&self, measurement: &str) -> Result<f64> {
        Ok(self.history.spent_on(self.problem().measurement_index(measurement)?))
    }

    /// The current price of a measurement.
    pub fn cost(&self, measurement: &str) -> Result<&Cost> {
        Ok(self.history.cost(self.problem().measurement_index(measurement)?))
    }

    /// What a measurement is expected to cost at a design, as far as is known now.
    pub fn expected_cost(&self, measurement: &str, design: &Design) -> Result<f64> {
        let m = self.problem().measurement_index(measurement)?;
        self.engine().expected_cost(m, design)
    }

    /// Chooses the evaluation that is worth most per unit of cost and marks it as pending.
    ///
    /// May be called again before results are told: pending evaluations count as if they had
    /// returned what the models expect, so no two workers are sent to the same place.
    pub fn ask(&mut self) -> Result<Suggestion> {
        let all = |_: &Self, _: &[usize]| Permission::Granted;
        for _ in 0..SEARCHES {
            let suggestion = self.suggest()?;
            if let Asked::Recorded(asked) = self.record_asked(suggestion, &all)? {
                return Ok(asked);
            }
        }
        Err(Error::Contended { times: SEARCHES })
    }

    /// Like [`Study::ask`], among the evaluations that `allowed` permits: the one of them that is
    /// worth most per unit of cost. `None`, with nothing asked for, if there is none, if something
    /// must be waited for, or if every design was evaluated.
    ///
    /// `allowed` is told measurements by their places in the problem: one, or all of those that the
    /// algorithm would make at a new design, beginning with the first. It is asked again, of
    /// the study as it is then, whenever others write to the journal at the same time: what it
    /// permits is true at the moment the evaluation is asked for.
    ///
    /// ```
    /// use unyoke::{Permission, Problem, Study};
    ///
    /// let problem = Problem::builder().continuous("x", 0.0, 1.0);
    /// let problem = problem.minimise("mass", 1.0).minimise("drag", 10.0).build()?;
    /// let mut study = Study::new(problem)?;
    /// let affordable = |study: &Study, measurements: &[usize]| {
    ///     let price: f64 = measurements.iter().map(|m| [1.0, 10.0][*m]).sum();
    ///     if study.committed() + price <= 12.0 { Permission::Granted } else { Permission::Never }
    /// };
    /// while let Some(suggestion) = study.ask_where(affordable)? {
    ///     study.tell(suggestion.evaluation, 0.5)?;
    /// }
    /// assert_eq!(study.spent(), 12.0);
    /// # Ok::<(), unyoke::Error>(())
    /// ```
    pub fn ask_where(
        &mut self,
        allowed: impl Fn(&Self, &[usize]) -> Permission,
    ) -> Result<Option<Suggestion>> {
        for _ in 0..SEARCHES {
            let Some(suggestion) = self.suggest_where(&allowed)? else { return Ok(None) };
            match self.record_asked(suggestion, &allowed)? {
                Asked::Recorded(asked) => return Ok(Some(asked)),
                Asked::NotAllowed => return Ok(None),
                Asked::Outdated => {}
            }
        }
        Err(Error::Contended { times: SEARCHES })
    }

    /// Asks for a suggestion that was chosen earlier, by [`Study::suggest_where`] of this study or
    /// of a clone on another thread, while others may have written to the journal.
    ///
    /// It is not computed again when only results or other evaluations arrived: it gets the next
    /// free number, provided that `allowed` permits it now, that prices are the same, and that
    /// nobody asked for the same thing at practically the same design meanwhile.
    ///
    /// ```
    /// use unyoke::{Asked, Permission, Problem, Study};
    ///
    /// let problem = Problem::builder().continuous("x", 0.0, 1.0).minimise("mass", 1.0).build()?;
    /// let mut study = Study::new(problem)?;
    /// for _ in 0..8 {
    ///     let suggestion = study.ask()?;
    ///     study.tell(suggestion.evaluation, suggestion.design.real("x").unwrap_or_default())?;
    /// }
    /// let allowed = |_: &Study, _: &[usize]| Permission::Granted;
    /// let chosen = study.suggest()?;
    /// assert!(matches!(study.ask_for(chosen.clone(), allowed)?, Asked::Recorded(_)));
    /// assert_eq!(study.ask_for(chosen, allowed)?, Asked::Outdated);
    /// # Ok::<(), unyoke::Error>(())
    /// ```
    pub fn ask_for(
        &mut self,
        suggestion: Suggestion,
        allowed: impl Fn(&Self, &[usize]) -> Permission,
    ) -> Result<Asked> {
        match self.engine().renew(&suggestion, &|measurements| allowed(self, measurements))? {
            Renewed::Valid(renewed) => self.record_as(suggestion, renewed, &allowed),
            Renewed::NotAllowed => Ok(Asked::NotAllowed),
            Renewed::Outdated => Ok(Asked::Outdated),
        }
    }

    /// What [`Study::ask_where`] would choose now, without asking for it.
    pub fn suggest_where(
        &self,
        allowed: impl Fn(&Self, &[usize]) -> Permission,
    ) -> Result<Option<Suggestion>> {
        self.check()?;
        let found = self.engine().suggest(&|measurements| allowed(self, measurements))?;
        Ok(found.filter(|suggestion| suggestion.origin != Origin::Repeated))
    }

    /// Like [`Study::ask_where`], at a design that has these values of some of the parameters: what is
    /// possible today. What is learned there still counts for all designs. Queued designs with other values
    /// stay in the queue.
    ///
    /// ```
    /// use unyoke::{Design, Permission, Problem, Study};
    ///
    /// let problem = Problem::builder().continuous("x", 0.0, 1.0).categorical("wood", ["oak", "pine"]);
    /// let mut study = Study::new(problem.minimise("mass", 1.0).build()?)?;
    /// let oak = Design::new().with("wood", "oak");
    /// for _ in 0..8 {
    ///     let allowed = |_: &Study, _: &[usize]| Permission::Granted;
    ///     let Some(next) = study.ask_within(&oak, allowed)? else { break };
    ///     assert_eq!(next.design.get("wood"), Some(&"oak".into()));
    ///     study.tell(next.evaluation, next.design.real("x").unwrap_or_default())?;
    /// }
    /// # Ok::<(), unyoke::Error>(())
    /// ```
    pub fn ask_within(
        &mut self,
        fixed: &Design,
        allowed: impl Fn(&Self, &[usize]) -> Permission,
    ) -> Result<Option<Suggestion>> {
        for _ in 0..SEARCHES {
            let Some(suggestion) = self.suggest_within(fixed, &allowed)? else { return Ok(None) };
            match self.record_asked(suggestion, &allowed)? {
                Asked::Recorded(asked) => return Ok(Some(asked)),
                Asked::NotAllowed => return Ok(None),
                Asked::Outdated => {}
            }
        }
        Err(Error::Contended { times: SEARCHES })
    }

    /// What [`Study::ask_within`] would choose now, without asking for it.
    pub fn suggest_within(
        &self,
        fixed: &Design,
        allowed: impl Fn(&Self, &[usize]) -> Permission,
    ) -> Result<Option<Suggestion>> {
        if fixed.is_empty() {
            return self.suggest_where(allowed);
        }
        self.check()?;
        let held = self.history.space.holding(fixed)?;
        let engine = Engine::within(&self.history, &held);
        let found = engine.suggest(&|measurements| allowed(self, measurements))?;
        let found = found.filter(|suggestion| suggestion.origin != Origin::Repeated);
        Ok(found.map(|suggestion| Suggestion { fixed: fixed.clone(), ..suggestion }))
    }

    /// Puts a design of one's own into the queue: it is asked for before anything is searched for, as soon
    /// as that is permitted. Without a measurement, whatever it lacks is measured there. Returns the number
    /// of the entry.
    ///
    /// ```
    /// use unyoke::{Design, Origin, Problem, Study};
    ///
    /// let problem = Problem::builder().continuous("x", 0.0, 1.0);
    /// let problem = problem.minimise("mass", 1.0).minimise("drag", 10.0).build()?;
    /// let mut study = Study::new(problem)?;
    /// study.queue(Design::new().with("x", 0.3), None)?;
    /// let asked = study.ask_many(3)?;
    /// assert_eq!(asked[0].design, asked[1].design);
    /// assert_eq!((asked[1].origin, asked[2].origin), (Origin::Queued, Origin::Initial));
    /// # Ok::<(), unyoke::Error>(())
    /// ```
    pub fn queue(&mut self, design: Design, measurement: Option<&str>) -> Result<u64> {
        let mut number = 0;
        self.record(|history| {
            history.space.check_inside(&design)?;
            number = history.queue.len() as u64;
            let (design, measurement) = (design.clone(), measurement.map(str::to_owned));
            let entry = QueueEntry { entry: number, design, measurement, dropped: false };
            if entry.measurement.is_none() && Engine::new(history).awaited_by(&entry)?.is_empty() {
                return Err(Error::NothingLacking { design: entry.design.to_string() });
            }
            let QueueEntry { entry, design, measurement, .. } = entry;
            Ok(Event::Queued { entry, design, measurement })
        })?;
        Ok(number)
    }

    /// What is queued and still waits, in order: each entry with the measurements that it waits for, by
    /// their places in the problem.
    pub fn queued(&self) -> Result<Vec<(&QueueEntry, Vec<usize>)>> {
        let engine = self.engine();
        let awaited = self.history.queue.iter().map(|entry| Ok((entry, engine.awaited_by(entry)?)));
        let awaited: Result<Vec<_>> = awaited.collect();
        Ok(awaited?.into_iter().filter(|(_, measurements)| !measurements.is_empty()).collect())
    }

    /// Takes an entry out of the queue. Its evaluations that are under way stay so.
    pub fn unqueue(&mut self, entry: u64) -> Result<()> {
        self.record(|_| Ok(Event::Unqueued { entry }))
    }

    /// Takes a pending evaluation back like [`Study::withdraw`], and does not suggest it again, nor one
    /// close to it, before five more results are there. One that came from the queue leaves it.
    ///
    /// ```
    /// use unyoke::{Problem, Study};
    ///
    /// let problem = Problem::builder().continuous("x", 0.0, 1.0).minimise("f", 1.0).build()?;
    /// let mut study = Study::new(problem)?;
    /// let first = study.ask()?;
    /// study.skip(first.evaluation)?;
    /// assert_ne!(study.ask()?.design, first.design);
    /// # Ok::<(), unyoke::Error>(())
    /// ```
    pub fn skip(&mut self, evaluation: u64) -> Result<()> {
        self.record(|_| Ok(Event::Skipped { evaluation }))
    }

    /// Records that a measurement cannot be made for a while; a pause that there is already is replaced.
    ///
    /// The engine has no clock and makes no exceptions: whoever asks compares [`Study::pause_of`] with the
    /// time and permits accordingly, as `unyoke run` and `unyoke ask` do.
    pub fn pause(&mut self, measurement: &str, pause: Pause) -> Result<()> {
        let Pause { until, reason } = pause;
        let measurement = measurement.to_owned();
        self.record(|_| {
            let (measurement, reason) = (measurement.clone(), reason.clone());
            Ok(Event::Paused { measurement, until, reason })
        })
    }

    /// Records that a measurement can be made again. False if it was not paused.
    pub fn resume(&mut self, measurement: &str) -> Result<bool> {
        self.problem().measurement_index(measurement)?;
        self.refresh()?;
        let is_paused = self.history.pauses.contains_key(measurement);
        if is_paused {
            self.record(|_| Ok(Event::Resumed { measurement: measurement.to_owned() }))?;
        }
        Ok(is_paused)
    }

    /// The pause of a measurement, by its place in the problem, if it was paused and not resumed. Its time
    /// may be over.
    pub fn pause_of(&self, measurement: usize) -> Option<&Pause> {
        let measurement = self.problem().measurements.get(measurement)?;
        self.history.pauses.get(&measurement.name)
    }

    /// The measurement by which a recommended design, one of `points`, gets a value that it lacks, the one
    /// worth most first; without asking for it, which [`Study::ask_for`] does.
    ///
    /// The designs of a round are those that are recommended when it begins. `round` is the number of that
    /// round, as its suggestions have it ([`Suggestion::confirms`]); without it the round under way goes on,
    /// and if all of it is done, or something else was asked for since, another begins.
    pub fn suggest_confirmation(
        &self,
        points: usize,
        round: Option<u64>,
        allowed: impl Fn(&Self, &[usize]) -> Permission,
    ) -> Result<NextConfirmation> {
        self.check()?;
        let records = self.journal.read(0)?;
        let allowed = |measurements: &[usize]| allowed(self, measurements);
        confirmation::next(&self.history, &records, points, round, &allowed)
    }

    /// Asks for what [`Study::suggest_confirmation`] says. `None`, with nothing asked for, if there is
    /// nothing to confirm now.
    ///
    /// ```
    /// use unyoke::{Permission, Problem, Study};
    ///
    /// let problem = Problem::builder().continuous("x", 0.0, 1.0);
    /// let problem = problem.minimise("mass", 1.0).minimise("drag", 10.0).build()?;
    /// let mut study = Study::new(problem)?;
    /// let measure = |measurement: &str, x: f64| if measurement == "mass" { x } else { (1.0 - x).powi(2) };
    /// for _ in 0..12 {
    ///     let next = study.ask()?;
    ///     let x = next.design.real("x").unwrap_or_default();
    ///     study.tell(next.evaluation, measure(&next.measurement, x))?;
    /// }
    /// let (all, mut round) = (|_: &Study, _: &[usize]| Permission::Granted, None);
    /// while let Some(next) = study.ask_confirmation(5, round, all)? {
    ///     round = next.confirms;
    ///     let x = next.design.real("x").unwrap_or_default();
    ///     study.tell(next.evaluation, measure(&next.measurement, x))?;
    /// }
    /// let confirmation = study.confirmation()?;
    /// assert!(confirmation.is_some_and(|round| round.inside() <= round.values.len()));
    /// # Ok::<(), unyoke::Error>(())
    /// ```
    pub fn ask_confirmation(
        &mut self,
        points: usize,
        round: Option<u64>,
        allowed: impl Fn(&Self, &[usize]) -> Permission,
    ) -> Result<Option<Suggestion>> {
        for _ in 0..SEARCHES {
            let next = self.suggest_confirmation(points, round, &allowed)?;
            let NextConfirmation::Measure(suggestion) = next else { return Ok(None) };
            match self.record_asked(*suggestion, &allowed)? {
                Asked::Recorded(asked) => return Ok(Some(asked)),
                Asked::NotAllowed => return Ok(None),
                Asked::Outdated => {}
            }
        }
        Err(Error::Contended { times: SEARCHES })
    }

    /// How the predictions of the latest round of confirmations held up; `None` before the first.
    pub fn confirmation(&self) -> Result<Option<Confirmation>> {
        confirmation::latest(&self.history, &self.journal.read(0)?)
    }

    fn record_asked(
        &mut self,
        suggestion: Suggestion,
        allowed: &impl Fn(&Self, &[usize]) -> Permission,
    ) -> Result<Asked> {
        self.record_as(suggestion.clone(), suggestion, allowed)
    }

    /// Writes down that `next` was asked for. Whenever others write first, that is again what has
    /// become of the suggestion as it was `chosen`.
    fn record_as(
        &mut self,
        chosen: Suggestion,
        mut next: Suggestion,
        allowed: &impl Fn(&Self, &[usize]) -> Permission,
    ) -> Result<Asked> {
        let mut contention = Contention::default();
        while !self.asked(&next)? {
            contention.wait()?;
            self.refresh()?;
            let renewed =
                self.engine().renew(&chosen, &|measurements| allowed(self, measurements))?;
            next = match renewed {
                Renewed::Valid(renewed) => renewed,
                Renewed::NotAllowed => return Ok(Asked::NotAllowed),
                Renewed::Outdated => return Ok(Asked::Outdated),
            };
        }
        Ok(Asked::Recorded(next))
    }

    /// Writes down that a suggestion was asked for. False if somebody else wrote first.
    fn asked(&mut self, suggestion: &Suggestion) -> Result<bool> {
        let Suggestion { evaluation, design, measurement, cost, .. } = suggestion.clone();
        let event = match (suggestion.confirms, suggestion.queued) {
            (Some(round), _) => {
                Event::ConfirmationAsked { evaluation, design, measurement, cost, round }
            }
            (None, Some(entry)) => {
                Event::QueuedAsked { evaluation, design, measurement, cost, entry }
            }
            (None, None) => {
                let initial = suggestion.origin == Origin::Initial;
                Event::Asked { evaluation, design, measurement, cost, initial }
            }
        };
        match self.append(event) {
            Ok(()) => Ok(true),
            Err(Error::Journal(JournalError::Conflict { .. })) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Asks `count` times.
    pub fn ask_many(&mut self, count: usize) -> Result<Vec<Suggestion>> {
        (0..count).map(|_| self.ask()).collect()
    }

    /// What [`Study::ask`] would choose now, without asking for it.
    pub fn suggest(&self) -> Result<Suggestion> {
        self.check()?;
        let found = self.engine().suggest(&|_| Permission::Granted)?;
        // Where everything is permitted there always is a suggestion.
        found.ok_or(Error::Contended { times: 0 })
    }

    /// Whether `next`, which this study suggested or which was asked of it last, is worth its cost.
    ///
    /// If it is not, earlier searches are made again, each from what was known then: only if
    /// [`Stop::searches`] in a row agree is the verdict to stop. `None` if nobody can tell: no model was
    /// asked, the algorithm values something other than utilities, or none of the objectives in
    /// [`Stop::worth`] has any weight.
    pub fn appraise(&self, stop: &Stop, next: &Suggestion) -> Result<Option<Appraisal>> {
        for objective in stop.worth.keys() {
            self.problem().output_index(objective)?;
        }
        stopping::appraise(stop, next, || Ok(self.journal.read(0)?))
    }

    /// Records what came out of an evaluation: a number for a measurement of one output, values by
    /// name for others. NaN and infinities are failures, not values.
    ///
    /// An evaluation that was withdrawn may have been made nevertheless: its values count, and so
    /// does its cost. One that is recorded as failed is refused with [`Error::AlreadySettled`]; see
    /// [`Study::replace_failure`].
    ///
    /// ```
    /// use unyoke::{Measurement, Outcome, Output, Problem, Study};
    ///
    /// let problem = Problem::builder()
    ///     .continuous("camber", 0.0, 0.1)
    ///     .output(Output::maximise("lift"))
    ///     .output(Output::minimise("drag"))
    ///     .measurement(Measurement::new("cfd", ["lift", "drag"], 4.0))
    ///     .build()?;
    /// let mut study = Study::new(problem)?;
    /// let first = study.ask()?.evaluation;
    /// study.tell(first, [("lift", 1.2), ("drag", 0.3)])?;
    /// let second = study.ask()?.evaluation;
    /// study.tell(second, Outcome::from([("lift", 1.1)]).missing("no wake found").cost(2.5))?;
    /// assert_eq!(study.spent(), 6.5);
    /// # Ok::<(), unyoke::Error>(())
    /// ```
    pub fn tell(&mut self, evaluation: u64, outcome: impl Into<Outcome>) -> Result<()> {
        let outcome = outcome.into();
        self.record(|history| {
            let event = history.ended(evaluation, outcome.clone())?;
            if let Event::Measured { .. } = event {
                history.refuse_failed(evaluation)?;
            }
            Ok(event)
        })
    }

    /// Records the value of an evaluation that was recorded as failed by mistake, or too early.
    ///
    /// ```
    /// use unyoke::{Error, Problem, Study};
    ///
    /// let problem = Problem::builder().continuous("x", 0.0, 1.0).minimise("f", 1.0).build()?;
    /// let mut study = Study::new(problem)?;
    /// let evaluation = study.ask()?.evaluation;
    /// study.tell_failure(evaluation, "no answer")?;
    /// assert!(matches!(study.tell(evaluation, 0.5), Err(Error::AlreadySettled { .. })));
    /// study.replace_failure(evaluation, 0.5)?;
    /// assert_eq!(study.evaluations()[0].reading(0), Some(0.5.into()));
    /// # Ok::<(), unyoke::Error>(())
    /// ```
    pub fn replace_failure(&mut self, evaluation: u64, outcome: impl Into<Outcome>) -> Result<()> {
        let outcome = outcome.into();
        self.record(|history| history.ended(evaluation, outcome.clone()))
    }

    /// Records that something else came out of an evaluation than was recorded: a mistyped value, a
    /// failure that was none, or with [`Outcome::missing`] and no value a failure in place of a value.
    /// Outputs, cost and design that the outcome does not name stay as they were.
    ///
    /// From now on the study is what it would be had this been told at once: what it suggests and
    /// predicts is the same, to the last bit. What was recorded before stays in the journal and in
    /// [`Evaluation::superseded`]. Retracted evaluations and imported values may be corrected, too.
    ///
    /// ```
    /// use unyoke::{Outcome, Problem, Study};
    ///
    /// let problem = Problem::builder().continuous("x", 0.0, 1.0).minimise("f", 1.0).build()?;
    /// let mut study = Study::new(problem)?;
    /// let evaluation = study.ask()?.evaluation;
    /// study.tell(evaluation, 35.0)?;
    /// study.correct(evaluation, 3.5)?;
    /// assert_eq!(study.evaluations()[0].reading(0), Some(3.5.into()));
    /// study.correct(evaluation, Outcome::default().missing("the specimen had a flaw"))?;
    /// assert_eq!(study.evaluations()[0].status.word(), "failed");
    /// # Ok::<(), unyoke::Error>(())
    /// ```
    pub fn correct(&mut self, evaluation: u64, outcome: impl Into<Outcome>) -> Result<()> {
        let outcome = outcome.into();
        self.record(|history| history.corrected(evaluation, outcome.clone()))
    }

    /// Records that the result of an evaluation, a value or a failure, does not count any more.
    ///
    /// It was made, so what it cost stays spent and known; otherwise it is as if it had never been
    /// asked for: its design may be suggested again. A design that cannot be measured at all is one
    /// that failed, see [`Study::correct`].
    ///
    /// ```
    /// use unyoke::{Problem, Study};
    ///
    /// let problem = Problem::builder().continuous("x", 0.0, 1.0).minimise("f", 2.0).build()?;
    /// let mut study = Study::new(problem)?;
    /// let first = study.ask()?;
    /// study.tell(first.evaluation, 1e6)?;
    /// study.retract(first.evaluation, Some("the sensor was loose"))?;
    /// assert_eq!(study.evaluations()[0].reading(0), None);
    /// assert_eq!(study.spent(), 2.0);
    /// assert_eq!(study.ask()?.design, first.design);
    /// # Ok::<(), unyoke::Error>(())
    /// ```
    pub fn retract(&mut self, evaluation: u64, reason: Option<&str>) -> Result<()> {
        let reason = reason.map(str::to_owned);
        self.record(|_| Ok(Event::Retracted { evaluation, reason: reason.clone() }))
    }

    /// Records that an evaluation ran and returned nothing. It counts as spent, and the same
    /// measurement is not suggested at the same design again.
    pub fn tell_failure(&mut self, evaluation: u64, reason: &str) -> Result<()> {
        self.tell(evaluation, Outcome::default().missing(reason))
    }

    /// Makes a failed evaluation pending again, because what was wrong has been mended.
    pub fn retry(&mut self, evaluation: u64) -> Result<()> {
        self.record(|_| Ok(Event::Retried { evaluation }))
    }

    /// Takes a pending evaluation back, as if it had never been asked for.
    pub fn withdraw(&mut self, evaluation: u64) -> Result<()> {
        self.record(|_| Ok(Event::Withdrawn { evaluation }))
    }

    /// Records a result that nobody asked for: any output at any design, also outside the bounds.
    /// Returns its number.
    pub fn tell_result(
        &mut self,
        design: Design,
        output: &str,
        reading: impl Into<Reading>,
    ) -> Result<u64> {
        let result = (design, output.to_owned(), reading.into());
        let mut number = 0;
        self.record(|history| {
            number = history.evaluations.len() as u64;
            Ok(added(number, result.clone()))
        })?;
        Ok(number)
    }

    /// Like [`Study::tell_result`] for many results at once: all of them are recorded, or none.
    /// Returns the number of the first; the others follow.
    ///
    /// ```
    /// use unyoke::{Design, Problem, Study};
    ///
    /// let problem = Problem::builder().continuous("x", 0.0, 1.0).minimise("f", 1.0).build()?;
    /// let mut study = Study::new(problem)?;
    /// let result = |x: f64, value: f64| (Design::new().with("x", x), "f".to_owned(), value.into());
    /// assert!(study.tell_results(&[result(0.2, 1.5), result(0.3, f64::NAN)]).is_err());
    /// assert_eq!(study.evaluations().len(), 0);
    /// assert_eq!(study.tell_results(&[result(0.2, 1.5), result(0.3, 1.25)])?, 0);
    /// assert_eq!(study.evaluations().len(), 2);
    /// # Ok::<(), unyoke::Error>(())
    /// ```
    pub fn tell_results(&mut self, results: &[(Design, String, Reading)]) -> Result<u64> {
        let recorded = self.import(results, |_| (0..results.len()).collect())?;
        Ok((self.history.evaluations.len() - recorded.len()) as u64)
    }

    /// Like [`Study::tell_results`], but only those that the study does not have yet. Returns the
    /// places in `results` of those that were recorded.
    ///
    /// A result is known if the study has the same value of the same output at the same design,
    /// however it got there. One that is listed more often than the study has it is recorded for the
    /// rest: replicates are data. What is known is decided at the moment of writing, so that two
    /// programs that record the same results at once record them once.
    ///
    /// ```
    /// use unyoke::{Design, Problem, Study};
    ///
    /// let problem = Problem::builder().continuous("x", 0.0, 1.0).minimise("f", 1.0).build()?;
    /// let mut study = Study::new(problem)?;
    /// let result = |x: f64| (Design::new().with("x", x), "f".to_owned(), 1.5.into());
    /// assert_eq!(study.tell_missing_results(&[result(0.2)])?, [0]);
    /// assert_eq!(study.tell_missing_results(&[result(0.2), result(0.3), result(0.2)])?, [1, 2]);
    /// # Ok::<(), unyoke::Error>(())
    /// ```
    pub fn tell_missing_results(
        &mut self,
        results: &[(Design, String, Reading)],
    ) -> Result<Vec<usize>> {
        self.import(results, |history| history.missing(results))
    }

    /// Records those of `results` whose places `choose` names, all or none. It is asked again, of
    /// the latest state, whenever others write at the same time. Returns the places.
    fn import(
        &mut self,
        results: &[(Design, String, Reading)],
        choose: impl Fn(&History) -> Vec<usize>,
    ) -> Result<Vec<usize>> {
        for result in results {
            self.history.check(&added(self.history.evaluations.len() as u64, result.clone()))?;
        }
        let mut contention = Contention::default();
        loop {
            let chosen = choose(&self.history);
            let mut history = self.history.clone();
            let mut records = Vec::with_capacity(chosen.len());
            for place in &chosen {
                let number = history.evaluations.len() as u64;
                let record = Record::from(added(number, results[*place].clone()));
                history.apply(&record)?;
                records.push(record);
            }
            match self.journal.append(self.history.position, &records) {
                Ok(()) => {
                    self.history = history;
                    return Ok(chosen);
                }
                Err(JournalError::Conflict { .. }) => contention.wait()?,
                Err(error) => return Err(error.into()),
            }
            self.refresh()?;
        }
    }

    /// Changes what evaluations of a measurement cost from now on. A formula is checked like one of
    /// the problem: it must have a positive value at every design.
    pub fn set_cost(&mut self, measurement: &str, cost: impl Into<Cost>) -> Result<()> {
        let cost = cost.into();
        if let Cost::Formula(_) = cost {
            let (m, mut problem) =
                (self.problem().measurement_index(measurement)?, self.problem().clone());
            problem.measurements[m].cost = cost.clone();
            problem.check()?;
        }
        let event =
            || Event::CostChanged { measurement: measurement.to_owned(), cost: cost.clone() };
        self.record(|_| Ok(event()))
    }

    /// Records that the most that may be spent is another from now on; no limit without a cost. The engine knows
    /// no budget: programs that run the study follow [`Study::budget_change`].
    pub fn set_budget(&mut self, cost: Option<f64>) -> Result<()> {
        self.record(|_| Ok(Event::BudgetChanged { cost }))
    }

    /// The last change of the budget, if there was one.
    pub fn budget_change(&self) -> Option<BudgetChange> {
        self.history.budget
    }

    /// Changes what the user wants from now on: which weights matter, in which units, with which
    /// utilities, and what is enough of an objective. What was measured stays; what is suggested and
    /// recommended from now on follows the new wishes. Those of before stay in the journal.
    ///
    /// ```
    /// use unyoke::{Preference, Problem, Study, Wishes};
    ///
    /// let problem = Problem::builder().continuous("x", 0.0, 1.0);
    /// let problem = problem.minimise("mass", 1.0).minimise("drag", 10.0).build()?;
    /// let mut study = Study::new(problem)?;
    /// let twice = Preference::Importance(vec!["drag >= 2 * mass".to_owned()]);
    /// study.amend(Wishes { preference: twice, ..study.config().wishes() })?;
    /// let contradiction = ["drag >= 2 * mass", "mass >= 0.5"].map(str::to_owned);
    /// let contradiction = Preference::Importance(contradiction.to_vec());
    /// assert!(study.amend(Wishes { preference: contradiction, ..Wishes::default() }).is_err());
    /// # Ok::<(), unyoke::Error>(())
    /// ```
    pub fn amend(&mut self, wishes: Wishes) -> Result<()> {
        self.config().clone().with_wishes(wishes.clone()).check(self.problem())?;
        self.record(|_| Ok(Event::Amended { wishes: wishes.clone() }))
    }

    /// Goes on with another problem or other settings: bounds, choices, noise, directions, limits, the
    /// algorithm; new parameters, outputs and measurements. What was measured stays, and is seen in the new
    /// problem; designs outside its bounds inform the models as imported ones do. `was` has the values
    /// that all designs so far had of parameters that are new. Prices become those of `problem`.
    ///
    /// Refused with [`Error::CannotAmend`] where something would be lost: without a parameter, an output or
    /// a measurement that evaluations have, or with choices, types and scales that their values do not fit.
    ///
    /// ```
    /// use unyoke::{Config, Design, Problem, Study};
    ///
    /// let problem = Problem::builder().continuous("x", 0.0, 1.0).minimise("f", 1.0).build()?;
    /// let mut study = Study::new(problem)?;
    /// let first = study.ask()?;
    /// study.tell(first.evaluation, 2.5)?;
    /// let wider = Problem::builder().continuous("x", 0.0, 4.0).categorical("kind", ["oak", "pine"]);
    /// let wider = wider.minimise("f", 1.0).build()?;
    /// assert!(study.redefine(wider.clone(), Config::default(), Design::new()).is_err());
    /// study.redefine(wider, Config::default(), Design::new().with("kind", "oak"))?;
    /// assert_eq!(study.evaluations()[0].design, first.design.with("kind", "oak"));
    /// # Ok::<(), unyoke::Error>(())
    /// ```
    pub fn redefine(&mut self, problem: Problem, config: Config, was: Design) -> Result<()> {
        problem.check()?;
        config.check(&problem)?;
        let event = Event::Redefined { problem, config, was };
        self.record(|_| Ok(event.clone()))
    }

    /// Fails if [`Study::redefine`] would, and changes nothing.
    pub fn check_redefinition(&self, problem: Problem, config: Config, was: Design) -> Result<()> {
        problem.check()?;
        config.check(&problem)?;
        self.history.check(&Event::Redefined { problem, config, was })
    }

    /// The predicted Pareto set and measured designs that no prediction is certain to beat, or `count` designs of
    /// them: half chosen so that decision makers with linear utilities lose little, then measured ones, the
    /// others spread over the front.
    pub fn front(&self, count: usize) -> Result<Front> {
        self.engine().front(count, None)
    }

    /// All that is predicted, from models that are fitted once: for whoever wants more than a front.
    pub fn predictions(&self) -> Result<Predictions<'_>> {
        Predictions::new(self.engine())
    }

    /// The predicted Pareto set alone, S_N of the paper: measured designs are on it only if they are expected to be
    /// best. [`Study::front`] is for decisions, this for measuring how good the predictions are.
    pub fn predicted_front(&self, count: usize) -> Result<Front> {
        self.engine().predicted_front(count)
    }

    /// The same designs with what is expected of the objectives alone, which is quicker to tell.
    pub fn predicted_means(&self, count: usize) -> Result<Vec<Expectation>> {
        self.engine().predicted_means(count)
    }

    /// The front for cautious people: designs are compared by the values that they reach with probability
    /// `quantile`, and must be feasible with it. From 0.5, which is what is expected, to below 1.
    ///
    /// ```
    /// use unyoke::{Design, Problem, Study};
    ///
    /// let problem = Problem::builder().continuous("x", 0.0, 1.0).minimise("f", 1.0).build()?;
    /// let mut study = Study::new(problem)?;
    /// for x in [0.0, 0.1, 0.2, 0.9] {
    ///     study.tell_result(Design::new().with("x", x), "f", (8.0 * x).sin())?;
    /// }
    /// let [expected, cautious] = [study.front(1)?, study.cautious_front(1, 0.9)?];
    /// assert!(cautious.points[0].outputs[0].sd <= expected.points[0].outputs[0].sd);
    /// # Ok::<(), unyoke::Error>(())
    /// ```
    pub fn cautious_front(&self, count: usize, quantile: f64) -> Result<Front> {
        self.engine().front(count, Some(quantile))
    }

    /// What was measured: designs at which every output was, inside bounds and limits, that are feasible by
    /// what was measured and of which none is better in everything. Values at one design are averaged;
    /// those that contradict their neighbours (`docs/outliers.md`) do not count.
    pub fn measured_front(&self) -> Result<MeasuredFront> {
        self.engine().measured_front()
    }

    /// The best design for whoever weighs objectives like this: no point of [`Study::front`] has a better
    /// weighted sum of the values that are reached with a probability of 0.7 or, with less than three
    /// parameters and by [`Config::recommendations`], of expected values.
    ///
    /// Weights count in the units of [`Config::units`]; only their proportions matter.
    pub fn best_for(&self, weights: &[f64]) -> Result<FrontPoint> {
        self.engine().best_for(weights, None)
    }

    /// The same among the designs of [`Study::cautious_front`], by the values that count there.
    pub fn cautious_best_for(&self, weights: &[f64], quantile: f64) -> Result<FrontPoint> {
        self.engine().best_for(weights, Some(quantile))
    }

    /// The value of an output that is a formula at a design; `None` if it is measured, or has no value
    /// there.
    pub fn formula_value(&self, output: &str, design: &Design) -> Result<Option<f64>> {
        self.engine().formula_value(self.problem().output_index(output)?, design)
    }

    /// What is expected of each output at a design of the user's, and what was measured there.
    pub fn forecast(&self, design: &Design) -> Result<FrontPoint> {
        self.engine().forecast(design)
    }

    /// Like [`Study::forecast`] for many designs, with one fit of the models.
    pub fn forecasts(&self, designs: &[Design]) -> Result<Vec<FrontPoint>> {
        self.engine().forecasts(designs)
    }

    /// How far the model of each output can be trusted: every value compared with what the model
    /// expects of it from all the others. Outputs that are formulas have no model.
    pub fn model_checks(&self) -> Result<Vec<ModelCheck>> {
        self.engine().model_checks()
    }

    /// Expected gain, and gain per unit of cost, of evaluating designs a user has in mind: for each
    /// design a row per measurement, or a single one where the algorithm makes all together. Gains
    /// are those that the study's algorithm compares, in the same unit as in a suggestion.
    pub fn score(&self, designs: &[Design]) -> Result<Vec<Vec<OptionRow>>> {
        Ok(self.scores(designs)?.options)
    }

    /// Like [`Study::score`], with the range of the front, of which gains are shares.
    pub fn scores(&self, designs: &[Design]) -> Result<Scores> {
        self.engine().scores(designs)
    }

    /// Fails if no search can succeed. A study that an earlier version began may be one of these: it
    /// opens, but nothing more is spent on it.
    fn check(&self) -> Result<()> {
        self.problem().check()?;
        self.config().check(self.problem())
    }

    fn engine(&self) -> Engine<'_> {
        Engine::new(&self.history)
    }

    /// Appends an event made from the latest state, again if others append at the same time.
    fn record(&mut self, mut event: impl FnMut(&History) -> Result<Event>) -> Result<()> {
        let mut contention = Contention::default();
        loop {
            let next = event(&self.history)?;
            match self.append(next) {
                Err(Error::Journal(JournalError::Conflict { .. })) => contention.wait()?,
                outcome => return outcome,
            }
            self.refresh()?;
        }
    }

    /// Appends to the journal first, to the history once that has succeeded.
    fn append(&mut self, event: Event) -> Result<()> {
        let record = Record::from(event);
        self.history.check(&record.event)?;
        let at = self.history.position;
        self.journal.append(at, std::slice::from_ref(&record))?;
        self.history.apply(&record)
    }
}

/// That a result from elsewhere was added as evaluation `evaluation`.
fn added(evaluation: u64, (design, output, reading): (Design, String, Reading)) -> Event {
    Event::Added { evaluation, design, values: [(output, reading)].into() }
}
