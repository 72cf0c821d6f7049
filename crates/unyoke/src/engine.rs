//! The engine: what to evaluate next given everything that happened, and what is predicted.
//!
//! [`Engine::search`] is the method in order: model, outlook and value, search, suggestion. What
//! it computes depends on the history alone, wherever that is written down.

mod modelling;
mod stakes;
mod pending;
mod measuring;
mod predicting;
mod prospects;
mod checking;
mod confirming;
mod progress;
mod queue;

use crate::choices::{Choice, choices};
use crate::config::{Algorithm, Config, Deterministic, FrontSearch, Preference};
use crate::cost::CostModel;
use crate::design::Design;
use crate::discretise::{self, best_for_weights, discretise, ties_with_set};
use crate::error::Result;
use crate::history::{Evaluation, History, Status};
use crate::model::subset::distinct;
use crate::model::{Joint, Model, ModelNote, Place};
use crate::outlook::Compared;
use crate::plan::{self, Allowed, Planned, is_payable};
use crate::problem::{Cost, Noise, Problem};
use crate::recommend::predicted_pareto_set;
use crate::search::{Best, Region, best_of_each_option};
use crate::space::{Space, key};
use crate::suggestion::{Note, OptionRow, Origin, Suggestion};
use crate::value::blend::Blend;
use crate::value::c_mokg::CMokg;
use crate::value::chebyshev::UtilityKg;
use crate::value::hvkg::{self, Hvkg};
use crate::value::hypervolume::{Extent, Hypervolume, is_computable};
use crate::value::jes_lb::{self, Evaluated, JesLb};
use crate::value::ma_kg::MaKg;
use crate::value::noisy_ehvi::NoisyEhvi;
use crate::value::par_ego::ParEgo;
use crate::value::{Acquisition, Reordered, Scalarised};
use crate::weights;
use pending::promising;
use stakes::Stakes;
use std::sync::Arc;
use unyoke_math::Points;
use unyoke_math::optimize::largest;
use unyoke_math::random::seed_for;

/// Streams of random numbers: what each is for.
const WEIGHTS: u64 = 1;
const RAW_DESIGNS: u64 = 2;
const DISCRETISATION: u64 = 3;
const FRONTS: u64 = 4;
const FANTASIES: u64 = 5;
const VOLUME: u64 = 6;
const PROSPECTS: u64 = 7;
const PENDING: u64 = 8;

/// No reference point is further away from the values than so many of their standard deviations.
const FARTHEST_REFERENCE: f64 = 1e30;

/// The predicted Pareto set from which hypervolumes are climbed.
const HYPERVOLUME_FRONT: FrontSearch = FrontSearch { population: 100, generations: 50 };
const HYPERVOLUME_DESIGNS: usize = 64;

/// Designs that differ by less than this part of the range of each parameter are practically the
/// same: two searches that did not know of each other found the same optimum.
const NEAR: f64 = 1e-3;

/// What has become of a suggestion.
#[allow(clippy::large_enum_variant, reason = "there is one at a time, and it is moved once")]
pub(crate) enum Renewed {
    /// This can be asked for: the suggestion under its new number, or what must come before it.
    Valid(Suggestion),
    /// Nothing may be asked for now.
    NotAllowed,
    /// It must be searched for again.
    Outdated,
}

/// The engine at work on a history.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Engine<'h> {
    history: &'h History,
    /// Where suggestions come from: all designs, or those that have some values. What is learned there
    /// is valued for all designs.
    within: &'h Space,
}

impl<'h> Engine<'h> {
    pub(crate) fn new(history: &'h History) -> Self {
        Self { history, within: &history.space }
    }

    /// The engine at work where designs have some values only.
    pub(crate) fn within(history: &'h History, within: &'h Space) -> Self {
        Self { history, within }
    }

