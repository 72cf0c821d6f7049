//! What a command may fail with, how that is shown, and the exit codes of the program.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use unyoke::JournalError;
use unyoke_run::{Error, StudyFileError};

use crate::output::complain;

/// Exit codes beside 0, and 2 for wrong arguments.
const FAILED: u8 = 1;
pub(crate) const STUDY_FILE: u8 = 3;
const STORE: u8 = 4;
pub(crate) const INTERRUPTED: u8 = 130;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The study file cannot be read, or makes no sense.
    StudyFile(Error),
    /// The study cannot be run or read.
    Study(Error),
    /// The lab.
    Lab(unyoke_lab::Error),
    /// Studies cannot be served.
    Web(unyoke_web::Error),
    /// Standard output cannot be written.
    Output(io::Error),
    /// It makes no sense to do that; the text says what would.
    Refused(String),
    /// Somebody pressed Ctrl-C.
    Interrupted,
}

impl Failure {
    /// For what the system says about a file.
    pub(crate) fn file(path: &Path, error: &io::Error) -> Self {
        Self::Refused(format!("{}: {error}", path.display()))
    }

    fn code(&self) -> u8 {
        match self {
            Self::StudyFile(_) | Self::Study(Error::StudyFile(_) | Error::OtherProblem { .. }) => {
                STUDY_FILE
            }
            Self::Study(Error::Store(unyoke_store::Error::NoStudy { .. })) => FAILED,
            Self::Study(Error::Store(_) | Error::DiskFull { .. }) => STORE,
            Self::Study(Error::Study(
                unyoke::Error::Journal(
                    JournalError::Storage { .. }
                    | JournalError::Unavailable { .. }
                    | JournalError::Damaged { .. },
                )
                | unyoke::Error::Format { .. }
                | unyoke::Error::CorruptJournal { .. },
            )) => STORE,
            Self::Study(_) | Self::Lab(_) | Self::Web(_) | Self::Output(_) | Self::Refused(_) => {
                FAILED
            }
            Self::Interrupted => INTERRUPTED,
        }
    }

    /// How the program ends.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    /// Tells the user, and how the program ends.
    pub(crate) fn show(self) -> ExitCode {
        let code = self.exit_code();
        match self {
            // Whoever read our output has seen enough.
            Self::Output(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Self::StudyFile(Error::StudyFile(mistakes))
            | Self::Study(Error::StudyFile(mistakes)) => {
                show_mistakes(&mistakes);
                code
            }
            Self::StudyFile(error @ Error::Io { .. }) => {
                complain(&format!(
                    "unyoke: {error}\n`unyoke init` writes a study file to start from."
                ));
                code
            }
            Self::StudyFile(error) | Self::Study(error) => say(&error, code),
            Self::Lab(error) => say(&error, code),
            Self::Web(error) => say(&error, code),
            Self::Output(error) => say(&error, code),
            Self::Refused(reason) => say(&reason, code),
            Self::Interrupted => code,
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::StudyFile(error) | Self::Study(error) => error.fmt(f),
            Self::Lab(error) => error.fmt(f),
            Self::Web(error) => error.fmt(f),
            Self::Output(error) => error.fmt(f),
            Self::Refused(reason) => reason.fmt(f),
            Self::Interrupted => "interrupted".fmt(f),
        }
    }
}

/// Shows the lines of the file with the places underlined, in colour where there is some.
fn show_mistakes(mistakes: &StudyFileError) {
    let colours = std::env::var_os("NO_COLOR").is_none() && io::stderr().is_terminal();
    // Drawn with colours, so not to be escaped; nobody may be there to read it.
    let _ = write!(io::stderr(), "{}", mistakes.drawn(colours));
}

fn say(what: &dyn std::fmt::Display, code: ExitCode) -> ExitCode {
    complain(&format!("unyoke: {what}"));
    code
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Study(error)
    }
}

impl From<unyoke::Error> for Failure {
    fn from(error: unyoke::Error) -> Self {
        Self::Study(error.into())
    }
}

impl From<unyoke_store::Error> for Failure {
    fn from(error: unyoke_store::Error) -> Self {
        Self::Study(error.into())
    }
}

impl From<unyoke_lab::Error> for Failure {
    fn from(error: unyoke_lab::Error) -> Self {
        Self::Lab(error)
    }
}

impl From<unyoke_web::Error> for Failure {
    fn from(error: unyoke_web::Error) -> Self {
        match error {
            // A server reads nothing but study files by itself.
            unyoke_web::Error::Run(error @ (Error::StudyFile(_) | Error::Io { .. })) => {
                Self::StudyFile(error)
            }
            unyoke_web::Error::Run(error) => Self::Study(error),
            other => Self::Web(other),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
