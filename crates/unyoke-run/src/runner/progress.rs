//! What a runner tells while it works and when it is done, and how it is asked to stop.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use unyoke::{Appraisal, Design, Obstacle, Pause};

use super::failing::Failing;
use crate::process::Measured;

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Progress {
    /// An evaluation was asked for and is under way.
    Started {
        /// Which.
        underway: Underway,
        /// Expected gain per unit of cost, if models were asked.
        gain_per_cost: Option<f64>,
        /// What it is expected to gain as a share of the range of the front, if that has one.
        gain_share: Option<f64>,
        /// What else there is to say about the choice.
        notes: Vec<String>,
    },
    /// An evaluation that somebody left behind is looked after again.
    TakenUp {
        /// Which.
        underway: Underway,
    },
    /// An attempt failed and another one is made.
    Retried {
        /// The evaluation.
        evaluation: u64,
        /// The attempt that begins.
        attempt: u32,
        /// Why the last one failed.
        reason: String,
    },
    /// An evaluation has its values, or some of them.
    Finished {
        /// The evaluation.
        evaluation: u64,
        /// Its measurement.
        measurement: String,
        /// What came out.
        measured: Measured,
        /// How long its commands took.
        duration: Duration,
    },
    /// An evaluation failed for good.
    Failed {
        /// The evaluation.
        evaluation: u64,
        /// Its measurement.
        measurement: String,
        /// Why.
        reason: String,
    },
    /// A measurement failed from the start, every time: it is not asked for any more. If nothing else
    /// gives its outputs, the run ends.
    Failing(Failing),
    /// Others make the first evaluations of a measurement. More are begun once one has succeeded.
    OnTrial {
        /// The measurement.
        measurement: String,
    },
    /// A result came after its evaluation was settled; it was kept, and does not count.
    Late {
        /// The evaluation.
        evaluation: u64,
    },
    /// An evaluation is given up without a result: somebody withdrew it, or it cannot be started.
    GivenUp {
        /// The evaluation.
        evaluation: u64,
        /// Why.
        reason: String,
    },
    /// Nothing new is started any more, so that an evaluation is left to a later run.
    Left {
        /// The evaluation.
        evaluation: u64,
        /// Why its last attempt failed.
        reason: String,
    },
    /// The database is lost, and will be tried again. What runs goes on.
    Disconnected {
        /// What is wrong.
        reason: String,
        /// After this time.
        wait: Duration,
    },
    /// Another program computes a suggestion; ours is computed after that.
    Queued {
        /// Which program.
        owner: String,
    },
    /// An attempt that somebody else started is waited for.
    Awaited {
        /// The evaluation.
        evaluation: u64,
        /// The attempt.
        attempt: u32,
        /// Where it is, and as which process.
        place: String,
    },
    /// What a scheduler says about the job of an evaluation is new.
    Job {
        /// The evaluation.
        evaluation: u64,
        /// As in `queued (Resources)`.
        said: String,
    },
    /// A scheduler cannot be asked, or can be again. Jobs go on.
    Scheduler {
        /// What is wrong; nothing if all is well again.
        trouble: Option<String>,
    },
    /// Somebody is to make an evaluation by hand.
    ByHand {
        /// Which.
        underway: Underway,
    },
    /// Nothing more can be begun until evaluations by hand are recorded.
    AwaitingHand {
        /// How many.
        evaluations: usize,
    },
    /// What is spent, and what will be once everything under way has ended.
    Spent {
        /// Cost of what ended.
        spent: f64,
        /// The same with what is under way.
        committed: f64,
    },
    /// Nothing new is started any more, and what runs is waited for.
    Finishing {
        /// Evaluations that still run here.
        running: usize,
    },
    /// What runs is being stopped.
    Stopping {
        /// Evaluations that still run here.
        running: usize,
    },
}

