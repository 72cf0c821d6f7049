//! What a perfect decision maker would get: the true Pareto front and the best utilities.

use crate::error::Result;
use crate::instance::Instance;
use unyoke_math::nsga2::Nsga2;
use unyoke_math::pareto::hypervolume;
use unyoke_math::{Points, sobol};

/// Weight vectors over which regret is averaged, and the seed that scrambles them: the same for
/// every instance and algorithm.
const WEIGHTS: usize = 1024;
const WEIGHTS_SEED: u64 = 1;
/// The reference point lies this share of the front's range below the front.
const MARGIN: f64 = 0.01;

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
}

impl Target {
    /// By NSGA-II on the true objectives, 1,000 individuals for 100 generations.
    pub fn of(instance: &Instance) -> Result<Self> {
        let nsga2 =
            Nsga2 { population: 1000, generations: 100, offspring: 1000, ..Nsga2::default() };
        let (dim, objectives) = (instance.problem.parameters.len(), instance.problem.outputs.len());
        // A wrong shape makes the search end with its error.
        let values = |x: &Points| instance.values(x).unwrap_or_else(|_| Points::new(objectives));
        let found = nsga2.run(dim, &Points::new(dim), 0, values)?.front()?;
        let (set, front) = (found.designs, found.objectives);
        let ranges = (0..objectives).map(|m| range(&front, m)).collect::<Vec<_>>();
        let units = match instance.has_common_units() {
            true => vec![1.0; objectives],
            // A front without extent has no unit of its own.
            false => ranges.iter().map(|[low, high]| positive_or_one(high - low)).collect(),
        };
        let below = || ranges.iter().map(|[low, high]| low - MARGIN * (high - low)).collect();
        let reference = instance.reference.clone().unwrap_or_else(below);
        let weights = sobol::simplex(objectives, WEIGHTS, WEIGHTS_SEED)?;
        let best = weights.rows().map(|weights| best_utility(weights, &front, &units)).collect();
        let hypervolume = hypervolume(&front, &reference)?;
        Ok(Self { weights, best, set, front, units, reference, hypervolume })
    }

    /// The mean over the weights of the best utility.
    pub fn best_expected_utility(&self) -> f64 {
        self.best.iter().sum::<f64>() / self.best.len() as f64
    }
}

/// λ·f with objectives counted in `units`.
pub(crate) fn utility(weights: &[f64], values: &[f64], units: &[f64]) -> f64 {
    weights.iter().zip(values).zip(units).map(|((w, v), unit)| w * v / unit).sum()
}

fn best_utility(weights: &[f64], front: &Points, units: &[f64]) -> f64 {
    front.rows().map(|values| utility(weights, values, units)).fold(f64::NEG_INFINITY, f64::max)
}

fn range(points: &Points, m: usize) -> [f64; 2] {
    points.rows().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], row| {
        [low.min(row[m]), high.max(row[m])]
    })
}

fn positive_or_one(x: f64) -> f64 {
    if x > 0.0 { x } else { 1.0 }
}
