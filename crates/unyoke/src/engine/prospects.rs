//! What is still to be gained: by the next evaluation, and at most by all.
//!
//! Whatever is measured, utilities rise to at most what they would be if everything were known:
//! H = E[max_j u_j(f)] − max_j E[u_j(f)] bounds every gain (the paper's appendix). It is estimated from
//! joint draws of all models at the compared designs, as the mean of max_j u_j(f) − u_i(f) with i the
//! design that is best now: no term is negative, and nothing cancels.

use super::{Engine, PROSPECTS, Step};
use crate::config::Algorithm;
use crate::error::Result;
use crate::model::subset::distinct;
use crate::model::{Belief, Expected, Model};
use crate::problem::{Output, Scale};
use crate::prospect::{Prospect, Unit};
use crate::search::Best;
use crate::weights::DrawingOrder;
use rayon::prelude::*;
use unyoke_math::linalg::{Cholesky, Matrix};
use unyoke_math::optimize::largest;
use unyoke_math::pareto::hypervolume;
use unyoke_math::random::{Rng, seed_for};
use unyoke_math::{self as math, Points};

/// Joint draws of all models, and designs at which they are looked at, at most.
const DRAWS: usize = 128;
const DESIGNS: usize = 256;

/// Most objectives of which the hypervolume of every draw can be computed.
const VOLUME_OBJECTIVES: usize = 3;

impl Engine<'_> {
    /// What is to be gained by the chosen one of what was found, or by others. `None` for algorithms
    /// whose gains are not averages of utilities over the weights.
    pub(super) fn prospect(
        &self,
        model: &Model,
        step: &Step,
        found: &[Best],
        chosen: Option<usize>,
    ) -> Result<Option<Box<Prospect>>> {
        let algorithm = self.config().algorithm;
        let Some(range) = self.range(model, step)? else { return Ok(None) };
        let stakes = step.stakes.as_ref().filter(|_| algorithm == Algorithm::Auto);
        let points = looked_at(step, found)?;
        let draws = Draws::new(model, &points, self.draw_seeds(model))?;
        let expected = model.expected(&points)?;
        let gain = chosen.map_or(0.0, |i| found[i].log_gain.exp());
        let most = draws.most_utility(model, &expected, &step.weights);
        let most = match stakes {
            None => Some(most),
            Some(_) if model.objectives.len() > VOLUME_OBJECTIVES => None,
            Some(stakes) => {
                let more = draws.most_volume(&expected.means, &stakes.reference)?;
                Some(most + self.utility_of_volume(stakes) * more)
            }
        };
        Ok(Some(Box::new(Prospect {
            gain,
            // The estimate may fall short of what is certain.
            most: most.map(|most| most.max(gain)),
            range,
            cheapest: self.cheapest(&points)?,
            units: self.units(model, step),
        })))
    }

    /// The range of the utilities on the front. `None` for algorithms whose gains are not averages of utilities
    /// over the weights.
    pub(super) fn range(&self, model: &Model, step: &Step) -> Result<Option<f64>> {
        let config = self.config();
        let is_utility = config.algorithm.values_utility() && config.is_linear();
        is_utility.then(|| range(model, step)).transpose()
    }

    /// From where the draws of each objective and each constraint come, however these are listed.
    fn draw_seeds(&self, model: &Model) -> [Vec<u64>; 2] {
        let seed = self.seed(PROSPECTS);
        let mut objectives = vec![0; model.objectives.len()];
        for (rank, &m) in DrawingOrder::new(self.problem()).places.iter().enumerate() {
            objectives[m] = seed_for(seed, 2 * rank as u64);
        }
        let constraints = (0..model.constraints.len() as u64).map(|c| seed_for(seed, 2 * c + 1));
        [objectives, constraints.collect()]
    }

    /// The least that any choice costs at any of `points`.
    fn cheapest(&self, points: &Points) -> Result<f64> {
        let mut least = f64::INFINITY;
        for cost in self.costs()? {
            let places = if cost.is_constant() { 1 } else { points.len() };
            least = points.rows().take(places).map(|x| cost.at(x)).fold(least, f64::min);
        }
        Ok(least)
    }

    /// What a gain of 1 is in units of each objective.
    fn units(&self, model: &Model, step: &Step) -> Vec<Unit> {
        let count = step.weights.len() as f64;
        let weight = |m: usize| step.weights.rows().map(|row| row[m]).sum::<f64>() / count;
        let unit = |(m, (belief, output)): (usize, (&Belief, &Output))| {
            let internal = belief.map.scale() / (weight(m) * belief.unit);
            let amount = match output.scale {
                Scale::Linear => internal,
                Scale::Log => internal / PERCENT.ln_1p(),
            };
            Unit { objective: output.name.clone(), amount, scale: output.scale }
        };
        let objectives = self.problem().objectives().map(|(_, output)| output);
        model.objectives.iter().zip(objectives).enumerate().map(unit).collect()
    }
}