/// An evaluation under way.
#[derive(Debug, Clone, PartialEq)]
pub struct Underway {
    /// Its number.
    pub evaluation: u64,
    /// Which measurement.
    pub measurement: String,
    /// At which design.
    pub design: Design,
    /// What it is expected to cost.
    pub cost: f64,
    /// Which attempt runs, from 1.
    pub attempt: u32,
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Why it ended.
    pub ending: Ending,
    /// Evaluations that got values here.
    pub finished: usize,
    /// Evaluations that failed here.
    pub failed: usize,
    /// Evaluations that are pending: others work on them, or they will be taken up.
    pub pending: usize,
    /// Cost of everything that ended, in this run and before.
    pub spent: f64,
    /// What was computed to choose evaluations.
    pub suggestions: Suggestions,
    /// A measurement that gave no value so far, of an output of which no value is known.
    pub failing: Option<Failing>,
}

/// How often a suggestion was computed, which may take long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Suggestions {
    /// By searching models; initial evaluations need none.
    pub computed: usize,
    /// Of these, those that could not be used: others asked for the same thing meanwhile.
    pub outdated: usize,
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Ending {
    /// Nothing that is still possible fits into the budget.
    Budget,
    /// No evaluation is worth its cost any more, by what the study file says that gains are worth.
    NotWorthwhile(Appraisal),
    /// The time is over.
    WallTime,
    /// The moment is reached, or near, at which the run was to end. What runs then goes on.
    Until,
    /// As many evaluations were made as this run was to make.
    Evaluations,
    /// Every design was evaluated.
    Exhausted,
    /// What could be evaluated otherwise is paused, by the names of measurements.
    Paused(Vec<(String, Pause)>),
    /// Nothing more of these measurements, the only ones that were to be made.
    Only(Vec<String>),
    /// Of what was to be confirmed, nothing is left that fits into the budget.
    Confirmed {
        /// What is paused, which may have been left out for that.
        paused: Vec<(String, Pause)>,
    },
    /// Somebody asked for it.
    Interrupted,
    /// The command of a measurement cannot be started. Nothing was spent on that.
    CannotStart {
        /// The measurement.
        measurement: String,
        /// Why.
        reason: String,
    },
    /// A measurement never gave a value of an output that nothing else gives. What is left of the
    /// budget could not be spent on anything useful.
    Failing(Failing),
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Budget => write!(f, "{}", Obstacle::Budget),
            Self::NotWorthwhile(_) => write!(f, "no evaluation is worth its cost any more"),
            Self::WallTime => write!(f, "the time limit is reached"),
            Self::Until => write!(f, "the run was to end now"),
            Self::Evaluations => write!(f, "as many evaluations were made as were wanted"),
            Self::Exhausted => write!(f, "{}", Obstacle::Exhausted),
            Self::Paused(paused) => {
                let names: Vec<&str> = paused.iter().map(|(name, _)| name.as_str()).collect();
                write!(f, "nothing else can be evaluated while {} is paused", names.join(", "))
            }
            Self::Only(only) => f.write_str(&Obstacle::Budget.sentence(only, &Design::new())),
            Self::Confirmed { .. } => write!(f, "confirmed what fits into the budget"),
            Self::Interrupted => write!(f, "interrupted"),
            Self::CannotStart { measurement, reason } => {
                write!(f, "{measurement} cannot be measured: {reason}")
            }
            Self::Failing(failing) => {
                write!(f, "{failing}, last because {}; {}", failing.reason, failing.remedy())
            }
        }
    }
}

/// By which a run is asked to stop, from a signal handler or another thread.
///
/// Once: nothing new is started, what runs is waited for. Twice: what runs is stopped, and its
/// evaluations remain to be taken up later. A third time: it is left to itself.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    times: Arc<AtomicUsize>,
    left: Arc<AtomicBool>,
}

impl Interrupt {
    /// Asks once.
    pub fn ask(&self) {
        self.times.fetch_add(1, Ordering::SeqCst);
    }

    /// Ends the run at once: what runs goes on, and the next run collects it.
    pub fn leave(&self) {
        self.left.store(true, Ordering::SeqCst);
        self.ask();
    }

    /// How often it was asked.
    pub fn times(&self) -> usize {
        self.times.load(Ordering::SeqCst)
    }

    /// Whether what runs is to be left.
    pub(super) fn is_left(&self) -> bool {
        self.left.load(Ordering::SeqCst)
    }
}
