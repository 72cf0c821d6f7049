//! The supervisor: owns one command from its start to `exit.json`.
//!
//! It runs in a process of its own. Everything it must know stands in the folder of the attempt,
//! everything it finds out is written there, and while it lives it holds the folder's lock.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;

use super::custody::Custody;
use super::folder::{self, Reserve};
use super::job::{self, Beating, JobRecord};
use super::outcome::{Exit, Failure, Outcome};
use super::results::Found;
use super::running::{Ending, never_began, start};
use super::spec::{Asked, Order};
use super::{launch, number, results};
use crate::error::{Error, Result};

/// How often, once a second, writing the outcome is tried while there is no room for it.
const TRIES: u32 = 600;

/// Runs the command of an attempt to its end and writes what became of it into `folder`.
///
/// This is the whole of the process that [`Attempt::start`](crate::Attempt::start) starts; a
/// program calls it and exits with what it returns. Failures of the command are outcomes, written
/// like any other; only a folder that cannot be read or written makes it fail.
pub fn supervise(folder: &Path) -> ExitCode {
    if let Some(code) = launch::become_command(folder) {
        return code;
    }
    match try_supervise(folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // There may be nobody to read it.
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn try_supervise(folder: &Path) -> Result<()> {
    let folder = &std::path::absolute(folder).map_err(Error::io(folder))?;
    let Some(_hold) = Hold::take(folder)? else { return Ok(()) };
    let path = folder.join(folder::COMMAND);
    let order: Option<Order> = folder::read_json(&path)?;
    let mut order = order.ok_or_else(|| Error::bad_file(&path)("is missing"))?;
    if order.format > Order::FORMAT {
        return Err(Error::bad_file(&path)("was written by a newer version"));
    }
    if folder.join(folder::EXIT).exists() {
        return Err(Error::AlreadyStarted { folder: folder.to_owned() });
    }
    let measured: Option<Asked> = folder::read_json(&folder.join(folder::DESIGN)).ok().flatten();
    if order.outputs.is_empty() {
        order.outputs.extend(measured.as_ref().map(|asked| asked.measurement.clone()));
    }
    let mut reserve = Reserve::new(folder)?;
    let custody = Custody::begin(folder);
    let outcome = carry_out(folder, &order)?;
    publish(&mut reserve, &Certificate { outcome: &outcome, measured })?;
    custody.map_or(Ok(()), |custody| custody.hand_in(&outcome))
}

/// The right to run the command of an attempt, until this is dropped.
enum Hold {
    /// A lock, which this machine sees.
    Locked { _lock: File },
    /// A claim and a sign of life, for whoever shares the folder.
    Claimed { _beating: Beating },
}

impl Hold {
    /// `None` if another job of the same attempt has it: there is nothing to do then.
    fn take(folder: &Path) -> Result<Option<Self>> {
        let Some(record) = JobRecord::read(folder)? else {
            return Ok(Some(Self::Locked { _lock: hold_lock(folder)? }));
        };
        let claimed = job::claim(folder, "supervisor")?;
        let beating = || Self::Claimed { _beating: Beating::begin(folder, record.beat()) };
        Ok(claimed.then(beating))
    }
}

/// The lock of the folder: inherited as standard input from whoever started us, so that there was
/// no moment without it, or taken now if we were started by hand.
fn hold_lock(folder: &Path) -> Result<File> {
    let path = folder.join(folder::LOCK);
    let file = File::open(&path).map_err(Error::io(&path))?;
    let stdin =
        io::stdin().as_fd().try_clone_to_owned().map(File::from).map_err(Error::io(&path))?;
    let identity = |file: &File| file.metadata().map(|data| (data.dev(), data.ino()));
    if identity(&stdin).ok() == identity(&file).ok() {
        return Ok(stdin);
    }
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(_) => Err(Error::AlreadyStarted { folder: folder.to_owned() }),
    }
}

/// `exit.json`: the outcome, and of what.
#[derive(Debug, Serialize)]
struct Certificate<'a> {
    #[serde(flatten)]
    outcome: &'a Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Asked>,
}

/// Writes the outcome, patiently: the result of a long computation is worth the wait for room.
fn publish(reserve: &mut Reserve, certificate: &Certificate<'_>) -> Result<()> {
    let mut tries = 0;
    loop {
        match reserve.publish(certificate) {
            Err(Error::DiskFull { .. }) if tries < TRIES => {
                std::thread::sleep(Duration::from_secs(1))
            }
            published => return published,
        }
        tries += 1;
    }
}

/// Runs the command and judges what it left behind.
fn carry_out(folder: &Path, order: &Order) -> Result<Outcome> {
    let (started, clock) = (SystemTime::now(), Instant::now());
    let ending = match start(folder, order)? {
        Ok(running) => running.watch(order),
        Err(failure) => Ending::never_began(failure),
    };
    let ending = never_began(folder, order).map_or(ending, Ending::never_began);
    let found = results::find(&order.outputs, &folder.join(folder::RESULT), &ending.stdout.tail);
    let Found { result, cost } = judge(&ending, found);
    Ok(Outcome {
        evaluation: order.evaluation,
        attempt: order.attempt,
        exit: ending.exit,
        started,
        ended: SystemTime::now(),
        duration: clock.elapsed(),
        stdout: ending.stdout.output,
        stderr: ending.stderr.output,
        result,
        cost,
    })
}

/// What was found, if the command ended by itself and well; otherwise only what it cost.
fn judge(ending: &Ending, found: Found) -> Found {
    let last_line = || number::quote_last_line(&ending.stderr.tail);
    let failure = match (&ending.interrupted, ending.exit) {
        (Some(interrupted), _) => interrupted.clone(),
        (None, Exit::Code(0)) => return found,
        (None, Exit::Code(code)) => Failure::Exit { code, last_line: last_line() },
        (None, Exit::Signal(signal)) => Failure::Signal { signal, last_line: last_line() },
        (None, Exit::NeverBegan | Exit::Unknown) => Failure::Lost,
    };
    Found { result: Err(failure), ..found }
}
