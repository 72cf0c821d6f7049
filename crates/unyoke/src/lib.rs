//! Given a problem with its observations, says what to evaluate next and why.
//!
//! Objectives that come from different simulators, assays or benchmarks have different prices.
//! A [`Study`] chooses one objective at one design at a time, by expected gain per unit of cost,
//! and predicts the Pareto front at any time.
//!
//! Modules stand in the order of the flow; each uses only those above it. No files, no clock, no
//! network, no global random numbers: durable storage and running commands are other crates'.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod error;
mod formula;
mod problem;
mod design;
mod reading;
mod space;
mod feasible;
mod importance;
mod config;
mod choices;
mod event;
mod journal;
mod remembered;
mod history;
mod weights;
mod cost;
mod worth;
mod model;
mod discretise;
mod outlook;
mod value;
mod search;
mod recommend;
mod prospect;
mod model_check;
mod suggestion;
mod plan;
mod engine;
mod predictions;
mod stopping;
mod confirmation;
mod contention;
mod study;

#[cfg(test)]
mod cases;

pub use config::{
    Algorithm, BestPossible, Config, Correlations, Deterministic, Discretisation, Failures,
    FrontSearch, Initial, LengthscalePrior, Lengthscales, Outliers, Pending, Preference,
    Recommendations, Search, Units, Utility, Wishes,
};
pub use design::{Design, Value};
pub use error::{Error, JournalError, Mistake, Result, near};
pub use event::{Event, FORMAT, Header, Pause, Record};
pub use history::{BudgetChange, Evaluation, QueueEntry, Status, Superseded};
pub use journal::{Journal, MemoryJournal};
pub use model::{MeasuredValue, ModelNote};
pub use model_check::{Accuracy, Confidence, LeftOutValue, ModelCheck};
pub use plan::Permission;
pub use predictions::Predictions;
pub use problem::{
    Cost, CostSource, Direction, GammaPrior, KnownHyper, LearnedCost, Limit, Measurement, Noise,
    Output, Parameter, Priors, Problem, ProblemBuilder, Role, Scale,
};
pub use prospect::{Prospect, Unit};
pub use reading::{Outcome, Reading, Results};
pub use recommend::{
    Average, Confirmation, ConfirmedValue, Expectation, Forecast, Front, FrontPoint, MeasuredFront,
    MeasuredPoint, Milestone,
};
pub use stopping::{Appraisal, Stop, Verdict};
pub use study::{Asked, Study};
pub use suggestion::{NextConfirmation, Note, Obstacle, OptionRow, Origin, Scores, Suggestion};
