//! A command as a list of arguments with placeholders for the values of a design.
//!
//! There is no shell here and no quoting: whatever a value holds, it stays within its argument.

use std::ops::Range;

use unyoke::Design;

use crate::error::{Error, Result};

/// The program and its arguments, in which `{name}` stands for the value of a parameter.
///
/// `{{` and `}}` stand for braces.
///
/// ```
/// use unyoke::Design;
/// use unyoke_run::CommandTemplate;
///
/// let command = CommandTemplate::new(["./beam", "--length={length}", r#"{{"kind": "{kind}"}}"#])?;
/// let design = Design::new().with("length", 0.5).with("kind", "; rm -rf /");
/// let argv = command.fill(&design)?;
/// assert_eq!(argv, ["./beam", "--length=0.5", r#"{"kind": "; rm -rf /"}"#]);
/// # Ok::<(), unyoke_run::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandTemplate(Vec<Argument>);

/// One argument, cut at its placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Argument(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Parameter(String),
}

/// Braces that mean nothing, and where they stand in the argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadBraces {
    pub(crate) reason: &'static str,
    pub(crate) place: Range<usize>,
}

impl CommandTemplate {
    /// Finds the placeholders in a program and its arguments.
    pub fn new<A: AsRef<str>>(arguments: impl IntoIterator<Item = A>) -> Result<Self> {
        let parse = |argument: A| {
            let argument = argument.as_ref();
            Argument::parse(argument).map_err(|bad| Error::BadPlaceholder {
                argument: argument.to_owned(),
                reason: bad.reason.to_owned(),
            })
        };
        Ok(Self(arguments.into_iter().map(parse).collect::<Result<_>>()?))
    }

    pub(crate) fn from_arguments(arguments: Vec<Argument>) -> Self {
        Self(arguments)
    }

    /// The arguments for a design, the program first.
    pub fn fill(&self, design: &Design) -> Result<Vec<String>> {
        self.0.iter().map(|argument| argument.fill(design)).collect()
    }

    /// The program, unless it depends on the design.
    pub fn program(&self) -> Option<&str> {
        self.0.first()?.text()
    }

    /// The parameters whose values become part of a shell script, as in `["sh", "-c", "f {x}"]`: the
    /// shell interprets them, whatever they hold.
    pub fn parameters_in_scripts(&self) -> Vec<&str> {
        let mut found = vec![];
        let mut is_shell = false;
        for pair in self.0.windows(2) {
            let argument = pair[0].text().unwrap_or_default();
            // A shell, or still its options.
            is_shell = is_shell_name(argument) || is_shell && argument.starts_with('-');
            if is_shell && is_script_option(argument) {
                found.extend(pair[1].parameters());
                is_shell = false;
            }
        }
        found
    }

    /// The parameters it names, as often as it names them.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(Argument::parameters)
    }
}

impl Argument {
    pub(crate) fn parse(text: &str) -> Result<Self, BadBraces> {
        let mut pieces = vec![];
        let mut plain = String::new();
        let mut at = 0;
        while let Some(brace) = text[at..].find(['{', '}']).map(|offset| at + offset) {
            plain.push_str(&text[at..brace]);
            let rest = &text[brace..];
            if rest.starts_with("{{") || rest.starts_with("}}") {
                plain.push_str(&rest[..1]);
                at = brace + 2;
                continue;
            }
            let name = placeholder(text, brace)?;
            at = brace + name.len() + 2;
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
            pieces.push(Piece::Parameter(name.to_owned()));
        }
        plain.push_str(&text[at..]);
        pieces.push(Piece::Text(plain));
        Ok(Self(pieces))
    }

    /// The argument, unless it depends on the design.
    fn text(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    pub(crate) fn parameters(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Parameter(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    fn fill(&self, design: &Design) -> Result<String> {
        let mut filled = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Parameter(name) => {
                    let missing = || Error::MissingValue { name: name.clone() };
                    let value = design.get(name).ok_or_else(missing)?;
                    filled.push_str(&value.to_string());
                }
            }
        }
        Ok(filled)
    }
}

/// Whether an argument is the name of a shell, with or without its folder.
fn is_shell_name(argument: &str) -> bool {
    let name = argument.rsplit('/').next().unwrap_or(argument);
    ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "csh", "tcsh"].contains(&name)
}

