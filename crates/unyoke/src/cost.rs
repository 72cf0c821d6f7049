//! What evaluations cost, as a function of the design.
//!
//! Everything that divides by a cost asks for it at a design. A cost is a sum over the measurements
//! that are made together: constants, formulas of the parameters, and costs that are learned
//! (`cost/learned.rs`). It is positive everywhere: where a formula is not, or is not finite, it
//! counts as infinite, and nothing is ever evaluated there.

mod learned;

use crate::design::Design;
use crate::error::Result;
use crate::formula::Bound;
use crate::history::History;
use crate::problem::Cost;
use crate::space::Space;
use learned::Learned;

/// The cost of one evaluation, or of several that are made together.
#[derive(Debug, Clone)]
pub(crate) struct CostModel<'h> {
    constant: f64,
    parts: Vec<Part<'h>>,
}

/// A cost that depends on the design.
#[derive(Debug, Clone)]
struct Part<'h> {
    space: &'h Space,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Formula(Bound),
    Learned(Learned),
}

impl<'h> CostModel<'h> {
    /// The cost of these measurements at one design, with what the history tells of it.
    pub(crate) fn new(history: &'h History, measurements: &[usize]) -> Result<Self> {
        let (mut constant, mut parts) = (0.0, vec![]);
        let space = &history.space;
        for &m in measurements {
            match history.cost(m) {
                Cost::Constant(cost) => constant += cost,
                Cost::Formula(text) => {
                    parts.push(Part { space, kind: Kind::Formula(space.bind(text)?) });
                }
                Cost::Learned(learned) => match Learned::new(history, m, learned.guess)? {
                    Some(learned) => parts.push(Part { space, kind: Kind::Learned(learned) }),
                    None => constant += learned.guess,
                },
            }
        }
        Ok(Self { constant, parts })
    }

    /// The same cost at every design.
    #[cfg(test)]
    pub(crate) fn constant(constant: f64) -> Self {
        Self { constant, parts: vec![] }
    }

    /// Whether it is the same at every design.
    pub(crate) fn is_constant(&self) -> bool {
        self.parts.is_empty()
    }

    /// The cost at the design nearest to an encoded point, exactly as at that design.
    pub(crate) fn at(&self, x: &[f64]) -> f64 {
        match self.parts.first() {
            None => self.constant,
            Some(part) => self.at_design(&part.space.decode(x)).unwrap_or(f64::INFINITY),
        }
    }

    /// The cost at a design, which fails if it is not one of this problem.
    pub(crate) fn at_design(&self, design: &Design) -> Result<f64> {
        let mut sum = self.constant;
        for Part { space, kind } in &self.parts {
            sum += match kind {
                Kind::Formula(formula) => price(space.formula_of(formula, design)),
                Kind::Learned(learned) => learned.log_at(&space.encode(design)?).exp(),
            };
        }
        Ok(representable(sum))
    }

    /// The logarithm of the cost at a valid design.
    pub(crate) fn log(&self, x: &[f64]) -> f64 {
        let costs = self.parts.iter().map(|Part { space, kind }| match kind {
            Kind::Formula(formula) => price(space.formula_at(formula, x)),
            Kind::Learned(learned) => learned.log_at(x).exp(),
        });
        representable(self.constant + costs.sum::<f64>()).ln()
    }

    /// The logarithm of the cost at `x`, without rounding to a valid design; adds `factor` times its
    /// gradient to `gradient`, unless the cost is infinite.
    pub(crate) fn log_with_gradient(&self, x: &[f64], factor: f64, gradient: &mut [f64]) -> f64 {
        let mut slopes = vec![0.0; gradient.len()];
        let mut sum = self.constant;
        for part in &self.parts {
            sum += part.with_gradient(x, &mut slopes);
        }
        let sum = representable(sum);
        if sum.is_finite() && slopes.iter().all(|slope| slope.is_finite()) {
            gradient.iter_mut().zip(slopes).for_each(|(g, slope)| *g += factor * slope / sum);
        }
        sum.ln()
    }
}

impl Part<'_> {
    /// The cost at `x`; adds its gradient to `gradient`.
    fn with_gradient(&self, x: &[f64], gradient: &mut [f64]) -> f64 {
        match &self.kind {
            Kind::Formula(formula) => price(self.space.formula(formula, x, 1.0, gradient)),
            Kind::Learned(learned) => learned.with_gradient(x, gradient),
        }
    }
}

/// What a formula gives, if it can be paid.
fn price(value: f64) -> f64 {
    if value.is_finite() && value > 0.0 { value } else { f64::INFINITY }
}

/// A sum of positive terms: positive also where they are too small for that.
fn representable(sum: f64) -> f64 {
    sum.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests;
