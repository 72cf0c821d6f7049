//! The fitted Gaussian processes, one per output.
//!
//! Outputs are standardised for the fit. Evaluations that are under way, and those that failed,
//! enter as if they had returned what the model expects there: that changes no prediction, but
//! leaves nothing to be learned at the same place.
//!
//! Values at the same design are merged into one row of a model. Where there are many designs,
//! hyper-parameters are fitted on some of them, and the model itself is conditioned on those that
//! `subset` chooses.

use crate::config::{Config, Lengthscales, Units};
use crate::known::Known;
use crate::problem::{GammaPrior, KnownHyper, Noise, Output};
use crate::space::key;
use crate::subset::Candidates;
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::HashMap;
use unyoke_math::data::{Data, Standardizer};
use unyoke_math::fit::{self, Hyper, Mean, Model};
use unyoke_math::gamma::Gamma;
use unyoke_math::gp::{Gp, Prediction, Query};
use unyoke_math::kernel::Family;
use unyoke_math::success::Success;
use unyoke_math::{Points, Result, normal};

/// What the model of one output is made from; everything maximises, on the unit cube.
#[derive(Debug, Clone)]
pub(crate) struct Observed<'a> {
    pub(crate) output: &'a Output,
    /// The least acceptable value of a constraint; none for an objective.
    pub(crate) limit: Option<f64>,
    /// +1 if more is better, −1 if less: known hyper-parameters need turning.
    pub(crate) sign: f64,
    /// Number of inputs.
    pub(crate) dim: usize,
    /// Number of parameters; a categorical one has several inputs.
    pub(crate) parameters: usize,
    /// In the order in which they arrived.
    pub(crate) rows: Vec<Row<'a>>,
    /// Pending and failed evaluations.
    pub(crate) expected: Points,
    /// The formula that the output is, if it is one; there are no rows then.
    pub(crate) known: Option<Known>,
}

/// One observation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a> {
    /// Number of its evaluation.
    pub(crate) evaluation: u64,
    pub(crate) x: &'a [f64],
    pub(crate) value: f64,
    /// Its standard error, where that is known.
    pub(crate) sd: Option<f64>,
    /// Whether the design was chosen by a search for good values.
    pub(crate) searched: bool,
}

/// The models of all outputs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Surrogate {
    /// In the order of the problem.
    pub(crate) objectives: Vec<Belief>,
    /// In the order of the problem.
    pub(crate) constraints: Vec<Constraint>,
    /// Where runs succeed, of measurements that have ever failed.
    pub(crate) runs: Vec<Runs>,
    /// What an infeasible design is worth, standardised; none where every design is feasible.
    pub(crate) reference: Option<Vec<f64>>,
    /// Which of these each output of the problem is.
    places: Vec<Place>,
}

/// Where the model of an output is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Among the objectives.
    Objective(usize),
    /// Among the constraints.
    Constraint(usize),
}

/// The model of a constraint.
#[derive(Debug, Clone)]
pub(crate) struct Constraint {
    pub(crate) belief: Belief,
    /// The least acceptable value, standardised.
    pub(crate) limit: f64,
}

impl Constraint {
    /// The probability that it holds at each of `points`; 1 or 0 for a formula, which is certain.
    fn probabilities(&self, points: &Points) -> Result<Vec<f64>> {
        if self.belief.known.is_some() {
            let holds = |mean: f64| if mean >= self.limit { 1.0 } else { 0.0 };
            return Ok(self.belief.means(points)?.into_iter().map(holds).collect());
        }
        let predictions = self.belief.gp.predict_many(points)?;
        Ok(predictions.into_iter().map(|prediction| self.probability(prediction)).collect())
    }

    /// The probability that it holds at `x`, as climbers see it: that of a formula falls from 1 to 0
    /// right at the limit, but not at once. Otherwise there would be no way along the limit.
    pub(crate) fn likelihood(&self, x: &[f64], query: &mut Query) -> Result<f64> {
        if self.belief.known.is_some() {
            return Ok((-0.5 * self.shortfall(self.belief.predict(x)?.mean).powi(2)).exp());
        }
        self.belief.gp.query_into(x, query)?;
        Ok(self.probability(query.prediction()))
    }