const PERCENT: f64 = 0.01;

/// The designs that were found, those that are best now, and compared ones.
fn looked_at(step: &Step, found: &[Best]) -> math::Result<Points> {
    let mut points = Points::from_rows(step.set.dim(), found.iter().map(|best| &best.x))?;
    for x in step.best.rows() {
        points.push(x)?;
    }
    let room = DESIGNS.saturating_sub(points.len()).min(step.set.len());
    for i in 0..room {
        points.push(step.set.row(i * step.set.len() / room))?;
    }
    Ok(points.select(&distinct(&points)))
}

/// The mean over weights of what a decision maker loses with the worst of the designs that are best for
/// somebody.
fn range(model: &Model, step: &Step) -> Result<f64> {
    let expected = model.expected(&step.best)?;
    let mut sum = 0.0;
    for (q, lambda) in step.weights.rows().enumerate() {
        let utilities = expected.utilities(model, lambda);
        let worst = utilities.iter().copied().fold(f64::INFINITY, f64::min);
        sum += (utilities[q] - worst).max(0.0);
    }
    Ok(sum / step.weights.len().max(1) as f64)
}

/// Joint draws at some designs, a row each.
struct Draws {
    objectives: Vec<Points>,
    /// What each design counts: nothing where a constraint is broken, less where runs may fail.
    factors: Option<Points>,
}

impl Draws {
    fn new(model: &Model, points: &Points, seeds: [Vec<u64>; 2]) -> math::Result<Self> {
        let [of_objectives, of_constraints] = seeds;
        let objectives = draw_objectives(model, points, &of_objectives)?;
        if !model.is_constrained() {
            return Ok(Self { objectives, factors: None });
        }
        let mut certain = vec![1.0; points.len()];
        for runs in &model.runs {
            certain.iter_mut().zip(runs.factors(points)?).for_each(|(c, f)| *c *= f);
        }
        let mut factors = Points::from_rows(points.len(), (0..DRAWS).map(|_| &certain))?;
        for (constraint, seed) in model.constraints.iter().zip(of_constraints) {
            let drawn = draw(&constraint.belief, points, seed)?;
            for (factor, value) in factors.as_flat_mut().iter_mut().zip(drawn.as_flat()) {
                *factor = if *value >= constraint.limit { *factor } else { 0.0 };
            }
        }
        Ok(Self { objectives, factors: Some(factors) })
    }

    /// H, averaged over the weights.
    fn most_utility(&self, model: &Model, expected: &Expected, weights: &Points) -> f64 {
        let (mut sum, mut utilities) = (0.0, vec![]);
        for lambda in weights.rows() {
            let now = expected.utilities(model, lambda);
            let best = largest(&now, 1).first().map_or(0, |i| *i);
            for draw in 0..DRAWS {
                self.utilities(model, lambda, draw, &mut utilities);
                let most = utilities.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                sum += most - utilities[best];
            }
        }
        sum / (weights.len() * DRAWS).max(1) as f64
    }

