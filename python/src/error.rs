//! What a call fails with, and the exception of `unyoke.errors` that it becomes.

use pyo3::prelude::*;
use unyoke::{JournalError, Mistake};

/// Why a call failed, in the words of whoever refused it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Reading study files, running, and all that these call.
    #[error(transparent)]
    Run(#[from] unyoke_run::Error),
    /// JSON that Python should not have written.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// A study that was begun with another problem.
    #[error(
        "{what} is not the same as in the study at {location}, which was begun earlier; undo the \
         change, or open the study without a problem and say study.amend(problem)"
    )]
    OtherProblem {
        /// What differs.
        what: String,
        /// Where the study is.
        location: String,
    },
    /// A call that makes no sense now.
    #[error("{0}")]
    Refused(String),
    /// Nothing can be asked for.
    #[error("nothing more fits into the budget, or every design has been evaluated")]
    Exhausted,
    /// The study was closed.
    #[error("the study is closed; open it again")]
    Closed,
    /// The study belongs to the process from which this one was forked.
    #[error(
        "this study was opened before the process was forked, and cannot be used here; open it again \
         with Study.open"
    )]
    Forked,
}

/// Result of everything here that can fail.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl From<unyoke::Error> for Failure {
    fn from(error: unyoke::Error) -> Self {
        Self::Run(error.into())
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        unyoke::Error::from(error).into()
    }
}

impl From<unyoke_store::Error> for Failure {
    fn from(error: unyoke_store::Error) -> Self {
        Self::Run(error.into())
    }
}

impl Failure {
    /// The class in `unyoke.errors`.
    fn class(&self) -> &'static str {
        match self {
            Self::Run(error) => class_of(error),
            Self::Json(_) => "DataError",
            Self::OtherProblem { .. } => "ProblemError",
            Self::Refused(_) => "StateError",
            Self::Exhausted => "Exhausted",
            Self::Closed | Self::Forked => "StateError",
        }
    }

    /// What is wrong with a problem, each mistake with its place.
    fn mistakes(&self) -> &[Mistake] {
        match self {
            Self::Run(unyoke_run::Error::Study(unyoke::Error::Invalid { mistakes })) => mistakes,
            _ => &[],
        }
    }
}

fn class_of(error: &unyoke_run::Error) -> &'static str {
    use unyoke_run::Error;
    match error {
        Error::StudyFile(_) => "StudyFileError",
        Error::OtherProblem { .. } => "ProblemError",
        Error::Store(unyoke_store::Error::NoStudy { .. }) => "NoStudy",
        Error::Store(_) | Error::Io { .. } | Error::DiskFull { .. } => "StoreError",
        Error::Study(error) => class_of_engine(error),
        Error::BadExecutor { .. } => "DataError",
        Error::Running { .. } => "StateError",
        Error::NoScheduler { .. } | Error::NetworkFolder { .. } | Error::NoCommand { .. } => {
            "RunError"
        }
        Error::LeftOver { .. } | Error::Supervisor { .. } | Error::Orphan { .. } => "RunError",
        _ => "StoreError",
    }
}

fn class_of_engine(error: &unyoke::Error) -> &'static str {
    use unyoke::Error;
    match error {
        Error::Invalid { .. }
        | Error::UnknownAlgorithm { .. }
        | Error::BadFormula { .. }
        | Error::CannotAmend { .. } => "ProblemError",
        Error::Journal(_) | Error::Format { .. } | Error::CorruptJournal { .. } => "StoreError",
        Error::Contended { .. } => "StoreError",
        Error::AlreadySettled { .. } | Error::CannotCorrect { .. } => "StateError",
        _ => "DataError",
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        Python::attach(|py| exception(py, &failure).unwrap_or_else(|error| error))
    }
}

/// The exception, made by its class in Python.
fn exception(py: Python<'_>, failure: &Failure) -> PyResult<PyErr> {
    let class = py.import("unyoke.errors")?.getattr(failure.class())?;
    let mistakes: Vec<(&str, &str)> =
        failure.mistakes().iter().map(|one| (one.path.as_str(), one.message.as_str())).collect();
    let raised = match mistakes.is_empty() {
        true => class.call1((failure.to_string(),))?,
        false => class.call1((failure.to_string(), mistakes))?,
    };
    Ok(PyErr::from_value(raised))
}
