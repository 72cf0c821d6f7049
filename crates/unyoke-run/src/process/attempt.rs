//! Attempts as seen by the program that wants their results: start, find again, wait, stop.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde::Deserialize;
use unyoke::Evaluation;
use unyoke_store::Location;

use super::job::{JobRecord, Said, Verdict, VerdictKind};
use super::outcome::{Measured, Outcome};
use super::spec::{Asked, Spec};
use super::{custody, folder, job, orphan};
use crate::error::{Error, Result};

/// What to start as a supervisor: a program that calls [`supervise`](crate::supervise) with the
/// folder that it is given as its last argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supervisor {
    program: PathBuf,
    arguments: Vec<OsString>,
    /// Where the study is, if the supervisor should look after its lease when we are gone.
    store: Option<Location>,
}

impl Supervisor {
    /// Another program.
    pub fn new<A: Into<OsString>>(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Self { program: program.into(), arguments, store: None }
    }

    /// The same for a study in a database, which goes on elsewhere when this program is killed: the
    /// supervisor then keeps the lease of its evaluation, and hands in the value. A study in a file
    /// goes on here, where the next program finds the folder.
    #[must_use]
    pub fn of_study_at(mut self, location: &Location) -> Self {
        self.store = Some(location.clone()).filter(|at| matches!(at, Location::Postgres(_)));
        self
    }

    /// Whether it looks after the lease of its evaluation when the program is gone.
    pub(crate) fn keeps_leases(&self) -> bool {
        self.store.is_some()
    }

    /// The program that is running, with a subcommand for the purpose.
    pub fn this_program(subcommand: &str) -> Result<Self> {
        let program = std::env::current_exe().map_err(Error::io("the running program"))?;
        Ok(Self::new(program, [subcommand]))
    }
}

/// For a killed process to disappear, before it is looked for again.
const PAUSE: Duration = Duration::from_millis(10);

/// Between two looks whether a job of a scheduler that nobody asks has left a result.
const LOOK: Duration = Duration::from_millis(500);

/// How an attempt stands.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum State {
    /// It was never begun.
    NotStarted,
    /// Its supervisor is alive, or will be when its job begins.
    Running,
    /// Its supervisor died, but something that the command started is still there. There will be no
    /// result; to start it again now would be to run it twice at once.
    Orphaned,
    /// It came to its end.
    Finished(Box<Outcome>),
    /// Nobody works on it any more, and there is no result.
    Dead(Death),
}

/// Why an attempt ended without even a failure to show.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Death {
    /// The supervisor was killed, or never began, or had to give up.
    Vanished {
        /// Its last words, if it had any.
        said: Option<String>,
    },
    /// The same before the command began: nothing was measured, and nothing is paid.
    NeverBegan {
        /// The last words of the supervisor, if it had any.
        said: Option<String>,
    },
    /// A job of a scheduler is gone, after its command had begun.
    Lost {
        /// What the scheduler said.
        reason: String,
    },
    /// The same before the command began: nothing was measured, and nothing is paid.
    NeverRan {
        /// What the scheduler said.
        reason: String,
    },
    /// A scheduler ended the job because it exceeded a limit, such as its time or memory.
    Exceeded {
        /// What the scheduler said.
        reason: String,
    },
    /// A scheduler does not take the job. Nothing was measured, and nothing is paid.
    Refused {
        /// What the scheduler said.
        reason: String,
    },
    /// Somebody stopped the job before it began.
    Stopped,
    /// There is an `exit.json` that cannot be read.
    Damaged {
        /// What is wrong with it.
        reason: String,
    },
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vanished { said: None } => write!(f, "the supervisor disappeared"),
            Self::NeverBegan { said: None } => {
                write!(f, "the supervisor disappeared before the command began")
            }
            Self::Vanished { said: Some(said) } | Self::NeverBegan { said: Some(said) } => {
                write!(f, "the supervisor gave up: {said}")
            }
            Self::Lost { reason } | Self::NeverRan { reason } => write!(f, "{reason}"),
            Self::Exceeded { reason } | Self::Refused { reason } => write!(f, "{reason}"),
            Self::Stopped => write!(f, "it was stopped before it began"),
            Self::Damaged { reason } => write!(f, "the outcome cannot be read: {reason}"),
        }
    }
}

