//! Turns suggestions into processes and their output into observations.
//!
//! A [`StudyFile`] says what is optimised and which commands measure it. An
//! [`Attempt`] is one run of such a command: a supervisor process of its own owns it, so that its
//! result is found again whatever happened to the program that asked for it. A [`Runner`] asks the
//! study what to evaluate, makes attempts, and tells what came out, until the budget is spent.
//!
//! Modules stand in the order of the flow; each uses only those above it. What to evaluate is
//! decided in `unyoke`, where results are kept is another crate's.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod diagnostic;
mod error;
mod command;
mod signing;
mod study_file;
mod process;
mod scheduler;
mod typing;
mod amending;
mod opening;
mod editing;
mod runner;
mod hands;

pub use amending::{Amendment, Change, difference};
pub use command::CommandTemplate;
pub use diagnostic::{Diagnostic, StudyFileError};
pub use error::{Error, Result};
pub use hands::{Entry, ask_by_hand, left_out, record_by_hand};
pub use opening::{Looked, Opened, apply_prices_and_wishes};
pub use process::{
    Attempt, Death, Exit, Failure, Layout, Measured, Outcome, Output, Spec, State, Supervisor,
    is_broken_command, job_of, supervise,
};
pub use runner::{
    BY_HAND, Choosing, Ending, Failing, Interrupt, LEASE_TIME, Limits, Log, Progress, Purpose,
    Runner, SignOfLife, Suggestions, Summary, Underway, Worker, Working, claim_by_hand, is_gone,
    now, refuse_running, release_by_hand, working,
};
pub use signing::{Signature, Signed, signed_by_user};
pub use study_file::{
    Budget, Described, Executor, InitialPrice, MeasurementRun, RunSettings, SchedulerCommands,
    SlurmResources, StudyFile, Watching, initial_config, schema, template,
};
pub use typing::with_value;
