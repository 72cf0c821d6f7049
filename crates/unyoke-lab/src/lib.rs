//! Runs many studies on test problems and draws what came out: the paper's experiments.
//!
//! An [`Instance`] is a problem whose true objectives are known; its [`Target`] is what a perfect
//! decision maker would get. [`run()`] plays one study on it and measures after every evaluation,
//! [`Lab`] does so for many instances and algorithms and keeps what it finished, [`summary`]
//! averages. [`figures`] draws results as in the paper, [`report`] tabulates them. A [`Suite`] runs many
//! problems at the same budget, and [`comparison`] says who is better where.
//! Modules stand in the order of the flow; each uses only those above it.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod error;
pub mod formulas;
mod samples;
mod instance;
mod initial;
mod method;
mod family;
mod problems;
mod optimum;
mod target;
mod metrics;
pub mod facts;
mod table;
mod run;
mod settings;
mod lab;
pub mod summary;
pub mod figures;
pub mod report;
mod album;
mod record;
mod suite;
pub mod comparison;

pub use album::{write_figures, write_report};
pub use error::{Error, Result};
pub use family::{Family, published, sampled};
pub use instance::{InitialData, Instance, Merits};
pub use lab::{Lab, Outcome, Progress, Shard};
pub use method::Method;
pub use metrics::{Recommendation, best_for_all, exact_regret, hypervolume_regret, regret};
pub use problems::{Source, TestProblem};
pub use record::Record;
pub use run::{Protocol, run};
pub use samples::Samples;
pub use settings::{Hyper, Settings};
pub use suite::{Suite, Unsuited};
pub use table::{Metrics, Row, read_run};
pub use target::{Scale, Target};