    fn problem(&self) -> &'h Problem {
        &self.history.problem
    }

    fn config(&self) -> &'h Config {
        &self.history.config
    }

    /// The best evaluation among those that are allowed.
    pub(crate) fn suggest(&self, allowed: Allowed<'_>) -> Result<Option<Suggestion>> {
        if let Some(queued) = self.next_queued(allowed)? {
            return Ok(Some(queued));
        }
        match plan::next(self.history, self.within, allowed)? {
            Planned::Given { x, measurement, origin } => {
                Ok(Some(self.given(&x, measurement, origin)?))
            }
            Planned::Search => {
                let most = |choice: &Choice| allowed(&choice.measurements).most();
                let most: Vec<Option<f64>> = self.choices().iter().map(most).collect();
                match most.iter().any(Option::is_some) {
                    true => self.search(&most).map(Some),
                    false => Ok(None),
                }
            }
            Planned::Nothing => Ok(None),
        }
    }

    /// Whether a suggestion that was searched for earlier can be asked for now that others have
    /// written to the journal. Knowing more, a search might choose something else; but what it
    /// chose is still worth its price unless it would repeat what was written.
    pub(crate) fn renew(&self, earlier: &Suggestion, allowed: Allowed<'_>) -> Result<Renewed> {
        if earlier.confirms.is_some() {
            return self.renew_confirmation(earlier, allowed);
        }
        if !earlier.fixed.is_empty() && !self.within.is_held() {
            let held = self.history.space.holding(&earlier.fixed)?;
            return Engine { history: self.history, within: &held }.renew(earlier, allowed);
        }
        if let Some(queued) = self.next_queued(allowed)? {
            return Ok(Renewed::Valid(queued));
        }
        match plan::next(self.history, self.within, allowed)? {
            // What needs no model comes first, and costs nothing to choose.
            Planned::Given { x, measurement, origin } => {
                return Ok(Renewed::Valid(self.given(&x, measurement, origin)?));
            }
            Planned::Nothing => return Ok(Renewed::NotAllowed),
            Planned::Search if earlier.is_searched() => {}
            Planned::Search => return Ok(Renewed::Outdated),
        }
        let m = self.problem().measurement_index(&earlier.measurement)?;
        let choices = self.choices();
        let Some(choice) = choices.iter().find(|choice| choice.measurements.contains(&m)) else {
            return Ok(Renewed::Outdated);
        };
        let is_outdated = !self.has_current_costs(earlier)? || self.repeats(earlier, choice)?;
        let cost =
            CostModel::new(self.history, &choice.measurements)?.at_design(&earlier.design)?;
        let is_granted =
            allowed(&choice.measurements).most().is_some_and(|most| is_payable(cost, most));
        // If it is not granted, something else may be.
        if is_outdated || !is_granted {
            return Ok(Renewed::Outdated);
        }
        let evaluation = self.history.evaluations.len() as u64;
        Ok(Renewed::Valid(Suggestion { evaluation, ..earlier.clone() }))
    }

    /// Whether nothing that was compared has another price than when it was compared. What is learned
    /// of a cost meanwhile changes its estimate, not the price.
    fn has_current_costs(&self, earlier: &Suggestion) -> Result<bool> {
        for row in &earlier.options {
            let places = row.measurements.iter().map(|name| self.problem().measurement_index(name));
            let measurements: Vec<usize> = places.collect::<Result<_>>()?;
            let is_learned = |m: &usize| matches!(self.history.cost(*m), Cost::Learned(_));
            if measurements.iter().any(is_learned) {
                continue;
            }
            let now = CostModel::new(self.history, &measurements)?.at_design(&row.design)?;
            if now != row.cost {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether one of these outputs was meanwhile measured at the same design, or was asked for at
    /// practically the same one.
    fn repeats(&self, earlier: &Suggestion, choice: &Choice) -> Result<bool> {
        let x = self.history.space.encode(&earlier.design)?;
        let near = |at: &[f64]| at.iter().zip(&x).all(|(a, b)| (a - b).abs() <= NEAR);
        let mut written = self.history.evaluations.iter().skip(earlier.evaluation as usize);
        let is_near = written.any(|e| {
            let same = e.outputs.iter().any(|k| choice.outputs.contains(k));
            e.status.counts() && same && near(self.history.point(e.id))
        });
        Ok(is_near || self.is_taken(choice, &x))
    }

    /// What a search chooses among.
    fn choices(&self) -> Vec<Choice> {
        choices(self.problem(), self.config().algorithm)
    }

    /// Model, outlook and value, search: the best of the options that are granted,
    /// of which there must be one, each up to the most that may be spent on it.
    fn search(&self, most: &[Option<f64>]) -> Result<Suggestion> {
        let granted: Vec<bool> = most.iter().map(Option::is_some).collect();
        let model = self.model(Basis::Expected)?;
        let step = self.step(&model)?;
        let imagined = self.imagine(&model, &step)?;
        let acquisition = self.averaged(&model, &step, &imagined)?;
        let promising = promising(&step, &imagined)?;
        let region = Region {
            space: self.within,
            search: self.config().search,
            promising: &promising,
            best: &step.best,
            seed: self.seed(RAW_DESIGNS),
        };
        let (choices, costs) = (self.choices(), self.costs()?);
        let taken = |option: usize, x: &[f64]| {
            let most = most[option].unwrap_or(f64::INFINITY);
            if !is_payable(costs[option].at(x), most) {
                return true;
            }
            let x = self.canonical(x);
            self.is_taken(&choices[option], &x) || self.is_known(&model, &choices[option], &x)
        };
        let found = best_of_each_option(&*acquisition, &costs, &region, &taken)?;
        let found: Vec<Best> = found.into_iter().flatten().collect();
        let mut notes = self.model_notes(&model);
        match self.best_value(&found, &granted) {
            Some(chosen) if found[chosen].log_gain > f64::NEG_INFINITY => {
                if self.best_value(&found, &vec![true; granted.len()]) != Some(chosen) {
                    notes.push(Note::NextBest);
                }
                let prospect = self.prospect(&model, &step, &found, Some(chosen))?;
                Ok(Suggestion { prospect, ..self.reasoned(&found, chosen, notes)? })
            }
            _ => {
                let (x, measurement, origin) = self.explore(&model, &region, most)?;
                let mut suggestion = self.given(&x, measurement, origin)?;
                suggestion.notes.append(&mut notes);
                suggestion.prospect = self.prospect(&model, &step, &found, None)?;
                Ok(suggestion)
            }
        }
    }

    /// What the algorithm maximises in this step.
    fn acquisition<'a>(
        &'a self,
        model: &'a Model,
        step: &Step,
    ) -> Result<Box<dyn Acquisition + 'a>> {
        let Step { weights, set, .. } = step;
        let shared = || Scalarised::new(model, set, weights);
        Ok(match self.config().algorithm {
            Algorithm::Auto => self.utilities_and_volume(model, step)?,
            Algorithm::HvkgExact => match &step.stakes {
                Some(stakes) => {
                    let compared = Arc::new(Compared::new(model, set)?);
                    Box::new(self.hypervolume(compared, step, &stakes.reference)?)
                }
                // One objective has no volume but that of the best value.
                None => Box::new(CMokg::new(shared()?, &self.choices())?),
            },
            // maKG of the whole vector is the same with one choice: everything.
            Algorithm::CMokg | Algorithm::CMokgRandom => self.c_mokg(model, step)?,
            Algorithm::MakgVector | Algorithm::Sobol => {
                Box::new(CMokg::new(shared()?, &self.choices())?)
            }
            Algorithm::Makg | Algorithm::MakgRandom => Box::new(MaKg::new(shared()?)),
            Algorithm::HvkgD => self.by_choice(model, self.hvkg(model, Hvkg::decoupled)?),
            Algorithm::HvkgC => self.hvkg(model, Hvkg::coupled)?,
            Algorithm::JesLbD => {
                let jes_lb = self.jes_lb(model, Evaluated::OneObjective)?;
                self.by_choice(model, Box::new(jes_lb))
            }
            Algorithm::JesLbC => Box::new(self.jes_lb(model, Evaluated::AllObjectives)?),
            Algorithm::Parego => Box::new(ParEgo::new(model, &self.known_designs()?, weights)?),
            Algorithm::Nehvi => {
                let (known, reference) = (self.known_designs()?, self.reference(model)?);
                Box::new(NoisyEhvi::new(model, &known, reference, self.seed(FRONTS))?)
            }
        })
    }

    /// Gains of decision makers with the utilities of the user.
    fn c_mokg<'a>(&self, model: &'a Model, step: &Step) -> Result<Box<dyn Acquisition + 'a>> {
        self.c_mokg_of(model, Scalarised::new(model, &step.set, &step.weights)?)
    }

    fn c_mokg_of<'a>(
        &self,
        model: &'a Model,
        shared: Scalarised<'a>,
    ) -> Result<Box<dyn Acquisition + 'a>> {
        Ok(match &model.worth {
            Some(worth) => Box::new(UtilityKg::new(shared, worth, &self.choices())?),
            None => Box::new(CMokg::new(shared, &self.choices())?),
        })
    }

    /// Gains of decision makers and of the hypervolume, the latter converted into utility by what is
    /// at stake of each on the predicted front. The first alone where designs may be infeasible, where
    /// one run gives several of more than three objectives, and for whoever says which weights matter,
    /// or more than weights.
    fn utilities_and_volume<'a>(
        &'a self,
        model: &'a Model,
        step: &Step,
    ) -> Result<Box<dyn Acquisition + 'a>> {
        let shared = Scalarised::new(model, &step.set, &step.weights)?;
        let compared = shared.compared();
        let utilities = self.c_mokg_of(model, shared)?;
        let Some(stakes) = &step.stakes else { return Ok(utilities) };
        let hypervolume = Box::new(self.hypervolume(compared, step, &stakes.reference)?);
        let parts: [(Box<dyn Acquisition + 'a>, f64); 2] =
            [(utilities, 0.0), (hypervolume, self.utility_of_volume(stakes).ln())];
        Ok(Box::new(Blend { parts: parts.into() }))
    }

    /// Gains of hypervolume of each choice, of which each gives objectives only.
    fn hypervolume<'a>(
        &self,
        compared: Arc<Compared<'a>>,
        step: &Step,
        reference: &[f64],
    ) -> Result<Hypervolume<'a>> {
        let objective = |k: &usize| match compared.model.place(*k) {
            Place::Objective(m) => Some(m),
            Place::Constraint(_) => None,
        };
        let objectives = |c: &Choice| c.outputs.iter().filter_map(objective).collect::<Vec<_>>();
        let measured: Vec<Vec<usize>> = self.choices().iter().map(objectives).collect();
        let extent = Extent { set: &step.set, reference, seed: self.seed(VOLUME) };
        Ok(Hypervolume::beside(compared, &extent, &measured)?)
    }

    /// What a unit of standardised hypervolume counts in units of utility.
    fn utility_of_volume(&self, stakes: &Stakes) -> f64 {
        volume_weight(self.problem().parameters.len()) * stakes.range / stakes.volume
    }

    /// Whether the algorithm maximises gains of hypervolume in closed form, alone or among others.
    fn needs_stakes(&self, model: &Model) -> bool {
        match self.config().algorithm {
            Algorithm::Auto => self.counts_volume(model),
            Algorithm::HvkgExact => model.objectives.len() > 1,
            _ => false,
        }
    }

    /// Whether gains of hypervolume can be had beside those of decision makers, and are wanted.
    fn counts_volume(&self, model: &Model) -> bool {
        let objectives = model.objectives.len();
        let is_computable = |choice: &Choice| is_computable(choice.outputs.len(), objectives);
        let is_plain = !model.is_constrained() && self.choices().iter().all(is_computable);
        // Hypervolumes know nothing of what is enough; Chebyshev utilities leave out no dents.
        let is_wanted =
            self.config().preference == Preference::Uniform && self.config().is_linear();
        objectives > 1 && is_plain && is_wanted
    }

    fn hvkg<'a>(
        &'a self,
        model: &'a Model,
        form: impl Fn(hvkg::Setting<'a>) -> Result<Hvkg<'a>>,
    ) -> Result<Box<dyn Acquisition + 'a>> {
        let (space, observed) = (&self.history.space, self.observed_designs()?);
        let (search, count) = (HYPERVOLUME_FRONT, HYPERVOLUME_DESIGNS);
        let front = predicted_pareto_set(space, model, &observed, search, count)?;
        let reference = self.reference(model)?;
        let seed = self.seed(FANTASIES);
        let setting = hvkg::Setting { space, model, front, reference, seed };
        Ok(Box::new(form(setting)?))
    }

    /// A function with an option per objective as one with an option per choice, each of which gives
    /// one objective.
    fn by_choice<'a>(
        &self,
        model: &Model,
        inner: Box<dyn Acquisition + 'a>,
    ) -> Box<dyn Acquisition + 'a> {
        let objective = |choice: &Choice| {
            let places = choice.outputs.iter().map(|k| model.place(*k));
            let mut objectives = places.filter_map(|place| match place {
                Place::Objective(m) => Some(m),
                Place::Constraint(_) => None,
            });
            objectives.next().unwrap_or(0)
        };
        let options = self.choices().iter().map(objective).collect();
        Box::new(Reordered { inner, options })
    }

    /// Joint entropy search on fronts drawn for this step.
    fn jes_lb<'a>(&self, model: &'a Model, evaluated: Evaluated) -> Result<JesLb<'a>> {
        let fronts = jes_lb::draw_fronts(model, &self.history.space, self.seed(FRONTS))?;
        Ok(JesLb::new(model, &fronts, Some(jes_lb::NOISE_FREE), evaluated)?)
    }

    /// What this step looks at.
    fn step(&self, model: &Model) -> Result<Step> {
        let (config, order) = (self.config(), weights::DrawingOrder::new(self.problem()));
        let seed = seed_for(self.history.seed, WEIGHTS);
        let weights = weights::weights_of_step(config, &order, seed, plan::searches(self.history))?;
        let mut step = self.look_at(model, weights, &self.observed_designs()?)?;
        if self.needs_stakes(model) {
            step.stakes = Some(self.stakes(model, &step)?);
        }
        Ok(step)
    }

    /// What a step looks at for these weights, with a model of values at these designs.
    fn look_at(&self, model: &Model, weights: Points, observed: &Points) -> Result<Step> {
        let (space, seed) = (&self.history.space, self.seed(DISCRETISATION));
        let setting = discretise::Setting { space, model, weights: &weights, observed, seed };
        let best = best_for_weights(&setting)?;
        let set = discretise(self.config().discretisation, &setting, &best)?;
        let ties = ties_with_set(&setting, &best, &set)?;
        Ok(Step { weights, set, best, ties, stakes: None })
    }

    /// Where nothing is expected to be gained: the design about which the models know least.
    fn explore(
        &self,
        model: &Model,
        region: &Region<'_>,
        most: &[Option<f64>],
    ) -> Result<(Vec<f64>, usize, Origin)> {
        let (designs, choices, costs) = (region.filling_designs()?, self.choices(), self.costs()?);
        let order = by_name(self.problem(), &choices);
        let mut best: Option<(f64, usize, usize)> = None;
        for (i, x) in designs.rows().enumerate() {
            for &c in &order {
                let (choice, cost) = (&choices[c], costs[c].at(x));
                if !most[c].is_some_and(|most| is_payable(cost, most)) {
                    continue;
                }
                let variance = |k: &usize| Ok(model.belief(*k).predict(x)?.variance);
                let variances: Result<Vec<f64>> = choice.outputs.iter().map(variance).collect();
                let value = variances?.iter().sum::<f64>() / cost;
                let better = best.is_none_or(|(most, ..)| value > most);
                if better && !self.is_taken(choice, &self.canonical(x)) {
                    best = Some((value, i, c));
                }
            }
        }
        let (i, c, origin) = match best {
            Some((_, i, c)) => (i, c, Origin::Explored),
            // Every design was tried: repeat one, in turn.
            None => {
                let turn = plan::searches(self.history) as usize;
                ((turn / choices.len()) % designs.len(), turn % choices.len(), Origin::Repeated)
            }
        };
        Ok((designs.row(i).to_vec(), choices[c].measurements[0], origin))
    }

    /// Among the options that are granted, that of the largest value per cost; of equals the first by
    /// name, however the problem lists them.
    fn best_value(&self, found: &[Best], granted: &[bool]) -> Option<usize> {
        let by_name = by_name(self.problem(), &self.choices());
        let place = |i: &usize| by_name.iter().position(|option| *option == found[*i].option);
        let mut order: Vec<usize> =
            (0..found.len()).filter(|i| granted[found[*i].option]).collect();
        order.sort_by_key(place);
        let values: Vec<f64> = order.iter().map(|i| found[*i].log_value()).collect();
        largest(&values, 1).first().map(|i| order[*i])
    }

    fn reasoned(&self, found: &[Best], chosen: usize, notes: Vec<Note>) -> Result<Suggestion> {
        let best = &found[chosen];
        let measurement = self.choices()[best.option].measurements[0];
        let suggestion = self.given(&best.x, measurement, Origin::Searched)?;
        Ok(Suggestion { options: self.rows(found), chosen: Some(chosen), notes, ..suggestion })
    }

    /// What was found for each option, as a user reads it.
    fn rows(&self, found: &[Best]) -> Vec<OptionRow> {
        let choices = self.choices();
        let name = |m: &usize| self.problem().measurements[*m].name.clone();
        let row = |(i, best): (usize, &Best)| {
            let others = found.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, other)| other);
            let rival = others.map(Best::log_value).fold(f64::NEG_INFINITY, f64::max);
            let break_even_cost = (best.log_gain - rival).exp();
            OptionRow {
                measurements: choices[best.option].measurements.iter().map(name).collect(),
                design: self.within.decode(&best.x),
                log_gain: best.log_gain,
                cost: best.cost,
                break_even_cost: break_even_cost.is_finite().then_some(break_even_cost),
            }
        };
        found.iter().enumerate().map(row).collect()
    }

    /// A suggestion that no model was asked about.
    fn given(&self, x: &[f64], measurement: usize, origin: Origin) -> Result<Suggestion> {
        let design = match origin {
            Origin::SameDesign => self.design_at(x, self.history.asked()),
            Origin::Confirmation => self.design_at(x, self.history.completed()),
            _ => self.within.decode(x),
        };
        self.given_at(design, measurement, origin)
    }

    /// The same for a design that somebody wrote down.
    fn given_at(&self, design: Design, measurement: usize, origin: Origin) -> Result<Suggestion> {
        let outputs = self.problem().outputs_of(measurement);
        Ok(Suggestion {
            evaluation: self.history.evaluations.len() as u64,
            cost: self.expected_cost(measurement, &design)?,
            design,
            measurement: self.problem().measurements[measurement].name.clone(),
            outputs: outputs.iter().map(|k| self.problem().outputs[*k].name.clone()).collect(),
            origin,
            options: vec![],
            chosen: None,
            prospect: None,
            notes: vec![],
            confirms: None,
            queued: None,
            fixed: Design::new(),
        })
    }

    /// The design of the first of these evaluations that is at `x`. Bounds are not exact in binary:
    /// converted back from the cube it could be another one in its last digit, at which nothing was
    /// measured yet.
    fn design_at<'a>(&self, x: &[f64], mut among: impl Iterator<Item = &'a Evaluation>) -> Design {
        let found = among.find(|e| self.history.point(e.id) == x);
        found.map_or_else(|| self.history.space.decode(x), |e| e.design.clone())
    }

    fn model_notes(&self, model: &Model) -> Vec<Note> {
        let notes = self.problem().outputs.iter().enumerate().flat_map(|(k, output)| {
            let note = move |note: &ModelNote| {
                let note = note.in_units(|value| self.history.space.to_user(k, value));
                Note::Model { output: output.name.clone(), note }
            };
            model.belief(k).notes.iter().map(note)
        });
        notes.chain(self.correlations(model)).collect()
    }

    /// Which outputs are modelled together, with their correlations in the user's directions.
    fn correlations(&self, model: &Model) -> Vec<Note> {
        let objectives: Vec<usize> = self.problem().objectives().map(|(k, _)| k).collect();
        let note = |([a, b], correlation): ([usize; 2], f64)| {
            let pair = [objectives[a], objectives[b]];
            let signs: f64 = pair.iter().map(|k| self.history.space.sign(*k)).product();
            let outputs = pair.map(|k| self.problem().outputs[k].name.clone());
            Note::Correlated { outputs, correlation: signs * correlation }
        };
        let correlations = model.joint.as_ref().map(Joint::correlations);
        correlations.into_iter().flatten().map(note).collect()
    }

    /// Distinct designs inside the bounds that have a value: imported ones in an order of their
    /// own, whatever that of the import, then the others in the order in which they were asked for.
    fn observed_designs(&self) -> Result<Points> {
        let completed = |e: &&Evaluation| matches!(e.status, Status::Completed(_));
        let mut rows: Vec<(u64, &[f64])> = Vec::new();
        for evaluation in self.history.evaluations.iter().filter(completed) {
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
            if seen.insert(key(x)) {
                points.push(x)?;
            }
        }
        Ok(points)
    }

    /// Observed designs, and those whose values the models take for what is expected there.
    fn known_designs(&self) -> Result<Points> {
        let mut known = self.observed_designs()?;
        for k in 0..self.problem().outputs.len() {
            let history = self.history;
            for x in history.pending(k).chain(history.failed(k)).chain(history.aside(k)) {
                known.push(x)?;
            }
        }
        Ok(known.select(&distinct(&known)))
    }

    /// Whether measuring this there would repeat what is under way, has failed, or is known without
    /// noise: all of it, or for algorithms that measure everything any of it.
    fn is_taken(&self, choice: &Choice, x: &[f64]) -> bool {
        let mut outputs = choice.outputs.iter();
        match choice.measurements.len() {
            1 => outputs.all(|k| self.is_taken_for(*k, x)),
            _ => outputs.any(|k| self.is_taken_for(*k, x)),
        }
    }

    fn is_taken_for(&self, output: usize, x: &[f64]) -> bool {
        let history = &self.history;
        let same = |at: &[f64]| history.space.same(at, x);
        // Whoever gives standard errors has noise, whatever was declared.
        let has_errors = || {
            let readings = history.observations(output).map(|(_, reading)| reading);
            readings.filter_map(|reading| reading.sd).any(|sd| sd > 0.0)
        };
        let repeatable =
            self.problem().outputs[output].noise != Noise::Deterministic || has_errors();
        let taken = history.pending(output).chain(history.failed(output));
        taken.chain(history.aside(output)).any(same)
            || (!repeatable && history.observations(output).any(|(at, _)| same(at)))
    }

    /// Whether nothing can be learned there: all that would be measured is deterministic, and known
    /// as well as a measurement at this very design would make it known.
    fn is_known(&self, model: &Model, choice: &Choice, x: &[f64]) -> bool {
        let known = |k: &usize| {
            self.problem().outputs[*k].noise == Noise::Deterministic
                && model.belief(*k).predict(x).is_ok_and(|p| p.variance <= model.negligible(*k))
        };
        self.config().deterministic != Deterministic::Smoothed && choice.outputs.iter().all(known)
    }

    /// The encoding of the design that `x` stands for: what a history would hold.
    fn canonical(&self, x: &[f64]) -> Vec<f64> {
        let design = self.within.decode(x);
        self.history.space.encode(&design).unwrap_or_else(|_| x.to_vec())
    }

    /// What each choice costs, as a function of the design.
    fn costs(&self) -> Result<Vec<CostModel<'h>>> {
        let model = |choice: &Choice| CostModel::new(self.history, &choice.measurements);
        self.choices().iter().map(model).collect()
    }

    /// What a measurement is expected to cost at a design; infinite where its formula makes no sense.
    pub(crate) fn expected_cost(&self, measurement: usize, design: &Design) -> Result<f64> {
        self.history.space.encode(design)?;
        CostModel::new(self.history, &[measurement])?.at_design(design)
    }

    /// The seed of this step for one purpose.
    fn seed(&self, purpose: u64) -> u64 {
        seed_for(seed_for(self.history.seed, purpose), plan::searches(self.history))
    }
}

