//! The project's own commands.
//!
//! - `cargo xtask test`: everything that must pass before a change lands.
//! - `cargo xtask bench [FILTER]`: the benchmarks, as the table of `docs/performance.md`.
//! - `cargo xtask postgres COMMAND...`: a command with the database server that tests use.
//! - `cargo xtask soak`: programs that are killed again and again.

mod bench;
mod postgres;
mod test;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The long form of the tests that kill programs.
const SOAK: [&str; 8] =
    ["cargo", "test", "--workspace", "--test", "killing", "--", "--ignored", "--nocapture"];

/// Why a task failed, in words for the terminal.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test"] => test::all(),
        ["bench"] => bench::all(None),
        ["bench", filter] => bench::all(Some(filter)),
        ["postgres", command @ ..] => postgres::with(command),
        ["soak"] => postgres::with(&SOAK),
        _ => {
            Err("usage: cargo xtask test | bench [FILTER] | postgres COMMAND... | soak".to_owned())
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the workspace.
fn root() -> PathBuf {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().map_or_else(PathBuf::new, PathBuf::from)
}

/// A cargo command that runs at the root of the workspace.
fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Runs a command to its end and fails unless it succeeds.
fn run(command: &mut Command) -> Outcome {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?} ended with {status}")),
        Err(error) => Err(format!("{command:?} did not start: {error}")),
    }
}
