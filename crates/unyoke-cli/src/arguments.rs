//! Arguments that several commands take.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use unyoke_run::StudyFile;

use crate::failure::Failure;

/// Arguments as they were typed, but that a negative value with its error (`-3.25±0.5`) begins with a minus
/// sign in place of a hyphen: it is no option. Numbers alone are told apart by whoever takes them.
pub(crate) fn typed(arguments: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    arguments.map(|argument| match argument.to_str().and_then(|text| text.strip_prefix('-')) {
        Some(rest) if rest.starts_with(is_digit) && rest.parse::<f64>().is_err() => {
            format!("{MINUS}{rest}").into()
        }
        _ => argument,
    })
}

/// The minus sign of typesetters, which values from documents may have.
pub(crate) const MINUS: char = '\u{2212}';

fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || c == '.'
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_values_with_errors_are_no_options() {
        let typed = |text: &str| {
            let typed: Vec<OsString> = typed([OsString::from(text)].into_iter()).collect();
            typed[0].clone().into_string().unwrap()
        };
        for (text, seen) in [("-3.25±0.5", "−3.25±0.5"), ("-.5+-1", "−.5+-1"), ("-3,5", "−3,5")]
        {
            assert_eq!(typed(text), seen);
        }
        for same in ["-3.25", "-1e-5", "-s", "--cost", "-", "x=-1±2", "3±1", ""] {
            assert_eq!(typed(same), same);
        }
    }
}
