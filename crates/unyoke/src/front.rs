//! The predicted Pareto set: NSGA-II on the posterior means.

use crate::config::FrontSearch;
use crate::design::Design;
use crate::discretise::best_utility;
use crate::error::Result;
use crate::space::Space;
use crate::surrogate::Surrogate;
use unyoke_math::Points;
use unyoke_math::nsga2::Nsga2;
use unyoke_math::optimize::largest;
use unyoke_math::pareto::{non_dominated, thin};

/// The predicted Pareto set, thinned to well-spread points.
///
/// ```
/// use unyoke::{Design, Problem, Study};
///
/// let problem =
///     Problem::builder().continuous("x", 0.0, 1.0).maximise("f", 1.0).minimise("g", 5.0).build()?;
/// let mut study = Study::new(problem)?;
/// for x in [0.0, 0.3, 0.6, 1.0] {
///     study.tell_result(Design::new().with("x", x), "f", x)?;
///     study.tell_result(Design::new().with("x", x), "g", x * x)?;
/// }
/// for point in study.front(5)?.points {
///     let [f, g] = &point.objectives[..] else { continue };
///     println!("{}: f = {:.2} ± {:.2}, g = {:.2} ± {:.2}", point.design, f.mean, f.sd, g.mean, g.sd);
/// }
/// # Ok::<(), unyoke::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Front {
    /// The objectives' names, in the order of each point's predictions.
    pub objectives: Vec<String>,
    /// Designs that are best for some trade-off, as far as the models can tell.
    pub points: Vec<FrontPoint>,
}

/// A design of the predicted Pareto set.
#[derive(Debug, Clone, PartialEq)]
pub struct FrontPoint {
    /// The design.
    pub design: Design,
    /// What is known about each objective there.
    pub objectives: Vec<Forecast>,
}

impl FrontPoint {
    /// Whether every objective was measured at this very design.
    pub fn is_measured(&self) -> bool {
        self.objectives.iter().all(|forecast| !forecast.measured.is_empty())
    }
}

/// An objective at a design: what is expected, and what was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// Expected value, in the objective's own units.
    pub mean: f64,
    /// Standard deviation of that expectation (observation noise not included).
    pub sd: f64,
    /// Values measured at this very design.
    pub measured: Vec<f64>,
}

/// Encoded designs that no other is predicted to dominate, at most `count`, well spread.
pub(crate) fn predicted_pareto_set(
    space: &Space,
    surrogate: &Surrogate,
    observed: &Points,
    search: FrontSearch,
    count: usize,
) -> Result<Points> {
    let seeds = seeds(space, surrogate, observed)?;
    let nsga2 = Nsga2 {
        population: search.population,
        generations: search.generations,
        offspring: search.population,
        ..Nsga2::default()
    };
    let objectives = surrogate.outputs.len();
    let found = nsga2.run(space.dim(), &seeds, 0, |designs| {
        let valid = snapped(space, designs);
        // A wrong shape makes the search end with its error.
        surrogate.means(&valid).unwrap_or_else(|_| Points::new(objectives))
    })?;
    let designs = snapped(space, &found.designs);
    let means = surrogate.means(&designs)?;
    // Of designs with the same expectations one will do.
    let different = distinct(&means);
    let (designs, means) = (designs.select(&different), means.select(&different));
    let front = non_dominated(&means)?;
    let kept = if front.len() > count { thin(&means, &front, count)? } else { front };
    Ok(designs.select(&kept))
}

/// Observed designs, and for each objective the design of its best expected value: with them the
/// ends of the front need not be discovered.
fn seeds(space: &Space, surrogate: &Surrogate, observed: &Points) -> Result<Points> {
    let mut seeds = snapped(space, observed);
    let objectives = surrogate.outputs.len();
    if observed.is_empty() {
        return Ok(seeds);
    }
    for k in 0..objectives {
        let lambda: Vec<f64> = (0..objectives).map(|j| if j == k { 1.0 } else { 0.0 }).collect();
        let values = surrogate.utilities(&lambda, &seeds)?;
        if let Some(&best) = largest(&values, 1).first() {
            seeds.push(&best_utility(space, surrogate, &lambda, seeds.row(best))?)?;
        }
    }
    Ok(seeds)
}

/// The valid designs nearest to `designs`.
pub(crate) fn snapped(space: &Space, designs: &Points) -> Points {
    let mut valid = designs.clone();
    for i in 0..valid.len() {
        space.snap(valid.row_mut(i));
    }
    valid
}

/// Indices of the points that no earlier one equals.
pub(crate) fn distinct(points: &Points) -> Vec<usize> {
    let mut seen = std::collections::HashSet::new();
    let key = |i: usize| points.row(i).iter().map(|v| (v + 0.0).to_bits()).collect::<Vec<_>>();
    (0..points.len()).filter(|&i| seen.insert(key(i))).collect()
}
