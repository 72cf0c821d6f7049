//! `unyoke completions`: scripts by which shells complete arguments. The only file that names
//! `clap_complete`.

use clap::CommandFactory;
use std::process::ExitCode;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::output::say;

pub(crate) use clap_complete::Shell;

pub(crate) fn run(shell: Shell) -> Result<ExitCode, Failure> {
    let mut script = vec![];
    clap_complete::generate(shell, &mut Arguments::command(), "unyoke", &mut script);
    say(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
