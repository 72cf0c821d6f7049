//! From an acquisition function to a suggestion with its reasons, Eq. (12).
//!
//! Per option, log gain − log cost is climbed from the best of many raw designs. Raw designs are valid
//! and allowed; a climb may leave the allowed designs, at a price, and is pulled back at its end, and
//! it moves numbers with many steps as if they had none, which are then rounded.

use crate::config::Search;
use crate::cost::CostModel;
use crate::discretise::filling;
use crate::error::Result;
use crate::outlook::Beside;
use crate::space::Space;
use crate::value::{Acquisition, Evaluator, Kinked};
use rayon::prelude::*;
use std::borrow::Cow;
use unyoke_math::Points;
use unyoke_math::kinked;
use unyoke_math::optimize::{Bounds, Optimum, Stopping, largest, maximize};
use unyoke_math::random::Rng;

/// What can be chosen, and the best that was found for it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Best {
    /// Number of the option: an objective, or 0 for all together.
    pub(crate) option: usize,
    /// Encoded design.
    pub(crate) x: Vec<f64>,
    /// Logarithm of the expected gain.
    pub(crate) log_gain: f64,
    /// What the evaluation costs there.
    pub(crate) cost: f64,
}

impl Best {
    /// Logarithm of the expected gain per unit of cost.
    pub(crate) fn log_value(&self) -> f64 {
        self.log_gain - self.cost.ln()
    }
}

/// Where and how hard to search.
pub(crate) struct Region<'a> {
    pub(crate) space: &'a Space,
    pub(crate) search: Search,
    /// Designs to look at beside the space-filling ones.
    pub(crate) promising: &'a Points,
    /// Designs around which to look closely: where the models expect the best values.
    pub(crate) best: &'a Points,
    pub(crate) seed: u64,
}

/// Shape of the clouds around the best designs.
const CLOUD_RADII: [f64; 4] = [0.003, 0.01, 0.03, 0.1];
const CLOUD_DIRECTIONS: usize = 2;
const AROUND_DIRECTIONS: usize = 6;

/// Around how many of the climbs' ends to look.
const POLISHED: usize = 2;

/// Up to so many inputs climbs know the kinks. With four and more they were tried and took longer, for the
/// same tops.
const KINKED_INPUTS: usize = 2;

/// So many climbs that know the kinks go first. With eight, and climbs that may end from the fifth step on,
/// 2 of 2,160 tops were lower; as it is none is (docs/performance.md).
const FIRST_WAVE: usize = 12;

/// Below this log gain, what rounding makes of utilities can show in the ninth digit.
const COARSE: f64 = -12.0;

/// What a squared violation of the limits costs a climb, in units of the log gain. With less, climbs
/// end further beyond the limits and lose more when they are pulled back; from 1e6 on they stick to
/// the limits. Several in turn are no better than the best one alone.
const PENALTY: f64 = 1e5;

