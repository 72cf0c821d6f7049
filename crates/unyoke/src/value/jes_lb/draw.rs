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

/// Draws a function per objective and finds their Pareto set by NSGA-II.
fn draw_front(model: &Model, space: &Space, seed: u64) -> math::Result<SampledFront> {
    front_of(&draw_paths(model, seed), space, &effort(), seed)
}

fn draw_paths(model: &Model, seed: u64) -> Vec<Path> {
    let draw = |(m, output): (usize, &crate::model::Belief)| {
        Path::draw(&output.gp, WAVES, &mut Rng::new(seed, m as u64))
    };
    model.objectives.iter().enumerate().map(draw).collect()
}

/// Half of the evaluations of the published run, many at a time: that does not change what is found
/// (`half_the_effort_of_the_published_run_finds_as_much`).
fn effort() -> Nsga2 {
    Nsga2 { population: 100, generations: 50, offspring: 50, ..Nsga2::default() }
}

fn front_of(
    paths: &[Path],
    space: &Space,
    effort: &Nsga2,
    seed: u64,
) -> math::Result<SampledFront> {
    let found = effort.run(space.dim(), &Points::new(space.dim()), seed, |designs| {
        // A wrong shape makes the search end with its error.
        values(paths, &space.snapped(designs)).unwrap_or_else(|_| Points::new(paths.len()))
    })?;
    let designs = space.snapped(&found.designs);
    let designs = designs.select(&distinct(&designs));
    let values = values(paths, &designs)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Belief;
    use crate::problem::Problem;
    use unyoke_math::data::{Data, Standardizer};
    use unyoke_math::gp::Gp;
    use unyoke_math::kernel::{Family, Kernel};
    use unyoke_math::pareto::hypervolume;

    fn belief(lengthscale: f64) -> Belief {
        let kernel = Kernel::new(Family::Matern52, 2, &[lengthscale], 1.0).unwrap();
        let gp = Gp::new(kernel, 0.0, 1e-4, &Data::empty(2)).unwrap();
        let map = Standardizer::new(&[]).unwrap();
        Belief { gp, joint: None, known: None, bound: None, map, unit: 1.0, notes: vec![] }
    }

    #[test]
    fn half_the_effort_of_the_published_run_finds_as_much() {
        let problem = Problem::builder().continuous("x", 0.0, 1.0).continuous("y", 0.0, 1.0);
        let problem = problem.maximise("f", 1.0).maximise("g", 1.0).build().unwrap();
        let space = Space::new(&problem);
        let published =
            Nsga2 { population: 100, generations: 500, offspring: 10, ..Nsga2::default() };
        let mut logs = vec![];
        for seed in 0..20 {
            let model = Model::of_objectives(vec![belief(0.3), belief(0.6)]);
            let paths = draw_paths(&model, seed);
            let volume = |nsga2: &Nsga2| {
                let front = front_of(&paths, &space, nsga2, seed).unwrap().values;
                hypervolume(&front, &[-4.0, -4.0]).unwrap()
            };
            logs.push((volume(&effort()) / volume(&published)).ln());
        }
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        assert!(mean > -1e-3 && logs.iter().all(|log| *log > -0.01), "{mean} {logs:?}");
    }
}
