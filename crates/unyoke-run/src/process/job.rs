//! What the folder of an attempt says when the attempt is a job of a scheduler, on a machine that only
//! shares the folder with us. Locks do not reach that far, so there are files in their place.
//!
//! | file | holds | written by |
//! |---|---|---|
//! | `job.json` | the name of the job, before it is submitted | the program |
//! | `job.sh` | what the job runs | the program |
//! | `submitted` | what the scheduler answered | the program, once it is known that there is a job |
//! | `claim` | who may run the command: created once, by one | the supervisor, or the program that gives up |
//! | `alive` | a count that moves on as long as the supervisor lives | the supervisor |
//! | `queue.json` | what the scheduler said last | the program |
//! | `dead.json` | why no result will come | the program |

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::folder;
use super::system::host_name;
use crate::error::{Error, Result};

const JOB: &str = "job.json";
const SCRIPT: &str = "job.sh";
const SUBMITTED: &str = "submitted";
const CLAIM: &str = "claim";
const ALIVE: &str = "alive";
const QUEUE: &str = "queue.json";
const DEAD: &str = "dead.json";

/// `job.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JobRecord {
    pub(crate) format: u32,
    /// By which the scheduler knows it; no other job ever has it.
    pub(crate) name: String,
    /// How often the supervisor shows that it lives.
    pub(crate) beat_ms: u64,
}

impl JobRecord {
    /// The newest form of `job.json`, in which this version writes.
    const FORMAT: u32 = 1;

    pub(crate) fn new(name: String, beat: Duration) -> Self {
        let beat_ms = u64::try_from(beat.as_millis()).unwrap_or(u64::MAX).max(1);
        Self { format: Self::FORMAT, name, beat_ms }
    }

    /// The record of an attempt; `None` if that is a process of this machine.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>> {
        folder::read_json(&folder.join(JOB))
    }

    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        folder::write_json(&folder.join(JOB), self)
    }

    pub(super) fn beat(&self) -> Duration {
        Duration::from_millis(self.beat_ms)
    }
}

/// Whether an attempt is a job of a scheduler. A record that cannot be read is one, too.
pub(super) fn is_job(folder: &Path) -> bool {
    folder.join(JOB).exists()
}

/// What the job of an attempt runs.
pub(crate) fn script(folder: &Path) -> PathBuf {
    folder.join(SCRIPT)
}

/// Writes the script of a job, which becomes the supervisor of the attempt in `folder`.
pub(super) fn write_script(path: &Path, argv: &[String]) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let words: Vec<String> = argv.iter().map(|word| quoted(word)).collect();
    let text = format!("#!/bin/sh\nexec {}\n", words.join(" "));
    let path = path.join(SCRIPT);
    let file = File::options().write(true).create_new(true).mode(0o755).open(&path);
    let mut file = file.map_err(Error::io(&path))?;
    file.write_all(text.as_bytes()).map_err(Error::io(&path))
}

/// A word as a shell reads it back, whatever it holds.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Notes that there is a job, and what the scheduler said to that.
pub(crate) fn note_submitted(folder: &Path, answer: &str) -> Result<()> {
    let path = folder.join(SUBMITTED);
    fs::write(&path, format!("{answer}\n")).map_err(Error::io(&path))
}

/// Whether it is known that there is, or was, a job.
pub(crate) fn is_submitted(folder: &Path) -> bool {
    folder.join(SUBMITTED).exists() || is_claimed(folder)
}

/// Whether somebody may run the command, or has given it up.
pub(crate) fn is_claimed(folder: &Path) -> bool {
    folder.join(CLAIM).exists()
}

/// Claims the right to run the command, or to say that nobody will. False if somebody has it already:
/// two jobs for one attempt meet here, wherever they run.
pub(crate) fn claim(folder: &Path, purpose: &str) -> Result<bool> {
    let path = folder.join(CLAIM);
    let mut file = match File::create_new(&path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
        file => file.map_err(Error::io(&path))?,
    };
    // For people: the file itself is what counts.
    let _ = writeln!(file, "{purpose} on {} as process {}", host_name(), std::process::id());
    let _ = file.sync_all();
    Ok(true)
}