/// For each option the best design found; `taken` says which (option, design) may not be chosen.
pub(crate) fn best_of_each_option(
    acquisition: &dyn Acquisition,
    costs: &[CostModel<'_>],
    region: &Region<'_>,
    taken: &(dyn Fn(usize, &[f64]) -> bool + Sync),
) -> Result<Vec<Option<Best>>> {
    let raw = region.raw_designs()?;
    (0..acquisition.options())
        .into_par_iter()
        .map(|option| {
            let target = Target { acquisition, option, cost: &costs[option], region };
            let is_taken = |x: &[f64]| taken(option, x);
            if let Some(found) = acquisition.maximise(option, &raw, &is_taken) {
                return Ok(target.first_free(target.made_valid(found?, &raw), &is_taken));
            }
            let values = target.raw_values(&raw);
            let mut found = target.climb_from_best(&raw, &values)?;
            sort_best_first(&mut found);
            let tops: Vec<Optimum> = found.iter().take(POLISHED).cloned().collect();
            let polish = |top| target.look_around(top);
            found.extend(tops.into_par_iter().map(polish).collect::<Result<Vec<_>>>()?);
            sort_best_first(&mut found);
            if found.first().is_none_or(|top| is_taken(&top.x)) {
                // Raw designs stand in where climbs end at designs that are taken.
                let start =
                    |i: usize| Optimum { x: raw.row(i).to_vec(), value: values[i], evaluations: 1 };
                found.extend((0..raw.len()).map(start));
            }
            Ok(target.first_free(found, &is_taken))
        })
        .collect()
}

/// Largest value first. What is not a number is no candidate and is dropped.
fn sort_best_first(found: &mut Vec<Optimum>) {
    found.retain(|optimum| !optimum.value.is_nan());
    found.sort_by(|a, b| b.value.total_cmp(&a.value));
}

impl Region<'_> {
    /// Space-filling and promising designs, and clouds around the best ones, all valid and allowed.
    fn raw_designs(&self) -> Result<Points> {
        let mut raw = self.filling_designs()?;
        for x in self.promising.rows() {
            let x = self.held(x);
            if self.space.allows(&x) {
                raw.push(&x)?;
            }
        }
        self.add_clouds(&mut raw)?;
        Ok(raw)
    }

    /// All designs where there are few, else space-filling ones.
    pub(crate) fn filling_designs(&self) -> Result<Points> {
        const FEW: usize = 1024;
        let all = self.space.enumerate(FEW);
        if !all.is_empty() {
            return Ok(Points::from_rows(self.space.dim(), all)?);
        }
        filling(self.space, self.search.raw, self.seed)
    }

    /// A valid design with the values that are held, if any are.
    fn held<'x>(&self, x: &'x [f64]) -> Cow<'x, [f64]> {
        if !self.space.is_held() {
            return Cow::Borrowed(x);
        }
        let mut held = x.to_vec();
        self.space.snap(&mut held);
        Cow::Owned(held)
    }

    /// Whether climbs end at valid designs by themselves.
    fn is_plain(&self) -> bool {
        !self.space.is_limited()
            && !self.space.is_held()
            && self.space.climbable() == self.space.continuous()
    }

    /// Next to a design of the best expected value lie narrow ridges: there a single line of the
    /// envelope is just about to win.
    fn add_clouds(&self, raw: &mut Points) -> Result<()> {
        let mut rng = Rng::new(self.seed, 1);
        for (i, centre) in self.best.rows().enumerate() {
            let close = |other: &[f64]| distance(centre, other) < 5e-3;
            if self.best.rows().take(i).any(close) {
                continue;
            }
            self.add_cloud(centre, CLOUD_DIRECTIONS, &mut rng, raw)?;
        }
        Ok(())
    }

    /// Adds valid designs around `centre`, this many at each radius less those that are not allowed.
    fn add_cloud(
        &self,
        centre: &[f64],
        directions: usize,
        rng: &mut Rng,
        points: &mut Points,
    ) -> Result<()> {
        for radius in CLOUD_RADII {
            for _ in 0..directions {
                let mut x: Vec<f64> = centre.iter().map(|v| v + radius * rng.normal()).collect();
                self.space.snap(&mut x);
                if self.space.allows(&x) {
                    points.push(&x)?;
                }
            }
        }
        Ok(())
    }
}

/// What is maximised for one option.
struct Target<'a> {
    acquisition: &'a dyn Acquisition,
    option: usize,
    cost: &'a CostModel<'a>,
    region: &'a Region<'a>,
}

