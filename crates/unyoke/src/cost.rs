//! What evaluations cost, as a function of the design.
//!
//! Everything that divides by a cost asks for it at a design.

use crate::error::Result;
use crate::problem::{Cost, LearnedCost};

/// The cost of one evaluation, or of several that are made together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CostModel {
    constant: f64,
}

impl CostModel {
    /// The cost of evaluations that are made together.
    pub(crate) fn sum<'a>(costs: impl Iterator<Item = &'a Cost>) -> Result<Self> {
        let constant = costs.map(|cost| match cost {
            Cost::Constant(cost) | Cost::Learned(LearnedCost { guess: cost, .. }) => *cost,
            Cost::Formula(_) => 1.0,
        });
        Ok(Self { constant: constant.sum() })
    }

    /// The same cost at every design.
    #[cfg(test)]
    pub(crate) fn constant(constant: f64) -> Self {
        Self { constant }
    }

    /// The cost at an encoded design.
    pub(crate) fn at(&self, _x: &[f64]) -> f64 {
        self.constant
    }
}
