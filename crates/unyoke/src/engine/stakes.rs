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
#[derive(Debug, Clone)]
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

#[cfg(test)]
mod tests {
    use super::super::{Basis, Engine};
    use crate::config::Config;
    use crate::design::Design;
    use crate::event::{Event, Record};
    use crate::history::History;
    use crate::problem::Problem;
    use std::collections::BTreeMap;
    use unyoke_math::sobol;

    /// A study of maximising both of these on the unit square, with values at 24 designs.
    fn history(functions: [fn(f64, f64) -> f64; 2], config: Config) -> History {
        let problem = Problem::builder().continuous("x", 0.0, 1.0).continuous("y", 0.0, 1.0);
        let problem = problem.maximise("a", 1.0).maximise("b", 1.0).build().unwrap();
        let mut records = vec![Record::from(Event::Created { problem, config, seed: 0 })];
        let designs = sobol::cube(2, 24, 1).unwrap();
        let pairs = designs.rows().flat_map(|x| [("a", functions[0], x), ("b", functions[1], x)]);
        for (evaluation, (name, function, x)) in (0..).zip(pairs) {
            let design = Design::new().with("x", x[0]).with("y", x[1]);
            let (measurement, cost, initial) = (name.to_owned(), 1.0, true);
            records.push(Event::Asked { evaluation, design, measurement, cost, initial }.into());
            let values = BTreeMap::from([(name.to_owned(), function(x[0], x[1]).into())]);
            let (missing, cost, design) = (None, None, None);
            records.push(Event::Measured { evaluation, values, missing, cost, design }.into());
        }
        History::replay(&records).unwrap()
    }

    /// The reference point in the units of the objectives, with the range of utilities and the volume.
    fn stakes(history: &History) -> ([f64; 2], f64, f64) {
        let engine = Engine::new(history);
        let model = engine.model(Basis::Expected).unwrap();
        let step = engine.step(&model).unwrap();
        let stakes = engine.stakes(&model, &step).unwrap();
        let raw = |k: usize| model.objectives[k].map.restore(stakes.reference[k]);
        let scales: f64 = model.objectives.iter().map(|belief| belief.map.scale()).product();
        ([raw(0), raw(1)], stakes.range, stakes.volume * scales)
    }

    #[test]
    fn an_end_that_buys_nothing_for_a_lot_does_not_stretch_the_front() {
        // From (1, 0) on, raising y buys 0.01 of a for 3 of b.
        let a = |x: f64, y: f64| x + 0.01 * y;
        let b = |x: f64, y: f64| 1.0 - x - 3.0 * y;
        let ([a, b], range, volume) = stakes(&history([a, b], Config::default()));
        // The ends worth having are (0, 1) and (1, 0), a tenth of the range above the point.
        assert!((a + 0.1).abs() < 0.03 && (b + 0.1).abs() < 0.03, "{a} {b}");
        // The volume below the line between them is 0.71; below ten steps along it, 0.66.
        assert!((volume - 0.66).abs() < 0.02, "{volume}");
        assert!(range > 0.0);
    }

    #[test]
    fn a_reference_point_of_the_user_is_taken_as_it_is() {
        let reference = BTreeMap::from([("a".to_owned(), -2.0), ("b".to_owned(), 0.25)]);
        let config = Config { reference: Some(reference), ..Config::default() };
        let ([a, b], ..) = stakes(&history([|x, _| x, |x, _| 1.0 - x], config));
        assert!((a + 2.0).abs() < 1e-9 && (b - 0.25).abs() < 1e-9, "{a} {b}");
    }
}
