//! `unyoke report`: the study as one page.

use clap::Args;
use serde_json::json;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use unyoke::Journal;
use unyoke_run::{Limits, Looked, StudyFile};
use unyoke_view::{Background, StudyReport};

use crate::arguments::StudyArgument;
use crate::failure::Failure;
use crate::live::Busy;
use crate::output::{Form, say, say_json};
use crate::words::count;

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
    let evaluations = count(looked.study.evaluations().len(), "evaluation");
    let busy = Busy::with(format!("writing the report on {evaluations}"));
    let html = report(file, looked)?.page().html();
    drop(busy);
    replace(path, html.as_bytes()).map_err(|error| Failure::file(path, &error))?;
    Ok(path.to_owned())
}

/// What there is to say about the study as it stands.
fn report(file: &StudyFile, Looked { study, store, .. }: &Looked) -> Result<StudyReport, Failure> {
    let background = Background {
        name: file.name.clone(),
        study_file: Some(file.path().display().to_string()),
        store: file.store.to_string(),
        budget: file.budget.cost,
    };
    let records = store.read(0).map_err(unyoke::Error::from)?;
    let limits = Limits::new(&file.budget, &file.run, vec![]);
    let allowed = study.suggest_where(|study, which| limits.permission(study, which))?;
    Ok(StudyReport::new(study, &records, background, allowed.as_ref())?)
}

/// Writes a file in full or not at all. A link is not followed: whoever may write to the folder
/// could otherwise have us overwrite any file of ours.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_symlink() => {
            let reason = "is a symbolic link, which is not followed; remove it, or name the file";
            return Err(io::Error::other(reason));
        }
        // A device or a pipe cannot be replaced.
        Ok(metadata) if !metadata.is_file() => return std::fs::write(path, content),
        _ => {}
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(content)?;
    file.persist(path)?;
    Ok(())
}
