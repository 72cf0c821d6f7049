//! `unyoke schema`: the JSON Schema of study files.

use std::process::ExitCode;

use crate::failure::Failure;
use crate::output::say;

pub(crate) fn run() -> Result<ExitCode, Failure> {
    say(unyoke_run::schema())?;
    Ok(ExitCode::SUCCESS)
}
