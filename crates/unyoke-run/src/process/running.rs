//! A command under way: started in a group of its own, watched until all of it is gone.

use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, Read};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use super::capture::Capture;
use super::channel::{Channel, Printed};
use super::launch::{self, launcher, located};
use super::outcome::{Exit, Failure};
use super::spec::Order;
use super::system::{self, Group};
use super::{custody, folder, job, orphan};
use crate::error::{Error, Result};

/// How often it is looked whether somebody wants the command to stop.
const TICK: Duration = Duration::from_millis(200);

/// For a killed process to disappear, which takes longer only if the system hangs.
const DEATH: Duration = Duration::from_secs(30);

/// What a command does not inherit: it may be somebody else's program.
const SECRETS: [&str; 2] = ["PGPASSWORD", custody::STORE];

/// Read from one channel before looking at anything else.
const TURN: usize = 1 << 20;

/// What a command left behind.
pub(super) struct Ending {
    pub(super) exit: Exit,
    /// Why it did not end by itself, or did not begin.
    pub(super) interrupted: Option<Failure>,
    pub(super) stdout: Printed,
    pub(super) stderr: Printed,
}

impl Ending {
    pub(super) fn never_began(failure: Failure) -> Self {
        let (stdout, stderr) = Default::default();
        Self { exit: Exit::NeverBegan, interrupted: Some(failure), stdout, stderr }
    }
}

/// A command under way.
pub(super) struct Running {
    child: Child,
    group: Group,
    exited: PipeReader,
    stdout: Channel,
    stderr: Channel,
    stop: PathBuf,
}

/// How far a command has come.
enum Phase {
    /// It may go on until it ends by itself, or its time is over.
    Free,
    /// It was asked to end.
    Asked,
    /// It was killed.
    Killed,
}

impl Running {
    /// Stays with the command until it is gone, with all that it started.
    pub(super) fn watch(mut self, order: &Order) -> Ending {
        let timeout = order.timeout_ms.map(Duration::from_millis);
        let (mut phase, mut until) = (Phase::Free, timeout.and_then(from_now));
        let mut interrupted = None;
        loop {
            self.sleep(until);
            self.stdout.drain(TURN);
            self.stderr.drain(TURN);
            if self.has_exited() {
                break;
            }
            let over = until.is_some_and(|until| until <= Instant::now());
            match phase {
                Phase::Free => {
                    let timed_out = timeout.filter(|_| over).map(|timeout| timeout.as_secs_f64());
                    let timed_out = timed_out.map(|seconds| Failure::TimedOut { seconds });
                    interrupted = timed_out.or_else(|| self.stop_request());
                    if interrupted.is_some() {
                        // Fails if there is nobody left, which is as well; so below.
                        let _ = self.group.ask_to_end();
                        (phase, until) = (Phase::Asked, from_now(order.grace()));
                    }
                }
                Phase::Asked if over => {
                    let _ = self.group.kill();
                    (phase, until) = (Phase::Killed, from_now(DEATH));
                }
                Phase::Killed if over => break,
                Phase::Asked | Phase::Killed => {}
            }
        }
        self.end(interrupted)
    }

    /// Waits for anything to happen, for a tick at most.
    fn sleep(&self, until: Option<Instant>) {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let pause = left.map_or(TICK, |left| left.min(TICK));
        let streams = [self.stdout.source(), self.stderr.source(), Some(self.exited.as_fd())];
        system::await_any(streams.into_iter().flatten(), pause);
    }

    fn has_exited(&mut self) -> bool {
        !matches!(self.exited.read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock)
    }

    /// Somebody may want it to end.
    fn stop_request(&self) -> Option<Failure> {
        self.stop.exists().then_some(Failure::Stopped)
    }

    /// Ends what the command left running, reads what is left to read.
    fn end(mut self, interrupted: Option<Failure>) -> Ending {
        let _ = self.group.kill();
        // To the end of what is there, not of the stream: a process that left the group may keep
        // the other end open indefinitely. What was printed in time fits into the pipe.
        self.stdout.drain(TURN);
        self.stderr.drain(TURN);
        let status = match self.has_exited() {
            true => self.child.wait().ok(),
            false => None,
        };
        Ending {
            exit: status.map_or(Exit::Unknown, exit_of),
            interrupted,
            stdout: self.stdout.finish(),
            stderr: self.stderr.finish(),
        }
    }
}