impl Target<'_> {
    /// Log of the gain per unit of cost or, where that is the same everywhere, of the gain.
    fn evaluator(&self) -> Evaluator<'_> {
        self.per_cost(self.acquisition.evaluator(self.option))
    }

    /// The same for values at these designs, in this order.
    fn evaluator_of(&self, designs: Points) -> Evaluator<'_> {
        let mut beside = Beside::ahead_of(designs);
        self.per_cost(self.acquisition.evaluator_beside(self.option, &mut beside))
    }

    /// The same with its kinks, where they are known.
    fn kinked(&self) -> Option<Kinked<'_>> {
        if self.region.space.dim() > KINKED_INPUTS {
            return None;
        }
        let mut gain = self.acquisition.kinked(self.option)?;
        if self.cost.is_constant() {
            return Some(gain);
        }
        Some(Box::new(move |x, gradient, kinks| {
            let gain = gain(x, gradient, kinks);
            gain - self.cost.log_with_gradient(x, -1.0, gradient)
        }))
    }

    /// Whether climbs know the kinks, and so end on them.
    fn is_kinked(&self) -> bool {
        self.region.is_plain() && self.kinked().is_some()
    }

    fn per_cost<'e>(&'e self, mut gain: Evaluator<'e>) -> Evaluator<'e> {
        if self.cost.is_constant() {
            return gain;
        }
        Box::new(move |x, gradient| match gradient {
            Some(gradient) => {
                let gain = gain(x, Some(&mut *gradient));
                gain - self.cost.log_with_gradient(x, -1.0, gradient)
            }
            None => gain(x, None) - self.cost.log(x),
        })
    }

    /// The same less a penalty for leaving the allowed designs.
    fn penalised(&self) -> impl FnMut(&[f64], &mut [f64]) -> f64 {
        let mut evaluate = self.evaluator();
        let space = self.region.space;
        let mut beyond = vec![0.0; space.dim()];
        move |x, gradient| {
            let value = evaluate(x, Some(&mut *gradient));
            if !space.is_limited() {
                return value;
            }
            let violation = space.violation(x, &mut beyond);
            gradient.iter_mut().zip(&beyond).for_each(|(g, b)| *g -= PENALTY * b);
            value - PENALTY * violation
        }
    }

    /// The best of `found` that may be chosen.
    fn first_free(&self, mut found: Vec<Optimum>, taken: &dyn Fn(&[f64]) -> bool) -> Option<Best> {
        sort_best_first(&mut found);
        let Optimum { x, value, .. } = found.into_iter().find(|optimum| !taken(&optimum.x))?;
        let log_gain = match self.cost.is_constant() {
            true => value,
            false => self.acquisition.evaluator(self.option)(&x, None),
        };
        Some(Best { option: self.option, log_gain, cost: self.cost.at(&x), x })
    }

    /// What an acquisition found by itself, each end moved to a valid and allowed design.
    fn made_valid(&self, mut found: Vec<Optimum>, raw: &Points) -> Vec<Optimum> {
        if self.region.is_plain() {
            return found;
        }
        let mut gain = self.acquisition.evaluator(self.option);
        for optimum in &mut found {
            let near = |a: &&[f64], b: &&[f64]| {
                distance(a, &optimum.x).total_cmp(&distance(b, &optimum.x))
            };
            let Some(inside) = raw.rows().min_by(near) else { continue };
            optimum.x = self.region.space.pull_back(inside, &optimum.x);
            optimum.value = gain(&optimum.x, None);
        }
        found
    }

    fn raw_values(&self, raw: &Points) -> Vec<f64> {
        values_at(|designs| self.evaluator_of(designs), raw)
    }

    /// Climbs from the best raw designs that are apart from each other. Climbs that know the kinks go
    /// in two waves, the second beside the tops of the first.
    fn climb_from_best(&self, raw: &Points, values: &[f64]) -> Result<Vec<Optimum>> {
        let restarts = self.region.search.restarts;
        let mut starts = apart(raw, values, restarts);
        if !self.is_kinked() {
            let climb = |&i: &usize| self.improve_discrete(self.climb(raw.row(i))?);
            return starts.par_iter().map(climb).collect();
        }
        add_far(raw, values, restarts / 2, &mut starts);
        let (first, second) = starts.split_at(FIRST_WAVE.min(starts.len()));
        let wave = |starts: &[usize], tops: &[Optimum]| -> Result<Vec<Optimum>> {
            let free = self.region.space.continuous();
            let climb =
                |&i: &usize| self.improve_discrete(self.climb_along(raw.row(i), free, tops)?);
            starts.par_iter().map(climb).collect()
        };
        let mut tops = wave(first, &[])?;
        let mut found = wave(second, &tops)?;
        found.append(&mut tops);
        Ok(found)
    }

    /// Climbs from a valid design to a valid one. Numbers with many steps move as if they had none;
    /// once they are rounded, the continuous ones follow.
    fn climb(&self, start: &[f64]) -> Result<Optimum> {
        let space = self.region.space;
        let mut top = self.climb_along(start, space.climbable(), &[])?;
        if space.climbable() != space.continuous() {
            top = better(self.climb_along(&top.x, space.continuous(), &[])?, top);
        }
        Ok(top)
    }

    /// Climbs along the inputs that are free, the others held. A climb that knows the kinks ends where it
    /// seems to lead nowhere but to `tops` or lower.
    fn climb_along(&self, start: &[f64], free: &[bool], tops: &[Optimum]) -> Result<Optimum> {
        let iterations = self.region.search.iterations;
        let stopping = Stopping { iterations, gradient: 1e-5, gain: 1e-9 };
        let bounds = bounds(free, start)?;
        if self.region.is_plain() {
            if let Some(climb) = self.kinked() {
                return Ok(kinked::maximize_beside(climb, start, &bounds, &stopping, tops)?);
            }
            return Ok(maximize(self.penalised(), start, &bounds, &stopping)?);
        }
        let mut evaluate = self.evaluator();
        let here = Optimum { x: start.to_vec(), value: evaluate(start, None), evaluations: 1 };
        let end = maximize(self.penalised(), start, &bounds, &stopping)?;
        let x = self.region.space.pull_back(start, &end.x);
        let value = evaluate(&x, None);
        Ok(better(here, Optimum { x, value, evaluations: end.evaluations }))
    }

    /// Climbs again from the best of a cloud around an optimum, then feels its way: gets across the
    /// kinks between neighbouring ridges, at which gradients mislead. Climbs that know the kinks have no
    /// need of that, unless rounding is what they end at.
    fn look_around(&self, top: Optimum) -> Result<Optimum> {
        let mut rng = Rng::new(self.region.seed, 2);
        let mut cloud = Points::new(top.x.len());
        self.region.add_cloud(&top.x, AROUND_DIRECTIONS, &mut rng, &mut cloud)?;
        let mut evaluate = self.evaluator();
        let values: Vec<f64> = cloud.rows().map(|x| evaluate(x, None)).collect();
        let mut best = top;
        for i in largest(&values, 2) {
            best = better(best, self.climb(cloud.row(i))?);
        }
        if self.is_kinked() && best.value > COARSE {
            return Ok(best);
        }
        Ok(feel(&mut evaluate, self.region, best, &mut rng))
    }

    /// Moves to better neighbours in one discrete parameter at a time, climbing again after each
    /// move.
    fn improve_discrete(&self, mut optimum: Optimum) -> Result<Optimum> {
        const ROUNDS: usize = 8;
        let space = self.region.space;
        for _ in 0..ROUNDS {
            let mut evaluate = self.evaluator();
            let neighbours = space.neighbours(&optimum.x);
            let values: Vec<f64> = neighbours.iter().map(|x| evaluate(x, None)).collect();
            match largest(&values, 1).first() {
                Some(&best) if values[best] > optimum.value => {
                    let next = self.climb_along(&neighbours[best], space.continuous(), &[])?;
                    let x = neighbours[best].clone();
                    let stay = Optimum { x, value: values[best], evaluations: 1 };
                    optimum = if next.value >= stay.value { next } else { stay };
                }
                _ => break,
            }
        }
        Ok(optimum)
    }
}

