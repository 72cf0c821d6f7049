//! The step between supervisor and command: the supervisor starts its own program once more, which
//! ties itself to the supervisor and then becomes the command.
//!
//! A command thus ends when its supervisor does, however that ends: it never runs without anybody
//! who would stop it in time, or start it a second time. What the command started in turn is found
//! in `orphan`.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use super::folder;
use super::spec::Order;
use super::system;
use crate::error::{Error, Result};

/// Tells the program that it is to become the command: the number of the supervisor.
const SUPERVISOR: &str = "UNYOKE_LAUNCHED_BY";

/// The program that is running, to be started as this step.
pub(super) fn launcher() -> io::Result<Command> {
    // Leads to the program that runs even if its file was replaced meanwhile.
    let running = Path::new("/proc/self/exe");
    let program = if running.exists() { running.to_owned() } else { std::env::current_exe()? };
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1)).env(SUPERVISOR, std::process::id().to_string());
    Ok(command)
}

/// Becomes the command of an attempt, if that is what this process was started for.
pub(super) fn become_command(folder: &Path) -> Option<ExitCode> {
    let supervisor = std::env::var(SUPERVISOR).ok()?;
    let refused = match try_become(folder, &supervisor) {
        Ok(refused) => refused,
        Err(error) => io::Error::other(error.to_string()),
    };
    // The supervisor reads why. Without a number there is only the text.
    let why = format!("{}\n{refused}\n", refused.raw_os_error().unwrap_or(0));
    let _ = std::fs::write(folder.join(folder::REFUSED), why);
    Some(ExitCode::FAILURE)
}

/// Returns only if that was refused.
fn try_become(folder: &Path, supervisor: &str) -> Result<io::Error> {
    let path = folder.join(folder::COMMAND);
    let order: Option<Order> = folder::read_json(&path)?;
    let order = order.ok_or_else(|| Error::bad_file(&path)("is missing"))?;
    let Some((program, arguments)) = order.argv.split_first() else {
        return Ok(io::ErrorKind::InvalidInput.into());
    };
    if !system::die_with_parent(supervisor).map_err(Error::io(folder))? {
        return Ok(io::Error::other("the supervisor has ended"));
    }
    // That it has begun, as which process group; for people too.
    let path = folder.join(folder::GROUP);
    std::fs::write(&path, format!("{}\n", std::process::id())).map_err(Error::io(&path))?;
    let mut command = Command::new(located(program, &order.directory));
    Ok(command.args(arguments).env_remove(SUPERVISOR).exec())
}

/// Why the command did not begin, if it did not.
pub(super) fn refusal(folder: &Path) -> Option<io::Error> {
    let why = std::fs::read_to_string(folder.join(folder::REFUSED)).ok()?;
    let (number, text) = why.split_once('\n').unwrap_or((&why, ""));
    Some(match number.parse() {
        Ok(number) if number != 0 => io::Error::from_raw_os_error(number),
        _ => io::Error::other(text.trim().to_owned()),
    })
}

/// A program named with a path is looked for where the command runs, on every system.
pub(super) fn located(program: &str, directory: &Path) -> PathBuf {
    if program.contains('/') { directory.join(program) } else { PathBuf::from(program) }
}
