//! The true Pareto front of an instance, found with all the effort that true values allow: NSGA-II,
//! then climbs for many decision makers, then NSGA-II again among what was found.
//!
//! NSGA-II alone comes close to a front but seldom reaches it; a study's models can then seem to beat
//! the truth. What is measured against the front is in `target` and `metrics`.

use crate::error::Result;
use crate::instance::Instance;
use unyoke_math::Points;
use unyoke_math::nsga2::Nsga2;
use unyoke_math::optimize::{Bounds, Stopping, maximize};
use unyoke_math::pareto::non_dominated;
use unyoke_math::random::Rng;

/// The first search, and the one that fills the gaps of the front.
const FIRST: Nsga2Size = Nsga2Size { population: 1000, generations: 100, seed: 0 };
const FILLING: Nsga2Size = Nsga2Size { population: 3000, generations: 30, seed: 1 };
/// What stands for an objective of a design that is not feasible: less than any real one.
const INFEASIBLE: f64 = -1e12;
/// Violations count at most so much, to be finite.
const LARGEST_VIOLATION: f64 = 1e6;
/// What breaking a constraint by all of its limit costs a climb, in ranges of the front: much more
/// than it gains.
const PENALTY: f64 = 50.0;
/// Half the distance of the points that slopes are taken from.
const STEP: f64 = 1e-6;
/// How often every decision maker's design is varied after the climbs.
const ROUNDS: usize = 120;
/// Decision makers whose designs are combined with one's own.
const NEIGHBOURS: usize = 8;
/// Halvings of the way back from a climb that left the feasible designs.
const HALVINGS: usize = 30;

struct Nsga2Size {
    population: usize,
    generations: usize,
    seed: u64,
}

/// Designs, points of the unit cube, and their true objectives, to be maximised.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) designs: Points,
    pub(crate) values: Points,
}

impl Found {
    fn empty(dim: usize, objectives: usize) -> Self {
        Self { designs: Points::new(dim), values: Points::new(objectives) }
    }

    fn add(&mut self, other: &Self) -> Result<()> {
        other.designs.rows().try_for_each(|row| self.designs.push(row))?;
        Ok(other.values.rows().try_for_each(|row| self.values.push(row))?)
    }

    /// Those that no other dominates, each value once.
    fn front(&self) -> Result<Self> {
        let mut front = non_dominated(&self.values)?;
        front.sort_by(|&i, &j| compare(self.values.row(i), self.values.row(j)));
        front.dedup_by(|i, j| self.values.row(*i) == self.values.row(*j));
        Ok(Self { designs: self.designs.select(&front), values: self.values.select(&front) })
    }

    /// The largest and the smallest value of each objective, one less the other; 1 where they are
    /// the same.
    pub(crate) fn ranges(&self) -> Vec<f64> {
        let range = |m: usize| {
            let column = || self.values.rows().map(|row| row[m]);
            column().fold(f64::MIN, f64::max) - column().fold(f64::MAX, f64::min)
        };
        (0..self.values.dim()).map(|m| Some(range(m)).filter(|r| *r > 0.0).unwrap_or(1.0)).collect()
    }
}

fn compare(a: &[f64], b: &[f64]) -> std::cmp::Ordering {
    let differing = a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne());
    differing.unwrap_or(std::cmp::Ordering::Equal)
}

/// The true front, best for each of `weights` (rows; objectives count in ranges of the front).
pub(crate) fn true_front(instance: &Instance, weights: &Points) -> Result<Found> {
    let dim = instance.problem.parameters.len();
    let mut found = genetic(instance, &FIRST, &Points::new(dim))?;
    let makers = DecisionMakers { instance, weights, units: found.ranges() };
    found.add(&makers.climbed(&found)?)?;
    found = found.front()?;
    let filled = genetic(instance, &FILLING, &found.designs)?;
    found.add(&filled)?;
    found.front()
}