    /// The same with its gradient, for the query that [`Constraint::likelihood`] has made.
    pub(crate) fn likelihood_slope(&self, x: &[f64], query: &Query) -> Result<(f64, Vec<f64>)> {
        if self.belief.known.is_some() {
            let mut slope = vec![0.0; x.len()];
            let shortfall = self.shortfall(self.belief.mean_with_gradient(x, 1.0, &mut slope)?);
            let likelihood = (-0.5 * shortfall.powi(2)).exp();
            slope.iter_mut().for_each(|s| *s *= likelihood * shortfall / LIMIT_WIDTH);
            return Ok((likelihood, slope));
        }
        let prediction = query.prediction();
        let [mean, variance] = self.slopes(prediction);
        let slope = self.belief.gp.gradient(query, mean, variance);
        Ok((self.probability(prediction), slope))
    }

    /// How far a formula is from being well within its limit, in units of the width of that limit.
    fn shortfall(&self, mean: f64) -> f64 {
        // What it lacks where it hardly matters that nothing is left of the likelihood.
        const MOST: f64 = 1e3;
        ((self.limit + LIMIT_MARGIN - mean) / LIMIT_WIDTH).clamp(0.0, MOST)
    }

    /// The probability that it holds where this is predicted.
    fn probability(&self, prediction: Prediction) -> f64 {
        normal::cdf((prediction.mean - self.limit) / deviation(prediction))
    }

    /// Derivatives of that probability in mean and variance.
    fn slopes(&self, prediction: Prediction) -> [f64; 2] {
        let deviation = deviation(prediction);
        let margin = (prediction.mean - self.limit) / deviation;
        let density = normal::pdf(margin) / deviation;
        [density, -0.5 * density * margin / deviation]
    }
}

/// Within the limit of a formula by this much, a climber sees no limit; within this much more it
/// sees nothing else. The former is the larger part of where a climb along the limit ends inside.
const LIMIT_MARGIN: f64 = 1e-4;
const LIMIT_WIDTH: f64 = 1e-3;

/// The standard deviation of a prediction; not nothing, since what is known exactly may lie exactly
/// at a limit.
fn deviation(prediction: Prediction) -> f64 {
    const LEAST: f64 = 1e-7;
    prediction.variance.sqrt().max(LEAST)
}

/// Where the runs of a measurement succeed.
#[derive(Debug, Clone)]
pub(crate) struct Runs {
    /// Its place in the problem.
    pub(crate) measurement: usize,
    pub(crate) success: Success,
}

/// The probability of success counts to this power: good designs often lie where runs begin to fail,
/// and a design that cannot be evaluated is of no use to anybody (docs/problems.md has the trials).
const CAUTION: i32 = 2;

impl Runs {
    /// What a design counts where its run may fail.
    pub(crate) fn factor(&self, x: &[f64]) -> Result<f64> {
        Ok(self.success.probability(x)?.powi(CAUTION))
    }

    /// The same at each of `points`.
    pub(crate) fn factors(&self, points: &Points) -> Result<Vec<f64>> {
        let probabilities = self.success.probabilities(points)?;
        Ok(probabilities.into_iter().map(|p| p.powi(CAUTION)).collect())
    }

    /// The same with its gradient.
    pub(crate) fn factor_with_gradient(&self, x: &[f64]) -> Result<(f64, Vec<f64>)> {
        let mut slope = vec![0.0; x.len()];
        let p = self.success.probability_with_gradient(x, 1.0, &mut slope)?;
        let by_probability = f64::from(CAUTION) * p.powi(CAUTION - 1);
        slope.iter_mut().for_each(|s| *s *= by_probability);
        Ok((p.powi(CAUTION), slope))
    }
}

/// What is believed of one output.
#[derive(Debug, Clone)]
pub(crate) struct Belief {
    /// On standardised values; a prior that nobody asks where the output is a formula.
    pub(crate) gp: Gp,
    /// The formula that the output is, if it is one.
    pub(crate) known: Option<Known>,
    /// From values to standardised values.
    pub(crate) map: Standardizer,
    /// What one standardised unit counts when objectives are weighed against each other.
    pub(crate) unit: f64,
    /// What the user should know about this model.
    pub(crate) notes: Vec<ModelNote>,
}

/// Something about a model that a user should know.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelNote {
    /// Nothing was observed; the prior stands alone.
    NoObservations,
    /// Declared deterministic, but the same design returned different values; noise was fitted.
    ReplicatesDisagree {
        /// The evaluations whose values differ from that of another at the same design.
        evaluations: Vec<u64>,
    },
    /// All observed values are equal.
    ConstantValues,
    /// One value dwarfs the differences between all others.
    Outlier,
    /// There are too many designs for an exact model; `used` of them were used, those near the
    /// front and a selection that covers the rest.
    Subset {
        /// Number of designs used.
        used: usize,
        /// Number of designs at which this objective was observed.
        of: usize,
    },
    /// Hyper-parameters were fitted on a part of the designs, evenly spread over all.
    FittedOnSubset {
        /// Number of designs used.
        used: usize,
        /// Number of designs at which this objective was observed.
        of: usize,
    },
    /// Hyper-parameters could not be fitted; cautious defaults are in use.
    FitFailed,
}

