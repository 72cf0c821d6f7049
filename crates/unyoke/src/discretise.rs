//! The designs among which the best one is imagined to be chosen after an evaluation, Eq. (10).
//!
//! Up to two inputs a grid will do, with the designs that are best now for the step's weights
//! added: without them, designs between the nodes look as if evaluating them would gain what is
//! known already. Above two inputs the designs follow the problem: the best ones for the weights,
//! the predicted Pareto set, observed designs, and a space-filling remainder.
//! `docs/discretisation.md` has the experiments.

use crate::config::Discretisation;
use crate::error::Result;
use crate::model::Model;
use crate::space::{Space, key};
use rayon::prelude::*;
use std::collections::HashSet;
use unyoke_math::optimize::{Bounds, Stopping, largest, maximize};
use unyoke_math::pareto::{non_dominated, thin};
use unyoke_math::random::Rng;
use unyoke_math::{Points, sobol};

/// What the designs depend on.
pub(crate) struct Setting<'a> {
    pub(crate) space: &'a Space,
    pub(crate) model: &'a Model,
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

/// Encoded designs for the maximum in Eq. (10), all different; `best` are those of
/// [`best_for_weights`].
pub(crate) fn discretise(
    kind: Discretisation,
    setting: &Setting<'_>,
    best: &Points,
) -> Result<Points> {
    let space = setting.space;
    let free = space.continuous().iter().all(|continuous| *continuous) && !space.is_limited();
    let mut distinct = Distinct::new(space.dim());
    match (kind, space.dim()) {
        (Discretisation::Grid { per_input }, _) => distinct.add_grid(space, per_input),
        (Discretisation::Auto, 1) if free => distinct.add_grid(space, LINE_POINTS),
        (Discretisation::Auto, 2) if free => distinct.add_grid(space, GRID_PER_INPUT),
        (Discretisation::Auto, _) => distinct.add_adaptive(setting, best, ADAPTIVE_POINTS)?,
        (Discretisation::Adaptive { points }, _) => distinct.add_adaptive(setting, best, points)?,
        (Discretisation::Sobol { points }, _) => distinct.add_sobol(space, points)?,
    }
    if kind == Discretisation::Auto {
        distinct.extend(space, best);
    }
    Ok(distinct.points)
}

/// For each weight vector the design of the best predicted utility, found by climbing from the
/// best of a pool of space-filling and observed designs.
pub(crate) fn best_for_weights(setting: &Setting<'_>) -> Result<Points> {
    let pool = pool(setting)?;
    let expected = setting.model.expected(&pool)?;
    let climb = |q: usize| {
        let lambda = setting.weights.row(q);
        let values = expected.utilities(setting.model, lambda);
        let start = largest(&values, 1).first().map_or(0, |i| *i);
        best_utility(setting.space, setting.model, lambda, pool.row(start))
    };
    let count = setting.weights.len();
    let found: Result<Vec<Vec<f64>>> = (0..count).into_par_iter().map(climb).collect();
    Ok(Points::from_rows(setting.space.dim(), found?)?)
}

/// Designs whose expected utility equals the best of `set`, around each design that beats the set.
///
/// A set that lacks the best design for some weights makes evaluations there look worth most:
/// whoever maximises that function faithfully has to look at them.
pub(crate) fn ties_with_set(setting: &Setting<'_>, best: &Points, set: &Points) -> Result<Points> {
    const DIRECTIONS: usize = 4;
    const HALVINGS: usize = 20;
    let model = setting.model;
    let (of_set, of_best) = (model.expected(set)?, model.expected(best)?);
    let mut rng = Rng::new(setting.seed, 3);
    let mut rays: Vec<Ray<'_>> = vec![];
    for (q, (lambda, centre)) in setting.weights.rows().zip(best.rows()).enumerate() {
        let top = of_set.utilities(model, lambda).into_iter().fold(f64::MIN, f64::max);
        if of_best.utilities(model, lambda)[q] <= top {
            continue;
        }
        for _ in 0..DIRECTIONS {
            let mut draw = |free: &bool| if *free { rng.normal() } else { 0.0 };
            let direction = setting.space.continuous().iter().map(&mut draw).collect();
            rays.push(Ray { lambda, top, centre, direction, inside: 0.0, outside: 0.3 });
        }
    }
    // Bisection along all rays at once.
    for _ in 0..HALVINGS {
        let middles = rays.iter().map(|ray| ray.at(0.5 * (ray.inside + ray.outside)));
        let middles = model.expected(&Points::from_rows(best.dim(), middles)?)?;
        for (i, ray) in rays.iter_mut().enumerate() {
            let utility = middles.select(&[i]).utilities(model, ray.lambda);
            let middle = 0.5 * (ray.inside + ray.outside);
            if utility[0] > ray.top { ray.inside = middle } else { ray.outside = middle }
        }
    }
    let mut ties = Points::new(best.dim());
    for x in rays.iter().map(|ray| ray.at(ray.outside)).filter(|x| setting.space.allows(x)) {
        ties.push(&x)?;
    }
    Ok(ties)
}