/// An attempt at an evaluation, started here or by somebody who is no longer there.
///
/// Dropping it does not stop it.
///
/// ```no_run
/// use unyoke::Design;
/// use unyoke_run::{Attempt, Layout, Spec, State, StudyFile, Supervisor};
///
/// let file = StudyFile::read("study.toml")?;
/// let mass = file.measurement_run("mass").ok_or("there is no such measurement")?;
/// let layout = Layout::new(file.folder.join("runs"));
/// let folder = layout.attempt(12, 1);
/// let mut attempt = match Attempt::find(&folder)? {
///     State::NotStarted => {
///         let spec = Spec::new(mass, &Design::new().with("length", 0.5), 12, 1)?;
///         Attempt::start(&folder, &spec, &Supervisor::this_program("supervise")?)?
///     }
///     _ => Attempt::open(folder),
/// };
/// if let State::Finished(outcome) = attempt.wait()? {
///     println!("{:?}", outcome.result);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Attempt {
    folder: PathBuf,
    /// The supervisor, until it is reaped; none if somebody else started it.
    supervisor: Option<Child>,
}

impl Attempt {
    /// Starts an attempt in a folder that must not exist yet; see [`Layout`](crate::Layout).
    pub fn start(folder: &Path, spec: &Spec, supervisor: &Supervisor) -> Result<Self> {
        let folder = std::path::absolute(folder).map_err(Error::io(folder))?;
        let Prepared { lock, log } = prepare(&folder, spec, lock_and_log)?;
        let mut command = Command::new(&supervisor.program);
        if let Some(store) = &supervisor.store {
            command.env(custody::STORE, store.with_password());
        }
        let child = command
            .args(&supervisor.arguments)
            .arg(&folder)
            // The lock goes with it: it is held from before the folder had its name until the
            // supervisor is gone, without a gap.
            .stdin(Stdio::from(lock))
            .stdout(Stdio::null())
            .stderr(Stdio::from(log))
            // Out of reach of Ctrl-C in our terminal.
            .process_group(0)
            .spawn()
            .map_err(|source| Error::Supervisor { program: supervisor.program.clone(), source })?;
        Ok(Self { folder, supervisor: Some(child) })
    }

    /// Prepares an attempt as a job that a scheduler is to start. Its name is on the disk, whatever
    /// happens next; it may be submitted more than once, and runs once.
    pub(crate) fn prepare_job(
        folder: &Path,
        spec: &Spec,
        supervisor: &Supervisor,
        record: &JobRecord,
    ) -> Result<PathBuf> {
        let folder = std::path::absolute(folder).map_err(Error::io(folder))?;
        let text = |word: &std::ffi::OsStr| {
            let unreadable = || Error::bad_file(&folder)("jobs need paths that are UTF-8 text");
            word.to_str().map(str::to_owned).ok_or_else(unreadable)
        };
        let words = std::iter::once(supervisor.program.as_os_str())
            .chain(supervisor.arguments.iter().map(OsString::as_os_str))
            .chain([folder.as_os_str()]);
        let argv = words.map(text).collect::<Result<Vec<String>>>()?;
        prepare(&folder, spec, |staging| {
            record.write(staging)?;
            job::write_script(staging, &argv)
        })?;
        Ok(folder)
    }

    /// Whether an attempt that was begun is a job of a scheduler.
    pub(crate) fn is_job(folder: &Path) -> bool {
        job::is_job(folder)
    }