impl std::fmt::Display for ModelNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoObservations => write!(f, "nothing observed yet, the prior stands alone"),
            Self::ReplicatesDisagree { evaluations } => {
                let numbers: Vec<String> = evaluations.iter().map(u64::to_string).collect();
                let numbers = numbers.join(", ");
                write!(f, "declared deterministic, but evaluations {numbers} differ from others ")?;
                write!(f, "at the same design: noise was fitted")
            }
            Self::ConstantValues => write!(f, "all observed values are equal"),
            Self::Outlier => write!(f, "one value dwarfs the differences between all others"),
            Self::Subset { used, of } => {
                write!(f, "modelled from {used} of {of} designs: those near the front, and a ")?;
                write!(f, "selection that covers the rest")
            }
            Self::FittedOnSubset { used, of } => {
                write!(f, "hyper-parameters were fitted on {used} of {of} designs")
            }
            Self::FitFailed => write!(f, "hyper-parameters could not be fitted, defaults are used"),
        }
    }
}

/// Least fitted noise variance, as a fraction of the observed variance.
const LEAST_NOISE: f64 = 1e-4;

/// What an output counts as, standardised, where it is a formula that has no value.
const HOPELESS: f64 = -1e12;

/// No limit is further away from the values than so many of their standard deviations.
const FARTHEST_LIMIT: f64 = 1e30;

/// Most designs that hyper-parameters are fitted on, and most that a model is conditioned on.
const FIT_DESIGNS: usize = 400;
const MODEL_DESIGNS: usize = 1500;

impl Belief {
    /// Expected values, standardised.
    pub(crate) fn means(&self, points: &Points) -> Result<Vec<f64>> {
        match &self.known {
            Some(known) => Ok(points.rows().map(|x| self.standardised(known.at(x))).collect()),
            None => self.gp.means(points),
        }
    }

    /// The value of a formula, standardised; hopeless where it has none.
    fn standardised(&self, value: Option<f64>) -> f64 {
        value.map_or(HOPELESS, |value| self.map.standardize(value).max(HOPELESS))
    }

    /// What is expected at `x`, standardised. A formula is certain.
    pub(crate) fn predict(&self, x: &[f64]) -> Result<Prediction> {
        match &self.known {
            Some(known) => Ok(Prediction { mean: self.standardised(known.at(x)), variance: 0.0 }),
            None => self.gp.predict(x),
        }
    }

    /// Expected value at `x`; adds `factor` times its gradient to `gradient`.
    pub(crate) fn mean_with_gradient(
        &self,
        x: &[f64],
        factor: f64,
        gradient: &mut [f64],
    ) -> Result<f64> {
        match &self.known {
            Some(known) => {
                let value = known.with_gradient(x, factor / self.map.scale(), gradient);
                Ok(self.standardised(value))
            }
            None => self.gp.mean_with_gradient(x, factor, gradient),
        }
    }
}

