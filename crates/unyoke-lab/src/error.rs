//! The one error type of the lab.

use std::io;
use std::path::PathBuf;

/// What a lab can fail with.
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
    /// A file does not hold what it should.
    #[error("{}: {reason}", path.display())]
    BadFile {
        /// Which.
        path: PathBuf,
        /// What is wrong with it, and where.
        reason: String,
    },
    /// A folder holds runs that were made in another way.
    #[error(
        "{} holds runs with {what} {found}, not {wanted}; use another folder for these, or the \
         same settings to go on",
        folder.display()
    )]
    OtherSettings {
        /// The folder of the runs.
        folder: PathBuf,
        /// The setting that differs.
        what: &'static str,
        /// Its value in the folder.
        found: String,
        /// Its value now.
        wanted: String,
    },
    /// A folder holds no finished run.
    #[error("{} holds no finished runs; `unyoke lab run --out {}` makes some", folder.display(), folder.display())]
    NoRuns {
        /// Which folder.
        folder: PathBuf,
    },
    /// A setting that makes no sense.
    #[error("{what}: {reason}")]
    Setting {
        /// Which.
        what: &'static str,
        /// Why not, and what would do.
        reason: String,
    },
    /// A figure cannot be drawn.
    #[error(transparent)]
    Draw(#[from] unyoke_draw::DrawError),
    /// The engine refused.
    #[error(transparent)]
    Engine(#[from] unyoke::Error),
    /// The numerics refused.
    #[error(transparent)]
    Math(#[from] unyoke_math::Error),
}

/// The result of everything in the lab that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Attaches the path to what the system says.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }

    /// Attaches the path to what a reader says.
    pub(crate) fn bad_file<E: ToString>(path: impl Into<PathBuf>) -> impl FnOnce(E) -> Self {
        let path = path.into();
        move |reason| Self::BadFile { path, reason: reason.to_string() }
    }
}
