//! What a perfect decision maker would get: the true Pareto front, the best utilities, and the scales
//! on which problems compare.

use crate::error::{Error, Result};
use crate::instance::Instance;
use crate::optimum::{Options, true_front, utility};
use serde::{Deserialize, Serialize};
use unyoke_math::pareto::hypervolume;
use unyoke_math::{Points, sobol};

/// Weight vectors over which regret is averaged, and the seed that scrambles them: the same for
/// every instance and algorithm.
const WEIGHTS: usize = 1024;
const WEIGHTS_SEED: u64 = 1;
/// Of these, so many are climbed for where there are two objectives: between neighbours nothing is
/// left to find.
const CLIMBED_FOR_TWO: usize = 256;
/// The reference point lies this share of the front's range below the front.
const MARGIN: f64 = 0.01;
/// A constraint that is broken by this share of its limit makes a design worthless.
const WORTHLESS: f64 = 0.01;
/// Designs from which the ranges of objectives are taken where the front has none.
const RANGE_DESIGNS: usize = 4096;
/// A front with less than this share of the objectives' ranges, or of the volume they span, has none.
const NOTHING: f64 = 1e-9;

/// The best that can be had on an instance.
#[derive(Debug, Clone)]
pub struct Target {
    /// Weight vectors λ, one per row.
    pub weights: Points,
    /// max λ·f over all designs, for each of the weights.
    pub best: Vec<f64>,
    /// The true Pareto set, points of the unit cube.
    pub set: Points,
    /// The true Pareto front, everything maximised.
    pub front: Points,
    /// What one unit of each objective's utility is.
    pub units: Vec<f64>,
    /// From where hypervolumes count.
    pub reference: Vec<f64>,
    /// Hypervolume of the true Pareto front.
    pub hypervolume: f64,
    /// In what regrets count where problems are compared.
    pub scale: Scale,
}

/// What regrets are divided by where problems are compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// The mean over weights of how far utility ranges over the true front.
    pub utility: f64,
    /// The hypervolume of the true front.
    pub hypervolume: f64,
}

impl Target {
    /// The target of an instance: NSGA-II on the true objectives, then climbs from what it found.
    pub fn of(instance: &Instance) -> Result<Self> {
        let objectives = instance.objectives();
        let weights = sobol::simplex(objectives, WEIGHTS, WEIGHTS_SEED)?;
        let climbed = if objectives == 2 { CLIMBED_FOR_TWO } else { WEIGHTS };
        let found = true_front(instance, &weights.select(&(0..climbed).collect::<Vec<_>>()))?;
        if found.values.is_empty() {
            let reason = format!("no design of {} fulfils its constraints", instance.family);
            return Err(Error::Setting { what: "problems", reason });
        }
        let (ranges, set, front) = (found.ranges(), found.designs, found.values);
        let units = match instance.has_common_units() {
            true => vec![1.0; objectives],
            false => ranges,
        };
        let reference = instance.reference.clone().unwrap_or_else(|| below(&front));
        let best = best_utilities(&front, &weights, &units);
        let scale = Scale::of(instance, &front, &weights, &units)?;
        let hypervolume = hypervolume(&front, &reference)?;
        let scale = Scale { hypervolume: hypervolume.max(scale.hypervolume), ..scale };
        Ok(Self { weights, best, set, front, units, reference, hypervolume, scale })
    }

    /// The mean over the weights of the best utility.
    pub fn best_expected_utility(&self) -> f64 {
        self.best.iter().sum::<f64>() / self.best.len() as f64
    }

    /// What a design with these true values is worth if it breaks a constraint by the share
    /// `violation` of its limit: nothing better than the reference point from 1 % on, and in between
    /// so much on the way there.
    pub fn worth(&self, values: &[f64], violation: f64) -> Vec<f64> {
        let share = (violation / WORTHLESS).clamp(0.0, 1.0);
        let worth =
            |(value, reference): (&f64, &f64)| value + share * (value.min(*reference) - value);
        values.iter().zip(&self.reference).map(worth).collect()
    }
}

impl Scale {
    /// The scale of utilities, and the least volume that counts as one: where the front is a single
    /// point, the ranges are those of all designs.
    fn of(instance: &Instance, front: &Points, weights: &Points, units: &[f64]) -> Result<Self> {
        let designs = sobol::cube(instance.problem.parameters.len(), RANGE_DESIGNS, 0)?;
        let all = instance.values(&designs)?;
        let box_volume: f64 = (0..all.dim()).map(|m| range(&all, m)).map(|[l, h]| h - l).product();
        let on_front = utility_range(front, weights, units);
        let everywhere = utility_range(&all, weights, units);
        let has_extent = on_front > NOTHING * everywhere;
        Ok(Self {
            utility: if has_extent { on_front } else { everywhere },
            hypervolume: if has_extent { NOTHING * box_volume } else { box_volume },
        })
    }
}

/// The largest utility for each of the weights.
fn best_utilities(values: &Points, weights: &Points, units: &[f64]) -> Vec<f64> {
    let options = Options::of(values);
    let best = |w: &[f64]| {
        let best = options.best(values, w, units);
        best.map_or(f64::MIN, |i| utility(w, values.row(i), units))
    };
    weights.rows().map(best).collect()
}

/// The mean over weights of the largest utility less the smallest.
fn utility_range(values: &Points, weights: &Points, units: &[f64]) -> f64 {
    let mut losses = values.clone();
    losses.as_flat_mut().iter_mut().for_each(|value| *value = -*value);
    let [best, worst] = [values, &losses].map(|values| best_utilities(values, weights, units));
    best.iter().zip(&worst).map(|(best, worst)| best + worst).sum::<f64>() / weights.len() as f64
}

/// A point a little below the front.
fn below(front: &Points) -> Vec<f64> {
    let ranges = (0..front.dim()).map(|m| range(front, m));
    ranges.map(|[low, high]| low - MARGIN * (high - low)).collect()
}

fn range(points: &Points, m: usize) -> [f64; 2] {
    points.rows().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], row| {
        [low.min(row[m]), high.max(row[m])]
    })
}