/// Feasible designs that NSGA-II finds, none dominated by another.
fn genetic(instance: &Instance, size: &Nsga2Size, seeds: &Points) -> Result<Found> {
    let &Nsga2Size { population, generations, seed } = size;
    let nsga2 = Nsga2 { population, generations, offspring: population, ..Nsga2::default() };
    let (dim, objectives) = (instance.problem.parameters.len(), instance.objectives());
    // A wrong shape makes the search end with its error.
    let values = |x: &Points| penalised(instance, x).unwrap_or_else(|_| Points::new(objectives));
    let front = nsga2.run(dim, seeds, seed, values)?.front()?;
    feasible(instance, &front.designs)?.front()
}

/// Objectives with which designs that break less dominate those that break more.
fn penalised(instance: &Instance, designs: &Points) -> Result<Points> {
    let merits = instance.merits(designs)?;
    let mut values = merits.values;
    for (i, violation) in merits.violations.iter().enumerate().filter(|(_, v)| **v > 0.0) {
        values.row_mut(i).fill(INFEASIBLE * (1.0 + violation.min(LARGEST_VIOLATION)));
    }
    Ok(values)
}

/// The designs that fulfil all constraints.
fn feasible(instance: &Instance, designs: &Points) -> Result<Found> {
    let merits = instance.merits(designs)?;
    let kept: Vec<usize> = (0..designs.len()).filter(|&i| merits.violations[i] <= 0.0).collect();
    Ok(Found { designs: designs.select(&kept), values: merits.values.select(&kept) })
}

/// People with linear utilities, each looking for the best design.
struct DecisionMakers<'a> {
    instance: &'a Instance,
    weights: &'a Points,
    units: Vec<f64>,
}

