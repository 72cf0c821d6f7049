//! What is still to be gained from measuring, in units of the objectives.
//!
//! Gains are in units of utility: the weighted sum of the objectives, in the units in which these are
//! weighed against each other. Nobody thinks in such units, so a gain is told as the improvement of one
//! objective, all others as they are, that would be as good: an improvement d of objective k raises the
//! utility by E\[λ_k\] d.

use crate::problem::Scale;
use serde::Serialize;

/// What is still to be gained, as far as the models can tell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prospect {
    /// How much the suggested evaluation is expected to raise the best expected utility, averaged over
    /// the weights.
    pub gain: f64,
    /// No evaluations, however many, are expected to raise it by more: E[max_j u_j(f)] − max_j E[u_j(f)]
    /// over the compared designs, estimated from draws of the models. `None` where that takes too long.
    pub most: Option<f64>,
    /// What a decision maker would lose with that design, of those best for somebody, which suits him
    /// worst: the range of the utilities on the front, averaged over the weights.
    pub range: f64,
    /// The least that any measurement costs, at any of the compared designs.
    pub cheapest: f64,
    /// What a gain of 1 is in units of each objective.
    pub units: Vec<Unit>,
}

/// What a gain of 1 is in units of an objective.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unit {
    /// The objective.
    pub objective: String,
    /// By how much it would have to improve at every design, the others as they are. In its own unit;
    /// in percent where it is on a log scale.
    pub amount: f64,
    /// On which scale it is.
    pub scale: Scale,
}
