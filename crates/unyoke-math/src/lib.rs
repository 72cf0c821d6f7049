//! Numerics that do not know what an objective, a cost or a study is.
//!
//! Modules stand in the order of the flow; each uses only those above it.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod error;
mod points;
mod simd;

pub mod linalg;

pub mod normal;
pub mod gamma;
pub mod prior;
pub mod random;
pub mod sobol;

pub mod envelope;
pub mod hypervolume_gain;
pub mod capped_gain;
pub mod polytope;

pub mod optimize;
pub mod kinked;

pub mod data;
pub mod kernel;
pub mod gp;
pub mod censored;
pub mod lookahead;
pub mod path;
pub mod fit;
pub mod coregional;
pub mod success;

pub mod pareto;
pub mod nsga2;

pub use error::{Error, Result};
pub use points::Points;
