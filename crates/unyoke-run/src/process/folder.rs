//! The folder of an attempt: where its files are, and how they are written so that none is torn.

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use unyoke_store::network_file_system;

use super::system;
use crate::error::{Error, Result};

/// Held by the supervisor as long as it lives.
pub(super) const LOCK: &str = "lock";
/// Standard input of the command: always empty, and locked as long as any process has it open.
pub(super) const COMMAND_LOCK: &str = "command.lock";
pub(super) const DESIGN: &str = "design.json";
pub(super) const COMMAND: &str = "command.json";
pub(super) const RESULT: &str = "result.json";
pub(super) const STDOUT: &str = "stdout";
pub(crate) const STDERR: &str = "stderr";
/// What the supervisor itself has to complain about.
pub(super) const SUPERVISOR: &str = "supervisor.log";
/// The process group of the command, for people. It is there if the command has begun.
pub(super) const GROUP: &str = "group";
/// Why the command could not begin.
pub(super) const REFUSED: &str = "refused";
/// Under which lease the attempt is waited for.
pub(super) const LEASE: &str = "lease.json";
/// Its existence asks the supervisor to stop the command.
pub(super) const STOP: &str = "stop";
pub(super) const EXIT: &str = "exit.json";
const RESERVED: &str = "exit.json.tmp";
/// Beside the attempts: how many there were of each evaluation.
const COUNTS: &str = ".attempts";

/// Our own files are far shorter, and no system takes a longer command; beyond, somebody else
/// wrote there.
const LONGEST: u64 = 64 << 20;

/// More than an `exit.json` ever needs, beside the design.
const RESERVE: usize = 16 << 10;

/// Where the attempts of a study are.
///
/// ```
/// use unyoke_run::Layout;
///
/// let layout = Layout::new("runs");
/// assert_eq!(layout.attempt(12, 1).to_str(), Some("runs/000012/1"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    runs: PathBuf,
}

impl Layout {
    /// All attempts are below `runs`, which need not exist yet.
    pub fn new(runs: impl Into<PathBuf>) -> Self {
        Self { runs: runs.into() }
    }

    /// The folder of an attempt at an evaluation.
    pub fn attempt(&self, evaluation: u64, attempt: u32) -> PathBuf {
        self.evaluation(evaluation).join(attempt.to_string())
    }

    /// The attempts at an evaluation that were begun, in order.
    pub fn attempts(&self, evaluation: u64) -> Result<Vec<u32>> {
        let folder = self.evaluation(evaluation);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(vec![]),
            entries => entries.map_err(Error::io(&folder))?,
        };
        let mut attempts = vec![];
        for entry in entries {
            let name = entry.map_err(Error::io(&folder))?.file_name();
            // Anything else is a folder that did not get its name, or not ours.
            attempts.extend(name.to_str().and_then(|name| name.parse::<u32>().ok()));
        }
        attempts.sort_unstable();
        Ok(attempts)
    }

    /// The attempts at an evaluation that were begun, also if their folders have been deleted, when it
    /// was made pending again so often.
    pub(crate) fn begun(&self, evaluation: u64, retry: u32) -> Begun {
        let text = fs::read_to_string(self.count(evaluation)).unwrap_or_default();
        let mut numbers = text.split_whitespace().map(|word| word.parse::<u32>().unwrap_or(0));
        let mut next = || numbers.next().unwrap_or(0);
        let (last, counted, before) = (next(), next(), next());
        // Until the first one after a retry is counted, all belong to the time before.
        let before = if counted == retry { before } else { last };
        Begun { before, last }
    }

    /// Counts an attempt as begun. What a command deletes by mistake is its own folder, or those of
    /// its evaluation; the count is elsewhere.
    pub(crate) fn count_attempt(&self, evaluation: u64, attempt: u32, retry: u32) -> Result<()> {
        let path = self.count(evaluation);
        let Begun { before, .. } = self.begun(evaluation, retry);
        let count = format!("{attempt} {retry} {before}\n");
        let written = fs::write(&path, &count).or_else(|_| {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(&path, &count)
        });
        written.map_err(Error::io(&path))
    }

    /// Forgets the counts of a study that is no more.
    pub(crate) fn forget_counts(&self) -> Result<()> {
        let path = self.runs.join(COUNTS);
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io(&path)(error)),
            _ => Ok(()),
        }
    }

    fn count(&self, evaluation: u64) -> PathBuf {
        self.runs.join(COUNTS).join(format!("{evaluation:06}"))
    }

    /// The evaluations of which there are attempts, in order.
    pub(crate) fn evaluations(&self) -> Result<Vec<u64>> {
        let entries = match fs::read_dir(&self.runs) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(vec![]),
            entries => entries.map_err(Error::io(&self.runs))?,
        };
        let mut evaluations = vec![];
        for entry in entries {
            let name = entry.map_err(Error::io(&self.runs))?.file_name();
            evaluations.extend(name.to_str().and_then(|name| name.parse::<u64>().ok()));
        }
        evaluations.sort_unstable();
        Ok(evaluations)
    }

    /// Whether there is no attempt at any evaluation.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.evaluations()?.is_empty())
    }

    /// Makes the folder if need be, for attempts that are jobs of a scheduler.
    pub(crate) fn prepare_shared(&self) -> Result<()> {
        fs::create_dir_all(&self.runs).map_err(Error::io(&self.runs))
    }

    /// Makes the folder if need be. Fails if it is where locks cannot be relied upon.
    pub(crate) fn prepare(&self) -> Result<()> {
        self.prepare_shared()?;
        match network_file_system(&self.runs) {
            Some(kind) => Err(Error::NetworkFolder { folder: self.runs.clone(), kind }),
            None => Ok(()),
        }
    }

    /// Where programs that work on the study show that they are alive.
    pub(crate) fn owners(&self) -> PathBuf {
        self.runs.join(".owners")
    }

    /// Locked by the program whose turn it is to choose the next evaluation.
    pub(crate) fn turn(&self) -> PathBuf {
        self.runs.join(".choosing")
    }

    /// All attempts at an evaluation are in here.
    pub fn evaluation(&self, evaluation: u64) -> PathBuf {
        self.runs.join(format!("{evaluation:06}"))
    }
}