    /// Whether nothing more is to be expected of a job, one way or the other.
    pub(crate) fn is_settled(folder: &Path) -> bool {
        !matches!(state(folder), Ok(State::Running))
    }

    /// An attempt that was started earlier, perhaps.
    pub fn open(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), supervisor: None }
    }

    /// How an attempt stands that was started earlier, perhaps.
    pub fn find(folder: &Path) -> Result<State> {
        state(folder)
    }

    /// What an attempt that was started earlier has to do with an evaluation, which makes the
    /// measurement of this name.
    pub(crate) fn relation(
        folder: &Path,
        measurement: &str,
        evaluation: &Evaluation,
    ) -> Result<Relation> {
        let relation = |asked: &Asked| {
            if asked.measurement != measurement || asked.design != evaluation.design {
                Relation::Foreign
            } else if asked.retry < evaluation.retried {
                Relation::Earlier
            } else {
                Relation::Current
            }
        };
        let certified = match folder::read_json(&folder.join(folder::EXIT)) {
            Ok(Some(Certified { measured: Some(measured) })) => return Ok(relation(&measured)),
            Ok(certified) => certified.is_some(),
            // A damaged one says nothing.
            Err(Error::BadFile { .. }) => false,
            Err(error) => return Err(error),
        };
        match folder::read_json::<Asked>(&folder.join(folder::DESIGN)) {
            Ok(Some(asked)) => Ok(relation(&asked)),
            Ok(None) | Err(Error::BadFile { .. }) if certified => Ok(Relation::Foreign),
            // Torn when the system went down, with the attempt, which left no result.
            Ok(None) | Err(Error::BadFile { .. }) => Ok(Relation::Current),
            Err(error) => Err(error),
        }
    }

    /// Where an attempt is, and as which process it runs, for people who wonder what is waited for.
    pub(crate) fn whereabouts(folder: &Path) -> String {
        if let Ok(Some(record)) = JobRecord::read(folder) {
            return format!("which is the job {} for {}", record.name, folder.display());
        }
        let group = fs::read_to_string(folder.join(folder::GROUP)).unwrap_or_default();
        let process = match group.trim() {
            "" => String::new(),
            group => format!(" as process {group}"),
        };
        format!("which runs in {}{process}", folder.display())
    }

    /// Where its files are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The process number of the supervisor, if it was started here and has not been reaped.
    pub fn supervisor_id(&self) -> Option<u32> {
        self.supervisor.as_ref().map(Child::id)
    }

    /// How it stands now.
    pub fn poll(&mut self) -> Result<State> {
        if let Some(child) = &mut self.supervisor
            && !matches!(child.try_wait(), Ok(None))
        {
            self.supervisor = None;
        }
        state(&self.folder)
    }

    /// How it stands once nothing of it is running. What an orphan still runs is killed: nobody
    /// would stop it when its time is over, and it cannot give a result.
    pub fn wait(&mut self) -> Result<State> {
        if let Some(mut child) = self.supervisor.take() {
            child.wait().map_err(Error::io(&self.folder))?;
        }
        loop {
            match state(&self.folder)? {
                State::Running if job::is_job(&self.folder) => std::thread::sleep(LOOK),
                State::Running => folder::wait_for_lock(&self.folder.join(folder::LOCK))?,
                State::Orphaned => {
                    if !orphan::kill(&self.folder) {
                        folder::wait_for_lock(&self.folder.join(folder::COMMAND_LOCK))?;
                    }
                    std::thread::sleep(PAUSE);
                }
                settled => return Ok(settled),
            }
        }
    }

    /// Asks for the command to be stopped and returns at once; [`wait`](Self::wait) tells when it
    /// was. An attempt that is not running is left as it is.
    pub fn stop(&mut self) -> Result<()> {
        match self.poll()? {
            State::Running => {
                let path = self.folder.join(folder::STOP);
                File::create(&path).map(drop).map_err(Error::io(&path))
            }
            State::Orphaned if orphan::kill(&self.folder) => Ok(()),
            State::Orphaned => Err(self.unknown_orphan()),
            _ => Ok(()),
        }
    }
}