/// Values at many points, several together and on all cores.
fn values_at<'a>(evaluator: impl Fn(Points) -> Evaluator<'a> + Sync, points: &Points) -> Vec<f64> {
    const TOGETHER: usize = 64;
    let places: Vec<usize> = (0..points.len()).collect();
    let values = |places: &[usize]| {
        let some = points.select(places);
        let mut evaluate = evaluator(some.clone());
        some.rows().map(|x| evaluate(x, None)).collect::<Vec<_>>()
    };
    places.par_chunks(TOGETHER).flat_map_iter(values).collect()
}

/// The unit cube, with every input that is not free held at its value in `x`.
fn bounds(free: &[bool], x: &[f64]) -> Result<Bounds> {
    let end = |end: f64| {
        free.iter().zip(x).map(|(free, x)| if *free { end } else { *x }).collect::<Vec<f64>>()
    };
    Ok(Bounds::new(end(0.0), end(1.0))?)
}

fn better(a: Optimum, b: Optimum) -> Optimum {
    if b.value > a.value || a.value.is_nan() { b } else { a }
}

/// Random steps there and back, longer after success and shorter after failure; every other step
/// goes on in the direction of the successes so far, which follows a narrow ridge.
fn feel(
    evaluate: &mut Evaluator<'_>,
    region: &Region<'_>,
    mut top: Optimum,
    rng: &mut Rng,
) -> Optimum {
    const ROUNDS: usize = 60;
    let free: Vec<usize> = (0..top.x.len()).filter(|d| region.space.continuous()[*d]).collect();
    let mut trend = vec![0.0; free.len()];
    let mut step = 0.01;
    for round in 0..ROUNDS {
        let length = trend.iter().map(|v| v * v).sum::<f64>().sqrt();
        let onward = round % 2 == 1 && length > 0.0;
        let direction: Vec<f64> = match onward {
            true => trend.iter().map(|v| v + 0.1 * length * rng.normal()).collect(),
            false => free.iter().map(|_| step * rng.normal()).collect(),
        };
        let moved = |sign: f64| {
            let mut x = top.x.clone();
            for (&d, v) in free.iter().zip(&direction) {
                x[d] = (x[d] + sign * v).clamp(0.0, 1.0);
            }
            x
        };
        let tries = [moved(1.0), moved(-1.0)];
        let values = tries.each_ref().map(|x| match region.space.allows(x) {
            true => evaluate(x, None),
            false => f64::NEG_INFINITY,
        });
        match largest(&values, 1).into_iter().find(|&i| values[i] > top.value) {
            Some(i) => {
                let sign = if i == 0 { 1.0 } else { -1.0 };
                for (t, v) in trend.iter_mut().zip(&direction) {
                    *t = 0.5 * *t + sign * v;
                }
                top = Optimum { x: tries[i].clone(), value: values[i], ..top };
                step *= 1.4;
            }
            None if onward => trend.iter_mut().for_each(|t| *t *= 0.5),
            None => step *= 0.7,
        }
    }
    top
}

