//! What is believed of all outputs: a fitted Gaussian process each, or one of several objectives
//! together where these are correlated; and where runs succeed.
//!
//! Outputs are standardised for the fit. Evaluations that are under way, and those that failed,
//! enter as if they had returned what the model expects there: that changes no prediction, but
//! leaves nothing to be learned at the same place. What is under way can also be given other values,
//! drawn from the model ([`Model::imagine`]).

pub(crate) mod known;
pub(crate) mod subset;
mod belief;
mod best_possible;
mod calibration;
mod feasibility;
mod fit;
mod joint;
mod tails;
mod suspects;
mod outliers;
mod left_out;

use crate::config::{Config, Correlations, Units};
use crate::problem::Output;
use crate::remembered::Fits;
use crate::worth::{Seen, Worth};
use calibration::{SELECTED, doubt};
use fit::{Draft, condition_on_expected, modelled};
use known::Known;
use outliers::drafts;
use unyoke_math::gp::{Prediction, Query};
use unyoke_math::{Points, Result, normal};

pub(crate) use belief::Belief;
use belief::HOPELESS;
pub use belief::{MeasuredValue, ModelNote};
pub(crate) use feasibility::{Constraint, Runs};
pub(crate) use joint::Joint;
pub(crate) use left_out::{Comparison, SetAside, comparisons};
pub(crate) use suspects::Clipped;

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
    /// Which parameter each input belongs to.
    pub(crate) groups: Vec<usize>,
    /// In the order in which they arrived.
    pub(crate) rows: Vec<Row<'a>>,
    /// Pending evaluations, then failed ones.
    pub(crate) expected: Points,
    /// How many of them are pending.
    pub(crate) pending: usize,
    /// The formula that the output is, if it is one; there are no rows then.
    pub(crate) known: Option<Known>,
}

impl Observed<'_> {
    /// Pending and failed evaluations apart.
    fn expected_parts(&self) -> [Points; 2] {
        let count = self.expected.len();
        let part =
            |places: std::ops::Range<usize>| self.expected.select(&places.collect::<Vec<usize>>());
        [part(0..self.pending.min(count)), part(self.pending.min(count)..count)]
    }
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
pub(crate) struct Model {
    /// In the order of the problem.
    pub(crate) objectives: Vec<Belief>,
    /// The model of those that are modelled together.
    pub(crate) joint: Option<Joint>,
    /// In the order of the problem.
    pub(crate) constraints: Vec<Constraint>,
    /// Where runs succeed, of measurements that have ever failed.
    pub(crate) runs: Vec<Runs>,
    /// What an infeasible design is worth, standardised; none where every design is feasible.
    pub(crate) reference: Option<Vec<f64>>,
    /// What designs are worth where that is not a weighted sum of what is expected of them.
    pub(crate) worth: Option<Worth>,
    /// Which of these each output of the problem is.
    places: Vec<Place>,
    /// For each output of the problem, what its model knows from no observation.
    tails: Vec<Tail>,
    /// For each output of the problem, the variance below which a value without noise would only repeat
    /// what is known.
    negligible: Vec<f64>,
    /// For each output of the problem, by how much the deviations that its model states are too small;
    /// empty where nobody asked.
    doubts: Vec<f64>,
    /// How pessimistically designs are compared; by what is expected of them where there is none.
    pub(crate) caution: Option<Caution>,
    /// The same where designs of a front are chosen by it, but the front is not.
    pub(crate) steadiness: Option<Caution>,
}

/// How pessimistically designs are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Caution {
    /// Objectives count as so many standard deviations worse than expected.
    pub(crate) deviations: f64,
    /// A design must be at least this likely to be feasible.
    pub(crate) likely: f64,
}

impl Caution {
    /// Values that are reached with this probability, from 0.5 up, and designs that are feasible with it.
    pub(crate) fn at(quantile: f64) -> Self {
        Self { deviations: normal::quantile(quantile), likely: quantile }
    }

    /// What recommendations go by that are not to change with every value.
    pub(crate) fn steady() -> Self {
        Self { deviations: normal::quantile(STEADY), likely: LIKELY }
    }
}

