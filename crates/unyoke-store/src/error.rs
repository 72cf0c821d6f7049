//! What can go wrong with a store, each with the data a caller needs to act on it.

use std::path::PathBuf;
use std::time::Duration;
use unyoke::JournalError;

/// Result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything a store refuses or cannot do, and why.
///
/// A `location` is as [`Location`](crate::Location) displays it, without password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A text that names neither a file nor a database.
    #[error("{location:?} is not a place for a study: {reason}")]
    BadLocation {
        /// The text, without what may be a password.
        location: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Nothing was ever written there.
    #[error("there is no study at {location}; `unyoke run` creates it")]
    NoStudy {
        /// Where it was looked for.
        location: String,
    },
    /// A study is there already, so none can be created.
    #[error("there is a study at {location} already")]
    StudyExists {
        /// Where it is.
        location: String,
    },
    /// The file is something else. It was left as it is.
    #[error("{} is not a study: {reason}", path.display())]
    NotAStudy {
        /// The file.
        path: PathBuf,
        /// What it seems to be.
        reason: String,
    },
    /// What was stored does not make sense any more.
    #[error("the study at {location} is damaged: {reason}")]
    Damaged {
        /// Where it is.
        location: String,
        /// What is wrong with it.
        reason: String,
    },
    /// One record is not what was written, or is missing.
    #[error(
        "record {position} of the study at {location} is damaged: {reason}; restore a copy of the study"
    )]
    DamagedRecord {
        /// Where the study is.
        location: String,
        /// The record, counting from zero.
        position: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// A record of a known format with something in it that a newer version has added. It was left
    /// as it is.
    #[error(
        "record {position} of the study at {location} was written by a newer Unyoke ({reason}); \
         use that version"
    )]
    NewerContent {
        /// Where the study is.
        location: String,
        /// The record, counting from zero.
        position: u64,
        /// What is not known here.
        reason: String,
    },
    /// Tables laid out by a newer version of this crate. They were left as they are.
    #[error("{location} has layout {found}, this version knows up to {known}; use a newer Unyoke")]
    NewerLayout {
        /// Where it is.
        location: String,
        /// The version of the layout met.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
    /// A record written by a newer version of the engine. It was left as it is.
    #[error("the journal has format {found}, this version reads up to format {known}")]
    NewerRecord {
        /// The format of the record met.
        found: u32,
        /// The newest format known here.
        known: u32,
    },
    /// Somebody else appended in the meantime: read on from `expected`, then decide afresh.
    #[error("the journal has {found} records where {expected} were expected")]
    Conflict {
        /// Number of records the writer knew of.
        expected: u64,
        /// Number of records there are.
        found: u64,
    },
    /// No permission to write.
    #[error("{location} is read-only: {reason}")]
    ReadOnly {
        /// Where the study is or should be.
        location: String,
        /// What the system said.
        reason: String,
    },
    /// No space left. Everything that was acknowledged is intact.
    #[error("no space is left for {location}")]
    Full {
        /// Where the study is.
        location: String,
    },
    /// Others kept the study locked for too long.
    #[error("{location} was locked for {} s by {}", waited.as_secs(), names(holders))]
    Busy {
        /// Where the study is.
        location: String,
        /// How long was waited.
        waited: Duration,
        /// Who kept it locked, as far as that can be found out.
        holders: Vec<String>,
    },
    /// Another program has the right to write to the journal file.
    #[error(
        "{location} is in use by {holder}; one program at a time may write to a journal file: stop \
         that one, or wait until it ends (reading is possible meanwhile)"
    )]
    Locked {
        /// Where the study is.
        location: String,
        /// Who has it: process, machine, and since when.
        holder: String,
    },
    /// Another program took the right to write while this one stood still.
    ///
    /// What was to be written may or may not have been: read to find out.
    #[error(
        "{holder} writes to {location} now, because this program gave no sign of life for a while"
    )]
    LockLost {
        /// Where the study is.
        location: String,
        /// Who has it now: process, machine, and since when.
        holder: String,
    },
    /// A program on another machine stopped while it was claiming the right to write to the journal file.
    #[error(
        "{holder} began to claim {location} and gives no sign of life since; if you are sure that it is gone, \
         remove the folder {}", folder.display()
    )]
    LockStuck {
        /// Where the study is.
        location: String,
        /// Who was claiming it: process, machine, and since when.
        holder: String,
        /// What to remove.
        folder: PathBuf,
    },
    /// The file is no longer where it was opened: written records would be lost.
    #[error("{} was moved, deleted or replaced while it was open", path.display())]
    Moved {
        /// Where it was.
        path: PathBuf,
    },
    /// A file with several names. SQLite keeps a log for each, and would lose what is in the others.
    #[error(
        "{} has {links} names (hard links); SQLite would damage it: remove the others, or copy the \
         file and use the copy", path.display()
    )]
    HardLinked {
        /// The file.
        path: PathBuf,
        /// How many names it has.
        links: u64,
    },
    /// A file system shared between machines, where locks of SQLite cannot be relied upon.
    #[error(
        "{} is on a network file system ({kind}), where SQLite can lose data; use a journal file \
         there (store = \"file:{}\"), a local disk, or PostgreSQL",
        path.display(), path.with_extension("journal").display()
    )]
    NetworkFileSystem {
        /// The file.
        path: PathBuf,
        /// What kind it is.
        kind: &'static str,
    },
    /// The SQLite in this program can lose commits.
    #[error("SQLite {found} can lose commits; at least {needed} is needed")]
    OldSqlite {
        /// Its version.
        found: String,
        /// The oldest version accepted.
        needed: String,
    },
    /// The database cannot be reached, or the connection broke. The next call connects again.
    ///
    /// If it broke during a write, that may or may not have been carried out: read to find out.
    #[error("{location} cannot be reached: {reason}")]
    Unreachable {
        /// Where the study is.
        location: String,
        /// What was said.
        reason: String,
    },
    /// The database did not answer in time. The next call connects again.
    ///
    /// What was to be written may or may not have been: read to find out.
    #[error("{location} did not answer within {} s", waited.as_secs())]
    TimedOut {
        /// Where the study is.
        location: String,
        /// How long was waited.
        waited: Duration,
    },
    /// The database or folder cannot be used: wrong password, no permission, no such database.
    #[error("{location} cannot be opened: {reason}")]
    NoAccess {
        /// Where the study is or should be.
        location: String,
        /// What was said.
        reason: String,
    },
    /// A text that not every database can keep.
    #[error("the {what} contains a NUL character, which cannot be stored")]
    BadText {
        /// What the text is: "owner" or "outcome".
        what: &'static str,
    },
    /// Any other complaint of the file system or database.
    #[error("{location} failed: {reason}")]
    Failed {
        /// Where the study is.
        location: String,
        /// What was said.
        reason: String,
    },
}

