//! Pareto fronts of functions drawn from the models.

use crate::error::Result;
use crate::model::Model;
use crate::model::subset::distinct;
use crate::space::Space;
use rayon::prelude::*;
use unyoke_math::nsga2::Nsga2;
use unyoke_math::pareto::{non_dominated, thin};
use unyoke_math::path::Path;
use unyoke_math::random::{Rng, seed_for};
use unyoke_math::{self as math, Points};

/// Functions drawn for each objective, and cosines that each is made of.
const DRAWS: usize = 10;
const WAVES: usize = 512;

/// Points to which each front is thinned.
const FRONT_POINTS: usize = 10;

/// A Pareto set of drawn functions and their values there, row by row.
#[derive(Debug, Clone)]
pub(crate) struct SampledFront {
    pub(crate) designs: Points,
    pub(crate) values: Points,
}

/// The fronts of [`DRAWS`] draws of all objectives.
pub(crate) fn draw_fronts(model: &Model, space: &Space, seed: u64) -> Result<Vec<SampledFront>> {
    let draw = |s: u64| Ok(draw_front(model, space, seed_for(seed, s))?);
    (0..DRAWS as u64).into_par_iter().map(draw).collect()
}

/// Draws a function per objective and finds their Pareto set by NSGA-II, with the effort of the
/// published run.
fn draw_front(model: &Model, space: &Space, seed: u64) -> math::Result<SampledFront> {
    let draw = |(m, output): (usize, &crate::model::Belief)| {
        Path::draw(&output.gp, WAVES, &mut Rng::new(seed, m as u64))
    };
    let paths: Vec<Path> = model.objectives.iter().enumerate().map(draw).collect();
    let nsga2 = Nsga2 { population: 100, generations: 500, offspring: 10, ..Nsga2::default() };
    let found = nsga2.run(space.dim(), &Points::new(space.dim()), seed, |designs| {
        // A wrong shape makes the search end with its error.
        values(&paths, &space.snapped(designs)).unwrap_or_else(|_| Points::new(paths.len()))
    })?;
    let designs = space.snapped(&found.designs);
    let designs = designs.select(&distinct(&designs));
    let values = values(&paths, &designs)?;
    let kept = thin(&values, &non_dominated(&values)?, FRONT_POINTS)?;
    Ok(SampledFront { designs: designs.select(&kept), values: values.select(&kept) })
}

/// The values of all paths, a row per design.
fn values(paths: &[Path], designs: &Points) -> math::Result<Points> {
    let columns = paths.iter().map(|path| path.values(designs));
    let columns: Vec<Vec<f64>> = columns.collect::<math::Result<_>>()?;
    let row = |i: usize| columns.iter().map(|column| column[i]).collect::<Vec<_>>();
    Points::from_rows(paths.len(), (0..designs.len()).map(row))
}
