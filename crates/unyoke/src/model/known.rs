//! Outputs that are formulas of the parameters: known everywhere.

use crate::error::Result;
use crate::formula::Bound;
use crate::problem::{Output, Problem};
use crate::space::Space;
use unyoke_math::data::Standardizer;

/// A formula as an output of the engine: turned so that more is better.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    formula: Bound,
    space: Space,
    /// The output's place in the problem.
    output: usize,
}

/// Designs whose values tell the spread of a formula.
const SAMPLE: usize = 256;

impl Known {
    /// The formula of output `k`, if it is one.
    pub(crate) fn new(problem: &Problem, space: &Space, k: usize) -> Result<Option<Self>> {
        let Output { formula: Some(text), .. } = &problem.outputs[k] else { return Ok(None) };
        let formula = space.bind(text)?;
        Ok(Some(Self { formula, space: space.clone(), output: k }))
    }

    /// Its value at the design nearest to `x`, exactly as it would be suggested; none where that is
    /// not a number.
    pub(crate) fn at(&self, x: &[f64]) -> Option<f64> {
        let value = self.space.to_internal(self.output, self.space.formula_at(&self.formula, x));
        value.is_finite().then_some(value)
    }

    /// Its value at an encoded design; adds `factor` times the gradient to `gradient`.
    pub(crate) fn with_gradient(
        &self,
        x: &[f64],
        factor: f64,
        gradient: &mut [f64],
    ) -> Option<f64> {
        let mut slopes = vec![0.0; x.len()];
        let raw = self.space.formula(&self.formula, x, 1.0, &mut slopes);
        let value = self.space.to_internal(self.output, raw);
        let slope = factor * self.space.internal_slope(self.output, raw);
        if value.is_finite() && slopes.iter().all(|s| (slope * s).is_finite()) {
            gradient.iter_mut().zip(slopes).for_each(|(g, s)| *g += slope * s);
        }
        value.is_finite().then_some(value)
    }

    /// Mean and spread of its values over the designs.
    pub(crate) fn standardizer(&self) -> unyoke_math::Result<Standardizer> {
        let Ok(points) = self.space.allowed_points(SAMPLE, 0) else {
            return Standardizer::new(&[]);
        };
        Standardizer::new(&points.rows().filter_map(|x| self.at(x)).collect::<Vec<_>>())
    }
}
