//! Mistakes in a study file: what is wrong, where, and what to write instead. The only file that
//! names `annotate_snippets`, which draws them.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Of the drawings, in characters.
const WIDTH: usize = 100;

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
/// [`lines`](Self::lines) tells them all, [`drawn`](Self::drawn) shows the lines of the file with the
/// places underlined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyFileError {
    path: PathBuf,
    text: String,
    diagnostics: Vec<Diagnostic>,
}

impl StudyFileError {
    /// `text` is what the places refer to, `found` must not be empty.
    pub(crate) fn new(path: &Path, text: &str, mut found: Vec<Diagnostic>) -> Self {
        found.sort_by_key(|diagnostic| diagnostic.span.start);
        Self { path: path.to_owned(), text: text.to_owned(), diagnostics: found }
    }

    /// The file, as the user named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text to which the places refer, without a byte order mark.
    pub fn text(&self) -> &str {
        &self.text
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

    /// The mistakes as compilers show them: the line of the file, the place underlined, what is wrong
    /// and what to do. Long lines are cut.
    pub fn drawn(&self, colours: bool) -> String {
        let renderer = if colours { Renderer::styled() } else { Renderer::plain() };
        let renderer = renderer.decor_style(DecorStyle::Unicode).term_width(WIDTH);
        let path = self.path.display().to_string();
        let drawn = |one: &Diagnostic| renderer.render(&[self.group(one, &path)]);
        let mistakes: Vec<String> = self.diagnostics.iter().map(drawn).collect();
        format!("{self}\n\n{}\n", mistakes.join("\n\n"))
    }

    fn group<'a>(&'a self, diagnostic: &'a Diagnostic, path: &'a str) -> Group<'a> {
        let Diagnostic { message, span, label, help } = diagnostic;
        let within = |byte: usize| self.text.floor_char_boundary(byte);
        let place = AnnotationKind::Primary.span(within(span.start)..within(span.end));
        let place = if label.is_empty() { place } else { place.label(label.as_str()) };
        let snippet = Snippet::source(self.text.as_str()).path(path).annotation(place);
        let group = Level::ERROR.primary_title(message.as_str()).element(snippet);
        match help {
            Some(help) => group.element(Level::HELP.message(help.as_str())),
            None => group,
        }
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
