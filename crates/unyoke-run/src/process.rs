//! Evaluations as processes. A result that reached the disk is found again.
//!
//! Each attempt at an evaluation has a folder of its own. The command belongs to a supervisor, a
//! small process that outlives the program which started it, keeps the folder's `lock` as long as
//! it lives, and writes `exit.json` last of all. Whether an attempt is alive is therefore a
//! question to the lock and never to a process number, which may be somebody else's by now.
//!
//! Where attempts are jobs of a scheduler, a supervisor runs on another machine: a claim and a sign of
//! life take the place of the lock (`job`), and the program that waits writes `dead.json` when no
//! result can come any more.
//!
//! `docs/study-file.md` describes the folder; which evaluations to run is decided elsewhere.

#[cfg(not(unix))]
compile_error!("commands are run in process groups, which only Unix-like systems have");

mod system;
mod folder;
mod job;
mod spec;
mod outcome;
mod number;
mod results;
mod capture;
mod channel;
mod launch;
mod orphan;
mod custody;
mod running;
mod supervise;
mod attempt;

pub(crate) use attempt::Relation;
pub(crate) use custody::Entrusted;
pub(crate) use folder::{Begun, STDERR, is_locked};
pub(crate) use job::{
    JobRecord, Said, Verdict, VerdictKind, claim, is_claimed, is_submitted, last_beat, look_again,
    note_submitted, script,
};
pub(crate) use outcome::Spent;
pub(crate) use system::{Group, host_name, user_id};

pub use attempt::{Attempt, Death, State, Supervisor, job_of};
pub use folder::Layout;
pub use outcome::{Exit, Failure, Measured, Outcome, Output, is_broken_command};
pub use spec::Spec;
pub use supervise::supervise;
