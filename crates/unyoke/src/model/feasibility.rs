//! Which designs are feasible: constraints, and runs that succeed.

use super::belief::Belief;
use unyoke_math::gp::{Prediction, Query};
use unyoke_math::success::Success;
use unyoke_math::{Points, Result, normal};

/// The model of a constraint.
#[derive(Debug, Clone)]
pub(crate) struct Constraint {
    pub(crate) belief: Belief,
    /// The least acceptable value, standardised.
    pub(crate) limit: f64,
}

impl Constraint {
    /// The probability that it holds at each of `points`; 1 or 0 for a formula, which is certain.
    pub(super) fn probabilities(&self, points: &Points) -> Result<Vec<f64>> {
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
