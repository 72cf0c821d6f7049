//! How much of what the front offers had been found after each evaluation.
//!
//! Past models are not asked: they would have to be fitted again, and what they hoped for may have turned out wrong,
//! so that progress would seem to be lost. Designs are judged by what is known now.

use super::Engine;
use crate::error::Result;
use crate::model::Model;
use crate::recommend::{Candidates, Milestone};
use crate::space::key;
use std::collections::HashMap;
use unyoke_math::Points;

/// A range that is a smaller part of the utilities is none.
const NEGLIGIBLE: f64 = 1e-9;

/// What had been evaluated, in the order in which values arrived.
struct Arrivals {
    /// The distinct designs that may be chosen.
    designs: Points,
    /// For each evaluation that gave values its number, and the place of its design among them.
    order: Vec<(u64, Option<usize>)>,
}

/// Between which utilities each decision maker's share is counted.
struct Scale {
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Engine<'_> {
    /// See [`Predictions::progress`](crate::Predictions::progress).
    pub(crate) fn progress(
        &self,
        model: &Model,
        candidates: &Candidates,
        weights: &Points,
    ) -> Result<Vec<Milestone>> {
        let Arrivals { designs, order } = self.arrivals()?;
        let (expected, count) = (model.expected(&designs)?, designs.len());
        let (feasible, worths) = (expected.are_feasible(), expected.worths(model));
        let mut utilities = Points::zeros(weights.len(), count);
        for (q, lambda) in weights.rows().enumerate() {
            // As those of the candidates are computed: other ways count from another zero.
            let values = model.weigh_expected(lambda, &expected, &worths);
            for (i, utility) in values.into_iter().enumerate() {
                let counts = feasible[i] && utility.is_finite();
                utilities.row_mut(i)[q] = if counts { utility } else { f64::NEG_INFINITY };
            }
        }
        let first = (0..count).find(|i| feasible[*i]).map(|i| utilities.row(i));
        let scale = Scale::new(&candidates.all_utilities(model, weights), first);
        let mut reached = vec![f64::NEG_INFINITY; weights.len()];
        let milestone = |(evaluation, place): (u64, Option<usize>)| {
            let row = place.map(|i| utilities.row(i)).unwrap_or_default();
            reached.iter_mut().zip(row).for_each(|(best, u)| *best = best.max(*u));
            Milestone { evaluation, share: scale.share(&reached) }
        };
        Ok(order.into_iter().map(milestone).collect())
    }

    fn arrivals(&self) -> Result<Arrivals> {
        let space = &self.history.space;
        let mut designs = Points::new(space.dim());
        let mut places: HashMap<Vec<u64>, usize> = HashMap::new();
        let mut order = vec![];
        for evaluation in self.history.completed() {
            let x = self.history.point(evaluation.id);
            let is_possible = x.iter().all(|v| (0.0..=1.0).contains(v)) && space.allows(x);
            let place = match places.get(&key(x)) {
                _ if !is_possible => None,
                Some(place) => Some(*place),
                None => {
                    designs.push(x)?;
                    places.insert(key(x), designs.len() - 1);
                    Some(designs.len() - 1)
                }
            };
            order.push((evaluation.id, place));
        }
        Ok(Arrivals { designs, order })
    }
}

impl Scale {
    /// From the worst of the designs that are best for somebody to the best, by the utilities of the designs of a
    /// front, a row each. Where the front is hardly more than a point, from the `first` design that was tried.
    fn new(front: &Points, first: Option<&[f64]>) -> Self {
        let makers = front.dim();
        let of = |i: usize, q: usize| front.row(i)[q];
        let best = |q: usize| (0..front.len()).max_by(|a, b| of(*a, q).total_cmp(&of(*b, q)));
        let winners: Vec<usize> = (0..makers).filter_map(best).collect();
        let among = |q: usize, fold: fn(f64, f64) -> f64, start: f64| {
            winners.iter().map(|i| of(*i, q)).fold(start, fold)
        };
        let high: Vec<f64> = (0..makers).map(|q| among(q, f64::max, f64::NEG_INFINITY)).collect();
        let low: Vec<f64> = (0..makers).map(|q| among(q, f64::min, f64::INFINITY)).collect();
        let scale = Self { low, high };
        match first {
            Some(first) if scale.is_point() => Self { low: first.to_vec(), ..scale },
            _ => scale,
        }
    }

    fn range(&self) -> f64 {
        self.high.iter().zip(&self.low).map(|(high, low)| (high - low).max(0.0)).sum()
    }

    fn is_point(&self) -> bool {
        let size: f64 = self.high.iter().chain(&self.low).map(|utility| utility.abs()).sum();
        self.range() <= NEGLIGIBLE * size
    }

    /// The mean share of decision makers who have `reached` these utilities.
    fn share(&self, reached: &[f64]) -> f64 {
        let ends = self.low.iter().zip(&self.high);
        let gained = reached
            .iter()
            .zip(ends)
            .map(|(reached, (low, high))| (reached.min(*high) - low).max(0.0));
        let (gained, range): (f64, f64) = (gained.sum(), self.range());
        if range > 0.0 { (gained / range).min(1.0) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Design, Output, Problem, Study};

    #[test]
    fn shares_are_counted_from_the_worst_choice_of_the_front() {
        // Two decision makers; the third design is best for nobody.
        let front = Points::from_rows(2, [[4.0, 0.0], [0.0, 2.0], [-9.0, -9.0]]).unwrap();
        let scale = Scale::new(&front, Some(&[1.0, 1.0]));
        assert_eq!((&scale.low, &scale.high), (&vec![0.0, 0.0], &vec![4.0, 2.0]));
        assert_eq!(scale.share(&[f64::NEG_INFINITY; 2]), 0.0);
        assert_eq!(scale.share(&[1.0, 0.5]), 0.25);
        assert_eq!(scale.share(&[9.0, 9.0]), 1.0);
        // A front of one point is compared with the first design.
        let point = Points::from_rows(2, [[4.0, 2.0]]).unwrap();
        let scale = Scale::new(&point, Some(&[0.0, 2.0]));
        assert_eq!(scale.share(&[3.0, 2.0]), 0.75);
        assert_eq!(Scale::new(&point, None).share(&[3.0, 2.0]), 1.0);
    }

    #[test]
    fn progress_never_falls_and_infeasible_designs_are_none() {
        let problem = Problem::builder()
            .continuous("x", 0.0, 1.0)
            .minimise("f", 1.0)
            .minimise("g", 1.0)
            .output(Output::at_most("stress", 0.55))
            .measurement(crate::Measurement::new("stress", ["stress"], 1.0));
        let mut study = Study::new(problem.build().unwrap()).unwrap();
        // The best of f, x = 0, is infeasible.
        for x in [0.0, 0.1, 0.9, 0.5, 0.7, 0.6, 1.0] {
            let at = || Design::new().with("x", x);
            study.tell_result(at(), "f", x).unwrap();
            study.tell_result(at(), "g", (1.0 - x) * (1.0 - x)).unwrap();
            study.tell_result(at(), "stress", 1.0 - x).unwrap();
        }
        let progress = study.predictions().unwrap().progress().unwrap();
        let shares: Vec<f64> = progress.iter().map(|one| one.share).collect();
        assert_eq!(shares.len(), 21);
        assert!(shares.windows(2).all(|pair| pair[0] <= pair[1]), "{shares:?}");
        assert_eq!(shares[..6], [0.0; 6], "the first two designs are infeasible");
        // x = 0.9 is good for g alone.
        assert!((0.1..0.9).contains(&shares[6]) && shares[20] > 0.9, "{shares:?}");
    }
}
