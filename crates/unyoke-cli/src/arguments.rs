//! Arguments that several commands take.

use clap::Args;
use std::path::PathBuf;
use unyoke_run::StudyFile;

use crate::failure::Failure;

/// The study file, as most commands take it.
#[derive(Debug, Args)]
pub(crate) struct StudyArgument {
    /// The study file.
    #[arg(value_name = "FILE", default_value = "study.toml")]
    path: PathBuf,
}

/// The study file, for commands that take other things first.
#[derive(Debug, Args)]
pub(crate) struct StudyOption {
    /// The study file.
    #[arg(long = "study", short = 's', value_name = "FILE", default_value = "study.toml")]
    path: PathBuf,
}

impl StudyArgument {
    /// The file, read and checked.
    pub(crate) fn read(&self) -> Result<StudyFile, Failure> {
        StudyFile::read(&self.path).map_err(Failure::StudyFile)
    }
}

impl StudyOption {
    /// The file, read and checked.
    pub(crate) fn read(&self) -> Result<StudyFile, Failure> {
        StudyFile::read(&self.path).map_err(Failure::StudyFile)
    }
}