/// Whether the argument after this one is a script: `-c`, alone or among other letters.
fn is_script_option(argument: &str) -> bool {
    let letters = argument.strip_prefix('-').unwrap_or_default();
    letters.contains('c') && letters.chars().all(|c| c.is_ascii_alphabetic())
}

/// The name between the brace at `open` and the next one, which must close it.
fn placeholder(text: &str, open: usize) -> Result<&str, BadBraces> {
    let bad = |reason, place| Err(BadBraces { reason, place });
    if text[open..].starts_with('}') {
        return bad("a } that closes nothing; write }} for a brace", open..open + 1);
    }
    let inside = &text[open + 1..];
    match inside.find(['{', '}']) {
        Some(0) => bad("a placeholder without a name", open..open + 2),
        Some(end) if inside[end..].starts_with('}') => Ok(&inside[..end]),
        _ => bad("a { that nothing closes; write {{ for a brace", open..open + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(argument: &str, design: &Design) -> String {
        CommandTemplate::new([argument]).unwrap().fill(design).unwrap().remove(0)
    }

    #[test]
    fn placeholders_become_values_wherever_they_stand() {
        let design = Design::new().with("x", 1e-7).with("n", 3).with("a b", "ö\n🦀");
        assert_eq!(filled("{x}", &design), "1e-7");
        assert_eq!(filled("--n={n},{n}", &design), "--n=3,3");
        assert_eq!(filled("<{a b}>", &design), "<ö\n🦀>");
        assert_eq!(filled("", &design), "");
    }

    #[test]
    fn values_are_not_searched_for_placeholders() {
        let design = Design::new().with("a", "{b}").with("b", "secret");
        assert_eq!(filled("{a}", &design), "{b}");
    }

    #[test]
    fn doubled_braces_are_braces() {
        let design = Design::new().with("x", 2);
        assert_eq!(filled("{{x}}", &design), "{x}");
        assert_eq!(filled("{{{x}}}", &design), "{2}");
        assert_eq!(filled("{{}}{{", &design), "{}{");
    }

    #[test]
    fn values_that_a_shell_would_interpret_are_found() {
        let found = |command: &[&str]| {
            let command = CommandTemplate::new(command).unwrap();
            command.parameters_in_scripts().join(" ")
        };
        assert_eq!(found(&["sh", "-c", "f {x} {y}"]), "x y");
        assert_eq!(found(&["env", "/bin/bash", "-e", "-lc", "f {x}"]), "x");
        assert_eq!(found(&["sh", "-c", "f \"$1\"", "sh", "{x}"]), "");
        assert_eq!(found(&["sh", "f.sh", "{x}"]), "");
        assert_eq!(found(&["gcc", "-c", "{x}"]), "");
        assert_eq!(found(&["sh", "log.sh", "gcc", "-c", "{x}"]), "");
    }

    #[test]
    fn stray_braces_are_refused_with_their_place() {
        let place = |text| Argument::parse(text).unwrap_err().place;
        assert_eq!(place("a{"), 1..2);
        assert_eq!(place("ab}"), 2..3);
        assert_eq!(place("a{}"), 1..3);
        assert_eq!(place("{a{b}"), 0..1);
        assert!(matches!(CommandTemplate::new(["{"]), Err(Error::BadPlaceholder { .. })));
    }

    #[test]
    fn a_design_must_have_what_the_command_names() {
        let command = CommandTemplate::new(["f", "{x}", "{y}{x}"]).unwrap();
        assert_eq!(command.parameters().collect::<Vec<_>>(), ["x", "y", "x"]);
        let error = command.fill(&Design::new().with("x", 1)).unwrap_err();
        assert!(matches!(error, Error::MissingValue { name } if name == "y"));
    }
}