/// Attempts at an evaluation that were begun, by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Begun {
    /// The last one before the evaluation was made pending again; 0 if there is none.
    pub(crate) before: u32,
    /// The last one of all; 0 if there is none.
    pub(crate) last: u32,
}

/// Writes a file that did not exist. If the system goes down it may be torn, but so is then what it
/// was written for.
pub(super) fn write_json(path: &Path, content: &impl Serialize) -> Result<()> {
    let text = to_json(path, content)?;
    let mut file = File::create_new(path).map_err(Error::io(path))?;
    file.write_all(text.as_bytes()).map_err(Error::io(path))
}

/// The same for a file that nobody else may read.
pub(super) fn write_private_json(path: &Path, content: &impl Serialize) -> Result<()> {
    let text = to_json(path, content)?;
    let file = File::options().write(true).create_new(true).mode(0o600).open(path);
    let mut file = file.map_err(Error::io(path))?;
    file.write_all(text.as_bytes()).map_err(Error::io(path))
}

/// Writes a file, or another in its place. It appears whole, but need not outlive the system.
pub(super) fn replace_json(path: &Path, content: &impl Serialize) -> Result<()> {
    let text = to_json(path, content)?;
    let folder = path.parent().unwrap_or(path);
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(Error::io(path))?;
    file.write_all(text.as_bytes()).map_err(Error::io(path))?;
    file.persist(path).map(drop).map_err(|error| Error::io(path)(error.error))
}

fn to_json(path: &Path, content: &impl Serialize) -> Result<String> {
    let mut text = serde_json::to_string_pretty(content).map_err(Error::bad_file(path))?;
    text.push('\n');
    Ok(text)
}

/// The content of a file; `None` if there is none.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.map_err(Error::io(path))?,
    };
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes).map_err(Error::io(path))?;
    serde_json::from_slice(&bytes).map(Some).map_err(Error::bad_file(path))
}

/// Makes what was renamed or created in a folder last.
pub(super) fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::io(folder))
}

/// Whether somebody holds the lock of a file. One that does not exist is free.
pub(crate) fn is_locked(path: &Path) -> Result<bool> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        file => file.map_err(Error::io(path))?,
    };
    // Shared, so that two that look at the same time do not take each other for the holder.
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(Error::io(path)(error)),
    }
}

