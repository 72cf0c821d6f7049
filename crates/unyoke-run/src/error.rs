//! The one error type of this crate. Mistakes in a study file are told in `diagnostic`.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

use crate::diagnostic::StudyFileError;

/// What reading study files and running commands can fail with.
///
/// A command that fails is no error: that is an [`Outcome`](crate::Outcome) like any other.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// There is no room left to write. What was written before is still there.
    #[error("{}: the disk is full; free some space and run again", path.display())]
    DiskFull {
        /// The file that could not be written.
        path: PathBuf,
    },
    /// A file does not hold what it should.
    #[error("{}: {reason}", path.display())]
    BadFile {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A study file with mistakes, all of them.
    #[error("{}", .0.lines())]
    StudyFile(Box<StudyFileError>),
    /// An attempt that was started before, by this program or another.
    #[error("{}: this attempt was started before", folder.display())]
    AlreadyStarted {
        /// The folder of the attempt.
        folder: PathBuf,
    },
    /// The process that would own a command could not be started.
    #[error("the supervisor {} could not be started: {source}", program.display())]
    Supervisor {
        /// The program that should have supervised.
        program: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A command whose supervisor died and that cannot be stopped safely from here.
    #[error(
        "{}: the supervisor died and its command may still run; {}", folder.display(), advice(group)
    )]
    Orphan {
        /// The folder of the attempt.
        folder: PathBuf,
        /// The process group of the command, if it is known.
        group: Option<i32>,
    },
    /// A part of a command that looks like a placeholder and is none.
    #[error("{argument:?}: {reason}")]
    BadPlaceholder {
        /// The argument of the command.
        argument: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A measurement without a command.
    #[error("{measurement} has no command")]
    NoCommand {
        /// The measurement.
        measurement: String,
    },
    /// A study that was begun with another problem than its file has now.
    #[error(
        "{} differs from the study at {location}, which was begun earlier:\n  {}\n{}",
        path.display(), changes.join("\n  "), remedy(refusal.as_deref())
    )]
    OtherProblem {
        /// The study file.
        path: PathBuf,
        /// Where the study is.
        location: String,
        /// What differs, as in `parameter "x" high from 1.0 to 2.0`.
        changes: Vec<String>,
        /// Why the study cannot be changed accordingly, if it cannot.
        refusal: Option<String>,
    },
    /// A folder with attempts that are not of this study.
    #[error(
        "{} holds attempts of another study, perhaps of one that was deleted; move it away or \
         remove it", folder.display()
    )]
    LeftOver {
        /// The folder.
        folder: PathBuf,
    },
    /// A folder for attempts on a file system that machines share.
    #[error(
        "{} is on a network file system ({kind}), where nobody can tell whether a command of this machine \
         still runs; keep the study file on a local disk, or run all of its measurements with \
         executor = \"slurm\", \"command\" or \"hand\"", folder.display()
    )]
    NetworkFolder {
        /// The folder.
        folder: PathBuf,
        /// What kind it is.
        kind: &'static str,
    },
    /// An executor whose settings make no sense.
    #[error("{measurement} cannot be run like this: {reason}")]
    BadExecutor {
        /// The measurement.
        measurement: String,
        /// All that is wrong.
        reason: String,
    },
    /// A study that others run, which therefore cannot be changed now.
    #[error("the study is running, by {owner}; let it end or press Ctrl-C there, then amend it")]
    Running {
        /// Who runs it.
        owner: String,
    },
    /// A scheduler that is not there.
    #[error(
        "{measurement} cannot be run: {program} was not found or cannot be executed; nothing was \
         started"
    )]
    NoScheduler {
        /// The measurement.
        measurement: String,
        /// The program of the scheduler.
        program: String,
    },
    /// A name of somebody, or of a request, that cannot be written down.
    #[error("the {what} must have 1 to 100 characters, and no control characters")]
    BadSignature {
        /// What it is: "name" or "request key".
        what: &'static str,
    },
    /// What makes no sense for an evaluation as it stands, with what would.
    #[error("{reason}")]
    Refused {
        /// Why, and what to do.
        reason: String,
    },
    /// What the engine refuses.
    #[error(transparent)]
    Study(#[from] unyoke::Error),
    /// What the store refuses.
    #[error(transparent)]
    Store(#[from] unyoke_store::Error),
    /// A design without a value that a command needs.
    #[error("the command needs {{{name}}}, which the design does not have")]
    MissingValue {
        /// The parameter.
        name: String,
    },
}

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Whether this may pass without anybody doing anything, so that trying again later makes
    /// sense: a lost connection, a server that restarts, a database that others lock.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Study(error) => error.is_passing(),
            Self::Store(error) => error.is_passing(),
            _ => false,
        }
    }

    /// Attaches the path to what the system says.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| match source.kind() {
            // A limit on the size of files is met in the same way as the end of the disk.
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                Self::DiskFull { path }
            }
            _ => Self::Io { path, source },
        }
    }

    /// Attaches the path to what a reader or writer of files says.
    pub(crate) fn bad_file<E: ToString>(path: impl Into<PathBuf>) -> impl FnOnce(E) -> Self {
        let path = path.into();
        move |reason| Self::BadFile { path, reason: reason.to_string() }
    }
}

impl From<StudyFileError> for Error {
    fn from(error: StudyFileError) -> Self {
        Self::StudyFile(Box::new(error))
    }
}

fn advice(group: &Option<i32>) -> String {
    match group {
        Some(group) => format!("`kill -- -{group}` would end it, if it is still the same group"),
        None => "look for it among the running processes".to_owned(),
    }
}

/// What to do about a file that has changed.
fn remedy(refusal: Option<&str>) -> String {
    match refusal {
        None => "`unyoke amend` makes these changes count, and nothing that was measured is lost; \
                 otherwise undo them"
            .to_owned(),
        Some(reason) => format!(
            "but {reason}; undo the change, or begin anew under another name (`unyoke export --as \
             designs` and `unyoke import` take the values along)"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_from_other_trouble() {
        let error = |kind| Error::io("exit.json")(io::Error::from(kind));
        for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::FileTooLarge] {
            assert!(matches!(error(kind), Error::DiskFull { .. }), "{kind}");
        }
        assert!(matches!(error(ErrorKind::PermissionDenied), Error::Io { .. }));
    }

    #[test]
    fn trouble_of_the_database_passes_and_other_trouble_does_not() {
        let (location, reason) = (String::new(), String::new());
        let lost = unyoke_store::Error::Unreachable { location: location.clone(), reason };
        let reason = String::new();
        let read = unyoke::JournalError::from(lost.clone());
        assert!(Error::from(lost).is_passing());
        assert!(Error::from(unyoke::Error::from(read)).is_passing());
        assert!(!Error::from(unyoke_store::Error::NoAccess { location, reason }).is_passing());
        assert!(!Error::io("exit.json")(io::Error::from(ErrorKind::TimedOut)).is_passing());
    }

    #[test]
    fn messages_say_what_to_do() {
        let orphan = Error::Orphan { folder: "runs/000001/1".into(), group: Some(77) };
        assert!(orphan.to_string().contains("kill -- -77"));
        let missing = Error::MissingValue { name: "length".into() };
        assert!(missing.to_string().contains("{length}"));
    }
}