/// Indices of the best values whose points keep a distance, filled up with the next best.
fn apart(points: &Points, values: &[f64], count: usize) -> Vec<usize> {
    let order = largest(values, values.len());
    let apart = 0.5 * (1.0 / points.len().max(1) as f64).powf(1.0 / points.dim().max(1) as f64);
    let far = |i: usize, j: usize| distance(points.row(i), points.row(j)) > apart;
    let mut chosen: Vec<usize> = Vec::new();
    for &i in &order {
        if chosen.len() < count && chosen.iter().all(|&j| far(i, j)) {
            chosen.push(i);
        }
    }
    for &i in &order {
        if chosen.len() < count && !chosen.contains(&i) {
            chosen.push(i);
        }
    }
    chosen
}

/// Adds the best points that are far from all that are chosen: climbs that know the kinks are short enough
/// to look into more corners.
fn add_far(points: &Points, values: &[f64], more: usize, chosen: &mut Vec<usize>) {
    /// As far as so many points are apart that fill the space.
    const FILLING: f64 = 32.0;
    let apart = 0.5 * FILLING.recip().powf(1.0 / points.dim().max(1) as f64);
    let far = |i: usize, j: usize| distance(points.row(i), points.row(j)) > apart;
    let count = chosen.len() + more;
    for i in largest(values, values.len()) {
        if chosen.len() < count && chosen.iter().all(|&j| far(i, j)) {
            chosen.push(i);
        }
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests;