/// A time too far away to be told is never.
fn from_now(time: Duration) -> Option<Instant> {
    Instant::now().checked_add(time)
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Unknown,
    }
}

/// Starts the command. The outer error is ours, the inner one the command's.
pub(super) fn start(folder: &Path, order: &Order) -> Result<Result<Running, Failure>> {
    if !order.directory.is_dir() {
        let directory = order.directory.display().to_string();
        return Ok(Err(Failure::NoDirectory { directory }));
    }
    let stdout = Capture::new(create(folder, folder::STDOUT)?);
    let stderr = Capture::new(create(folder, folder::STDERR)?);
    let (waiter, exited) = await_exit().map_err(Error::io(folder))?;
    let mut child = match spawn(folder, order)? {
        Ok(child) => child,
        Err(error) => return Ok(Err(refusal(order, &error))),
    };
    let group = Group::of(&child);
    let _ = waiter.send(group);
    let stdout = Channel::new(child.stdout.take(), stdout).map_err(Error::io(folder))?;
    let stderr = Channel::new(child.stderr.take(), stderr).map_err(Error::io(folder))?;
    let stop = folder.join(folder::STOP);
    Ok(Ok(Running { child, group, exited, stdout, stderr, stop }))
}

fn create(folder: &Path, name: &str) -> Result<File> {
    let path = folder.join(name);
    File::create(&path).map_err(Error::io(&path))
}

fn spawn(folder: &Path, order: &Order) -> Result<io::Result<Child>> {
    let path = folder.join(folder::COMMAND_LOCK);
    // Created for writing, handed on for reading only.
    File::create(&path).map_err(Error::io(&path))?;
    let stdin = File::open(&path).map_err(Error::io(&path))?;
    match stdin.lock() {
        // Not every network file system has locks, and nobody looks for those of a job.
        Err(error) if !job::is_job(folder) => return Err(Error::io(&path)(error)),
        _ => {}
    }
    let mut command = match launcher() {
        Ok(command) => command,
        Err(error) => return Ok(Err(error)),
    };
    for secret in SECRETS {
        command.env_remove(secret);
    }
    command
        .current_dir(&order.directory)
        .envs(&order.env)
        .env(orphan::MARK, folder.join(folder::DESIGN))
        .env("UNYOKE_RESULT", folder.join(folder::RESULT))
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    Ok(command.spawn())
}

/// Why the command never began, if it did not.
pub(super) fn never_began(folder: &Path, order: &Order) -> Option<Failure> {
    launch::refusal(folder).map(|error| refusal(order, &error))
}

fn refusal(order: &Order, error: &io::Error) -> Failure {
    let program = order.argv.first().cloned().unwrap_or_default();
    let exists = program.contains('/') && located(&program, &order.directory).exists();
    match error.kind() {
        ErrorKind::NotFound if exists => {
            let reason = "the interpreter on its first line was not found".to_owned();
            Failure::CannotStart { program, reason }
        }
        ErrorKind::NotFound => Failure::NotFound { program },
        ErrorKind::PermissionDenied => Failure::NotExecutable { program },
        _ => Failure::CannotStart { program, reason: error.to_string() },
    }
}

/// A thread that waits for a process and then closes a pipe, so that the end of the process is
/// one more thing to poll for. It is there before the process, lest it cannot be had afterwards.
fn await_exit() -> io::Result<(Sender<Group>, PipeReader)> {
    let (reader, writer) = io::pipe()?;
    let (sender, receiver): (_, Receiver<Group>) = mpsc::channel();
    std::thread::Builder::new().spawn(move || {
        if let Ok(group) = receiver.recv() {
            group.await_leader();
        }
        drop(writer);
    })?;
    system::never_block(&reader)?;
    Ok((sender, reader))
}
