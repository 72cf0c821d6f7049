//! From an acquisition function to a suggestion with its reasons, Eq. (12).

use crate::acquisition::{Acquisition, Evaluator};
use crate::config::Search;
use crate::cost::CostModel;
use crate::discretise::held_bounds;
use crate::error::Result;
use crate::space::Space;
use rayon::prelude::*;
use unyoke_math::optimize::{Optimum, Stopping, largest, maximize};
use unyoke_math::random::Rng;
use unyoke_math::{Points, sobol};

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

/// For each option the best design found; `taken` says which (option, design) may not be chosen.
pub(crate) fn best_of_each_option(
    acquisition: &dyn Acquisition,
    costs: &[CostModel],
    region: &Region<'_>,
    taken: &dyn Fn(usize, &[f64]) -> bool,
) -> Result<Vec<Option<Best>>> {
    let raw = region.raw_designs()?;
    (0..acquisition.options())
        .map(|option| {
            if let Some(found) = acquisition.maximise(option, &raw, &|x| taken(option, x)) {
                return Ok(first_free(found?, option, costs, taken));
            }
            let values = raw_values(acquisition, option, &raw);
            let mut found = climb_from_best(acquisition, option, region, &raw, &values)?;
            sort_best_first(&mut found);
            let tops: Vec<Optimum> = found.iter().take(POLISHED).cloned().collect();
            let polish = |top| look_around(acquisition, option, region, top);
            found.extend(tops.into_par_iter().map(polish).collect::<Result<Vec<_>>>()?);
            let start =
                |i: usize| Optimum { x: raw.row(i).to_vec(), value: values[i], evaluations: 1 };
            // Raw designs stand in where all climbs end at designs that are taken.
            found.extend(largest(&values, raw.len()).into_iter().map(start));
            Ok(first_free(found, option, costs, taken))
        })
        .collect()
}

/// The best of `found` that may be chosen.
fn first_free(
    mut found: Vec<Optimum>,
    option: usize,
    costs: &[CostModel],
    taken: &dyn Fn(usize, &[f64]) -> bool,
) -> Option<Best> {
    sort_best_first(&mut found);
    let free = found.into_iter().find(|optimum| !taken(option, &optimum.x));
    free.map(|Optimum { x, value, .. }| {
        let cost = costs[option].at(&x);
        Best { option, x, log_gain: value, cost }
    })
}

/// Largest value first. What is not a number is no candidate and is dropped.
fn sort_best_first(found: &mut Vec<Optimum>) {
    found.retain(|optimum| !optimum.value.is_nan());
    found.sort_by(|a, b| b.value.total_cmp(&a.value));
}

impl Region<'_> {
    /// Space-filling and promising designs, and clouds around the best ones, all valid.
    fn raw_designs(&self) -> Result<Points> {
        let mut raw = self.filling_designs()?;
        for x in self.promising.rows() {
            raw.push(x)?;
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
        let cube = sobol::cube(self.space.parameters(), self.search.raw, self.seed)?;
        let encoded = cube.rows().map(|u| self.space.from_cube(u));
        Ok(Points::from_rows(self.space.dim(), encoded)?)
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

    /// Adds valid designs around `centre`, this many at each radius.
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
                points.push(&x)?;
            }
        }
        Ok(())
    }
}

fn raw_values(acquisition: &dyn Acquisition, option: usize, raw: &Points) -> Vec<f64> {
    let chunk = raw.len().div_ceil(16).max(1);
    let rows: Vec<&[f64]> = raw.rows().collect();
    rows.par_chunks(chunk)
        .flat_map_iter(|rows| {
            let mut evaluate = acquisition.evaluator(option);
            rows.iter().map(|x| evaluate(x, None)).collect::<Vec<_>>()
        })
        .collect()
}

/// Climbs from the best raw designs that are apart from each other.
fn climb_from_best(
    acquisition: &dyn Acquisition,
    option: usize,
    region: &Region<'_>,
    raw: &Points,
    values: &[f64],
) -> Result<Vec<Optimum>> {
    let starts = apart(raw, values, region.search.restarts);
    let climb = |&i: &usize| {
        let optimum = climb(acquisition, option, region, raw.row(i))?;
        improve_discrete(acquisition, option, region, optimum)
    };
    starts.par_iter().map(climb).collect()
}

fn climb(
    acquisition: &dyn Acquisition,
    option: usize,
    region: &Region<'_>,
    start: &[f64],
) -> Result<Optimum> {
    let mut evaluate = acquisition.evaluator(option);
    let objective = |x: &[f64], gradient: &mut [f64]| evaluate(x, Some(gradient));
    let stopping = Stopping { iterations: region.search.iterations, gradient: 1e-5, gain: 1e-9 };
    Ok(maximize(objective, start, &held_bounds(region.space, start)?, &stopping)?)
}

/// Climbs again from the best of a cloud around an optimum, then feels its way: gets across the
/// kinks between neighbouring ridges, at which gradients mislead.
fn look_around(
    acquisition: &dyn Acquisition,
    option: usize,
    region: &Region<'_>,
    top: Optimum,
) -> Result<Optimum> {
    let mut rng = Rng::new(region.seed, 2);
    let mut cloud = Points::new(top.x.len());
    region.add_cloud(&top.x, AROUND_DIRECTIONS, &mut rng, &mut cloud)?;
    let mut evaluate = acquisition.evaluator(option);
    let values: Vec<f64> = cloud.rows().map(|x| evaluate(x, None)).collect();
    let mut best = top;
    for i in largest(&values, 2) {
        best = better(best, climb(acquisition, option, region, cloud.row(i))?);
    }
    Ok(feel(&mut evaluate, region, best, &mut rng))
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
        let values = tries.each_ref().map(|x| evaluate(x, None));
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

/// Moves to better neighbours in one discrete parameter at a time, climbing again after each move.
fn improve_discrete(
    acquisition: &dyn Acquisition,
    option: usize,
    region: &Region<'_>,
    mut optimum: Optimum,
) -> Result<Optimum> {
    const ROUNDS: usize = 8;
    for _ in 0..ROUNDS {
        let mut evaluate = acquisition.evaluator(option);
        let neighbours = region.space.neighbours(&optimum.x);
        let values: Vec<f64> = neighbours.iter().map(|x| evaluate(x, None)).collect();
        match largest(&values, 1).first() {
            Some(&best) if values[best] > optimum.value => {
                let next = climb(acquisition, option, region, &neighbours[best])?;
                let stay =
                    Optimum { x: neighbours[best].clone(), value: values[best], evaluations: 1 };
                optimum = if next.value >= stay.value { next } else { stay };
            }
            _ => break,
        }
    }
    Ok(optimum)
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

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests;
