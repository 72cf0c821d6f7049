//! The designs among which the best one is imagined to be chosen after an evaluation, Eq. (10).
//!
//! Up to two inputs a grid will do. Above that the designs follow the problem: those that are best
//! now for the step's weights, the predicted Pareto set, observed designs, and a space-filling
//! remainder. `docs/discretisation.md` has the experiments behind the shares.

use crate::config::Discretisation;
use crate::error::Result;
use crate::space::Space;
use crate::surrogate::Surrogate;
use rayon::prelude::*;
use unyoke_math::optimize::{Bounds, Stopping, largest, maximize};
use unyoke_math::pareto::{non_dominated, thin};
use unyoke_math::{Points, sobol};

/// What the designs depend on.
pub(crate) struct Setting<'a> {
    pub(crate) space: &'a Space,
    pub(crate) surrogate: &'a Surrogate,
    pub(crate) weights: &'a Points,
    /// Designs evaluated so far, encoded.
    pub(crate) observed: &'a Points,
    pub(crate) seed: u64,
}

/// Points along a single input, and adaptive points by default.
const LINE_POINTS: usize = 121;
const GRID_PER_INPUT: usize = 11;
const ADAPTIVE_POINTS: usize = 128;

/// Space-filling designs from which adaptive ones are selected.
const POOL: usize = 512;

/// Encoded designs for the maximum in Eq. (10), all different.
pub(crate) fn discretise(kind: Discretisation, setting: &Setting<'_>) -> Result<Points> {
    let space = setting.space;
    let free = space.continuous().iter().all(|continuous| *continuous);
    match (kind, space.dim()) {
        (Discretisation::Grid { per_input }, _) => Ok(grid(space, per_input)),
        (Discretisation::Auto, 1) if free => Ok(grid(space, LINE_POINTS)),
        (Discretisation::Auto, 2) if free => Ok(grid(space, GRID_PER_INPUT)),
        (Discretisation::Auto, _) => adaptive(setting, ADAPTIVE_POINTS),
        (Discretisation::Adaptive { points }, _) => adaptive(setting, points),
    }
}

/// Equally spaced points of the cube of parameters, moved to the nearest valid designs.
fn grid(space: &Space, per_input: usize) -> Points {
    let inputs = space.parameters();
    let count = per_input.pow(inputs as u32);
    let mut distinct = Distinct::new(space.dim());
    let mut u = vec![0.0; inputs];
    for index in 0..count {
        let mut rest = index;
        for coordinate in &mut u {
            *coordinate = (rest % per_input) as f64 / (per_input - 1) as f64;
            rest /= per_input;
        }
        distinct.push(&space.from_cube(&u));
    }
    distinct.points
}

fn adaptive(setting: &Setting<'_>, count: usize) -> Result<Points> {
    let pool = pool(setting)?;
    let mut distinct = Distinct::new(setting.space.dim());
    for x in best_for_weights(setting, &pool)?.rows() {
        distinct.push(x);
    }
    let mut candidates = pool;
    for x in distinct.points.rows() {
        candidates.push(x)?;
    }
    let means = setting.surrogate.means(&candidates)?;
    let front = non_dominated(&means)?;
    for i in thin(&means, &front, count / 4)? {
        distinct.push(candidates.row(i));
    }
    // The latest designs are those the search found worth evaluating.
    let observed = setting.observed;
    for i in (0..observed.len()).rev().take(count / 4) {
        distinct.push(observed.row(i));
    }
    let filling = sobol::Sobol::new(setting.space.parameters(), setting.seed)?;
    let mut u = vec![0.0; setting.space.parameters()];
    for index in 0..2 * count {
        if distinct.points.len() >= count {
            break;
        }
        filling.point((POOL + index) as u32, &mut u);
        distinct.push(&setting.space.from_cube(&u));
    }
    Ok(distinct.points)
}

/// Space-filling and observed designs.
fn pool(setting: &Setting<'_>) -> Result<Points> {
    let cube = sobol::cube(setting.space.parameters(), POOL, setting.seed)?;
    let encoded = cube.rows().map(|u| setting.space.from_cube(u));
    let mut pool = Points::from_rows(setting.space.dim(), encoded)?;
    for x in setting.observed.rows() {
        pool.push(x)?;
    }
    Ok(pool)
}

/// For each weight vector the design of the best predicted utility, found by climbing from the
/// best of the pool.
fn best_for_weights(setting: &Setting<'_>, pool: &Points) -> Result<Points> {
    let climb = |q: usize| {
        let lambda = setting.weights.row(q);
        let values = setting.surrogate.utilities(lambda, pool)?;
        let start = largest(&values, 1).first().map_or(0, |i| *i);
        best_utility(setting.space, setting.surrogate, lambda, pool.row(start))
    };
    let found: Result<Vec<Vec<f64>>> =
        (0..setting.weights.len()).into_par_iter().map(climb).collect();
    Ok(Points::from_rows(setting.space.dim(), found?)?)
}

/// Climbs λ · μ(x) from a valid design, discrete parameters held.
pub(crate) fn best_utility(
    space: &Space,
    surrogate: &Surrogate,
    lambda: &[f64],
    start: &[f64],
) -> Result<Vec<f64>> {
    let utility = |x: &[f64], gradient: &mut [f64]| {
        gradient.fill(0.0);
        let mut sum = 0.0;
        for (output, weight) in surrogate.outputs.iter().zip(lambda) {
            let Ok(query) = output.gp.query(x) else { return f64::NAN };
            let factor = weight * output.unit;
            sum += factor * query.prediction().mean;
            let slope = output.gp.gradient(&query, factor, 0.0);
            gradient.iter_mut().zip(slope).for_each(|(g, s)| *g += s);
        }
        sum
    };
    let stopping = Stopping { iterations: 50, gradient: 1e-6, gain: 1e-9 };
    Ok(maximize(utility, start, &held_bounds(space, start)?, &stopping)?.x)
}

/// The unit cube, with every input that is not continuous held at its value in `x`.
pub(crate) fn held_bounds(space: &Space, x: &[f64]) -> Result<Bounds> {
    let side = |(free, v): (&bool, &f64)| if *free { [0.0, 1.0] } else { [*v, *v] };
    let sides: Vec<[f64; 2]> = space.continuous().iter().zip(x).map(side).collect();
    let end = |e: usize| sides.iter().map(|side| side[e]).collect();
    Ok(Bounds::new(end(0), end(1))?)
}

/// Points without exact repetitions.
struct Distinct {
    points: Points,
    seen: std::collections::HashSet<Vec<u64>>,
}

impl Distinct {
    fn new(dim: usize) -> Self {
        Self { points: Points::new(dim), seen: Default::default() }
    }

    fn push(&mut self, x: &[f64]) {
        if self.seen.insert(x.iter().map(|v| (v + 0.0).to_bits()).collect()) {
            // Every point comes from the same space, so it has the right dimension.
            let _ = self.points.push(x);
        }
    }
}
