//! `unyoke report`: the study as one page.

use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use unyoke_lab::report::page;
use unyoke_run::{Looked, StudyFile};

use crate::arguments::StudyArgument;
use crate::commands::study_report::report;
use crate::failure::Failure;
use crate::output::{Form, say, say_json};

/// Arguments of `unyoke report`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke report                    writes study.html beside study.toml
  unyoke report --out week12.html

The page needs nothing beside it, and follows the reader's choice of light or dark.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    study: StudyArgument,
    /// Where to write the page.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let file = arguments.study.read()?;
    let looked = file.look()?;
    let path = match &arguments.out {
        Some(path) => write_to(path, &file, &looked)?,
        None => write(&file, &looked)?,
    };
    match form {
        Form::Json => say_json(&json!({ "report": path.to_string_lossy() }))?,
        Form::Table => say(&path.display().to_string())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the page beside the study file.
pub(crate) fn write(file: &StudyFile, looked: &Looked) -> Result<PathBuf, Failure> {
    write_to(&file.path().with_extension("html"), file, looked)
}

fn write_to(path: &Path, file: &StudyFile, looked: &Looked) -> Result<PathBuf, Failure> {
    let html = page(&report(file, looked)?);
    std::fs::write(path, html).map_err(|error| Failure::file(path, &error))?;
    Ok(path.to_owned())
}