impl Surrogate {
    /// Fits each output's model to what was observed.
    pub(crate) fn fit(observed: &[Observed<'_>], config: &Config) -> Result<Self> {
        let drafts = observed.iter().map(|one| Draft::new(one, config));
        let mut drafts: Vec<Draft> = drafts.collect::<Result<_>>()?;
        let modelled = modelled(&drafts)?;
        let mut surrogate = Self::default();
        for ((observed, draft), data) in observed.iter().zip(&mut drafts).zip(&modelled) {
            let gp = condition_on_expected(draft.condition(data)?, &observed.expected)?;
            let unit = match config.units {
                Units::Standardised => 1.0,
                Units::Raw => draft.map.scale(),
            };
            let notes = std::mem::take(&mut draft.notes);
            let known = observed.known.clone();
            surrogate.add(Belief { gp, known, map: draft.map, unit, notes }, observed.limit);
        }
        Ok(surrogate)
    }

    /// Adds the model of the next output, a constraint if it has a limit.
    fn add(&mut self, belief: Belief, limit: Option<f64>) {
        match limit {
            None => {
                self.places.push(Place::Objective(self.objectives.len()));
                self.objectives.push(belief);
            }
            Some(limit) => {
                self.places.push(Place::Constraint(self.constraints.len()));
                let limit = belief.map.standardize(limit).clamp(-FARTHEST_LIMIT, FARTHEST_LIMIT);
                self.constraints.push(Constraint { belief, limit });
            }
        }
    }

    /// Only objectives, for tests.
    #[cfg(test)]
    pub(crate) fn of_objectives(objectives: Vec<Belief>) -> Self {
        let mut surrogate = Self::default();
        objectives.into_iter().for_each(|belief| surrogate.add(belief, None));
        surrogate
    }

    /// Whether some designs may be infeasible.
    pub(crate) fn is_constrained(&self) -> bool {
        !(self.constraints.is_empty() && self.runs.is_empty())
    }

    /// The probability that all constraints hold at `x` and no run fails.
    pub(crate) fn probability(&self, x: &[f64]) -> Result<f64> {
        let mut product = 1.0;
        for constraint in &self.constraints {
            product *= constraint.likelihood(x, &mut Query::default())?;
        }
        for runs in &self.runs {
            product *= runs.success.probability(x)?;
        }
        Ok(product)
    }

    /// How feasible `x` is: that probability, failures counted with caution. Adds `factor` times its
    /// gradient to `gradient`.
    fn feasibility(&self, x: &[f64], factor: f64, gradient: &mut [f64]) -> Result<f64> {
        let mut parts: Vec<(f64, Vec<f64>)> = vec![];
        for constraint in &self.constraints {
            let mut query = Query::default();
            constraint.likelihood(x, &mut query)?;
            parts.push(constraint.likelihood_slope(x, &query)?);
        }
        for runs in &self.runs {
            parts.push(runs.factor_with_gradient(x)?);
        }
        for (i, (_, slope)) in parts.iter().enumerate() {
            let others = parts.iter().enumerate().filter(|(j, _)| *j != i);
            let others: f64 = others.map(|(_, (probability, _))| probability).product();
            gradient.iter_mut().zip(slope).for_each(|(g, s)| *g += factor * others * s);
        }
        Ok(parts.iter().map(|(probability, _)| probability).product())
    }

    /// λ · (μ(x) − r) times the probability that x is feasible, in weighing units; without
    /// constraints λ · μ(x). Writes its gradient.
    pub(crate) fn utility(&self, weights: &[f64], x: &[f64], gradient: &mut [f64]) -> Result<f64> {
        gradient.fill(0.0);
        let mut sum = 0.0;
        for (k, (belief, weight)) in self.objectives.iter().zip(weights).enumerate() {
            let factor = weight * belief.unit;
            let zero = self.reference.as_ref().map_or(0.0, |reference| reference[k]);
            sum += factor * (belief.mean_with_gradient(x, factor, gradient)? - zero);
        }
        if !self.is_constrained() {
            return Ok(sum);
        }
        let mut by_feasibility = vec![0.0; x.len()];
        let feasibility = self.feasibility(x, sum, &mut by_feasibility)?;
        let parts = gradient.iter_mut().zip(by_feasibility);
        parts.for_each(|(g, part)| *g = *g * feasibility + part);
        Ok(sum * feasibility)
    }

    /// How feasible each of `points` is.
    pub(crate) fn feasibilities(&self, points: &Points) -> Result<Vec<f64>> {
        let mut product = vec![1.0; points.len()];
        for constraint in &self.constraints {
            let probabilities = constraint.probabilities(points)?;
            product.iter_mut().zip(probabilities).for_each(|(f, p)| *f *= p);
        }
        for runs in &self.runs {
            let factors = runs.factors(points)?;
            product.iter_mut().zip(factors).for_each(|(f, factor)| *f *= factor);
        }
        Ok(product)
    }

    /// Adds a constraint, for tests.
    #[cfg(test)]
    pub(crate) fn constrain(&mut self, belief: Belief, limit: f64) {
        self.add(belief, Some(limit));
    }

    /// Where the model of output `k` of the problem is.
    pub(crate) fn place(&self, k: usize) -> Place {
        self.places[k]
    }

    /// The model of output `k` of the problem.
    pub(crate) fn belief(&self, k: usize) -> &Belief {
        match self.places[k] {
            Place::Objective(m) => &self.objectives[m],
            Place::Constraint(c) => &self.constraints[c].belief,
        }
    }

    /// The value of each of `points` as [`Surrogate::utility`] has it.
    pub(crate) fn utilities(&self, weights: &[f64], points: &Points) -> Result<Vec<f64>> {
        Ok(self.outlooks(points)?.utilities(self, weights))
    }

    /// What each of `points` is worth in each objective; see [`Expected::worths`].
    pub(crate) fn worths(&self, points: &Points) -> Result<Points> {
        Ok(self.outlooks(points)?.worths(self))
    }

    /// What is expected of each of `points`.
    pub(crate) fn outlooks(&self, points: &Points) -> Result<Expected> {
        let feasibilities = match self.is_constrained() {
            true => Some(self.feasibilities(points)?),
            false => None,
        };
        Ok(Expected { means: self.means(points)?, feasibilities })
    }

    /// λ · μ in weighing units, for rows of standardised means.
    pub(crate) fn weigh(&self, weights: &[f64], means: &Points) -> Vec<f64> {
        let factors: Vec<f64> =
            self.objectives.iter().zip(weights).map(|(output, w)| w * output.unit).collect();
        means.rows().map(|row| row.iter().zip(&factors).map(|(m, f)| m * f).sum()).collect()
    }

    /// Posterior means of all objectives, in standardised units: a row per point.
    pub(crate) fn means(&self, points: &Points) -> Result<Points> {
        let means = self.objectives.iter().map(|belief| belief.means(points));
        let means: Vec<Vec<f64>> = means.collect::<Result<_>>()?;
        let row = |i: usize| means.iter().map(|m| m[i]).collect::<Vec<_>>();
        Points::from_rows(self.objectives.len(), (0..points.len()).map(row))
    }
}

/// What is expected of some designs.
pub(crate) struct Expected {
    /// Standardised means of the objectives, a row per design.
    pub(crate) means: Points,
    /// Probability that each is feasible; none where every design is.
    feasibilities: Option<Vec<f64>>,
}

impl Expected {
    /// The value of each design to a decision maker.
    pub(crate) fn utilities(&self, surrogate: &Surrogate, weights: &[f64]) -> Vec<f64> {
        let mut utilities = surrogate.weigh(weights, &self.means);
        let Some(feasibilities) = &self.feasibilities else { return utilities };
        let factors = surrogate.objectives.iter().zip(weights).map(|(b, w)| w * b.unit);
        let reference = surrogate.reference.iter().flatten();
        let zero: f64 = factors.zip(reference).map(|(factor, r)| factor * r).sum();
        utilities.iter_mut().zip(feasibilities).for_each(|(u, f)| *u = f * (*u - zero));
        utilities
    }

