//! What there is to choose between on the predicted front: where hypervolumes count from, the range
//! of utilities, the volume.

use super::{Engine, Step};
use crate::discretise::best_utility;
use crate::error::Result;
use crate::model::Model;
use unyoke_math::Points;
use unyoke_math::optimize::largest;
use unyoke_math::pareto::{hypervolume, non_dominated};

/// What the other objectives count together where one is as good as it can be. Ends of the front
/// that buy next to nothing in one objective for a lot of another must not stretch the front.
const OTHERS: f64 = 0.1;

/// How far the reference point is below the worst that is worth having, as a part of the range.
const MARGIN: f64 = 0.1;

/// The least range of an objective, in standard deviations.
const LEAST_RANGE: f64 = 0.1;

/// What is at stake; everything standardised.
pub(super) struct Stakes {
    /// Hypervolumes count from here.
    pub(super) reference: Vec<f64>,
    /// The range of utilities on the front, averaged over the weights of the step.
    pub(super) range: f64,
    /// The front's volume.
    pub(super) volume: f64,
}

impl Engine<'_> {
    pub(super) fn stakes(&self, model: &Model, step: &Step) -> Result<Stakes> {
        let ends = self.ends_of_front(model, step)?;
        let objectives = ends.dim();
        let ranges = spans(&ends);
        let worst = |k: usize| ends.rows().map(|y| y[k]).fold(f64::INFINITY, f64::min);
        let reference = match self.reference(model)? {
            Some(reference) => reference,
            None => (0..objectives).map(|k| worst(k) - MARGIN * ranges[k]).collect(),
        };
        let mut means = model.means(&step.set)?;
        for y in model.means(&step.best)?.rows().chain(ends.rows()) {
            means.push(y)?;
        }
        let front = means.select(&non_dominated(&means)?);
        let positive = |v: f64| if v.is_finite() { v.max(1e-12) } else { 1e-12 };
        Ok(Stakes {
            range: positive(utility_range(model, step, &front, &reference)),
            volume: positive(hypervolume(&front, &reference)?),
            reference,
        })
    }

    /// For each objective, the means of the design that is best for whoever cares for nearly nothing
    /// else.
    fn ends_of_front(&self, model: &Model, step: &Step) -> Result<Points> {
        let mut pool = step.set.clone();
        for x in step.best.rows().chain(self.observed_designs()?.rows()) {
            pool.push(x)?;
        }
        let means = model.expected(&pool)?.penalised(model);
        let mut ends = means.select(&non_dominated(&means)?);
        // The range of the front is that between its ends, which depend on the range.
        for _ in 0..2 {
            let ranges = spans(&ends);
            ends = Points::new(means.dim());
            for k in 0..means.dim() {
                let end = self.end_of_front(model, [&pool, &means], &ranges, k)?;
                ends.push(model.means(&end)?.row(0))?;
            }
        }
        Ok(ends)
    }

    /// The design of that kind for objective k, climbed to from the best of `pool`.
    fn end_of_front(
        &self,
        model: &Model,
        [pool, means]: [&Points; 2],
        ranges: &[f64],
        k: usize,
    ) -> Result<Points> {
        let others = OTHERS / (ranges.len() - 1).max(1) as f64;
        let weight = |j: usize| if j == k { 1.0 - OTHERS } else { others };
        let factors: Vec<f64> = (0..ranges.len()).map(|j| weight(j) / ranges[j]).collect();
        let utility = |y: &[f64]| y.iter().zip(&factors).map(|(y, f)| y * f).sum::<f64>();
        let utilities: Vec<f64> = means.rows().map(utility).collect();
        let start = largest(&utilities, 1).first().map_or(0, |i| *i);
        let units = model.objectives.iter().map(|belief| belief.unit);
        let lambda: Vec<f64> = factors.iter().zip(units).map(|(f, unit)| f / unit).collect();
        let space = &self.history.space;
        let end = best_utility(space, model, &lambda, pool.row(start))?;
        Ok(Points::from_rows(space.dim(), [end])?)
    }
}

/// The range of utilities on the part of the front that exceeds the reference point, averaged over
/// the weights of the step.
fn utility_range(model: &Model, step: &Step, front: &Points, reference: &[f64]) -> f64 {
    let exceeds = |i: &usize| front.row(*i).iter().zip(reference).all(|(y, r)| y > r);
    let front = front.select(&(0..front.len()).filter(exceeds).collect::<Vec<_>>());
    let range = |lambda: &[f64]| {
        let utilities = model.weigh(lambda, &front);
        let high = utilities.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let low = utilities.iter().copied().fold(f64::INFINITY, f64::min);
        (high - low).max(0.0)
    };
    step.weights.rows().map(range).sum::<f64>() / step.weights.len() as f64
}

/// Range of each column, not nothing.
fn spans(rows: &Points) -> Vec<f64> {
    let column = |k: usize| rows.rows().map(move |y| y[k]);
    let span = |k: usize| {
        let high = column(k).fold(f64::NEG_INFINITY, f64::max);
        let span = high - column(k).fold(f64::INFINITY, f64::min);
        if span.is_finite() { span.max(LEAST_RANGE) } else { LEAST_RANGE }
    };
    (0..rows.dim()).map(span).collect()
}
