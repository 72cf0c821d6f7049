//! Ceilings that are the least of several independent normal variables, and perhaps of a fixed level:
//! as a few levels with probabilities, with derivatives.

use super::Ceiling;
use crate::error::{Result, check_shape};
use crate::points::Points;
use crate::{normal, sobol};

/// Nodes for the least of some normal variables; the same for all designs, so that what they are wrong
/// by does not look like a difference between designs.
#[derive(Debug, Clone)]
pub struct Nodes {
    points: Points,
    weights: Vec<f64>,
    levels: usize,
}

/// How far nodes reach, in standard deviations.
const REACH: f64 = 5.0;

impl Nodes {
    /// Equidistant nodes for one or two variables, `per_variable` for each; Sobol' points for more, as
    /// many as for two. What they give is merged into `levels` levels.
    pub fn new(variables: usize, per_variable: usize, levels: usize) -> Result<Self> {
        if variables > 2 {
            let count = per_variable * per_variable;
            let points = sobol::normals(variables, count, 0)?;
            return Ok(Self { points, weights: vec![1.0 / count as f64; count], levels });
        }
        let step = 2.0 * REACH / (per_variable.max(2) - 1) as f64;
        let axis: Vec<f64> = (0..per_variable).map(|i| step * i as f64 - REACH).collect();
        let total: f64 = axis.iter().map(|z| normal::pdf(*z)).sum();
        let (mut points, mut weights) = (Points::new(variables), vec![]);
        for index in 0..per_variable.pow(variables as u32) {
            let at = |d: usize| axis[index / per_variable.pow(d as u32) % per_variable];
            let point: Vec<f64> = (0..variables).map(at).collect();
            weights.push(point.iter().map(|z| normal::pdf(*z) / total).product());
            points.push(&point)?;
        }
        Ok(Self { points, weights, levels })
    }

    /// Number of variables.
    pub fn variables(&self) -> usize {
        self.points.dim()
    }
}

/// The least of some normal variables, as levels with probabilities.
#[derive(Debug, Clone, Default)]
pub struct Minimum {
    order: Vec<(f64, usize, Option<usize>)>,
    ceilings: Vec<Ceiling>,
    /// For each level, its derivatives in the means and in the deviations.
    slopes: Vec<f64>,
    variables: usize,
}

impl Minimum {
    /// Of variables with these means and standard deviations, and of `cap`, which may be infinite.
    pub fn compute(
        &mut self,
        nodes: &Nodes,
        means: &[f64],
        deviations: &[f64],
        cap: f64,
    ) -> Result<()> {
        self.variables = nodes.variables();
        check_shape("means of variables", self.variables, means.len())?;
        check_shape("deviations of variables", self.variables, deviations.len())?;
        self.order.clear();
        for (g, z) in nodes.points.rows().enumerate() {
            let mut least = (cap, g, None);
            for (k, z) in z.iter().enumerate() {
                let value = means[k] + deviations[k] * z;
                if value < least.0 {
                    least = (value, g, Some(k));
                }
            }
            self.order.push(least);
        }
        self.order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        self.merge(nodes);
        Ok(())
    }

    /// Merges neighbours until each level has about the same probability.
    fn merge(&mut self, nodes: &Nodes) {
        let Self { order, ceilings, slopes, variables } = self;
        ceilings.clear();
        slopes.clear();
        let share = 1.0 / nodes.levels as f64;
        let mut reached = 0.0;
        for &(value, g, which) in &*order {
            let weight = nodes.weights[g];
            if ceilings.is_empty() || reached + 0.5 * weight >= share * ceilings.len() as f64 {
                ceilings.push(Ceiling { weight: 0.0, mean: 0.0, variance: 0.0 });
                slopes.resize(slopes.len() + 2 * *variables, 0.0);
            }
            reached += weight;
            let last = slopes.len() - 2 * *variables;
            if let Some(ceiling) = ceilings.last_mut() {
                ceiling.weight += weight;
                ceiling.mean += weight * value;
            }
            if let Some(k) = which {
                slopes[last + k] += weight;
                slopes[last + *variables + k] += weight * nodes.points.row(g)[k];
            }
        }
        for (i, ceiling) in ceilings.iter_mut().enumerate() {
            ceiling.mean /= ceiling.weight;
            let own = &mut slopes[2 * *variables * i..][..2 * *variables];
            own.iter_mut().for_each(|slope| *slope /= ceiling.weight);
        }
    }

    /// The levels; their probabilities sum to 1.
    pub fn ceilings(&self) -> &[Ceiling] {
        &self.ceilings
    }

    /// The derivatives in mean and deviation of each variable of a quantity with these derivatives in
    /// mean and variance of each level.
    pub fn pull_back(&self, by_ceilings: &[[f64; 2]]) -> Vec<[f64; 2]> {
        let mut pulled = vec![[0.0; 2]; self.variables];
        for (i, [by_mean, _]) in by_ceilings.iter().enumerate().take(self.ceilings.len()) {
            let own = &self.slopes[2 * self.variables * i..][..2 * self.variables];
            for (k, pulled) in pulled.iter_mut().enumerate() {
                pulled[0] += by_mean * own[k];
                pulled[1] += by_mean * own[self.variables + k];
            }
        }
        pulled
    }
}
