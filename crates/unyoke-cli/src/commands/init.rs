//! `unyoke init`: a study file to start from.

use clap::Args;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use unyoke_run::StudyFile;

use crate::failure::Failure;
use crate::output::say;

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
    say(&format!(
        "{} is written; `unyoke check {0}` checks it, `unyoke run {0}` runs it",
        path.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a file that must not exist, even if it came to be since we looked.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written =
        std::fs::File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::file(path, &error))
}

/// Asks, on standard error, and reads answers from standard input.
fn interview(path: &Path) -> Result<String, Failure> {
    let mut answers = std::io::stdin().lock();
    let mut ask = |question: &str| -> Result<String, Failure> {
        eprint!("{question} ");
        let mut line = String::new();
        answers.read_line(&mut line).map_err(|error| Failure::file(path, &error))?;
        Ok(line.trim().to_owned())
    };
    let mut text = String::new();
    let name = ask("What is the study called?")?;
    if !name.is_empty() {
        text += &format!("[study]\nname = {}\n\n", quoted(&name));
    }
    let budget = ask("What may all evaluations together cost? (blank: no limit)")?;
    if !budget.is_empty() {
        text += &format!("[budget]\ncost = {budget}\n\n");
    }
    eprintln!(
        "What can be chosen? `length 0.1 2.0`, `layers 1 8 whole`, `kind oak,steel`; blank ends."
    );
    while let Some(table) = parameter(&ask("parameter:")?)? {
        text += &table;
    }
    eprintln!(
        "What is measured? `mass minimise 1 python3 mass.py {{length}}`: name, goal, cost, command; blank ends."
    );
    while let Some(table) = objective(&ask("objective:")?)? {
        text += &table;
    }
    StudyFile::parse(path, text.as_bytes()).map_err(|error| Failure::StudyFile(error.into()))?;
    Ok(text)
}

fn quoted(text: &str) -> String {
    // JSON strings are TOML strings as well.
    serde_json::Value::from(text).to_string()
}

/// A table for an answer such as `length 0.1 2.0`; none for a blank one.
fn parameter(answer: &str) -> Result<Option<String>, Failure> {
    let words: Vec<&str> = answer.split_whitespace().collect();
    let table = |name: &str| format!("[parameters.{}]\n", quoted(name));
    Ok(Some(match words.as_slice() {
        [] => return Ok(None),
        [name, choices] => {
            let choices: Vec<String> = choices.split(',').map(quoted).collect();
            format!("{}choices = [{}]\n\n", table(name), choices.join(", "))
        }
        [name, low, high] => format!("{}low = {low}\nhigh = {high}\n\n", table(name)),
        [name, low, high, "log"] => {
            format!("{}low = {low}\nhigh = {high}\nscale = \"log\"\n\n", table(name))
        }
        [name, low, high, "whole"] => {
            format!("{}type = \"integer\"\nlow = {low}\nhigh = {high}\n\n", table(name))
        }
        _ => {
            return Err(not_understood(
                answer,
                "`length 0.1 2.0`, with `log` or `whole` at the end",
            ));
        }
    }))
}

/// A table for an answer such as `mass minimise 1 python3 mass.py {length}`.
fn objective(answer: &str) -> Result<Option<String>, Failure> {
    let words: Vec<&str> = answer.split_whitespace().collect();
    match words.as_slice() {
        [] => Ok(None),
        [name, goal, cost, command @ ..] => {
            let mut table =
                format!("[objectives.{}]\ngoal = {}\ncost = {cost}\n", quoted(name), quoted(goal));
            if !command.is_empty() {
                let command: Vec<String> = command.iter().map(|word| quoted(word)).collect();
                table += &format!("command = [{}]\n", command.join(", "));
            }
            Ok(Some(table + "\n"))
        }
        _ => Err(not_understood(answer, "`mass minimise 1 python3 mass.py {length}`")),
    }
}

fn not_understood(answer: &str, expected: &str) -> Failure {
    Failure::Refused(format!("{answer:?} was not understood; an answer looks like {expected}"))
}
