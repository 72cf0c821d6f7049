//! Numerics that do not know what an objective, a cost or a study is.
//!
//! Modules stand in the order of the flow; each uses only those above it.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod error;
mod points;
mod simd;

pub mod linalg;

pub mod data;
pub mod kernel;

pub mod gp;

pub use error::{Error, Result};
pub use points::Points;
