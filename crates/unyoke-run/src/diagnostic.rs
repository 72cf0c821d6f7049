//! Mistakes in a study file: what is wrong, where, and what to write instead.
//!
//! How they are drawn is decided elsewhere; here they are plain data that a renderer can read.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// One mistake in a study file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Diagnostic {
    /// What is wrong, in one sentence.
    pub message: String,
    /// Where, in bytes from the start of the text.
    pub span: Range<usize>,
    /// What to say beside the place; may be empty.
    pub label: String,
    /// What to write instead, if that can be guessed.
    pub help: Option<String>,
}

impl Diagnostic {
    pub(crate) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { message: message.into(), span, label: String::new(), help: None }
    }

    pub(crate) fn label(self, label: impl Into<String>) -> Self {
        Self { label: label.into(), ..self }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// The same with the name that was probably meant.
    pub(crate) fn near(self, near: Option<String>) -> Self {
        match near {
            Some(near) => self.help(format!("did you mean {near:?}?")),
            None => self,
        }
    }
}

/// All mistakes of a study file, in the order of the text.
///
/// [`lines`](Self::lines) tells them all. A program that renders [`miette::Diagnostic`] shows the
/// lines of the file with the places underlined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyFileError {
    path: PathBuf,
    source: miette::NamedSource<String>,
    diagnostics: Vec<Diagnostic>,
}

impl StudyFileError {
    /// `text` is what the places refer to, `found` must not be empty.
    pub(crate) fn new(path: &Path, text: &str, mut found: Vec<Diagnostic>) -> Self {
        found.sort_by_key(|diagnostic| diagnostic.span.start);
        let source = miette::NamedSource::new(path.display().to_string(), text.to_owned());
        Self { path: path.to_owned(), source, diagnostics: found }
    }

    /// The file, as the user named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text to which the places refer, without a byte order mark.
    pub fn text(&self) -> &str {
        self.source.inner()
    }

    /// What is wrong with it; at least one thing.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Line and column of a byte of the text, both from 1; the column counts characters.
    pub fn line_and_column(&self, byte: usize) -> (usize, usize) {
        let text = self.text();
        let before = text.get(..byte).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (line, before[start..].chars().count() + 1)
    }

    /// A line for each mistake, as `study.toml:3:7: what is wrong (what to do)`.
    pub fn lines(&self) -> String {
        let line = |diagnostic: &Diagnostic| {
            let (line, column) = self.line_and_column(diagnostic.span.start);
            let Diagnostic { message, help, .. } = diagnostic;
            let help = help.as_ref().map_or_else(String::new, |help| format!(" ({help})"));
            format!("{}:{line}:{column}: {message}{help}", self.path.display())
        };
        self.diagnostics.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

impl fmt::Display for StudyFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.diagnostics.len() {
            1 => write!(f, "there is a mistake in {path}"),
            count => write!(f, "there are {count} mistakes in {path}"),
        }
    }
}

impl std::error::Error for StudyFileError {}

impl miette::Diagnostic for StudyFileError {
    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        Some(&self.source)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        Some(Box::new(self.diagnostics.iter().map(|one| one as &dyn miette::Diagnostic)))
    }
}

impl miette::Diagnostic for Diagnostic {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as _)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = miette::LabeledSpan> + '_>> {
        let label = (!self.label.is_empty()).then(|| self.label.clone());
        let labelled = miette::LabeledSpan::new(label, self.span.start, self.span.len());
        Some(Box::new(std::iter::once(labelled)))
    }
}
