//! A study: ask what to evaluate, tell what came out, read the front.
//!
//! [`Study::ask`] is the whole engine in order: observations, surrogate, acquisition, suggestion.
//! A study is the replay of its journal; nothing else is kept, so a study that was killed, copied
//! or opened elsewhere goes on exactly as it would have.

use crate::acquisition::c_mokg::CMokg;
use crate::acquisition::hvkg::{self, Hvkg};
use crate::acquisition::jes_lb::{self, Evaluated, JesLb};
use crate::acquisition::ma_kg::{MaKg, Observation};
use crate::acquisition::noisy_ehvi::NoisyEhvi;
use crate::acquisition::par_ego::ParEgo;
use crate::acquisition::{Acquisition, Scalarised};
use crate::config::{Algorithm, Config, FrontSearch};
use crate::cost::Cost;
use crate::design::Design;
use crate::discretise::{self, best_for_weights, best_utility, discretise, ties_with_set};
use crate::error::{Error, JournalError, Result};
use crate::event::{Event, Record};
use crate::front::{Forecast, Front, FrontPoint, distinct, predicted_pareto_set};
use crate::history::{Evaluation, History, Status};
use crate::journal::{Journal, MemoryJournal};
use crate::plan::{self, Allowed, Permission, Planned};
use crate::problem::{Noise, Problem};
use crate::suggest::{Best, Region, best_of_each_option};
use crate::suggestion::{Note, OptionRow, Suggestion};
use crate::surrogate::{Observed, Row, Surrogate};
use crate::weights;
use unyoke_math::Points;
use unyoke_math::gp::Prediction;
use unyoke_math::optimize::largest;
use unyoke_math::random::seed_for;

/// Streams of random numbers: what each is for.
const WEIGHTS: u64 = 1;
const RAW_DESIGNS: u64 = 2;
const DISCRETISATION: u64 = 3;
const FRONTS: u64 = 4;
const FANTASIES: u64 = 5;

/// The predicted Pareto set from which hypervolumes are climbed.
const HYPERVOLUME_FRONT: FrontSearch = FrontSearch { population: 100, generations: 50 };
const HYPERVOLUME_DESIGNS: usize = 64;