/// A way from the best design for some weights to where others are as good.
struct Ray<'a> {
    lambda: &'a [f64],
    /// The best utility of the set.
    top: f64,
    centre: &'a [f64],
    direction: Vec<f64>,
    /// Here designs still beat the set, and here they do not.
    inside: f64,
    outside: f64,
}

impl Ray<'_> {
    fn at(&self, reach: f64) -> Vec<f64> {
        let parts = self.centre.iter().zip(&self.direction);
        parts.map(|(c, d)| (c + reach * d).clamp(0.0, 1.0)).collect()
    }
}

/// Space-filling and observed designs.
fn pool(setting: &Setting<'_>) -> Result<Points> {
    let mut pool = filling(setting.space, POOL, setting.seed)?;
    for x in setting.observed.rows().filter(|x| setting.space.allows(x)) {
        pool.push(x)?;
    }
    Ok(pool)
}

/// Space-filling designs, all allowed.
pub(crate) fn filling(space: &Space, count: usize, seed: u64) -> Result<Points> {
    if space.is_limited() {
        return space.allowed_points(count, seed);
    }
    let cube = sobol::cube(space.parameters(), count, seed)?;
    Ok(Points::from_rows(space.dim(), cube.rows().map(|u| space.from_cube(u)))?)
}

/// What being beyond a limit costs a climb, in standard deviations of the objectives.
const PENALTY: f64 = 100.0;

/// Climbs the utility from a valid design, parameters with few values held.
pub(crate) fn best_utility(
    space: &Space,
    model: &Model,
    lambda: &[f64],
    start: &[f64],
) -> Result<Vec<f64>> {
    let mut beyond = vec![0.0; start.len()];
    let utility = |x: &[f64], gradient: &mut [f64]| {
        let Ok(value) = model.utility(lambda, x, gradient) else { return f64::NAN };
        if !space.is_limited() {
            return value;
        }
        let violation = space.violation(x, &mut beyond);
        gradient.iter_mut().zip(&beyond).for_each(|(g, b)| *g -= PENALTY * b);
        value - PENALTY * violation
    };
    let stopping = Stopping { iterations: 50, gradient: 1e-6, gain: 1e-9 };
    let mut top = maximize(utility, start, &held_bounds(space, start)?, &stopping)?.x;
    if space.is_limited() {
        return Ok(space.pull_back(start, &top));
    }
    if space.climbable() != space.continuous() {
        space.snap(&mut top);
    }
    Ok(top)
}

/// The unit cube, with every input that takes few values held at that in `x`.
pub(crate) fn held_bounds(space: &Space, x: &[f64]) -> Result<Bounds> {
    let side = |(free, v): (&bool, &f64)| if *free { [0.0, 1.0] } else { [*v, *v] };
    let sides: Vec<[f64; 2]> = space.climbable().iter().zip(x).map(side).collect();
    let end = |e: usize| sides.iter().map(|side| side[e]).collect();
    Ok(Bounds::new(end(0), end(1))?)
}

/// Points without exact repetitions.
struct Distinct {
    points: Points,
    seen: HashSet<Vec<u64>>,
}

impl Distinct {
    fn new(dim: usize) -> Self {
        Self { points: Points::new(dim), seen: HashSet::new() }
    }

    /// Adds a design that is allowed and new.
    fn push(&mut self, space: &Space, x: &[f64]) {
        if space.allows(x) && self.seen.insert(key(x)) {
            // Every point comes from the same space, so it has the right dimension.
            let _ = self.points.push(x);
        }
    }

    fn extend(&mut self, space: &Space, points: &Points) {
        points.rows().for_each(|x| self.push(space, x));
    }

    /// Equally spaced points of the cube of parameters, moved to the nearest valid designs.
    fn add_grid(&mut self, space: &Space, per_input: usize) {
        let mut u = vec![0.0; space.parameters()];
        for index in 0..per_input.pow(space.parameters() as u32) {
            let mut rest = index;
            for coordinate in &mut u {
                *coordinate = (rest % per_input) as f64 / (per_input - 1) as f64;
                rest /= per_input;
            }
            self.push(space, &space.from_cube(&u));
        }
    }

    /// The first points of a sequence that depends on nothing.
    fn add_sobol(&mut self, space: &Space, count: usize) -> Result<()> {
        self.extend(space, &filling(space, count, 0)?);
        Ok(())
    }