/// The last rows of a model, which are no observations but expectations. Designs that are as good as
/// known have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tail {
    /// Rows of pending evaluations.
    pending: usize,
    /// After them, rows of failed ones.
    failed: usize,
}

impl Tail {
    /// Normals that make imagined values of the rows: what failed is as expected in any case.
    fn normals(self, drawn: &[f64]) -> impl Iterator<Item = f64> {
        let pending = drawn.iter().copied().chain(std::iter::repeat(0.0)).take(self.pending);
        pending.chain(std::iter::repeat_n(0.0, self.failed))
    }
}

/// Where the model of an output is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Among the objectives.
    Objective(usize),
    /// Among the constraints.
    Constraint(usize),
}

/// No limit is further away from the values than so many of their standard deviations.
const FARTHEST_LIMIT: f64 = 1e30;

impl Model {
    /// Fits each output's model to what was observed.
    #[cfg(test)]
    pub(crate) fn fit(observed: &[Observed<'_>], config: &Config) -> Result<Self> {
        Self::fit_with(observed, config, &Fits::default())
    }

    /// The same, with fits that were made before.
    pub(crate) fn fit_with(
        observed: &[Observed<'_>],
        config: &Config,
        fits: &Fits,
    ) -> Result<Self> {
        let mut drafts = drafts(observed, config, fits)?;
        let modelled = modelled(&drafts)?;
        let mut model = Self::default();
        for ((observed, draft), data) in observed.iter().zip(&mut drafts).zip(&modelled) {
            let (gp, tail) = condition_on_expected(draft.condition(data)?, observed)?;
            let unit = match config.units {
                Units::Standardised => 1.0,
                Units::Raw => draft.map.scale(),
            };
            let notes = std::mem::take(&mut draft.notes);
            let known = observed.known.clone();
            let bound = draft.bound;
            let belief = Belief { gp, joint: None, known, bound, map: draft.map, unit, notes };
            model.add(belief, observed.limit);
            model.tails.push(tail);
            model.negligible.push(draft.negligible(config));
        }
        if config.correlations == Correlations::Learned
            && let Some(joint) = Joint::fit(observed, &drafts, &modelled)?
        {
            model.join(joint);
        }
        Ok(model)
    }

    /// Whether the values of some output are followed less closely than they were declared to be.
    pub(crate) fn adapts(observed: &[Observed<'_>], config: &Config, fits: &Fits) -> Result<bool> {
        Ok(drafts(observed, config, fits)?.iter().any(Draft::is_adapted))
    }

    /// What is believed if pending evaluations return values that these normals make of what is
    /// expected: for each output of the problem one for each pending evaluation. A joint draw if they are
    /// independent, of correlated objectives too. Hyper-parameters, and with them all variances, stay.
    pub(crate) fn imagine(&self, normals: &[Vec<f64>]) -> Result<Self> {
        let mut model = self.clone();
        for (k, (tail, drawn)) in self.tails.iter().zip(normals).enumerate() {
            let belief = model.belief_mut(k);
            belief.gp = belief.gp.imagine(&tail.normals(drawn).collect::<Vec<_>>())?;
        }
        if let Some(joint) = &self.joint {
            let output = |m: &usize| self.places.iter().position(|p| *p == Place::Objective(*m));
            let drawn = |m: &usize| output(m).and_then(|k| normals.get(k)).map_or(&[][..], |z| z);
            let drawn: Vec<&[f64]> = joint.objectives.iter().map(drawn).collect();
            model.join(joint.imagine(&drawn)?);
        }
        Ok(model)
    }

    /// The variance of output k, standardised, below which a value without noise would only repeat what is
    /// known.
    pub(crate) fn negligible(&self, k: usize) -> f64 {
        self.negligible.get(k).copied().unwrap_or(0.0)
    }

    /// Believes what a joint model says about the objectives in it.
    pub(crate) fn join(&mut self, joint: Joint) {
        for (k, member) in joint.members() {
            self.objectives[k].joint = Some(member);
        }
        self.joint = Some(joint);
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
        let mut model = Self::default();
        objectives.into_iter().for_each(|belief| model.add(belief, None));
        model
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
    pub(crate) fn feasibility(&self, x: &[f64], factor: f64, gradient: &mut [f64]) -> Result<f64> {
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
    /// constraints λ · μ(x). With other utilities, what these make of it. Writes its gradient.
    pub(crate) fn utility(&self, weights: &[f64], x: &[f64], gradient: &mut [f64]) -> Result<f64> {
        gradient.fill(0.0);
        let sum = match &self.worth {
            Some(worth) => self.worth_at(worth, &worth.without_ties(weights), x, gradient)?,
            None => self.weighted_sum(weights, x, gradient)?,
        };
        if !self.is_constrained() {
            return Ok(sum);
        }
        let mut by_feasibility = vec![0.0; x.len()];
        let feasibility = self.feasibility(x, sum, &mut by_feasibility)?;
        let parts = gradient.iter_mut().zip(by_feasibility);
        parts.for_each(|(g, part)| *g = *g * feasibility + part);
        Ok(sum * feasibility)
    }

    /// λ · (μ(x) − r); adds its gradient.
    fn weighted_sum(&self, weights: &[f64], x: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let factors: Vec<f64> =
            self.objectives.iter().zip(weights).map(|(belief, w)| w * belief.unit).collect();
        let means = self.means_with_gradient(x, &factors, gradient)?;
        let mut sum = 0.0;
        for (k, (factor, mean)) in factors.iter().zip(means).enumerate() {
            let zero = self.reference.as_ref().map_or(0.0, |reference| reference[k]);
            sum += factor * (mean - zero);
        }
        Ok(sum)
    }

    /// Means of all objectives at `x`, standardised; adds the gradient of their sum with these factors
    /// to `gradient`.
    fn means_with_gradient(
        &self,
        x: &[f64],
        factors: &[f64],
        gradient: &mut [f64],
    ) -> Result<Vec<f64>> {
        let mut means = vec![0.0; self.objectives.len()];
        if let Some(joint) = &self.joint {
            let found = joint.means_with_gradient(x, factors, gradient)?;
            joint.objectives.iter().zip(found).for_each(|(k, mean)| means[*k] = mean);
        }
        for (k, belief) in self.objectives.iter().enumerate().filter(|(_, b)| b.joint.is_none()) {
            means[k] = belief.mean_with_gradient(x, factors[k], gradient)?;
        }
        Ok(means)
    }

    /// What the design is worth if it is feasible; adds its gradient.
    pub(crate) fn worth_at(
        &self,
        worth: &Worth,
        weights: &[f64],
        x: &[f64],
        gradient: &mut [f64],
    ) -> Result<f64> {
        let mut queries = vec![Query::default(); self.objectives.len()];
        let predictions = self.predictions(x, &mut queries)?;
        let mut by = vec![[0.0; 2]; predictions.len()];
        let value =
            worth.value_with_slopes(weights, &predictions, &mut Seen::default(), &mut by)?;
        self.add_gradient(x, &queries, &by, gradient)?;
        Ok(value)
    }

    /// What is expected of each objective at `x`.
    pub(crate) fn predictions(&self, x: &[f64], queries: &mut [Query]) -> Result<Vec<Prediction>> {
        let pairs = self.objectives.iter().zip(queries);
        pairs.map(|(belief, query)| belief.query(x, query)).collect()
    }

    /// Adds the gradient of a quantity with these derivatives in mean and variance of each objective
    /// at `x`, where the queries were made.
    pub(crate) fn add_gradient(
        &self,
        x: &[f64],
        queries: &[Query],
        by: &[[f64; 2]],
        gradient: &mut [f64],
    ) -> Result<()> {
        for ((belief, query), [by_mean, by_variance]) in self.objectives.iter().zip(queries).zip(by)
        {
            if belief.known.is_some() {
                belief.mean_with_gradient(x, *by_mean, gradient)?;
            } else if *by_mean != 0.0 || *by_variance != 0.0 {
                let part = belief.gp.gradient(query, *by_mean, *by_variance);
                gradient.iter_mut().zip(part).for_each(|(g, p)| *g += p);
            }
        }
        Ok(())
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

    fn belief_mut(&mut self, k: usize) -> &mut Belief {
        match self.places[k] {
            Place::Objective(m) => &mut self.objectives[m],
            Place::Constraint(c) => &mut self.constraints[c].belief,
        }
    }

    /// The value of each of `points` as [`Model::utility`] has it.
    pub(crate) fn utilities(&self, weights: &[f64], points: &Points) -> Result<Vec<f64>> {
        Ok(self.expected(points)?.utilities(self, weights))
    }

    /// What each of `points` is worth in each objective; see [`Expected::worths`].
    pub(crate) fn worths(&self, points: &Points) -> Result<Points> {
        Ok(self.expected(points)?.worths(self))
    }

    /// Finds out how far the standard deviations of each model can be trusted, by what it expects of each
    /// of its values from the others. To be asked of what is known, without what is under way.
    pub(crate) fn calibrate(&mut self) {
        let places = 0..self.places.len();
        self.doubts = places.map(|k| doubt(&self.belief(k).gp.leave_one_out())).collect();
    }

    /// Trusts calibrated models less, for designs that are chosen because of what they say.
    pub(crate) fn doubt_selection(&mut self) {
        self.doubts.iter_mut().for_each(|doubt| *doubt *= SELECTED);
    }

    /// What is expected of output `k` of the problem at `x`, with a deviation that goes by the errors
    /// which its model has made.
    pub(crate) fn forecast(&self, k: usize, x: &[f64]) -> Result<Prediction> {
        let Prediction { mean, variance } = self.belief(k).predict(x)?;
        Ok(Prediction { mean, variance: variance * self.doubt(k).powi(2) })
    }

    fn doubt(&self, k: usize) -> f64 {
        self.doubts.get(k).copied().unwrap_or(1.0)
    }

    /// What is expected of each of `points`, with the caution that designs are compared with.
    pub(crate) fn expected(&self, points: &Points) -> Result<Expected> {
        match self.caution {
            Some(caution) => self.feared(points, caution),
            None => self.plainly_expected(points),
        }
    }

    /// What designs are chosen from a front by, where that is not what is expected.
    pub(crate) fn steadily_expected(&self, points: &Points) -> Result<Option<Expected>> {
        self.steadiness.map(|caution| self.feared(points, caution)).transpose()
    }

    /// The same, every objective so much worse that this is unlikely to be too little.
    pub(crate) fn feared(&self, points: &Points, caution: Caution) -> Result<Expected> {
        let mut expected = self.plainly_expected(points)?;
        expected.likely = caution.likely;
        for (k, place) in self.places.iter().enumerate() {
            let Place::Objective(m) = *place else { continue };
            for (i, prediction) in self.objectives[m].predict_many(points)?.iter().enumerate() {
                let sd = prediction.variance.sqrt() * self.doubt(k);
                expected.means.row_mut(i)[m] -= caution.deviations * sd;
            }
        }
        for (i, row) in expected.predictions.iter_mut().flatten().enumerate() {
            for (prediction, mean) in row.iter_mut().zip(expected.means.row(i)) {
                *prediction = Prediction { mean: *mean, variance: 0.0 };
            }
        }
        Ok(expected)
    }

    fn plainly_expected(&self, points: &Points) -> Result<Expected> {
        let feasibilities = match self.is_constrained() {
            true => Some(self.feasibilities(points)?),
            false => None,
        };
        let deviating = match &self.worth {
            Some(_) => Some(self.predict_many(points)?),
            None => None,
        };
        let (means, likely) = (self.means(points)?, LIKELY);
        Ok(Expected { means, feasibilities, predictions: deviating, likely })
    }

    /// What is expected of all objectives at each of `points`.
    fn predict_many(&self, points: &Points) -> Result<Vec<Vec<Prediction>>> {
        let columns = self.objectives.iter().map(|belief| belief.predict_many(points));
        let columns: Vec<Vec<Prediction>> = columns.collect::<Result<_>>()?;
        let row = |i: usize| columns.iter().map(|column| column[i]).collect();
        Ok((0..points.len()).map(row).collect())
    }

    /// The value of designs to a decision maker, given what each is worth in each objective.
    pub(crate) fn weigh_expected(
        &self,
        weights: &[f64],
        expected: &Expected,
        worths: &Points,
    ) -> Vec<f64> {
        match self.worth {
            Some(_) => expected.utilities(self, weights),
            None => self.weigh(weights, worths),
        }
    }

    /// What one standard deviation in every objective is worth, in the units of utilities.
    pub(crate) fn unit(&self, weights: &[f64]) -> f64 {
        match &self.worth {
            Some(worth) => worth.unit(weights),
            None => self.objectives.iter().zip(weights).map(|(o, w)| w * o.unit).sum(),
        }
    }

    /// λ · μ in weighing units, for rows of standardised means.
    pub(crate) fn weigh(&self, weights: &[f64], means: &Points) -> Vec<f64> {
        let factors: Vec<f64> =
            self.objectives.iter().zip(weights).map(|(output, w)| w * output.unit).collect();
        means.rows().map(|row| row.iter().zip(&factors).map(|(m, f)| m * f).sum()).collect()
    }

    /// The same for many weight vectors: a row for each row of means, with a value for each of them.
    pub(crate) fn weigh_all(&self, weights: &Points, means: &Points) -> Points {
        let mut utilities = Points::zeros(weights.len(), means.len());
        for (k, output) in self.objectives.iter().enumerate() {
            let factors: Vec<f64> = weights.rows().map(|row| row[k] * output.unit).collect();
            for i in 0..means.len() {
                let mean = means.row(i)[k];
                let sums = utilities.row_mut(i).iter_mut().zip(&factors);
                sums.for_each(|(sum, factor)| *sum += mean * factor);
            }
        }
        utilities
    }

    /// Posterior means of all objectives, in standardised units: a row per point.
    pub(crate) fn means(&self, points: &Points) -> Result<Points> {
        let mut means = vec![vec![]; self.objectives.len()];
        if let Some(joint) = &self.joint {
            let found = joint.model.means(points)?;
            joint.objectives.iter().zip(found).for_each(|(k, column)| means[*k] = column);
        }
        for (k, belief) in self.objectives.iter().enumerate().filter(|(_, b)| b.joint.is_none()) {
            means[k] = belief.means(points)?;
        }
        let row = |i: usize| means.iter().map(|m| m[i]).collect::<Vec<_>>();
        Points::from_rows(self.objectives.len(), (0..points.len()).map(row))
    }
}

/// What is expected of some designs.
#[derive(Clone)]
pub(crate) struct Expected {
    /// Standardised means of the objectives, a row per design.
    pub(crate) means: Points,
    /// Probability that each is feasible; none where every design is.
    feasibilities: Option<Vec<f64>>,
    /// What is expected of all objectives, where more than the means counts.
    predictions: Option<Vec<Vec<Prediction>>>,
    /// How likely a design must be to be feasible.
    likely: f64,
}

impl Expected {
    /// What is expected of all objectives at each design; nothing where only means count.
    pub(crate) fn predictions(&self) -> &[Vec<Prediction>] {
        self.predictions.as_deref().unwrap_or_default()
    }

    /// Some of the designs.
    pub(crate) fn select(&self, places: &[usize]) -> Self {
        let feasibilities = self.feasibilities.as_ref();
        let predictions = self.predictions.as_ref();
        Self {
            means: self.means.select(places),
            feasibilities: feasibilities.map(|all| places.iter().map(|i| all[*i]).collect()),
            predictions: predictions.map(|all| places.iter().map(|i| all[*i].clone()).collect()),
            likely: self.likely,
        }
    }

    /// What was measured of design `i` counts in place of what is expected: it is feasible, and objectives
    /// have these standardised values where they are known exactly.
    pub(crate) fn settle(&mut self, i: usize, values: &[Option<f64>]) {
        if let Some(feasibilities) = &mut self.feasibilities {
            feasibilities[i] = 1.0;
        }
        for (m, value) in values.iter().enumerate() {
            let Some(mean) = *value else { continue };
            self.means.row_mut(i)[m] = mean;
            if let Some(predictions) = &mut self.predictions {
                predictions[i][m] = Prediction { mean, variance: 0.0 };
            }
        }
    }

    /// These designs, then `others`.
    pub(crate) fn and(mut self, others: Self) -> Result<Self> {
        for row in others.means.rows() {
            self.means.push(row)?;
        }
        if let (Some(own), Some(other)) = (&mut self.feasibilities, others.feasibilities) {
            own.extend(other);
        }
        if let (Some(own), Some(other)) = (&mut self.predictions, others.predictions) {
            own.extend(other);
        }
        Ok(self)
    }

    /// The value of each design to a decision maker.
    pub(crate) fn utilities(&self, model: &Model, weights: &[f64]) -> Vec<f64> {
        if let (Some(worth), Some(predictions)) = (&model.worth, &self.predictions) {
            let (mut seen, weights) = (Seen::default(), worth.without_ties(weights));
            let value = |row: &Vec<Prediction>| {
                worth.value(&weights, row, &mut seen).unwrap_or(f64::NEG_INFINITY)
            };
            let mut values: Vec<f64> = predictions.iter().map(value).collect();
            let factors = self.feasibilities.iter().flatten();
            values.iter_mut().zip(factors).for_each(|(value, f)| *value *= f);
            return values;
        }
        let mut utilities = model.weigh(weights, &self.means);
        let Some(feasibilities) = &self.feasibilities else { return utilities };
        let factors = model.objectives.iter().zip(weights).map(|(b, w)| w * b.unit);
        let reference = model.reference.iter().flatten();
        let zero: f64 = factors.zip(reference).map(|(factor, r)| factor * r).sum();
        utilities.iter_mut().zip(feasibilities).for_each(|(u, f)| *u = f * (*u - zero));
        utilities
    }

    /// Whether each design is at least as likely to be feasible as not, and has all objectives.
    pub(crate) fn are_feasible(&self) -> Vec<bool> {
        let has_values = |row: &[f64]| row.iter().all(|mean| *mean > HOPELESS);
        let mut feasible: Vec<bool> = self.means.rows().map(has_values).collect();
        for (feasible, f) in feasible.iter_mut().zip(self.feasibilities.iter().flatten()) {
            *feasible &= *f >= self.likely;
        }
        feasible
    }

    /// What each design is worth in each objective: its mean, as far as it is not more than enough, with
    /// the probability that it is feasible, and otherwise the reference point.
    pub(crate) fn worths(&self, model: &Model) -> Points {
        let mut worths = self.means.clone();
        if let (Some(worth), Some(predictions)) = (&model.worth, &self.predictions) {
            for (i, row) in predictions.iter().enumerate() {
                let counted = row.iter().enumerate().map(|(k, p)| worth.counted(k, *p));
                worths.row_mut(i).iter_mut().zip(counted).for_each(|(w, c)| *w = c);
            }
        }
        let reference = model.reference.as_deref().unwrap_or_default();
        for (i, f) in self.feasibilities.iter().flatten().enumerate() {
            let row = worths.row_mut(i).iter_mut().zip(reference);
            row.for_each(|(worth, r)| *worth = r + f * (*worth - r));
        }
        worths
    }

    /// The same, designs that are likely infeasible so far down that every other design dominates
    /// them, and the less likely the further.
    pub(crate) fn penalised(&self, model: &Model) -> Points {
        const FAR: f64 = 1e6;
        let mut worths = self.worths(model);
        let unlikely =
            self.feasibilities.iter().flatten().enumerate().filter(|(_, f)| **f < self.likely);
        for (i, f) in unlikely {
            let lacking = 1.0 + self.likely - f;
            worths.row_mut(i).iter_mut().for_each(|worth| *worth -= FAR * lacking);
        }
        worths
    }
}

/// Values are reached with this probability that recommended designs are chosen by. From 0.7 to 0.8 decision
/// makers lose least, above it more in early recommendations (docs/recommendation.md).
const STEADY: f64 = 0.7;

/// A design is recommended if it is at least this likely to be feasible.
const LIKELY: f64 = 0.5;

#[cfg(test)]
mod joint_tests;
#[cfg(test)]
mod outliers_tests;
#[cfg(test)]
mod tests;