/// How often an append is tried again when others write to the same journal.
const ATTEMPTS: usize = 64;

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
///     let value = match suggestion.objective.as_str() {
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

    /// What is optimised.
    pub fn problem(&self) -> &Problem {
        &self.history.problem
    }

    /// How it is searched.
    pub fn config(&self) -> &Config {
        &self.history.config
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

    /// The part of [`Study::spent`] that went to one objective.
    pub fn spent_on(&self, objective: &str) -> Result<f64> {
        Ok(self.history.spent_on(self.problem().objective_index(objective)?))
    }

    /// The current cost of an objective.
    pub fn cost(&self, objective: &str) -> Result<f64> {
        Ok(self.history.cost(self.problem().objective_index(objective)?))
    }

    /// Chooses the evaluation that is worth most per unit of cost and marks it as pending.
    ///
    /// May be called again before results are told: pending evaluations count as if they had
    /// returned what the models expect, so no two workers are sent to the same place.
    pub fn ask(&mut self) -> Result<Suggestion> {
        for _ in 0..ATTEMPTS {
            let suggestion = self.suggest()?;
            if self.asked(&suggestion)? {
                return Ok(suggestion);
            }
        }
        Err(self.too_busy())
    }

    /// Like [`Study::ask`], among the evaluations that `allowed` permits: the one of them that is
    /// worth most per unit of cost. `None`, with nothing asked for, if there is none, if something
    /// must be waited for, or if every design was evaluated.
    ///
    /// `allowed` is told objectives by their places in the problem: one, or all of those that the
    /// algorithm would evaluate at a new design, beginning with the first. It is asked again, of
    /// the study as it is then, whenever others write to the journal at the same time: what it
    /// permits is true at the moment the evaluation is asked for.
    ///
    /// ```
    /// use unyoke::{Permission, Problem, Study};
    ///
    /// let problem = Problem::builder().continuous("x", 0.0, 1.0);
    /// let problem = problem.minimise("mass", 1.0).minimise("drag", 10.0).build()?;
    /// let mut study = Study::new(problem)?;
    /// let affordable = |study: &Study, objectives: &[usize]| {
    ///     let price: f64 = objectives.iter().map(|m| study.problem().objectives[*m].cost).sum();
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
        for _ in 0..ATTEMPTS {
            let found = self.suggest_where(&|objectives| allowed(self, objectives))?;
            let new = found.filter(|suggestion| !suggestion.notes.contains(&Note::Exhausted));
            let Some(suggestion) = new else { return Ok(None) };
            if self.asked(&suggestion)? {
                return Ok(Some(suggestion));
            }
        }
        Err(self.too_busy())
    }

    /// Writes down that a suggestion was asked for. False if somebody else wrote first: then it is
    /// to be chosen again, knowing what they wrote.
    fn asked(&mut self, suggestion: &Suggestion) -> Result<bool> {
        let event = Event::Asked {
            evaluation: suggestion.evaluation,
            design: suggestion.design.clone(),
            objective: suggestion.objective.clone(),
            cost: suggestion.cost,
            initial: suggestion.is_initial(),
        };
        match self.append(event) {
            Ok(()) => Ok(true),
            Err(Error::Journal(JournalError::Conflict { .. })) => self.refresh().map(|()| false),
            Err(error) => Err(error),
        }
    }

    /// Asks `count` times.
    pub fn ask_many(&mut self, count: usize) -> Result<Vec<Suggestion>> {
        (0..count).map(|_| self.ask()).collect()
    }

    /// What [`Study::ask`] would choose now, without asking for it.
    pub fn suggest(&self) -> Result<Suggestion> {
        let found = self.suggest_where(&|_| Permission::Granted)?;
        // Where everything is permitted there always is a suggestion.
        found.ok_or_else(|| self.too_busy())
    }

    fn suggest_where(&self, allowed: Allowed<'_>) -> Result<Option<Suggestion>> {
        match plan::next(&self.history, allowed)? {
            Planned::Given { x, objective, note } => Ok(Some(self.given(&x, objective, note))),
            Planned::Search => {
                let options = self.options();
                let granted = |option: &Vec<usize>| allowed(option) == Permission::Granted;
                let granted: Vec<bool> = options.iter().map(granted).collect();
                if granted.contains(&true) { self.search(&granted).map(Some) } else { Ok(None) }
            }
            Planned::Nothing => Ok(None),
        }
    }

    /// What a search chooses among: the objectives one by one, or all together.
    fn options(&self) -> Vec<Vec<usize>> {
        let objectives = 0..self.problem().objectives.len();
        match self.config().algorithm.is_coupled() {
            true => vec![objectives.collect()],
            false => objectives.map(|m| vec![m]).collect(),
        }
    }

    /// Records the value of an evaluation. NaN and infinities are failures, not values.
    pub fn tell(&mut self, evaluation: u64, value: f64) -> Result<()> {
        if !value.is_finite() {
            return self.tell_failure(evaluation, &format!("the result is {value}"));
        }
        self.record(|_| Ok(Event::Told { evaluation, value }))
    }

    /// Records that an evaluation ran and returned nothing. It counts as spent, and the same
    /// objective is not suggested at the same design again.
    pub fn tell_failure(&mut self, evaluation: u64, reason: &str) -> Result<()> {
        self.record(|_| Ok(Event::Failed { evaluation, reason: reason.to_owned() }))
    }

    /// Takes a pending evaluation back, as if it had never been asked for.
    pub fn withdraw(&mut self, evaluation: u64) -> Result<()> {
        self.record(|_| Ok(Event::Withdrawn { evaluation }))
    }

    /// Records a result that nobody asked for: any objective at any design, also outside the
    /// bounds. Returns its number.
    pub fn tell_result(&mut self, design: Design, objective: &str, value: f64) -> Result<u64> {
        self.check_result(&design, objective, value)?;
        let objective = objective.to_owned();
        let mut number = 0;
        self.record(|history| {
            number = history.evaluations.len() as u64;
            let (design, objective) = (design.clone(), objective.clone());
            Ok(Event::Imported { evaluation: number, design, objective, value })
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
    /// let result = |x: f64, value: f64| (Design::new().with("x", x), "f".to_owned(), value);
    /// assert!(study.tell_results(&[result(0.2, 1.5), result(0.3, f64::NAN)]).is_err());
    /// assert_eq!(study.evaluations().len(), 0);
    /// assert_eq!(study.tell_results(&[result(0.2, 1.5), result(0.3, 1.25)])?, 0);
    /// assert_eq!(study.evaluations().len(), 2);
    /// # Ok::<(), unyoke::Error>(())
    /// ```
    pub fn tell_results(&mut self, results: &[(Design, String, f64)]) -> Result<u64> {
        for (design, objective, value) in results {
            self.check_result(design, objective, *value)?;
        }
        for _ in 0..ATTEMPTS {
            let mut history = self.history.clone();
            let first = history.evaluations.len() as u64;
            let mut records = Vec::with_capacity(results.len());
            for (evaluation, (design, objective, value)) in (first..).zip(results) {
                let (design, objective, value) = (design.clone(), objective.clone(), *value);
                let event = Event::Imported { evaluation, design, objective, value };
                let record = Record::from(event);
                history.apply(&record)?;
                records.push(record);
            }
            match self.journal.append(self.history.position, &records) {
                Ok(()) => {
                    self.history = history;
                    return Ok(first);
                }
                Err(JournalError::Conflict { .. }) => self.refresh()?,
                Err(error) => return Err(error.into()),
            }
        }
        Err(self.too_busy())
    }

    /// Whether somebody may have measured this.
    fn check_result(&self, design: &Design, objective: &str, value: f64) -> Result<()> {
        if !value.is_finite() {
            let must = "a finite number".to_owned();
            let parameter = objective.to_owned();
            return Err(Error::BadValue { parameter, value: value.to_string(), must });
        }
        self.problem().objective_index(objective)?;
        self.history.space.encode(design).map(|_| ())
    }

    /// Changes what evaluations of an objective cost from now on.
    pub fn set_cost(&mut self, objective: &str, cost: f64) -> Result<()> {
        self.problem().objective_index(objective)?;
        if !(cost.is_finite() && cost > 0.0) {
            return Err(Error::BadCost { objective: objective.to_owned(), cost });
        }
        self.record(|_| Ok(Event::CostChanged { objective: objective.to_owned(), cost }))
    }

    /// The predicted Pareto set, thinned to at most `count` well-spread designs.
    pub fn front(&self, count: usize) -> Result<Front> {
        let surrogate = self.surrogate(Pending::Ignored)?;
        let (space, observed) = (&self.history.space, self.observed_designs()?);
        let search = self.config().front;
        let set = predicted_pareto_set(space, &surrogate, &observed, search, count)?;
        let points = set.rows().map(|x| self.front_point(&surrogate, x));
        let names = self.problem().objectives.iter().map(|objective| objective.name.clone());
        Ok(Front { objectives: names.collect(), points: points.collect::<Result<_>>()? })
    }

    /// The design with the best expected weighted sum of objectives.
    ///
    /// Weights count in the units of [`Config::units`]; only their proportions matter.
    pub fn best_for(&self, weights: &[f64]) -> Result<FrontPoint> {
        let lambda = weights::checked(weights, self.problem().objectives.len())?;
        let surrogate = self.surrogate(Pending::Ignored)?;
        let (space, observed) = (&self.history.space, self.observed_designs()?);
        let search = self.config().front;
        let set = predicted_pareto_set(space, &surrogate, &observed, search, usize::MAX)?;
        let values = surrogate.utilities(&lambda, &set)?;
        let best = largest(&values, 1).first().map_or(0, |i| *i);
        let x = best_utility(space, &surrogate, &lambda, set.row(best))?;
        self.front_point(&surrogate, &self.canonical(&x))
    }

    /// What is expected of each objective at a design of the user's, and what was measured there.
    pub fn forecast(&self, design: &Design) -> Result<FrontPoint> {
        let x = self.history.space.encode(design)?;
        self.front_point(&self.surrogate(Pending::Ignored)?, &x)
    }

    /// Expected gain, and gain per unit of cost, of evaluations a user has in mind.
    ///
    /// Only for algorithms that choose one objective at a time.
    pub fn score(&self, candidates: &[(Design, String)]) -> Result<Vec<OptionRow>> {
        let surrogate = self.surrogate(Pending::Expected)?;
        let acquisition = self.acquisition_of_one(&surrogate)?;
        let score = |(design, objective): &(Design, String)| {
            let option = self.problem().objective_index(objective)?;
            self.history.space.check_inside(design)?;
            let x = self.history.space.encode(design)?;
            let log_gain = acquisition.evaluator(option)(&x, None);
            let cost = Cost::constant(self.history.cost(option)).at(&x);
            Ok(self.row(&Best { option, x, log_gain, cost }, vec![objective.clone()], None))
        };
        candidates.iter().map(score).collect()
    }

    /// Observations, surrogate, acquisition, suggestion: the best of the options that are granted,
    /// of which there must be one.
    fn search(&self, granted: &[bool]) -> Result<Suggestion> {
        let surrogate = self.surrogate(Pending::Expected)?;
        let Step { weights, set, best, promising } = self.step(&surrogate)?;
        let shared = || Scalarised::new(&surrogate, &set, &weights);
        let acquisition: Box<dyn Acquisition + '_> = match self.config().algorithm {
            Algorithm::CMokg | Algorithm::CMokgRandom | Algorithm::Sobol => {
                Box::new(CMokg::new(shared()?))
            }
            Algorithm::Makg | Algorithm::MakgRandom => {
                Box::new(MaKg::new(shared()?, Observation::Scalarised)?)
            }
            Algorithm::MakgVector => Box::new(MaKg::new(shared()?, Observation::Vector)?),
            Algorithm::HvkgD => self.hvkg(&surrogate, Hvkg::decoupled)?,
            Algorithm::HvkgC => self.hvkg(&surrogate, Hvkg::coupled)?,
            Algorithm::JesLbD => Box::new(self.jes_lb(&surrogate, Evaluated::OneObjective)?),
            Algorithm::JesLbC => Box::new(self.jes_lb(&surrogate, Evaluated::AllObjectives)?),
            Algorithm::Parego => {
                Box::new(ParEgo::new(&surrogate, &self.known_designs()?, &weights)?)
            }
            Algorithm::Nehvi => {
                let (known, reference) = (self.known_designs()?, self.reference(&surrogate)?);
                Box::new(NoisyEhvi::new(&surrogate, &known, reference, self.seed(FRONTS))?)
            }
        };
        let region = Region {
            space: &self.history.space,
            search: self.config().search,
            promising: &promising,
            best: &best,
            seed: self.seed(RAW_DESIGNS),
        };
        let taken = |option: usize, x: &[f64]| self.is_taken(option, &self.canonical(x));
        let found = best_of_each_option(&*acquisition, &self.costs(), &region, &taken)?;
        let found: Vec<Best> = found.into_iter().flatten().collect();
        let mut notes = self.model_notes(&surrogate);
        match best_value(&found, granted) {
            Some(chosen) if found[chosen].log_gain > f64::NEG_INFINITY => {
                if best_value(&found, &vec![true; granted.len()]) != Some(chosen) {
                    notes.push(Note::NextBest);
                }
                Ok(self.reasoned(&found, chosen, notes))
            }
            _ => {
                let (x, objective, note) = self.explore(&surrogate, &region, granted)?;
                let mut suggestion = self.given(&x, objective, note);
                suggestion.notes.append(&mut notes);
                Ok(suggestion)
            }
        }
    }

    /// The worth of single evaluations, by hypervolume or by weights as the algorithm has it.
    fn acquisition_of_one<'a>(
        &'a self,
        surrogate: &'a Surrogate,
    ) -> Result<Box<dyn Acquisition + 'a>> {
        if matches!(self.config().algorithm, Algorithm::HvkgD | Algorithm::HvkgC) {
            return self.hvkg(surrogate, Hvkg::decoupled);
        }
        let Step { weights, set, .. } = self.step(surrogate)?;
        Ok(Box::new(CMokg::new(Scalarised::new(surrogate, &set, &weights)?)))
    }

    fn hvkg<'a>(
        &'a self,
        surrogate: &'a Surrogate,
        form: impl Fn(hvkg::Setting<'a>) -> Result<Hvkg<'a>>,
    ) -> Result<Box<dyn Acquisition + 'a>> {
        let (space, observed) = (&self.history.space, self.observed_designs()?);
        let (search, count) = (HYPERVOLUME_FRONT, HYPERVOLUME_DESIGNS);
        let front = predicted_pareto_set(space, surrogate, &observed, search, count)?;
        let reference = self.reference(surrogate)?;
        let seed = self.seed(FANTASIES);
        let setting = hvkg::Setting { space, surrogate, front, reference, seed };
        Ok(Box::new(form(setting)?))
    }

    /// The configured reference point, standardised.
    fn reference(&self, surrogate: &Surrogate) -> Result<Option<Vec<f64>>> {
        let Some(point) = &self.config().reference else { return Ok(None) };
        let mut reference = vec![0.0; surrogate.outputs.len()];
        for (name, value) in point {
            let m = self.problem().objective_index(name)?;
            let value = self.history.space.to_internal(m, *value);
            reference[m] = surrogate.outputs[m].map.standardize(value);
        }
        Ok(Some(reference))
    }

    /// The models, with or without what is under way.
    fn surrogate(&self, pending: Pending) -> Result<Surrogate> {
        let history = &self.history;
        let observed = |m: usize| -> Result<Observed<'_>> {
            let space = &history.space;
            let row = |evaluation: &Evaluation| match evaluation.status {
                Status::Told(value) => Some(Row {
                    evaluation: evaluation.id,
                    x: history.point(evaluation.id),
                    value: space.to_internal(m, value),
                    searched: evaluation.asked && !evaluation.initial,
                }),
                _ => None,
            };
            let mut expected = Points::new(space.dim());
            if pending == Pending::Expected {
                for x in history.pending(m).chain(history.failed(m)) {
                    expected.push(x)?;
                }
            }
            Ok(Observed {
                objective: &self.problem().objectives[m],
                sign: space.sign(m),
                dim: space.dim(),
                rows: history.told(m).filter_map(row).collect(),
                expected,
            })
        };
        let observed: Vec<Observed<'_>> =
            (0..self.problem().objectives.len()).map(observed).collect::<Result<_>>()?;
        Ok(Surrogate::fit(&observed, self.config().lengthscales, self.config().units)?)
    }

    /// What this step looks at.
    fn step(&self, surrogate: &Surrogate) -> Result<Step> {
        let (config, order) = (self.config(), weights::drawing_order(self.problem()));
        let seed = seed_for(self.history.seed, WEIGHTS);
        let weights = weights::weights_of_step(config, &order, seed, self.history.asks)?;
        let setting = discretise::Setting {
            space: &self.history.space,
            surrogate,
            weights: &weights,
            observed: &self.observed_designs()?,
            seed: self.seed(DISCRETISATION),
        };
        let best = best_for_weights(&setting)?;
        let set = discretise(config.discretisation, &setting, &best)?;
        let mut promising = ties_with_set(&setting, &best, &set)?;
        for x in set.rows() {
            promising.push(x)?;
        }
        Ok(Step { weights, set, best, promising })
    }

    /// Where nothing is expected to be gained: the design about which the models know least.
    fn explore(
        &self,
        surrogate: &Surrogate,
        region: &Region<'_>,
        granted: &[bool],
    ) -> Result<(Vec<f64>, usize, Note)> {
        let designs = region.filling_designs()?;
        let coupled = self.config().algorithm.is_coupled();
        let is_granted = |m: usize| coupled || granted[m];
        let mut best: Option<(f64, usize, usize)> = None;
        for (i, x) in designs.rows().enumerate() {
            for (m, output) in surrogate.outputs.iter().enumerate().filter(|(m, _)| is_granted(*m))
            {
                let value = output.gp.predict(x)?.variance / self.history.cost(m);
                let better = best.is_none_or(|(most, ..)| value > most);
                if better && !self.is_taken_for(m, &self.canonical(x)) {
                    best = Some((value, i, m));
                }
            }
        }
        let (i, m, note) = match best {
            Some((_, i, m)) => (i, m, Note::NoExpectedGain),
            // Every design was tried: repeat one, in turn.
            None => {
                let turn = self.history.asks as usize;
                let objectives = self.problem().objectives.len();
                ((turn / objectives) % designs.len(), turn % objectives, Note::Exhausted)
            }
        };
        Ok((designs.row(i).to_vec(), m, note))
    }

    fn reasoned(&self, found: &[Best], chosen: usize, notes: Vec<Note>) -> Suggestion {
        let coupled = self.config().algorithm.is_coupled();
        let all = || self.problem().objectives.iter().map(|objective| objective.name.clone());
        let names = |best: &Best| match coupled {
            true => all().collect(),
            false => vec![self.problem().objectives[best.option].name.clone()],
        };
        let rows = found.iter().enumerate().map(|(i, best)| {
            let others = found.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, other)| other);
            let rival = others.map(Best::log_value).fold(f64::NEG_INFINITY, f64::max);
            let flips_at = (best.log_gain - rival).exp();
            self.row(best, names(best), flips_at.is_finite().then_some(flips_at))
        });
        let (best, objective) = (&found[chosen], if coupled { 0 } else { found[chosen].option });
        Suggestion {
            evaluation: self.history.evaluations.len() as u64,
            design: self.history.space.decode(&best.x),
            objective: self.problem().objectives[objective].name.clone(),
            cost: self.history.cost(objective),
            options: rows.collect(),
            chosen: Some(chosen),
            notes,
        }
    }

    fn row(&self, best: &Best, objectives: Vec<String>, flips_at: Option<f64>) -> OptionRow {
        OptionRow {
            objectives,
            design: self.history.space.decode(&best.x),
            log_gain: best.log_gain,
            cost: best.cost,
            flips_at,
        }
    }

    /// A suggestion that no model was asked about.
    fn given(&self, x: &[f64], objective: usize, note: Note) -> Suggestion {
        Suggestion {
            evaluation: self.history.evaluations.len() as u64,
            design: self.history.space.decode(x),
            objective: self.problem().objectives[objective].name.clone(),
            cost: self.history.cost(objective),
            options: vec![],
            chosen: None,
            notes: vec![note],
        }
    }

    fn model_notes(&self, surrogate: &Surrogate) -> Vec<Note> {
        let named = self.problem().objectives.iter().zip(&surrogate.outputs);
        let notes = named.flat_map(|(objective, output)| {
            let note = |note: &_| Note::Model {
                objective: objective.name.clone(),
                note: Clone::clone(note),
            };
            output.notes.iter().map(note)
        });
        notes.collect()
    }

    fn front_point(&self, surrogate: &Surrogate, x: &[f64]) -> Result<FrontPoint> {
        let space = &self.history.space;
        let forecast = |m: usize| -> Result<Forecast> {
            let output = &surrogate.outputs[m];
            let Prediction { mean, variance } = output.gp.predict(x)?;
            let here = self.history.observations(m).filter(|(at, _)| space.same(at, x));
            Ok(Forecast {
                mean: space.to_user(m, output.map.restore(mean)),
                // Not the root of the variance in these units, which may overflow.
                sd: variance.sqrt() * output.map.scale(),
                measured: here.map(|(_, value)| value).collect(),
            })
        };
        let objectives = (0..surrogate.outputs.len()).map(forecast).collect::<Result<_>>()?;
        Ok(FrontPoint { design: space.decode(x), objectives })
    }

    /// Distinct designs inside the bounds that have a value: imported ones in an order of their
    /// own, whatever that of the import, then the others in the order in which they were asked for.
    fn observed_designs(&self) -> Result<Points> {
        let told = self.history.evaluations.iter().filter(|e| matches!(e.status, Status::Told(_)));
        let mut rows: Vec<(u64, &[f64])> = Vec::new();
        for evaluation in told {
            let x = self.history.point(evaluation.id);
            if x.iter().all(|v| (0.0..=1.0).contains(v)) {
                // The highest bit tells the two kinds apart.
                let rank = if evaluation.asked { 1 << 63 | evaluation.id } else { shuffled(x) };
                rows.push((rank, x));
            }
        }
        rows.sort_by_key(|(rank, _)| *rank);
        let mut points = Points::new(self.history.space.dim());
        let mut seen = std::collections::HashSet::new();
        for (_, x) in rows {
            if seen.insert(x.iter().map(|v| (v + 0.0).to_bits()).collect::<Vec<u64>>()) {
                points.push(x)?;
            }
        }
        Ok(points)
    }

    /// Observed designs, and those whose values the models take for what is expected there.
    fn known_designs(&self) -> Result<Points> {
        let mut known = self.observed_designs()?;
        for m in 0..self.problem().objectives.len() {
            for x in self.history.pending(m).chain(self.history.failed(m)) {
                known.push(x)?;
            }
        }
        Ok(known.select(&distinct(&known)))
    }

    /// Joint entropy search on fronts drawn for this step.
    fn jes_lb<'a>(&self, surrogate: &'a Surrogate, evaluated: Evaluated) -> Result<JesLb<'a>> {
        let fronts = jes_lb::draw_fronts(surrogate, &self.history.space, self.seed(FRONTS))?;
        Ok(JesLb::new(surrogate, &fronts, Some(jes_lb::NOISE_FREE), evaluated)?)
    }

    fn is_taken(&self, option: usize, x: &[f64]) -> bool {
        if self.config().algorithm.is_coupled() {
            (0..self.problem().objectives.len()).any(|m| self.is_taken_for(m, x))
        } else {
            self.is_taken_for(option, x)
        }
    }

    /// Whether evaluating this objective there again would repeat what is under way, has failed, or
    /// is known without noise.
    fn is_taken_for(&self, objective: usize, x: &[f64]) -> bool {
        let history = &self.history;
        let same = |at: &[f64]| history.space.same(at, x);
        let repeatable = self.problem().objectives[objective].noise != Noise::Deterministic;
        history.pending(objective).chain(history.failed(objective)).any(same)
            || (!repeatable && history.observations(objective).any(|(at, _)| same(at)))
    }

    /// The encoding of the design that `x` stands for: what a history would hold.
    fn canonical(&self, x: &[f64]) -> Vec<f64> {
        let space = &self.history.space;
        space.encode(&space.decode(x)).unwrap_or_else(|_| x.to_vec())
    }

    fn costs(&self) -> Vec<Cost> {
        let costs = (0..self.problem().objectives.len()).map(|m| self.history.cost(m));
        if self.config().algorithm.is_coupled() {
            return vec![Cost::constant(costs.sum())];
        }
        costs.map(Cost::constant).collect()
    }

    /// The seed of this step for one purpose.
    fn seed(&self, purpose: u64) -> u64 {
        seed_for(seed_for(self.history.seed, purpose), self.history.asks)
    }

    /// Appends an event made from the latest state, again if others append at the same time.
    fn record(&mut self, mut event: impl FnMut(&History) -> Result<Event>) -> Result<()> {
        for _ in 0..ATTEMPTS {
            let next = event(&self.history)?;
            match self.append(next) {
                Err(Error::Journal(JournalError::Conflict { .. })) => self.refresh()?,
                outcome => return outcome,
            }
        }
        Err(self.too_busy())
    }

    /// Appends to the journal first, to the history once that has succeeded.
    fn append(&mut self, event: Event) -> Result<()> {
        let record = Record::from(event);
        self.history.check(&record.event)?;
        let at = self.history.position;
        self.journal.append(at, std::slice::from_ref(&record))?;
        self.history.apply(&record)
    }

    fn too_busy(&self) -> Error {
        let position = self.history.position;
        Error::Journal(JournalError::Conflict { expected: position, found: position + 1 })
    }
}

/// A number below 2⁶³ that depends on the design alone, and not on its last bits, which units of
/// parameters may change.
fn shuffled(x: &[f64]) -> u64 {
    const STEPS: f64 = (1u64 << 30) as f64;
    x.iter().fold(0, |mixed, v| seed_for(mixed, (v * STEPS).round() as u64)) >> 1
}

/// What a step looks at.
struct Step {
    /// Weight vectors, a row each.
    weights: Points,
    /// Designs compared after an imagined evaluation.
    set: Points,
    /// For each weight vector, the design that is best now.
    best: Points,
    /// Designs at which an evaluation may well be worth most.
    promising: Points,
}

/// Whether models take evaluations under way into account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pending {
    /// For predictions: only what is known.
    Ignored,
    /// For suggestions: as if they had returned what is expected.
    Expected,
}

/// Among the options that are granted, that of the largest value per cost, the first of equals.
fn best_value(found: &[Best], granted: &[bool]) -> Option<usize> {
    let granted: Vec<usize> = (0..found.len()).filter(|i| granted[found[*i].option]).collect();
    let values: Vec<f64> = granted.iter().map(|i| found[*i].log_value()).collect();
    largest(&values, 1).first().map(|i| granted[*i])
}