    /// Whether each design is at least as likely to be feasible as not, and has all objectives.
    pub(crate) fn are_feasible(&self) -> Vec<bool> {
        let has_values = |row: &[f64]| row.iter().all(|mean| *mean > HOPELESS);
        let mut feasible: Vec<bool> = self.means.rows().map(has_values).collect();
        for (feasible, f) in feasible.iter_mut().zip(self.feasibilities.iter().flatten()) {
            *feasible &= *f >= LIKELY;
        }
        feasible
    }

    /// What each design is worth in each objective: its mean, with the probability that it is
    /// feasible, and otherwise the reference point.
    pub(crate) fn worths(&self, surrogate: &Surrogate) -> Points {
        let mut worths = self.means.clone();
        let reference = surrogate.reference.as_deref().unwrap_or_default();
        for (i, f) in self.feasibilities.iter().flatten().enumerate() {
            let row = worths.row_mut(i).iter_mut().zip(reference);
            row.for_each(|(worth, r)| *worth = r + f * (*worth - r));
        }
        worths
    }

    /// The same, designs that are likely infeasible so far down that every other design dominates
    /// them, and the less likely the further.
    pub(crate) fn penalised(&self, surrogate: &Surrogate) -> Points {
        const FAR: f64 = 1e6;
        let mut worths = self.worths(surrogate);
        let unlikely =
            self.feasibilities.iter().flatten().enumerate().filter(|(_, f)| **f < LIKELY);
        for (i, f) in unlikely {
            worths.row_mut(i).iter_mut().for_each(|worth| *worth -= FAR * (1.0 + LIKELY - f));
        }
        worths
    }
}

/// A design is recommended if it is at least this likely to be feasible.
pub(crate) const LIKELY: f64 = 0.5;

/// A model with its hyper-parameters, before it is conditioned on its data.
struct Draft {
    /// All values, standardised, those at the same design merged, designs in an order of their own.
    data: Data,
    map: Standardizer,
    hyper: Hyper,
    /// What to do where these hyper-parameters lead nowhere; known ones are never replaced.
    cautious: Option<Hyper>,
    notes: Vec<ModelNote>,
}

const FAMILY: Family = Family::Matern52;

impl Draft {
    fn new(observed: &Observed<'_>, config: &Config) -> Result<Self> {
        let rows = sorted_rows(observed);
        let map = match &observed.known {
            Some(known) => known.standardizer()?,
            None => standardizer(&rows)?,
        };
        let data = standardised(observed.dim, &rows, &map)?;
        let mut notes = vec![];
        if observed.known.is_some() {
            // Nothing to learn.
        } else if rows.is_empty() {
            notes.push(ModelNote::NoObservations);
        } else if rows.len() > 1 && is_constant(&rows, &map) {
            notes.push(ModelNote::ConstantValues);
        }
        if has_outlier(&rows) {
            notes.push(ModelNote::Outlier);
        }
        if let Some(known) = &observed.output.hyper {
            let hyper = known_hyper(known, observed.sign, &map);
            return Ok(Self { data, map, hyper, cautious: None, notes });
        }
        let model = model(observed, &data, &map, config)?;
        let cautious = Hyper { noise: 1e-2, ..prior_hyper(&model) };
        let hyper = fitted(observed.output, &rows, &data, &map, model, &mut notes);
        let mut draft =
            Self { data, map, hyper: cautious.clone(), cautious: Some(cautious), notes };
        match hyper {
            Ok(hyper) => draft.hyper = hyper,
            Err(_) => draft.notes.push(ModelNote::FitFailed),
        }
        Ok(draft)
    }

