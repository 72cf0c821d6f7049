//! Knowledge gradient of utilities that are not weighted sums: those of Chebyshev, and objectives of
//! which there can be enough.
//!
//! u is concave, so that E u(y) ≠ u(E y): what counts is U_j(Z) = E[u(y(x'_j)) | Z], a martingale. Measuring
//! objective m at x makes it a curve in the outcome Z, with ceilings where another objective or a target
//! limits it (`worth.rs`). The gain is E[max_j U_j(Z) − U_j*(Z)], j* the design that is worth most
//! now, averaged over the weight vectors (`unyoke_math::capped_gain`).
//!
//! Designs may be infeasible: the curve of each is then multiplied by the probability that it is feasible.
//! Measuring a constraint moves these probabilities, while what designs are worth stays: `vector`.

use super::c_mokg::{successes, unless_it_fails};
use super::vector::{self, Observed};
use super::{Acquisition, Evaluator, Scalarised, Sums};
use crate::choices::Choice;
use crate::model::Place;
use crate::outlook::Outlook;
use crate::worth::{Seen, Worth};
use unyoke_math::Result;
use unyoke_math::capped_gain::{self, Ceiling, Curve, Curves, Slopes};
use unyoke_math::gp::{Prediction, Query};
use unyoke_math::success::Success;

/// The knowledge gradient over the weight vectors of a step.
pub(crate) struct UtilityKg<'a> {
    shared: Scalarised<'a>,
    worth: &'a Worth,
    options: Vec<Form>,
    /// For each option, where its runs succeed, if they may fail.
    successes: Vec<Vec<&'a Success>>,
    /// How feasible each compared design is.
    feasibility: Vec<f64>,
}

/// How the gain of an option is computed.
enum Form {
    /// An objective, with the curves of the compared designs for each weight vector.
    Objective(usize, Vec<Curves>),
    /// Constraints.
    Constraints(Observed),
}

impl<'a> UtilityKg<'a> {
    pub(crate) fn new(
        mut shared: Scalarised<'a>,
        worth: &'a Worth,
        choices: &[Choice],
    ) -> Result<Self> {
        let model = shared.model();
        shared.worth = Some(worth);
        let designs = shared.compared.designs.clone();
        let expected = model.expected(&designs)?;
        let feasibility = shared.compared.feasibility_apart_from(&[])?;
        for (j, predictions) in expected.predictions().iter().enumerate() {
            let mut seen = Seen::default();
            for q in 0..shared.weights.len() {
                let value = worth.value(shared.weights.row(q), predictions, &mut seen)?;
                shared.intercepts.row_mut(q)[j] = value;
            }
        }
        let form = |choice: &Choice| {
            let places: Vec<Place> = choice.outputs.iter().map(|k| model.place(*k)).collect();
            let is_objective = |place: &&Place| matches!(place, Place::Objective(_));
            // Checked before: a measurement gives one output.
            match places.iter().find(is_objective) {
                Some(Place::Objective(m)) => {
                    let curves = curves(&shared, worth, *m, expected.predictions(), &feasibility)?;
                    Ok(Form::Objective(*m, curves))
                }
                _ => Ok(Form::Constraints(Observed::new(&places)?)),
            }
        };
        let options = choices.iter().map(form).collect::<Result<_>>()?;
        let successes = successes(model, choices);
        Ok(Self { shared, worth, options, successes, feasibility })
    }
}

/// The curves of the compared designs for each weight vector while objective `m` is measured.
fn curves(
    shared: &Scalarised<'_>,
    worth: &Worth,
    m: usize,
    predictions: &[Vec<Prediction>],
    feasibility: &[f64],
) -> Result<Vec<Curves>> {
    let mut seen = Seen::default();
    let of_weights = |lambda: &[f64]| {
        let mut curves = Curves::default();
        for (predictions, f) in predictions.iter().zip(feasibility) {
            let curve = worth.curve(lambda, predictions, m, &mut seen)?;
            curves.push(scaled(curve, &mut seen.ceilings, *f), &seen.ceilings)?;
        }
        Ok(curves)
    };
    shared.weights.rows().map(of_weights).collect()
}