/// Shows that the supervisor lives, by a count that moves on. Ends when the value is dropped.
pub(super) struct Beating {
    _alive: std::sync::mpsc::Sender<()>,
}

impl Beating {
    pub(super) fn begin(folder: &Path, every: Duration) -> Self {
        use std::sync::mpsc::{RecvTimeoutError, channel};
        let (alive, over) = channel::<()>();
        let path = folder.join(ALIVE);
        let beat = move || {
            let mut count = 0_u64;
            loop {
                count += 1;
                // One that cannot be written is missed, like one that comes late.
                let _ = fs::write(&path, format!("{count}\n"));
                if over.recv_timeout(every) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        };
        // Without a thread the scheduler's word alone counts.
        let _ = std::thread::Builder::new().name("alive".to_owned()).spawn(beat);
        Self { _alive: alive }
    }
}

/// What the supervisor wrote last to show that it lives.
pub(crate) fn last_beat(folder: &Path) -> Option<String> {
    fs::read_to_string(folder.join(ALIVE)).ok()
}

/// `queue.json`: what a scheduler said last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Said {
    pub(crate) state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

impl Said {
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        folder::replace_json(&folder.join(QUEUE), self)
    }

    pub(crate) fn read(folder: &Path) -> Option<Self> {
        folder::read_json(&folder.join(QUEUE)).ok().flatten()
    }
}

/// As in `queued (Resources)`.
impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.reason {
            Some(reason) => write!(f, "{} ({reason})", self.state),
            None => write!(f, "{}", self.state),
        }
    }
}

/// `dead.json`: why no result will come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Verdict {
    pub(crate) kind: VerdictKind,
    pub(crate) reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum VerdictKind {
    /// The job is gone.
    Gone,
    /// The scheduler ended it because it exceeded a limit.
    Exceeded,
    /// The scheduler does not take it.
    Refused,
    /// Somebody wanted it to be stopped before it began.
    Stopped,
}

impl Verdict {
    /// Makes the verdict last. From then on, a job that turns up nevertheless stops its command.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        let stop = folder.join(folder::STOP);
        File::create(&stop).map_err(Error::io(&stop))?;
        folder::replace_json(&folder.join(DEAD), self)
    }

    pub(super) fn read(folder: &Path) -> Result<Option<Self>> {
        folder::read_json(&folder.join(DEAD))
    }
}

/// Makes a network file system look again at what is in a folder: it may believe for a minute that a
/// file is not there.
pub(crate) fn look_again(folder: &Path) {
    let _ = fs::read_dir(folder).map(Iterator::count);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_claims_an_attempt() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_claimed(folder.path()));
        let claims: Vec<bool> = std::thread::scope(|scope| {
            let claim = || claim(folder.path(), "supervisor").unwrap();
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(claim)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(claims.iter().filter(|claimed| **claimed).count(), 1);
        assert!(is_claimed(folder.path()) && is_submitted(folder.path()));
    }

    #[test]
    fn a_script_runs_its_words_whatever_they_hold() {
        let folder = tempfile::tempdir().unwrap();
        let word = "a 'b' $HOME `c` \"d\"\n*";
        let argv = ["printf".to_owned(), "%s".to_owned(), word.to_owned()];
        write_script(folder.path(), &argv).unwrap();
        let output = std::process::Command::new(script(folder.path())).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
    }

    #[test]
    fn a_supervisor_shows_that_it_lives_until_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let beating = Beating::begin(folder.path(), Duration::from_millis(1));
        let began = std::time::Instant::now();
        while last_beat(folder.path()).is_none_or(|beat| beat.trim().parse().unwrap_or(0) < 3) {
            assert!(began.elapsed() < Duration::from_secs(60), "it does not beat");
            std::thread::yield_now();
        }
        drop(beating);
    }
}