    /// What each design is worth to a decision maker if this draw is the truth.
    fn utilities(&self, model: &Model, lambda: &[f64], draw: usize, utilities: &mut Vec<f64>) {
        utilities.clear();
        utilities.resize(self.objectives[0].dim(), 0.0);
        for (k, (belief, values)) in model.objectives.iter().zip(&self.objectives).enumerate() {
            let factor = lambda[k] * belief.unit;
            let zero = model.reference.as_ref().map_or(0.0, |reference| reference[k]);
            let parts = utilities.iter_mut().zip(values.row(draw));
            parts.for_each(|(utility, value)| *utility += factor * (value - zero));
        }
        if let Some(factors) = &self.factors {
            utilities.iter_mut().zip(factors.row(draw)).for_each(|(u, factor)| *u *= factor);
        }
    }

    /// How much larger the hypervolume is expected to be than that of the means.
    fn most_volume(&self, means: &Points, reference: &[f64]) -> math::Result<f64> {
        let (mut sum, mut drawn) = (0.0, means.clone());
        for draw in 0..DRAWS {
            for (k, values) in self.objectives.iter().enumerate() {
                for (j, value) in values.row(draw).iter().enumerate() {
                    drawn.row_mut(j)[k] = *value;
                }
            }
            sum += hypervolume(&drawn, reference)?;
        }
        Ok((sum / DRAWS as f64 - hypervolume(means, reference)?).max(0.0))
    }
}

/// Draws of each objective at all points together; with the others where they are modelled so.
fn draw_objectives(model: &Model, points: &Points, seeds: &[u64]) -> math::Result<Vec<Points>> {
    let mut drawn = vec![Points::new(points.len()); model.objectives.len()];
    if let Some(joint) = &model.joint {
        let seed = joint.objectives.first().map_or(0, |k| seeds[*k]);
        let together = joint.draw(points, DRAWS, seed)?;
        joint.objectives.iter().zip(together).for_each(|(k, values)| drawn[*k] = values);
    }
    let alone = drawn.par_iter_mut().zip(&model.objectives).zip(seeds);
    let alone = alone.filter(|((_, belief), _)| belief.joint.is_none());
    alone.try_for_each(|((drawn, belief), seed)| {
        *drawn = draw(belief, points, *seed)?;
        Ok(())
    })?;
    Ok(drawn)
}

/// Draws of one output at all points together.
fn draw(belief: &Belief, points: &Points, seed: u64) -> math::Result<Points> {
    let count = points.len();
    if belief.known.is_some() {
        let means = belief.means(points)?;
        return Points::from_rows(count, (0..DRAWS).map(|_| &means));
    }
    let joint = belief.gp.joint(points)?;
    let mut covariance = Matrix::zeros(count, count);
    for j in 0..count {
        (j..count).for_each(|i| covariance.set(i, j, joint.covariance(i, j)));
    }
    // Of what is known well, rounding leaves less than nothing: relative to the prior that is little.
    let factor = Cholesky::with_jitter_unit(&covariance, belief.gp.kernel().variance())?;
    let mut rng = Rng::new(seed, 0);
    let mut normals = Matrix::zeros(count, DRAWS);
    for draw in 0..DRAWS {
        normals.col_mut(draw).iter_mut().for_each(|normal| *normal = rng.normal());
    }
    let deviations = factor.lower_mul_many(&normals);
    let bound = belief.bound.unwrap_or(f64::INFINITY);
    let draw = |draw: usize| {
        let parts = joint.means().iter().zip(deviations.col(draw));
        let values = parts.map(|(mean, deviation)| (mean + deviation).min(bound));
        values.collect::<Vec<_>>()
    };
    Points::from_rows(count, (0..DRAWS).map(draw))
}