/// Returns once nobody holds the lock of a file any more.
pub(super) fn wait_for_lock(path: &Path) -> Result<()> {
    File::open(path).and_then(|file| file.lock_shared()).map_err(Error::io(path))
}

/// Room for `exit.json`, taken before the command runs, so that a disk that fills up meanwhile
/// does not cost the result.
#[derive(Debug)]
pub(super) struct Reserve {
    folder: PathBuf,
    file: File,
}

impl Reserve {
    pub(super) fn new(folder: &Path) -> Result<Self> {
        let path = folder.join(RESERVED);
        let mut file = File::create(&path).map_err(Error::io(&path))?;
        let design = fs::metadata(folder.join(DESIGN)).map_or(0, |data| data.len());
        let room = RESERVE + usize::try_from(design).unwrap_or(0);
        system::allocate(&mut file, room).map_err(Error::io(&path))?;
        Ok(Self { folder: folder.to_owned(), file })
    }

    /// Makes `exit.json` appear with this content, whole and for good. May be tried again.
    pub(super) fn publish(&mut self, content: &impl Serialize) -> Result<()> {
        let path = self.folder.join(RESERVED);
        let text = to_json(&path, content)?;
        self.overwrite(text.as_bytes()).map_err(Error::io(&path))?;
        fs::rename(&path, self.folder.join(EXIT)).map_err(Error::io(&path))?;
        sync_folder(&self.folder)
    }

    fn overwrite(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(bytes)?;
        self.file.set_len(bytes.len() as u64)?;
        self.file.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_listed_in_order_and_nothing_else_is() {
        let runs = tempfile::tempdir().unwrap();
        let layout = Layout::new(runs.path());
        assert_eq!(layout.attempts(3).unwrap(), [0; 0]);
        for name in ["10", "2", ".starting-x", "notes"] {
            fs::create_dir_all(runs.path().join("000003").join(name)).unwrap();
        }
        assert_eq!(layout.attempts(3).unwrap(), [2, 10]);
    }

    #[test]
    fn attempts_are_counted_apart_for_each_retry() {
        let runs = tempfile::tempdir().unwrap();
        let layout = Layout::new(runs.path());
        assert_eq!(layout.begun(3, 0), Begun::default());
        layout.count_attempt(3, 1, 0).unwrap();
        layout.count_attempt(3, 2, 0).unwrap();
        assert_eq!(layout.begun(3, 0), Begun { before: 0, last: 2 });
        assert_eq!(layout.begun(3, 1), Begun { before: 2, last: 2 });
        layout.count_attempt(3, 3, 1).unwrap();
        layout.count_attempt(3, 4, 1).unwrap();
        assert_eq!(layout.begun(3, 1), Begun { before: 2, last: 4 });
        // As earlier versions wrote it.
        fs::write(runs.path().join(".attempts/000003"), "5\n").unwrap();
        assert_eq!(layout.begun(3, 0), Begun { before: 0, last: 5 });
        assert_eq!(layout.begun(3, 1), Begun { before: 5, last: 5 });
    }

    #[test]
    fn what_is_published_appears_whole() {
        let folder = tempfile::tempdir().unwrap();
        let mut reserve = Reserve::new(folder.path()).unwrap();
        assert!(!folder.path().join(EXIT).exists());
        reserve.publish(&[1.5]).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join(EXIT)).unwrap(), "[\n  1.5\n]\n");
        assert!(!folder.path().join(RESERVED).exists());
    }

    #[test]
    fn a_lock_is_seen_by_others_and_does_not_outlive_its_holder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK);
        assert!(!is_locked(&path).unwrap());
        let file = File::create(&path).unwrap();
        assert!(!is_locked(&path).unwrap());
        file.lock().unwrap();
        assert!(is_locked(&path).unwrap());
        drop(file);
        assert!(!is_locked(&path).unwrap());
        wait_for_lock(&path).unwrap();
    }

    #[test]
    fn a_torn_file_is_an_error_and_an_absent_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(EXIT);
        assert_eq!(read_json::<f64>(&path).unwrap(), None);
        fs::write(&path, "{\"val").unwrap();
        assert!(matches!(read_json::<f64>(&path), Err(Error::BadFile { .. })));
        fs::write(&path, "").unwrap();
        assert!(matches!(read_json::<f64>(&path), Err(Error::BadFile { .. })));
    }
}