/// How much gains of hypervolume count beside those of decision makers, each as a part of what is at
/// stake.
///
/// Decision makers with linear utilities and nearly all weight on one objective send a search to
/// wherever that objective is not known yet. In two dimensions such places are soon exhausted; with each
/// further parameter there are more of them, and what is learned there says less and less about
/// trade-offs (docs/acquisition.md).
fn volume_weight(parameters: usize) -> f64 {
    const FOR_TWO: f64 = 0.03;
    const MOST: f64 = 10.0;
    (FOR_TWO * (parameters as f64 / 2.0).powi(5)).min(MOST)
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
    /// Designs as good as the best of the set, for one of the weight vectors.
    ties: Points,
    /// What there is to choose between, for algorithms that count it.
    stakes: Option<Stakes>,
}

/// Whether models take evaluations under way into account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Basis {
    /// For predictions: only what is known.
    Known,
    /// For suggestions: as if they had returned what is expected.
    Expected,
}

/// The places of `choices`, in the order of the names of what they measure first.
fn by_name(problem: &Problem, choices: &[Choice]) -> Vec<usize> {
    let name = |c: &usize| choices[*c].measurements.first().map(|m| &problem.measurements[*m].name);
    let mut order: Vec<usize> = (0..choices.len()).collect();
    order.sort_by_key(name);
    order
}