impl DecisionMakers<'_> {
    fn utility(&self, maker: usize, values: &[f64]) -> f64 {
        utility(self.weights.row(maker), values, &self.units)
    }

    /// The best design for each that climbing and combining finds, starting from those `found`.
    fn climbed(&self, found: &Found) -> Result<Found> {
        let mut best = Found::empty(found.designs.dim(), found.values.dim());
        if found.values.is_empty() {
            return Ok(best);
        }
        for maker in 0..self.weights.len() {
            // What others have climbed to is a start as well.
            let start = [&best, found].map(|pool| self.best_of(maker, pool));
            let [theirs, own] = start;
            let start = theirs.filter(|(value, _)| own.as_ref().is_none_or(|o| *value > o.0));
            let Some((_, start)) = start.or(own) else { continue };
            let top = self.climb(maker, &start)?;
            let at = self.instance.values(&Points::from_rows(top.len(), [&top])?)?;
            best.designs.push(&top)?;
            best.values.push(at.row(0))?;
        }
        self.vary(&mut best)?;
        Ok(best)
    }

    /// The best of a pool for a decision maker, with its utility.
    fn best_of(&self, maker: usize, pool: &Found) -> Option<(f64, Vec<f64>)> {
        let values = pool.values.rows().map(|row| self.utility(maker, row));
        let (i, value) = values.enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((value, pool.designs.row(i).to_vec()))
    }

    /// Climbs along slopes by differences, and back to where all constraints hold.
    fn climb(&self, maker: usize, start: &[f64]) -> Result<Vec<f64>> {
        let dim = start.len();
        let objective = |x: &[f64], gradient: &mut [f64]| {
            self.value_and_slopes(maker, x, gradient).unwrap_or(f64::NAN)
        };
        let stopping = Stopping { iterations: 40, gradient: 1e-8, gain: 1e-10 };
        let top = maximize(objective, start, &Bounds::unit_cube(dim), &stopping)?.x;
        let between = |share: f64| -> Vec<f64> {
            start.iter().zip(&top).map(|(a, b)| a + share * (b - a)).collect()
        };
        let (mut low, mut high) = (0.0, 1.0);
        let is_better = |share: f64| -> Result<bool> {
            let points = Points::from_rows(dim, [start.to_vec(), between(share)])?;
            let merits = self.instance.merits(&points)?;
            let [from, to] = [0, 1].map(|i| self.utility(maker, merits.values.row(i)));
            Ok(merits.violations[1] <= 0.0 && to >= from)
        };
        if is_better(1.0)? {
            return Ok(top);
        }
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if is_better(middle)? { low = middle } else { high = middle }
        }
        Ok(between(low))
    }

    /// The utility less what violations cost, with its gradient by differences.
    fn value_and_slopes(&self, maker: usize, x: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let mut points = Points::from_rows(x.len(), [x])?;
        for d in 0..x.len() {
            for step in [-STEP, STEP] {
                let mut moved = x.to_vec();
                moved[d] = (x[d] + step).clamp(0.0, 1.0);
                points.push(&moved)?;
            }
        }
        let merits = self.instance.merits(&points)?;
        let value = |i: usize| {
            let violation = merits.violations[i].min(LARGEST_VIOLATION);
            self.utility(maker, merits.values.row(i)) - PENALTY * violation
        };
        for (d, slope) in gradient.iter_mut().enumerate() {
            let (below, above) = (1 + 2 * d, 2 + 2 * d);
            let width = points.row(above)[d] - points.row(below)[d];
            *slope = (value(above) - value(below)) / width;
        }
        Ok(value(0))
    }

    /// Improves each decision maker's design by differences between those of similar ones, which
    /// follow kinks, steps and active constraints as slopes do not.
    ///
    /// Source: Li and Zhang (2009), MOEA/D-DE, with steps of all magnitudes.
    fn vary(&self, best: &mut Found) -> Result<()> {
        let count = best.designs.len();
        let neighbours: Vec<Vec<usize>> = (0..count).map(|i| self.similar(i, count)).collect();
        let mut rng = Rng::new(0, 0);
        for _ in 0..ROUNDS {
            let mut proposals = Points::new(best.designs.dim());
            for own in &neighbours {
                proposals.push(&proposal(best, own, &mut rng))?;
            }
            let merits = self.instance.merits(&proposals)?;
            for (i, own) in neighbours.iter().enumerate() {
                if merits.violations[i] > 0.0 {
                    continue;
                }
                let values = merits.values.row(i);
                for &maker in own {
                    if self.utility(maker, values) > self.utility(maker, best.values.row(maker)) {
                        best.designs.row_mut(maker).copy_from_slice(proposals.row(i));
                        best.values.row_mut(maker).copy_from_slice(values);
                    }
                }
            }
        }
        Ok(())
    }

    /// Decision makers with the nearest weights, beginning with `maker`.
    fn similar(&self, maker: usize, count: usize) -> Vec<usize> {
        let own = self.weights.row(maker);
        let distance = |i: &usize| -> f64 {
            self.weights.row(*i).iter().zip(own).map(|(a, b)| (a - b).powi(2)).sum()
        };
        let mut all: Vec<usize> = (0..count).collect();
        all.sort_by(|i, j| distance(i).total_cmp(&distance(j)).then(i.cmp(j)));
        all.truncate(1 + NEIGHBOURS);
        all
    }
}

/// A variation of the design of the first of `makers`: the difference of two others is added, scaled
/// by anything from 1 to 1/1000, and at times a step along one input.
fn proposal(best: &Found, makers: &[usize], rng: &mut Rng) -> Vec<f64> {
    let pick = |rng: &mut Rng| best.designs.row(makers[rng.below(makers.len())]);
    let base = if rng.uniform() < 0.7 { best.designs.row(makers[0]) } else { pick(rng) };
    let (a, b) = (pick(rng), pick(rng));
    let scale = 10.0_f64.powf(-3.0 * rng.uniform());
    let moved = base.iter().zip(a).zip(b).map(|((x, a), b)| x + scale * (a - b));
    let mut x: Vec<f64> = moved.collect();
    if rng.uniform() < 0.5 {
        let d = rng.below(x.len());
        x[d] += 10.0_f64.powf(-1.0 - 3.0 * rng.uniform()) * rng.normal();
    }
    x.iter_mut().for_each(|x| *x = x.clamp(0.0, 1.0));
    x
}