    /// Best designs, a quarter from the predicted Pareto set, a quarter observed, the rest filling.
    fn add_adaptive(&mut self, setting: &Setting<'_>, best: &Points, count: usize) -> Result<()> {
        let space = setting.space;
        self.extend(space, best);
        let mut candidates = pool(setting)?;
        for x in best.rows() {
            candidates.push(x)?;
        }
        let means = setting.model.expected(&candidates)?.penalised(setting.model);
        let front = non_dominated(&means)?;
        self.extend(space, &candidates.select(&thin(&means, &front, count / 4)?));
        // The latest designs are those the search found worth evaluating.
        let observed = setting.observed;
        let latest: Vec<usize> = (0..observed.len()).rev().take(count / 4).collect();
        self.extend(space, &observed.select(&latest));
        if space.is_limited() {
            let filling = space.allowed_points(count, setting.seed ^ POOL as u64)?;
            let missing = count.saturating_sub(self.points.len());
            filling.rows().take(missing).for_each(|x| self.push(space, x));
            return Ok(());
        }
        let filling = sobol::Sobol::new(setting.space.parameters(), setting.seed)?;
        let mut u = vec![0.0; setting.space.parameters()];
        for index in 0..2 * count {
            if self.points.len() >= count {
                break;
            }
            filling.point((POOL + index) as u32, &mut u);
            self.push(space, &space.from_cube(&u));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Lengthscales};
    use crate::model::{Observed, Row};
    use crate::problem::Problem;

    /// The sets of two steps, after a few evaluations in `inputs` dimensions.
    fn sets(kind: Discretisation, inputs: usize) -> [Points; 2] {
        let problem = problem(inputs);
        let space = Space::new(&problem);
        let observed = sobol::cube(inputs, 20, 5).unwrap();
        let row = |m: usize, i: usize| {
            let value = (observed.row(i)[0] - m as f64).powi(2);
            Row { evaluation: i as u64, x: observed.row(i), value, sd: None, searched: false }
        };
        let outputs = problem.outputs.iter().enumerate().map(|(m, output)| Observed {
            output,
            limit: None,
            sign: space.sign(m),
            dim: inputs,
            parameters: inputs,
            groups: (0..inputs).collect(),
            rows: (0..observed.len()).map(|i| row(m, i)).collect(),
            expected: Points::new(inputs),
            pending: 0,
            known: None,
        });
        let outputs: Vec<Observed<'_>> = outputs.collect();
        let config = Config { lengthscales: Lengthscales::Isotropic, ..Config::paper() };
        let model = Model::fit(&outputs, &config).unwrap();
        [1, 2].map(|seed| {
            let weights = sobol::simplex(2, 4, seed).unwrap();
            let (space, model) = (&space, &model);
            let setting = Setting { space, model, weights: &weights, observed: &observed, seed };
            discretise(kind, &setting, &best_for_weights(&setting).unwrap()).unwrap()
        })
    }

    fn problem(inputs: usize) -> Problem {
        let builder = (0..inputs)
            .fold(Problem::builder(), |builder, d| builder.continuous(format!("x{d}"), 0.0, 1.0));
        builder.maximise("f", 1.0).maximise("g", 10.0).build().unwrap()
    }

    #[test]
    fn sets_have_the_size_that_was_asked_for() {
        let adaptive = |points| Discretisation::Adaptive { points };
        assert_eq!(sets(adaptive(64), 6).map(|set| set.len()), [64, 64]);
        assert_eq!(sets(Discretisation::Auto, 6).map(|set| set.len()), [128, 128]);
        assert_eq!(sets(Discretisation::Sobol { points: 50 }, 6)[0].len(), 50);
        assert_eq!(sets(Discretisation::Grid { per_input: 11 }, 2)[0].len(), 121);
        // The grid, and the best designs for four weight vectors where they are no nodes.
        assert!((122..=125).contains(&sets(Discretisation::Auto, 2)[0].len()));
    }

    #[test]
    fn a_sobol_set_stays_the_same_and_an_adaptive_one_does_not() {
        let [first, second] = sets(Discretisation::Sobol { points: 50 }, 3);
        assert_eq!(first, second);
        let [first, second] = sets(Discretisation::Adaptive { points: 50 }, 3);
        assert_ne!(first, second);
    }

    #[test]
    fn sets_without_points_are_refused() {
        for discretisation in
            [Discretisation::Sobol { points: 0 }, Discretisation::Adaptive { points: 0 }]
        {
            let config = Config { discretisation, ..Config::default() };
            assert_eq!(config.mistakes(&problem(2)).len(), 1, "{discretisation:?}");
        }
    }
}