impl Attempt {
    /// An orphan of which it is not beyond doubt which processes it is.
    fn unknown_orphan(&self) -> Error {
        let group = fs::read_to_string(self.folder.join(folder::GROUP)).ok();
        let group = group.and_then(|text| text.trim().parse().ok());
        Error::Orphan { folder: self.folder.clone(), group }
    }
}

impl Drop for Attempt {
    /// Somebody must reap the supervisor when it ends, or it stays as a zombie.
    fn drop(&mut self) {
        if let Some(mut child) = self.supervisor.take()
            && matches!(child.try_wait(), Ok(None))
        {
            // Without a thread there is a zombie until this program ends; nothing worse.
            let _ = std::thread::Builder::new().spawn(move || child.wait());
        }
    }
}

/// The job of the last attempt at an evaluation, and what its scheduler said about it last, as in
/// `unyoke-beam-12-1-8c01f2aa queued (Resources)`. `None` if there is no job, or not any more.
pub fn job_of(layout: &folder::Layout, evaluation: u64) -> Option<String> {
    let attempt = layout.attempts(evaluation).ok()?.pop()?;
    let folder = layout.attempt(evaluation, attempt);
    let name = JobRecord::read(&folder).ok()??.name;
    if Attempt::is_settled(&folder) {
        return None;
    }
    let said = Said::read(&folder).map_or_else(String::new, |said| format!(" {said}"));
    Some(format!("{name}{said}"))
}

/// What an attempt has to do with an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    /// It is one at this evaluation.
    Current,
    /// The same, but the evaluation has been made pending again since.
    Earlier,
    /// It measures something else.
    Foreign,
}

/// What `exit.json` says of the evaluation; earlier versions did not say it.
#[derive(Debug, Deserialize)]
struct Certified {
    measured: Option<Asked>,
}

/// What the supervisor inherits.
struct Prepared {
    lock: File,
    log: File,
}

/// The lock of a folder that is being prepared, taken, and the log of its supervisor.
fn lock_and_log(staging: &Path) -> Result<Prepared> {
    let path = staging.join(folder::SUPERVISOR);
    let log = File::create_new(&path).map_err(Error::io(&path))?;
    let path = staging.join(folder::LOCK);
    let lock = File::create_new(&path).and_then(|file| file.lock().map(|()| file));
    Ok(Prepared { lock: lock.map_err(Error::io(&path))?, log })
}

/// Makes the folder appear complete, with all that `complete` adds to it, in one step. If there is no
/// room for it, nothing appears.
fn prepare<T>(folder: &Path, spec: &Spec, complete: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    let parent = folder.parent().unwrap_or(folder);
    fs::create_dir_all(parent).map_err(Error::io(parent))?;
    let staging = tempfile::Builder::new()
        .prefix(".starting-")
        .permissions(Permissions::from_mode(0o777))
        .tempdir_in(parent)
        .map_err(Error::io(parent))?;
    folder::write_json(&staging.path().join(folder::DESIGN), &spec.design_file())?;
    // It may hold what only the command should know.
    folder::write_private_json(&staging.path().join(folder::COMMAND), &spec.order())?;
    let completed = complete(staging.path())?;
    if let Err(error) = fs::rename(staging.path(), folder) {
        return Err(match error.kind() {
            ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                Error::AlreadyStarted { folder: folder.to_owned() }
            }
            _ => Error::io(folder)(error),
        });
    }
    // It has another name now and must not be removed under the old one.
    let _ = staging.keep();
    // The name lasts, so that an attempt that takes the machine down with it is counted. Its content
    // need not: what was measured stands in `exit.json` as well.
    folder::sync_folder(parent)?;
    Ok(completed)
}

