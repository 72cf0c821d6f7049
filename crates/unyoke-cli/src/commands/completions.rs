//! `unyoke completions`: scripts by which shells complete arguments. The only file that names
//! `clap_complete`.

use std::process::ExitCode;

use crate::failure::Failure;
use crate::output::say;

pub(crate) use clap_complete::Shell;

/// Completes the arguments of `program`.
pub(crate) fn run(shell: Shell, program: &mut clap::Command) -> Result<ExitCode, Failure> {
    let mut script = vec![];
    clap_complete::generate(shell, program, "unyoke", &mut script);
    say(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