/// The curve times a factor.
fn scaled(curve: Curve, ceilings: &mut [Ceiling], factor: f64) -> Curve {
    for ceiling in ceilings {
        ceiling.mean *= factor;
        ceiling.variance *= factor * factor;
    }
    let Curve { level, free, mean, variance } = curve;
    let (level, mean) = (factor * level, factor * mean);
    Curve { level, free, mean, variance: factor * factor * variance }
}

impl Acquisition for UtilityKg<'_> {
    fn options(&self) -> usize {
        self.options.len()
    }

    fn evaluator(&self, option: usize) -> Evaluator<'_> {
        let mut gain: Evaluator<'_> = match &self.options[option] {
            Form::Objective(m, curves) => {
                let mut work = Work::new(self, *m, curves);
                Box::new(move |x, gradient| work.evaluate(x, gradient).unwrap_or(f64::NEG_INFINITY))
            }
            Form::Constraints(observed) => vector::evaluator(&self.shared, observed),
        };
        let log_scale = self.worth.scale().ln();
        let gain =
            Box::new(move |x: &[f64], gradient: Option<&mut [f64]>| gain(x, gradient) + log_scale);
        unless_it_fails(gain, &self.successes[option])
    }
}

/// Groups of derivatives: in the slope β_j of each design, in mean and in variance of each objective
/// at x, and in how feasible x is.
const SLOPES: usize = 0;
const MEANS: usize = 1;
const VARIANCES: usize = 2;
const FEASIBILITY: usize = 3;

/// One objective's evaluator with its buffers.
struct Work<'a> {
    acquisition: &'a UtilityKg<'a>,
    objective: usize,
    curves: &'a [Curves],
    outlook: Outlook,
    queries: Vec<Query>,
    predictions: Vec<Prediction>,
    feasibility: f64,
    seen: Seen,
    slopes: Vec<f64>,
    gain: capped_gain::Work,
    sums: Sums<4>,
}

impl<'a> Work<'a> {
    fn new(acquisition: &'a UtilityKg<'a>, objective: usize, curves: &'a [Curves]) -> Self {
        Self {
            acquisition,
            objective,
            curves,
            outlook: Outlook::default(),
            queries: vec![Query::default(); acquisition.shared.objectives()],
            predictions: vec![],
            feasibility: 1.0,
            seen: Seen::default(),
            slopes: vec![],
            gain: capped_gain::Work::default(),
            sums: Sums::default(),
        }
    }

    /// Log of the gain at `x`, averaged over the weight vectors.
    fn evaluate(&mut self, x: &[f64], gradient: Option<&mut [f64]>) -> Result<f64> {
        let shared = &self.acquisition.shared;
        let (model, twin) = (shared.model(), shared.compared.twin(x));
        self.outlook.look(&shared.compared.objectives[self.objective], x, twin)?;
        if self.outlook.is_still() {
            return Ok(f64::NEG_INFINITY);
        }
        self.predictions = model.predictions(x, &mut self.queries)?;
        if model.is_constrained() {
            self.feasibility = model.feasibility(x, 0.0, &mut vec![0.0; x.len()])?;
        }
        let objectives = shared.objectives();
        self.sums.clear([self.outlook.slopes.len(), objectives, objectives, 1]);
        for q in 0..shared.weights.len() {
            self.add_weight_vector(q, twin.is_some())?;
        }
        if let Some(gradient) = gradient {
            self.write_gradient(x, gradient)?;
        }
        Ok(self.sums.log_mean(shared.weights.len()))
    }

