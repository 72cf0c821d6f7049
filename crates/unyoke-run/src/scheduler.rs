//! Schedulers: where attempts run when they do not run on this machine.
//!
//! A [`Scheduler`] submits jobs, says how many of them stand, and cancels them, all by name. Nothing
//! else is asked of it: the result of an attempt is the `exit.json` in its folder, and the scheduler
//! only tells whether one can still come. [`Dispatcher`] submits, watches and gives up.

mod call;
mod slurm;
mod commands;
mod dispatcher;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use crate::study_file::Executor;

pub(crate) use call::find_program;
pub(crate) use commands::Commands;
pub(crate) use dispatcher::{Dispatcher, Notice, Watch};
pub(crate) use slurm::{PROGRAMS as SLURM_PROGRAMS, Slurm};

/// What runs jobs.
pub(crate) trait Scheduler: Send + Sync {
    /// What it is called in messages.
    fn title(&self) -> &str;

    /// Submits the script of an attempt.
    fn submit(&self, job: &Submission<'_>) -> Submitted;

    /// How jobs of these names stand. One that is not in the answer is not known any more, or never
    /// was. Fails if the scheduler cannot be asked, which says nothing about the jobs.
    fn status(&self, names: &[&str], since: SystemTime) -> Result<Standings, String>;

    /// Cancels whatever has this name.
    fn cancel(&self, name: &str, folder: &Path) -> Result<(), String>;
}

/// How jobs stand, by name.
pub(crate) type Standings = BTreeMap<String, Standing>;

/// A job to be submitted.
pub(crate) struct Submission<'a> {
    pub(crate) name: &'a str,
    /// The folder of the attempt, absolute.
    pub(crate) folder: &'a Path,
    /// What the study file says about it.
    pub(crate) executor: &'a Executor,
}

/// What came of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Submitted {
    /// There is a job now. What the scheduler said is for people.
    Accepted(String),
    /// There may be a job or not.
    Unclear {
        reason: String,
        /// Whether that will surely pass, so that it is tried again however often it takes.
        passing: bool,
    },
    /// There is none, and there never will be.
    Refused(String),
}

/// How a job stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It waits, perhaps for this reason.
    Queued(Option<String>),
    /// It runs; there may be something to say about that.
    Running(Option<String>),
    /// It has ended like this.
    Gone { said: String, exceeded: bool },
    /// There is such a job, but what it does is anybody's guess.
    Unknown(String),
}

impl Standing {
    /// Of two jobs of one name, the one that counts: the one of which most can be expected.
    fn rank(&self) -> u8 {
        match self {
            Self::Running(_) => 3,
            Self::Queued(_) => 2,
            Self::Unknown(_) => 1,
            Self::Gone { .. } => 0,
        }
    }
}

/// Adds how a job stands. Several jobs may have one name, if it was unclear whether one was accepted.
fn add(standings: &mut Standings, name: &str, standing: Standing) {
    match standings.get(name) {
        Some(known) if known.rank() >= standing.rank() => {}
        _ => drop(standings.insert(name.to_owned(), standing)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_jobs_of_one_name_the_one_that_may_give_a_result_counts() {
        let mut standings = Standings::new();
        let gone = || Standing::Gone { said: "FAILED".into(), exceeded: false };
        for standing in [gone(), Standing::Queued(None), Standing::Running(None), gone()] {
            add(&mut standings, "a", standing);
        }
        assert_eq!(standings["a"], Standing::Running(None));
    }
}
