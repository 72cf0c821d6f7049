//! Pareto sets of objective vectors, all maximised: dominance, crowding, hypervolume, boxes.
//!
//! A point is a row of objective values. Nothing here knows where the values come from.

mod order;
mod staircase;
mod sort;
mod crowding;
mod hypervolume;
mod hypervolume_gradient;
mod boxes;

#[cfg(test)]
mod cases;

pub use boxes::{BoxSet, dominated_boxes, non_dominated_boxes};
pub use crowding::{crowding_distances, thin};
pub use hypervolume::hypervolume;
pub use hypervolume_gradient::{hypervolume_gradient, hypervolume_with_gradient};
pub use sort::{dominates, non_dominated, non_dominated_ranks};

pub(crate) use crowding::crowding_of;
pub(crate) use order::descending_order;
pub(crate) use sort::ranks_along;

/// What the objective values are called in errors.
pub(crate) const OBJECTIVES: &str = "objective values";
