//! The one error type of this crate: why a server cannot be started or a request not be answered.

use std::io;
use std::path::PathBuf;

/// Result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What serving studies can fail with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: String,
        /// What the system says.
        source: io::Error,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file does not hold what it should.
    #[error("{}: {reason}", path.display())]
    BadFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// There is nothing to serve.
    #[error("{place}: {reason}")]
    NoStudy {
        /// Where studies were looked for.
        place: String,
        /// Why there are none.
        reason: String,
    },
    /// The system has no random numbers, of which tokens are made.
    #[error("the system gives no random numbers: {reason}")]
    NoRandomness {
        /// What the system says.
        reason: String,
    },
    /// What a study or its file refuses.
    #[error(transparent)]
    Run(#[from] unyoke_run::Error),
}

impl From<unyoke::Error> for Error {
    fn from(error: unyoke::Error) -> Self {
        Self::Run(error.into())
    }
}

impl From<unyoke::JournalError> for Error {
    fn from(error: unyoke::JournalError) -> Self {
        unyoke::Error::from(error).into()
    }
}

impl From<unyoke_store::Error> for Error {
    fn from(error: unyoke_store::Error) -> Self {
        Self::Run(error.into())
    }
}
