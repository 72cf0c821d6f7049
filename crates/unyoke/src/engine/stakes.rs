//! What there is to choose between on the predicted front: where hypervolumes count from, the range
//! of utilities, the volume.

use super::{Engine, Step};
use crate::discretise::best_utility;
use crate::error::Result;
use crate::model::Model;
use unyoke_math::Points;
use unyoke_math::optimize::largest;
use unyoke_math::pareto::{hypervolume, non_dominated};

/// What an objective counts where it is given up for the others. Ends of the front that buy next to
/// nothing in the others for a lot of it must not stretch the front.
const GIVEN_UP: f64 = 0.1;

/// Of more than two objectives, at most this part of the front lies below the reference point in one of
/// them, its margin aside.
const LEFT_OUT: f64 = 0.1;

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
        let mut means = model.means(&step.set)?;
        for y in model.means(&step.best)?.rows().chain(ends.rows()) {
            means.push(y)?;
        }
        let front = means.select(&non_dominated(&means)?);
        let reference = match self.reference(model)? {
            Some(reference) => reference,
            None => below(&ends, &front),
        };
        let positive = |v: f64| if v.is_finite() { v.max(1e-12) } else { 1e-12 };
        Ok(Stakes {
            range: positive(utility_range(model, step, &front, &reference)),
            volume: positive(hypervolume(&front, &reference)?),
            reference,
        })
    }

    /// For each objective, the means of the design that is best for whoever hardly cares for it and for
    /// the others alike. (Whoever cares for one objective alone may get the same design as somebody who cares
    /// for another: with more than two, such designs need not span the front.)
    fn ends_of_front(&self, model: &Model, step: &Step) -> Result<Points> {
        let mut pool = step.set.clone();
        for x in step.best.rows().chain(self.observed_designs()?.rows()) {
            pool.push(x)?;
        }
        let means = model.expected(&pool)?.penalised(model);
        let mut ends = means.select(&non_dominated(&means)?);
        // The range of the front is that between its ends, which depend on the range. With more than two
        // objectives a small range makes an objective count more, and its range smaller still.
        let rounds = if means.dim() > 2 { 1 } else { 2 };
        for _ in 0..rounds {
            let ranges = spans(&ends);
            ends = Points::new(means.dim());
            // Backwards: two objectives then have their ends in the order of earlier versions.
            for k in (0..means.dim()).rev() {
                let end = self.end_of_front(model, [&pool, &means], &ranges, k)?;
                ends.push(model.means(&end)?.row(0))?;
            }
        }
        Ok(ends)
    }

    /// The design at which objective k is given up, climbed to from the best of `pool`.
    fn end_of_front(
        &self,
        model: &Model,
        [pool, means]: [&Points; 2],
        ranges: &[f64],
        k: usize,
    ) -> Result<Points> {
        let others = (1.0 - GIVEN_UP) / (ranges.len() - 1).max(1) as f64;
        let weight = |j: usize| if j == k { GIVEN_UP } else { others };
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

/// A point a tenth of the range below the worst that is worth having.
fn below(ends: &Points, front: &Points) -> Vec<f64> {
    let column = |rows: &Points, k: usize| rows.rows().map(|y| y[k]).collect::<Vec<f64>>();
    let coordinate = |k: usize| {
        let mut values = column(ends, k);
        if ends.dim() > 2 {
            // Ends are those of the models, and these may be wrong about some of them.
            let mut all = column(front, k);
            all.sort_unstable_by(f64::total_cmp);
            values.extend(all.get((LEFT_OUT * all.len() as f64) as usize));
        }
        let worst = values.iter().copied().fold(f64::INFINITY, f64::min);
        worst - MARGIN * span(values.into_iter())
    };
    (0..ends.dim()).map(coordinate).collect()
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
    (0..rows.dim()).map(|k| span(rows.rows().map(|y| y[k]))).collect()
}

fn span(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let high = values.clone().fold(f64::NEG_INFINITY, f64::max);
    let span = high - values.fold(f64::INFINITY, f64::min);
    if span.is_finite() { span.max(LEAST_RANGE) } else { LEAST_RANGE }
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
    use std::f64::consts::FRAC_PI_2;
    use unyoke_math::sobol;

    const NAMES: [&str; 3] = ["a", "b", "c"];

    /// A study of maximising all of these on the unit square, with values at 24 designs.
    fn history<const M: usize>(functions: [fn(f64, f64) -> f64; M], config: Config) -> History {
        let problem = Problem::builder().continuous("x", 0.0, 1.0).continuous("y", 0.0, 1.0);
        let problem = NAMES.iter().take(M).fold(problem, |built, name| built.maximise(*name, 1.0));
        let problem = problem.build().unwrap();
        let mut records = vec![Record::from(Event::Created { problem, config, seed: 0 })];
        let designs = sobol::cube(2, 24, 1).unwrap();
        let all = designs.rows().flat_map(|x| NAMES.iter().zip(functions).map(move |f| (f, x)));
        for (evaluation, ((name, function), x)) in (0..).zip(all) {
            let design = Design::new().with("x", x[0]).with("y", x[1]);
            let (measurement, cost, initial) = (name.to_string(), 1.0, true);
            records.push(Event::Asked { evaluation, design, measurement, cost, initial }.into());
            let values = BTreeMap::from([(name.to_string(), function(x[0], x[1]).into())]);
            let (missing, cost, design) = (None, None, None);
            records.push(Event::Measured { evaluation, values, missing, cost, design }.into());
        }
        History::replay(&records).unwrap()
    }

    /// The reference point in the units of the objectives, with the range of utilities and the volume.
    fn stakes<const M: usize>(history: &History) -> ([f64; M], f64, f64) {
        let engine = Engine::new(history);
        let model = engine.model(Basis::Expected).unwrap();
        let step = engine.step(&model).unwrap();
        let stakes = engine.stakes(&model, &step).unwrap();
        let raw = |k: usize| model.objectives[k].map.restore(stakes.reference[k]);
        let scales: f64 = model.objectives.iter().map(|belief| belief.map.scale()).product();
        (std::array::from_fn(raw), stakes.range, stakes.volume * scales)
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
    fn each_objective_is_given_up_at_an_end_of_a_dented_front() {
        // As in DTLZ2: at x = 1 both a and b are as good as they can be, and whoever cares for either of
        // them alone is best off there.
        let a = |x: f64, y: f64| -(x * FRAC_PI_2).cos() * (y * FRAC_PI_2).cos();
        let b = |x: f64, y: f64| -(x * FRAC_PI_2).cos() * (y * FRAC_PI_2).sin();
        let c = |x: f64, _: f64| -0.9 * (x * FRAC_PI_2).sin();
        let ([a, b, c], ..) = stakes(&history([a, b, c], Config::default()));
        // Each is worst at one corner, and a tenth of its range above the point there.
        let is_near = |value: f64, expected: f64| (value - expected).abs() < 0.03;
        assert!(is_near(a, -1.1) && is_near(b, -1.1) && is_near(c, -0.99), "{a} {b} {c}");
    }

    #[test]
    fn a_reference_point_of_the_user_is_taken_as_it_is() {
        let reference = BTreeMap::from([("a".to_owned(), -2.0), ("b".to_owned(), 0.25)]);
        let config = Config { reference: Some(reference), ..Config::default() };
        let ([a, b], ..) = stakes(&history([|x, _| x, |x, _| 1.0 - x], config));
        assert!((a + 2.0).abs() < 1e-9 && (b - 0.25).abs() < 1e-9, "{a} {b}");
    }
}