/// λ·f with objectives counted in `units`.
pub(crate) fn utility(weights: &[f64], values: &[f64], units: &[f64]) -> f64 {
    weights.iter().zip(values).zip(units).map(|((w, v), unit)| w * v / unit).sum()
}

/// Which of many values are best for given weights: of two objectives only the corners of their convex
/// hull can be, and the better of two neighbours on it shows on which side the best is.
pub(crate) enum Options {
    /// The corners by ascending first objective.
    Corners(Vec<usize>),
    /// Any of so many.
    All(usize),
}

/// Corners beside the one where the slope turns that are compared as well: slopes are rounded.
const BESIDE: usize = 3;

impl Options {
    pub(crate) fn of(values: &Points) -> Self {
        if values.dim() != 2 {
            return Self::All(values.len());
        }
        let at = |i: usize| [values.row(i)[0], values.row(i)[1]];
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&i, &j| compare(values.row(i), values.row(j)).then(i.cmp(&j)));
        let mut corners: Vec<usize> = vec![];
        for i in order {
            while let [.., a, b] = corners[..]
                && is_below(at(b), [at(a), at(i)])
            {
                corners.pop();
            }
            corners.push(i);
        }
        Self::Corners(corners)
    }

    /// The number of the best, of several the first; none where there are no values.
    pub(crate) fn best(&self, values: &Points, weights: &[f64], units: &[f64]) -> Option<usize> {
        let value = |i: usize| utility(weights, values.row(i), units);
        let better = |a: usize, b: usize| {
            let order = value(b).total_cmp(&value(a)).then(a.cmp(&b));
            if order.is_le() { a } else { b }
        };
        match self {
            Self::All(count) => (0..*count).reduce(better),
            Self::Corners(corners) => {
                let (mut low, mut high) = (0, corners.len());
                // Longer than this it gets shorter each time.
                while high - low > 2 * BESIDE + 2 {
                    let middle = (low + high) / 2;
                    let rises = value(corners[middle]) >= value(corners[middle - 1]);
                    if rises { low = middle - BESIDE } else { high = middle + BESIDE }
                }
                corners[low..high].iter().copied().reduce(better)
            }
        }
    }
}

/// Whether a point is below the line between two others, one on each side of it.
fn is_below([x, y]: [f64; 2], [[left, from], [right, to]]: [[f64; 2]; 2]) -> bool {
    (x - left) * (y - to) - (y - from) * (x - right) < 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_for_weights_is_found_among_corners() {
        let mut rng = Rng::new(7, 0);
        for count in [1, 2, 8, 9, 300] {
            let row = |_| {
                let angle = 3.0 * rng.uniform();
                // Some on a circle, others inside it.
                let radius = if rng.uniform() < 0.7 { 1.0 } else { rng.uniform() };
                [5.0 * radius * angle.cos(), radius * angle.sin()]
            };
            let values = Points::from_rows(2, (0..count).map(row)).unwrap();
            let options = Options::of(&values);
            for step in 0..=100 {
                let weights = [f64::from(step) / 100.0, 1.0 - f64::from(step) / 100.0];
                let value = |i: usize| utility(&weights, values.row(i), &[2.0, 1.0]);
                let found = options.best(&values, &weights, &[2.0, 1.0]).unwrap();
                let best = (0..count).map(value).fold(f64::MIN, f64::max);
                assert!((value(found) - best).abs() < 1e-12, "{count} {step}");
            }
        }
        assert_eq!(
            Options::of(&Points::new(2)).best(&Points::new(2), &[0.5, 0.5], &[1.0; 2]),
            None
        );
    }
}