    /// The model given `data`, part of its own, with a note where it is not all.
    fn condition(&mut self, data: &Data) -> Result<Gp> {
        let (used, of) = (data.len(), self.data.len());
        if used < of {
            self.notes.push(ModelNote::Subset { used, of });
        }
        self.hyper.condition(FAMILY, data).or_else(|error| {
            let gp = self.cautious(data).ok_or(error)??;
            if !self.notes.contains(&ModelNote::FitFailed) {
                self.notes.push(ModelNote::FitFailed);
            }
            Ok(gp)
        })
    }

    /// The model given `data` with cautious hyper-parameters, if they may be replaced.
    fn cautious(&self, data: &Data) -> Option<Result<Gp>> {
        self.cautious.as_ref().map(|hyper| hyper.condition(FAMILY, data))
    }

    /// What is expected at each of `points`, from the designs that were fitted and, at designs of
    /// its own, from what was observed there.
    fn expected(&self, points: &Points) -> Result<Vec<f64>> {
        let part = thinned(&self.data);
        let gp = self.hyper.condition(FAMILY, &part);
        let gp = gp.or_else(|error| self.cautious(&part).ok_or(error)?)?;
        let own: HashMap<Vec<u64>, usize> =
            self.data.points().rows().enumerate().map(|(i, x)| (key(x), i)).collect();
        let predictions = gp.predict_many(points)?;
        let expected = points.rows().zip(predictions).map(|(x, prediction)| {
            let Some(&i) = own.get(&key(x)) else { return prediction.mean };
            let noise = self.data.noise(i, gp.noise());
            // Noise and variance may both be zero: then the value is the prediction.
            let trust = prediction.variance / (prediction.variance + noise).max(f64::MIN_POSITIVE);
            prediction.mean + trust * (self.data.values()[i] - prediction.mean)
        });
        Ok(expected.collect())
    }
}

/// For each objective the data its model is conditioned on: all, or at most [`MODEL_DESIGNS`].
fn modelled(drafts: &[Draft]) -> Result<Vec<Data>> {
    let choose = |draft: &Draft| -> Result<Data> {
        if draft.data.len() <= MODEL_DESIGNS {
            return Ok(draft.data.clone());
        }
        let points = draft.data.points();
        let expected = drafts.iter().map(|other| other.expected(points));
        let expected: Vec<Vec<f64>> = expected.collect::<Result<_>>()?;
        let row = |i: usize| expected.iter().map(|e| e[i]).collect::<Vec<_>>();
        let expected = Points::from_rows(drafts.len(), (0..points.len()).map(row))?;
        let scaled = scaled(points, &draft.hyper.lengthscales)?;
        let candidates = Candidates { points, expected: &expected, scaled: &scaled };
        Ok(draft.data.subset(&candidates.choose(MODEL_DESIGNS)?))
    };
    drafts.iter().map(choose).collect()
}

/// Points in units of the length scales, of which there is one or one per input.
fn scaled(points: &Points, lengthscales: &[f64]) -> Result<Points> {
    let scale = |d: usize| if lengthscales.len() == 1 { lengthscales[0] } else { lengthscales[d] };
    let row = |x: &[f64]| x.iter().enumerate().map(|(d, v)| v / scale(d)).collect::<Vec<_>>();
    Points::from_rows(points.dim(), points.rows().map(row))
}

/// The rows sorted: the order in which results arrived must not show, not even in the last bit.
fn sorted_rows<'a>(observed: &Observed<'a>) -> Vec<Row<'a>> {
    let mut rows = observed.rows.clone();
    let order = |a: &Row<'_>, b: &Row<'_>| (a.x, a.value, a.sd).partial_cmp(&(b.x, b.value, b.sd));
    // Coordinates and values are finite, so any two can be compared.
    rows.sort_by(|a, b| order(a, b).unwrap_or(Ordering::Equal));
    rows
}

