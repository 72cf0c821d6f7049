//! `unyoke init`: a study file to start from.

use clap::Args;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use unyoke_run::StudyFile;

use crate::failure::Failure;
use crate::output::{complain, say};

/// Arguments of `unyoke init`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke init                    asks a few questions and writes study.toml
  unyoke init --template         writes a commented file with all common settings
  unyoke init beam.toml")]
pub(crate) struct Arguments {
    /// The file to write; it must not exist.
    #[arg(value_name = "FILE", default_value = "study.toml")]
    path: PathBuf,
    /// No questions: a commented file to edit.
    #[arg(long)]
    template: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let path = &arguments.path;
    if path.exists() {
        let reason = format!("{} exists already; name another file", path.display());
        return Err(Failure::Refused(reason));
    }
    let text = match arguments.template {
        true => unyoke_run::template(),
        false => interview(path)?,
    };
    write(path, &text)?;
    let shown = path.display();
    // Written all the same: nobody wants to answer again.
    if let Err(mistakes) = StudyFile::parse(path, text.as_bytes()) {
        complain(&format!("{shown} is written, but must be corrected:"));
        return Err(Failure::StudyFile(mistakes.into()));
    }
    say(&format!(
        "{shown} is written; `unyoke check {shown}` checks it, `unyoke run {shown}` runs it"
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// What the questions leave out, for whoever edits the file.
const MORE: &str = "\
# What else can be said, as comments; `unyoke init --template` writes a file with all common settings.

# Which designs are possible.
#[limits]
#slender = \"length <= 100 * thickness\"

# What must stay within a limit, measured like an objective.
#[constraints.stress]
#at_most = 200

# One run that gives several outputs. Its command prints a line for each, as in stress=180; these outputs
# have no cost and command of their own. The cost may be a number, a formula, or learned.
#[measurements.fem]
#outputs = [\"deflection\", \"stress\"]
#cost = { learn = \"time\", guess = 60 }
#command = [\"./fem\", \"{length}\"]
";

/// Writes a file that must not exist, even if it came to be since we looked.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written =
        std::fs::File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::file(path, &error))
}

/// Asks, on standard error, and reads answers from standard input. An answer that is not understood
/// is asked for again.
fn interview(path: &Path) -> Result<String, Failure> {
    let mut answers = std::io::stdin().lock();
    let mut ask = |question: &str, table: Reader<'_>| loop {
        let _ = write!(std::io::stderr(), "{question} ");
        let mut line = String::new();
        match answers.read_line(&mut line) {
            Ok(0) => {
                return Err(Failure::Refused(
                    "the answers ended early; nothing was written".to_owned(),
                ));
            }
            Ok(_) => {}
            Err(error) => return Err(Failure::file(path, &error)),
        }
        match table(line.trim()) {
            Ok(table) => return Ok(table),
            Err(expected) => {
                complain(&format!("  not understood; an answer looks like {expected}"));
            }
        }
    };
    let mut text = ask("What is the study called?", &name)?.unwrap_or_default();
    text += &ask("What may all evaluations together cost? (blank: no limit)", &budget)?
        .unwrap_or_default();
    let lists: [(&str, &str, Reader<'_>); 2] = [
        (
            "Parameters, one per line, as in `length 0.1 2.0`, `layers 1 8 integer`, `kind oak,steel`; a \
             blank line ends the list.",
            "parameter:",
            &parameter,
        ),
        (
            "Objectives, one per line: name, direction, cost of an evaluation, command, as in `mass \
             minimise 1 python3 mass.py {length}`; a blank line ends the list.",
            "objective:",
            &objective,
        ),
    ];
    for (what, question, table) in lists {
        complain(what);
        let before = text.len();
        loop {
            match ask(question, table)? {
                Some(table) => text += &table,
                None if text.len() > before => break,
                None => complain("  at least one is needed"),
            }
        }
    }
    Ok(text + MORE)
}

/// The lines of the file for an answer, none for a blank one, or what an answer looks like.
type Answer = Result<Option<String>, &'static str>;

/// How an answer is understood.
type Reader<'a> = &'a dyn Fn(&str) -> Answer;

fn name(answer: &str) -> Answer {
    Ok((!answer.is_empty()).then(|| format!("[study]\nname = {}\n\n", quoted(answer))))
}

fn budget(answer: &str) -> Answer {
    if answer.is_empty() {
        return Ok(None);
    }
    let cost = number(answer).filter(|cost| *cost > 0.0).ok_or("`200`")?;
    Ok(Some(format!("[budget]\ncost = {cost:?}\n\n")))
}

fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|number| number.is_finite())
}

fn quoted(text: &str) -> String {
    // JSON strings are TOML strings as well.
    serde_json::Value::from(text).to_string()
}

/// A table for an answer such as `length 0.1 2.0`.
fn parameter(answer: &str) -> Answer {
    const EXPECTED: &str =
        "`length 0.1 2.0`, with `log` or `integer` at the end, or `kind oak,steel`";
    let words: Vec<&str> = answer.split_whitespace().collect();
    let (name, rest) = match words.as_slice() {
        [] => return Ok(None),
        [name, rest @ ..] => (name, rest),
    };
    let bounds = |low: &str, high: &str| {
        number(low).zip(number(high)).filter(|(low, high)| low <= high).ok_or(EXPECTED)
    };
    let fields = match rest {
        [low, high] if number(low).is_some() => {
            let (low, high) = bounds(low, high)?;
            format!("low = {low:?}\nhigh = {high:?}\n")
        }
        [low, high, "log"] => {
            let (low, high) = bounds(low, high)?;
            format!("low = {low:?}\nhigh = {high:?}\nscale = \"log\"\n")
        }
        [low, high, "integer" | "whole"] => {
            let low = low.parse::<i64>().map_err(|_| EXPECTED)?;
            let high = high.parse::<i64>().map_err(|_| EXPECTED)?;
            format!("type = \"integer\"\nlow = {low}\nhigh = {high}\n")
        }
        choices => {
            let choices = choices.join(" ");
            let choices: Vec<&str> = choices.split(',').map(str::trim).collect();
            if choices.len() < 2 || choices.contains(&"") {
                return Err(EXPECTED);
            }
            let choices: Vec<String> = choices.into_iter().map(quoted).collect();
            format!("choices = [{}]\n", choices.join(", "))
        }
    };
    Ok(Some(format!("[parameters.{}]\n{fields}\n", quoted(name))))
}

/// A table for an answer such as `mass minimise 1 python3 mass.py {length}`, in which words in quotes
/// stay together as in a shell.
fn objective(answer: &str) -> Answer {
    const EXPECTED: &str = "`mass minimise 1 python3 mass.py {length}`";
    let words = shell_words::split(answer).map_err(|_| EXPECTED)?;
    let (name, direction, cost, command) = match words.as_slice() {
        [] => return Ok(None),
        [name, direction, cost, command @ ..] => (name, direction, cost, command),
        _ => return Err(EXPECTED),
    };
    if !["minimise", "maximise", "minimize", "maximize"].contains(&direction.as_str()) {
        return Err(EXPECTED);
    }
    let cost = number(cost).filter(|cost| *cost > 0.0).ok_or(EXPECTED)?;
    let mut table = format!(
        "[objectives.{}]\ndirection = {}\ncost = {cost:?}\n",
        quoted(name),
        quoted(direction)
    );
    if !command.is_empty() {
        let command: Vec<String> = command.iter().map(|word| quoted(word)).collect();
        table += &format!("command = [{}]\n", command.join(", "));
    }
    Ok(Some(table + "\n"))
}
