//! Evaluations under way: what they may return together, and gains averaged over that.
//!
//! What x is worth while others are under way is E_y[gain of x once they have returned y], y drawn from
//! the models. Each draw is a model of its own, with other means but the variances and the
//! hyper-parameters of the model that takes them for what is expected (`docs/parallel.md`). What designs are
//! weighed by, the reference point and what is at stake, is the same for all draws: gains are averaged,
//! and must be gains of the same thing.

use super::{Engine, PENDING, Step};
use crate::error::Result;
use crate::model::Model;
use crate::model::subset::distinct;
use crate::value::Acquisition;
use crate::value::blend::Blend;
use unyoke_math::random::Rng;
use unyoke_math::{Points, sobol};

/// What may be believed once everything under way has returned, and what a step then looks at.
pub(super) struct Imagined {
    model: Model,
    step: Step,
}

impl Engine<'_> {
    /// Draws of what is under way, all equally likely; none if nothing is, or if it counts as expected.
    pub(super) fn imagine(&self, model: &Model, step: &Step) -> Result<Vec<Imagined>> {
        let (draws, mut imagined) = (self.normals_of_pending()?, vec![]);
        if draws.is_empty() {
            return Ok(imagined);
        }
        let known = self.observed_and_pending()?;
        for normals in draws {
            let model = model.imagine(&normals)?;
            let mut found = self.look_at(&model, step.weights.clone(), &known)?;
            found.stakes = step.stakes.clone();
            imagined.push(Imagined { model, step: found });
        }
        Ok(imagined)
    }

    /// What the algorithm maximises in this step: its gain, averaged over what may come of evaluations
    /// under way.
    pub(super) fn averaged<'a>(
        &'a self,
        model: &'a Model,
        step: &Step,
        imagined: &'a [Imagined],
    ) -> Result<Box<dyn Acquisition + 'a>> {
        if imagined.is_empty() {
            return self.acquisition(model, step);
        }
        let log_weight = -(imagined.len() as f64).ln();
        let part = |one: &'a Imagined| Ok((self.acquisition(&one.model, &one.step)?, log_weight));
        Ok(Box::new(Blend { parts: imagined.iter().map(part).collect::<Result<_>>()? }))
    }

    /// For each draw, and each output of the problem, a standard normal for each pending evaluation.
    fn normals_of_pending(&self) -> Result<Vec<Vec<Vec<f64>>>> {
        let (config, outputs) = (self.config(), &self.problem().outputs);
        let counts: Vec<usize> =
            (0..outputs.len()).map(|k| self.history.pending(k).count()).collect();
        let total = counts.iter().sum();
        if total == 0 || !config.algorithm.imagines_pending() {
            return Ok(vec![]);
        }
        // However the problem lists them.
        let mut order: Vec<usize> = (0..outputs.len()).collect();
        order.sort_by_key(|k| &outputs[*k].name);
        let drawn = normals(total, config.pending.draws(), self.seed(PENDING))?;
        let dealt = |mut row: &[f64]| {
            let mut of_outputs = vec![vec![]; outputs.len()];
            for &k in &order {
                let (own, rest) = row.split_at(counts[k]);
                (of_outputs[k], row) = (own.to_vec(), rest);
            }
            of_outputs
        };
        Ok(drawn.rows().map(dealt).collect())
    }

    fn observed_and_pending(&self) -> Result<Points> {
        let mut designs = self.observed_designs()?;
        for k in 0..self.problem().outputs.len() {
            for x in self.history.pending(k) {
                designs.push(x)?;
            }
        }
        Ok(designs.select(&distinct(&designs)))
    }
}

/// Designs at which an evaluation may well be worth most.
pub(super) fn promising(step: &Step, imagined: &[Imagined]) -> Result<Points> {
    let mut promising = step.ties.clone();
    let imagined = imagined.iter().flat_map(|one| [&one.step.best, &one.step.ties]);
    for x in step.set.rows().chain(imagined.flat_map(Points::rows)) {
        promising.push(x)?;
    }
    Ok(promising)
}

/// Quasi-random normals, pseudo-random ones from the coordinate on for which there are no others.
fn normals(dim: usize, draws: usize, seed: u64) -> Result<Points> {
    let even = dim.min(sobol::MAX_DIMENSIONS);
    let spread = sobol::normals(even, draws, seed)?;
    let row = |(i, row): (usize, &[f64])| {
        let mut rng = Rng::new(seed, i as u64);
        row.iter().copied().chain((even..dim).map(|_| rng.normal())).collect::<Vec<_>>()
    };
    Ok(Points::from_rows(dim, spread.rows().enumerate().map(row))?)
}

#[cfg(test)]
mod tests;