/// May call it running for an instant too long, when another thread is just starting a process
/// that has a copy of the lock until its program is loaded; never dead an instant too early.
fn state(folder: &Path) -> Result<State> {
    if let Recorded::Outcome(outcome) = recorded(folder)? {
        return Ok(State::Finished(outcome));
    }
    // A folder appears complete and locked. So if it is there now, a lock that is free next was
    // given up, and not just about to be taken.
    if !folder.try_exists().map_err(Error::io(folder))? {
        return Ok(State::NotStarted);
    }
    if job::is_job(folder) {
        return job_state(folder);
    }
    if folder::is_locked(&folder.join(folder::LOCK))? {
        return Ok(State::Running);
    }
    // It may have finished between the first look and the second: only now is there nobody left
    // who could write an outcome.
    match recorded(folder)? {
        Recorded::Outcome(outcome) => return Ok(State::Finished(outcome)),
        Recorded::Damaged(reason) => return Ok(State::Dead(Death::Damaged { reason })),
        Recorded::Nothing => {}
    }
    if folder::is_locked(&folder.join(folder::COMMAND_LOCK))? || orphan::exists(folder) {
        return Ok(State::Orphaned);
    }
    let said = last_words(folder);
    let has_begun = folder.join(folder::GROUP).exists();
    Ok(State::Dead(match has_begun {
        true => Death::Vanished { said },
        false => Death::NeverBegan { said },
    }))
}

/// The same for a job of a scheduler: it is awaited until somebody who asked the scheduler has written
/// down that nothing will come.
fn job_state(folder: &Path) -> Result<State> {
    let verdict = match Verdict::read(folder) {
        Err(Error::BadFile { reason, .. }) => Some(Verdict { kind: VerdictKind::Gone, reason }),
        verdict => verdict?,
    };
    // It may have finished between the first look and this one.
    match recorded(folder)? {
        Recorded::Outcome(outcome) => return Ok(State::Finished(outcome)),
        Recorded::Damaged(reason) => return Ok(State::Dead(Death::Damaged { reason })),
        Recorded::Nothing => {}
    }
    let Some(Verdict { kind, reason }) = verdict else { return Ok(State::Running) };
    let has_begun = folder.join(folder::GROUP).exists();
    Ok(State::Dead(match kind {
        VerdictKind::Gone if has_begun => Death::Lost { reason },
        VerdictKind::Gone => Death::NeverRan { reason },
        VerdictKind::Exceeded => Death::Exceeded { reason },
        VerdictKind::Refused => Death::Refused { reason },
        VerdictKind::Stopped => Death::Stopped,
    }))
}

/// What there is of `exit.json`.
enum Recorded {
    Nothing,
    Outcome(Box<Outcome>),
    Damaged(String),
}

fn recorded(folder: &Path) -> Result<Recorded> {
    match folder::read_json(&folder.join(folder::EXIT)) {
        Ok(None) => Ok(Recorded::Nothing),
        Ok(Some(outcome)) => Ok(Recorded::Outcome(Box::new(with_name(outcome, folder)))),
        Err(Error::BadFile { reason, .. }) => Ok(Recorded::Damaged(reason)),
        Err(error) => Err(error),
    }
}

/// The outcome with the name of its value, which the first version left to `design.json`.
fn with_name(mut outcome: Outcome, folder: &Path) -> Outcome {
    if let Ok(Measured { values, .. }) = &mut outcome.result
        && let Some(value) = values.remove("")
    {
        let asked: Option<Asked> = folder::read_json(&folder.join(folder::DESIGN)).ok().flatten();
        values.insert(asked.map_or_else(String::new, |asked| asked.measurement), value);
    }
    outcome
}

fn last_words(folder: &Path) -> Option<String> {
    let log = fs::read(folder.join(folder::SUPERVISOR)).ok()?;
    super::number::quote_last_line(&log)
}