impl Error {
    /// Whether this may pass without anybody doing anything, so that trying again later makes
    /// sense: a lost connection, a server that restarts or is slow, others that lock the database
    /// or were faster.
    ///
    /// All else stays until somebody does something: mends a password, makes room, restores a copy.
    pub fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Conflict { .. }
                | Self::Busy { .. }
                | Self::LockLost { .. }
                | Self::Unreachable { .. }
                | Self::TimedOut { .. }
        )
    }
}

fn names(holders: &[String]) -> String {
    if holders.is_empty() { "others".to_owned() } else { holders.join(", ") }
}

impl From<Error> for JournalError {
    fn from(error: Error) -> Self {
        match error {
            Error::Conflict { expected, found } => Self::Conflict { expected, found },
            Error::NewerRecord { found, known } => Self::Format { found, known },
            Error::DamagedRecord { position, reason, .. } => Self::Damaged { position, reason },
            passing if passing.is_passing() => Self::Unavailable { reason: passing.to_string() },
            other => Self::Storage { reason: other.to_string() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_error_keeps_what_a_study_acts_on() {
        let conflict = Error::Conflict { expected: 3, found: 5 };
        assert_eq!(JournalError::from(conflict), JournalError::Conflict { expected: 3, found: 5 });
        let newer = Error::NewerRecord { found: 2, known: 1 };
        assert_eq!(JournalError::from(newer), JournalError::Format { found: 2, known: 1 });
        let full = JournalError::from(Error::Full { location: "blade.db".into() });
        assert_eq!(full, JournalError::Storage { reason: "no space is left for blade.db".into() });
        let busy = busy(vec![]);
        assert!(JournalError::from(busy).is_passing());
    }

    fn busy(holders: Vec<String>) -> Error {
        Error::Busy { location: "blade.db".into(), waited: Duration::from_secs(30), holders }
    }

    #[test]
    fn whoever_waits_is_told_for_whom() {
        assert_eq!(busy(vec![]).to_string(), "blade.db was locked for 30 s by others");
        let holders = vec!["process 7 (unyoke)".to_owned(), "process 9 (sqlite3)".to_owned()];
        let told = "blade.db was locked for 30 s by process 7 (unyoke), process 9 (sqlite3)";
        assert_eq!(busy(holders).to_string(), told);
    }

    #[test]
    fn what_may_pass_is_told_from_what_stays() {
        let (location, reason) = (String::new, String::new);
        let waited = Duration::ZERO;
        for passing in [
            Error::Unreachable { location: location(), reason: reason() },
            Error::TimedOut { location: location(), waited },
            busy(vec![]),
            Error::LockLost { location: location(), holder: reason() },
            Error::Conflict { expected: 1, found: 2 },
        ] {
            assert!(passing.is_passing() && JournalError::from(passing.clone()).is_passing());
        }
        for final_one in [
            Error::NoAccess { location: location(), reason: reason() },
            Error::Damaged { location: location(), reason: reason() },
            Error::NoStudy { location: location() },
            Error::Locked { location: location(), holder: reason() },
            Error::LockStuck { location: location(), holder: reason(), folder: PathBuf::new() },
            Error::Full { location: location() },
            Error::Moved { path: PathBuf::new() },
            Error::NewerRecord { found: 2, known: 1 },
        ] {
            assert!(!final_one.is_passing() && !JournalError::from(final_one.clone()).is_passing());
        }
    }

    #[test]
    fn sqlite_on_a_network_file_system_is_refused_with_the_name_of_a_journal_file() {
        let error = Error::NetworkFileSystem { path: "/home/ann/blade.db".into(), kind: "NFS" };
        let told = error.to_string();
        assert!(told.contains("network file system (NFS)"), "{told}");
        assert!(told.contains("store = \"file:/home/ann/blade.journal\""), "{told}");
    }

    #[test]
    fn a_missing_study_says_how_to_get_one() {
        let error = Error::NoStudy { location: "blade.db".into() };
        assert_eq!(error.to_string(), "there is no study at blade.db; `unyoke run` creates it");
    }
}