fn standardizer(rows: &[Row<'_>]) -> Result<Standardizer> {
    Standardizer::new(&rows.iter().map(|row| row.value).collect::<Vec<_>>())
}

fn standardised(dim: usize, rows: &[Row<'_>], map: &Standardizer) -> Result<Data> {
    let values: Vec<f64> = rows.iter().map(|row| map.standardize(row.value)).collect();
    let variance = |row: &Row<'_>| row.sd.map(|sd| map.standardize_variance(sd * sd));
    let variances: Vec<Option<f64>> = rows.iter().map(variance).collect();
    let points = Points::from_rows(dim, rows.iter().map(|row| row.x))?;
    Data::with_known_noise(&points, &values, &variances)
}

/// Fits hyper-parameters.
fn fitted(
    output: &Output,
    rows: &[Row<'_>],
    data: &Data,
    map: &Standardizer,
    mut model: Model,
    notes: &mut Vec<ModelNote>,
) -> Result<Hyper> {
    let is_fitted = matches!(model.noise, fit::Noise::Fitted { .. });
    let disagree = rows.iter().any(|row| row.sd.is_none()) && is_fitted;
    if disagree && output.noise == Noise::Deterministic {
        notes.push(ModelNote::ReplicatesDisagree { evaluations: disagreeing(rows) });
    }
    if data.is_empty() {
        return Ok(prior_hyper(&model));
    }
    let part = thinned(data);
    if part.len() < data.len() {
        notes.push(ModelNote::FittedOnSubset { used: part.len(), of: data.len() });
    }
    model.mean = prior_mean(rows, map, &model)?;
    Ok(model.fit(&part, None, &fit::Search::default())?.hyper)
}

/// Evaluations whose value differs from that of another at the same design, in order of number;
/// `rows` are sorted.
fn disagreeing(rows: &[Row<'_>]) -> Vec<u64> {
    let designs = rows.chunk_by(|a, b| a.x == b.x);
    let shared = designs.map(|design| design.iter().filter(|row| row.sd.is_none()));
    let shared = shared.map(|design| design.collect::<Vec<_>>());
    let differing = shared.filter(|design| design.iter().any(|row| row.value != design[0].value));
    let mut found: Vec<u64> = differing.flatten().map(|row| row.evaluation).collect();
    found.sort_unstable();
    found
}

/// The prior mean in standardised units, fitted with the rest but only on designs that were not
/// searched for: those that were are chosen for their values and would bias it.
fn prior_mean(rows: &[Row<'_>], map: &Standardizer, model: &Model) -> Result<Mean> {
    let unbiased: Vec<Row<'_>> = rows.iter().filter(|row| !row.searched).copied().collect();
    // From all rows it comes out of the fit that is made anyway.
    if unbiased.is_empty() || unbiased.len() == rows.len() {
        return Ok(Mean::Fitted);
    }
    let own = standardizer(&unbiased)?;
    let data = thinned(&standardised(unbiased[0].x.len(), &unbiased, &own)?);
    let model = Model { mean: Mean::Fitted, ..model.clone() };
    let mean = own.restore(model.fit(&data, None, &fit::Search::default())?.hyper.mean);
    Ok(Mean::Fixed(map.standardize(mean)))
}

/// At most [`FIT_DESIGNS`] designs, evenly spread over the data. What replicates say about the
/// noise stays, also where they were left out.
fn thinned(data: &Data) -> Data {
    if data.len() <= FIT_DESIGNS {
        return data.clone();
    }
    let rows: Vec<usize> = (0..FIT_DESIGNS).map(|i| i * data.len() / FIT_DESIGNS).collect();
    data.subset(&rows)
}

/// The model of an output before its hyper-parameters are known.
fn model(
    observed: &Observed<'_>,
    data: &Data,
    map: &Standardizer,
    config: &Config,
) -> Result<Model> {
    let output = observed.output;
    let gamma = |prior: &Option<GammaPrior>, otherwise: GammaPrior| {
        let GammaPrior { shape, rate } = prior.as_ref().unwrap_or(&otherwise);
        Gamma::new(*shape, *rate)
    };
    // Mean ½ for one and two parameters; distances grow with the square root of their number. A
    // categorical parameter counts once, however many inputs it has: its choices are 1 apart.
    let spread = (observed.parameters as f64 / 2.0).max(1.0).sqrt();
    let noise_prior = gamma(&output.priors.noise, GammaPrior { shape: 1.1, rate: 0.05 })?;
    let fitted = fit::Noise::Fitted { prior: Some(noise_prior), lower: LEAST_NOISE };
    let negligible = config.deterministic.noise();
    let noise = match output.noise {
        Noise::Noisy => fitted,
        // Values at one design that differ are noise, whatever was declared.
        Noise::Deterministic if data.scatter() > negligible => fitted,
        // Whoever gives standard errors has noise: what comes is expected to be like what came.
        Noise::Deterministic if data.known_noise().iter().all(Option::is_some) => {
            match data.len() {
                0 => fit::Noise::Fixed(negligible),
                _ => fitted,
            }
        }
        Noise::Deterministic => fit::Noise::Fixed(negligible),
        Noise::Known { sd } => {
            let relative = (sd / map.scale()).powi(2);
            fit::Noise::Fixed(relative.clamp(1e-8, 1e8))
        }
    };
    Ok(Model {
        family: FAMILY,
        lengthscales: match config.lengthscales {
            Lengthscales::Isotropic => fit::Lengthscales::Isotropic,
            Lengthscales::PerInput => fit::Lengthscales::PerInput,
        },
        lengthscale_prior: Some(gamma(
            &output.priors.lengthscale,
            GammaPrior { shape: 3.0, rate: 6.0 / spread },
        )?),
        outputscale_prior: Some(gamma(
            &output.priors.outputscale,
            GammaPrior { shape: 2.0, rate: 0.15 },
        )?),
        noise,
        mean: Mean::Fitted,
    })
}

/// Hyper-parameters to use where there is nothing to fit.
fn prior_hyper(model: &Model) -> Hyper {
    let noise = match model.noise {
        fit::Noise::Fixed(noise) => noise,
        fit::Noise::Fitted { lower, .. } => lower.max(1e-2),
    };
    let lengthscale = model.lengthscale_prior.map_or(0.5, |prior| prior.mean());
    Hyper { lengthscales: vec![lengthscale], outputscale: 1.0, noise, mean: 0.0 }
}

/// Known hyper-parameters in standardised units.
fn known_hyper(known: &KnownHyper, sign: f64, map: &Standardizer) -> Hyper {
    // What is known may be many orders of magnitude away from what was observed.
    const FARTHEST: f64 = 1e100;
    let square = map.scale() * map.scale();
    let noise = (known.noise / square).max(1e-10 * known.outputscale / square);
    Hyper {
        lengthscales: known.lengthscales.clone(),
        outputscale: (known.outputscale / square).clamp(1.0 / FARTHEST, FARTHEST),
        noise: noise.clamp(1e-10 / FARTHEST, FARTHEST),
        mean: map.standardize(sign * known.mean).clamp(-FARTHEST, FARTHEST),
    }
}

/// Conditions on points as if they had returned what is expected there.
fn condition_on_expected(gp: Gp, points: &Points) -> Result<Gp> {
    if points.is_empty() {
        return Ok(gp);
    }
    let means = gp.means(points)?;
    gp.condition_on(points, &means, gp.noise())
}

/// Whether the values are equal up to rounding. What is not has deviation 1 once standardised.
fn is_constant(rows: &[Row<'_>], map: &Standardizer) -> bool {
    rows.iter().all(|row| map.standardize(row.value).abs() < 0.1)
}

/// Whether one value is so far out that the others differ by less than a millionth of the range.
fn has_outlier(rows: &[Row<'_>]) -> bool {
    let mut sorted: Vec<f64> = rows.iter().map(|row| row.value).collect();
    sorted.sort_by(f64::total_cmp);
    let [lowest, second, .., penultimate, highest] = sorted[..] else { return false };
    let inner = (penultimate - lowest).min(highest - second);
    inner > 0.0 && inner < 1e-6 * (highest - lowest)
}

#[cfg(test)]
mod tests;