    /// Adds the gain for one weight vector. A candidate that is one of the designs adds no curve.
    fn add_weight_vector(&mut self, q: usize, is_twin: bool) -> Result<()> {
        let UtilityKg { shared, worth, feasibility, .. } = self.acquisition;
        let lambda = shared.weights.row(q);
        let factor = worth.factor(lambda, self.objective);
        let last = self.outlook.slopes.len() - 1;
        self.slopes.clear();
        let designs = self.outlook.slopes.iter().zip(feasibility).take(last);
        self.slopes.extend(designs.map(|(beta, f)| f * factor * beta));
        let mut own = None;
        if !is_twin {
            self.slopes.push(self.feasibility * factor * self.outlook.slopes[last]);
            let curve = worth.curve(lambda, &self.predictions, self.objective, &mut self.seen)?;
            own = Some(scaled(curve, &mut self.seen.ceilings, self.feasibility));
        }
        let candidate = own.map(|curve| (curve, &self.seen.ceilings[..]));
        let gain = self.curves[q].gain(candidate, &self.slopes, &mut self.gain)?;
        if gain.scaled == 0.0 {
            return Ok(());
        }
        let unit = self.sums.align(gain.log_scale);
        self.sums.gain += unit * gain.scaled;
        let feasibility = feasibility.iter().take(last).chain([&self.feasibility]);
        let slopes = self.gain.slopes().iter().zip(feasibility);
        for (sum, (by, f)) in self.sums.by[SLOPES].iter_mut().zip(slopes) {
            *sum += unit * by * f * factor;
        }
        if let Some(curve) = own {
            self.share_own(curve, unit);
        }
        Ok(())
    }

    /// Adds the derivatives in what is predicted at the candidate.
    fn share_own(&mut self, curve: Curve, unit: f64) {
        let (own, f) = (self.gain.candidate(), self.feasibility);
        let last = self.slopes.len() - 1;
        let mut sum = curve.level * own.level
            + curve.mean * own.mean
            + 2.0 * curve.variance * own.variance
            + self.slopes[last] * self.gain.slopes()[last];
        for (ceiling, by) in self.seen.ceilings.iter().zip(&own.ceilings) {
            sum += ceiling.mean * by[0] + 2.0 * ceiling.variance * by[1];
        }
        // The curve is F times another: by Euler's theorem, F times the derivative in F is this sum.
        if f > 0.0 {
            self.sums.by[FEASIBILITY][0] += unit * sum / f;
        }
        let by_ceiling = |by: &[f64; 2]| [unit * f * by[0], unit * f * f * by[1]];
        let unscaled = Slopes {
            level: unit * f * own.level,
            mean: unit * f * own.mean,
            variance: unit * f * f * own.variance,
            ceilings: own.ceilings.iter().map(by_ceiling).collect(),
        };
        let mut by = vec![[0.0; 2]; self.predictions.len()];
        self.acquisition.worth.pull_back(&self.seen, &unscaled, &mut by);
        for (k, [mean, variance]) in by.into_iter().enumerate() {
            self.sums.by[MEANS][k] += mean;
            self.sums.by[VARIANCES][k] += variance;
        }
    }

    /// Gradient of the logarithm: chain rule through slopes, means, variances and feasibility.
    fn write_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> Result<()> {
        gradient.fill(0.0);
        // Where nothing can be gained there is no direction to go.
        if self.sums.gain == 0.0 {
            return Ok(());
        }
        let shared = &self.acquisition.shared;
        let Sums { gain, by: [slopes, means, variances, feasibility], .. } = &mut self.sums;
        let set = &shared.compared.objectives[self.objective];
        let own = [means[self.objective], variances[self.objective]];
        gradient.copy_from_slice(&self.outlook.pull_back(set, slopes, own)?);
        let mut by: Vec<[f64; 2]> =
            means.iter().zip(variances.iter()).map(|(mean, variance)| [*mean, *variance]).collect();
        // That of the measured objective came with its slopes.
        by[self.objective] = [0.0; 2];
        shared.model().add_gradient(x, &self.queries, &by, gradient)?;
        if feasibility[0] != 0.0 && shared.model().is_constrained() {
            shared.model().feasibility(x, feasibility[0], gradient)?;
        }
        gradient.iter_mut().for_each(|g| *g /= *gain);
        Ok(())
    }
}
