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
  unyoke init --template lab     a laboratory: people measure
  unyoke init --template ml      a model to be tuned
  unyoke init --template cfd     a simulation that gives several quantities, and a cheap one beside it
  unyoke init --template formula objectives that are formulas
  unyoke init --template         a commented file with all common settings
  unyoke init beam.toml

Each answer is checked at once. `back` takes the last answer back and asks again; `list` shows all answers.
Templates come with small scripts in Python that stand for your programs, so that `unyoke run` works at once.")]
pub(crate) struct Arguments {
    /// The file to write; it must not exist.
    #[arg(value_name = "FILE", default_value = "study.toml")]
    path: PathBuf,
    /// No questions: a file to edit, for lab, ml, cfd or formula, or with all common settings.
    #[arg(long, value_name = "KIND", num_args = 0..=1, default_missing_value = "all")]
    template: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let (template, path) = template(arguments)?;
    refuse_existing(&path)?;
    let Some(template) = template else {
        let interview = interview(&path)?;
        write(&path, &interview)?;
        return conclude(&path, &interview, &[]);
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let scripts = || template.scripts.iter().map(|(name, text)| (folder.join(name), *text));
    for (script, _) in scripts() {
        refuse_existing(&script)?;
    }
    write(&path, &template.text)?;
    for (script, text) in scripts() {
        write(&script, text)?;
    }
    let names: Vec<&str> = template.scripts.iter().map(|(name, _)| *name).collect();
    conclude(&path, &template.text, &names)
}

/// A study file with scripts that stand for the user's programs.
struct Template {
    text: String,
    scripts: &'static [(&'static str, &'static str)],
}

impl Template {
    fn of(kind: &str) -> Option<Self> {
        let (text, scripts): (&str, &'static [_]) = match kind {
            "lab" => (include_str!("../templates/lab.toml"), &[]),
            "ml" => (
                include_str!("../templates/ml.toml"),
                &[("train.py", include_str!("../templates/train.py"))],
            ),
            "cfd" => (
                include_str!("../templates/cfd.toml"),
                &[("flow.py", include_str!("../templates/flow.py"))],
            ),
            "formula" => (
                include_str!("../templates/formula.toml"),
                &[("deflection.py", include_str!("../templates/deflection.py"))],
            ),
            "all" => {
                let scripts: &'static [_] = &[
                    ("mass.py", include_str!("../templates/all_mass.py")),
                    ("deflection.py", include_str!("../templates/all_deflection.py")),
                ];
                return Some(Self { text: unyoke_run::template(), scripts });
            }
            _ => return None,
        };
        Some(Self { text: text.to_owned(), scripts })
    }
}

/// The template, if one is wanted, and the file to write. `--template beam.toml` names the file.
fn template(arguments: &Arguments) -> Result<(Option<Template>, PathBuf), Failure> {
    let path = arguments.path.clone();
    let Some(kind) = &arguments.template else { return Ok((None, path)) };
    match Template::of(kind) {
        Some(template) => Ok((Some(template), path)),
        None if kind.ends_with(".toml") => Ok((Template::of("all"), PathBuf::from(kind))),
        None => Err(Failure::Refused(format!(
            "there is no template {kind:?}; there are lab, ml, cfd, formula and, without a name, one with \
             all common settings"
        ))),
    }
}

fn refuse_existing(path: &Path) -> Result<(), Failure> {
    match path.exists() {
        true => Err(Failure::Refused(format!(
            "{} exists already; name another file, or begin in another folder",
            path.display()
        ))),
        false => Ok(()),
    }
}

/// Says what was written, and what comes next.
fn conclude(path: &Path, text: &str, scripts: &[&str]) -> Result<ExitCode, Failure> {
    let shown = path.display();
    // Written all the same: nobody wants to answer again.
    let file = match StudyFile::parse(path, text.as_bytes()) {
        Ok(file) => file,
        Err(mistakes) => {
            complain(&format!("{shown} is written, but must be corrected:"));
            return Err(Failure::StudyFile(mistakes.into()));
        }
    };
    let beside = match scripts {
        [] => String::new(),
        scripts => format!(", with {}", scripts.join(" and ")),
    };
    say(&format!("{shown} is written{beside}; {}", file.initial_price()))?;
    let runs = file.run.measurements.iter().any(|run| run.command.is_some());
    let next = if runs { "run" } else { "ask" };
    let does = if runs { "runs it" } else { "says what to measure first" };
    say(&format!("`unyoke check {shown}` checks it, `unyoke {next} {shown}` {does}"))?;
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

/// What is asked, in order; the last two until somebody has nothing to add.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    Name,
    Budget,
    Parameter,
    Objective,
}

impl Question {
    fn reader(self) -> Reader<'static> {
        match self {
            Self::Name => &name,
            Self::Budget => &budget,
            Self::Parameter => &parameter,
            Self::Objective => &objective,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Name => "What is the study called? (blank: nothing)",
            Self::Budget => "What may all evaluations together cost? (blank: no limit)",
            Self::Parameter => "parameter:",
            Self::Objective => "objective:",
        }
    }

    /// What to say before the first of several.
    fn introduction(self) -> Option<&'static str> {
        match self {
            Self::Name | Self::Budget => None,
            Self::Parameter => Some(
                "Parameters, one per line, as in `length 0.1 2.0`, `layers 1 8 integer`, `rate 1e-4 0.1 log`, \
                 `kind oak,steel`; a blank line ends the list.",
            ),
            Self::Objective => Some(
                "Objectives, one per line: name, direction, cost of an evaluation, command if there is one, \
                 as in `mass minimise 1 python3 mass.py {length}`; a blank line ends the list.",
            ),
        }
    }

    /// Whether more than one answer is wanted, and at least one.
    fn is_list(self) -> bool {
        matches!(self, Self::Parameter | Self::Objective)
    }
}

/// An answer that was understood: what was typed, and the lines of the file for it, none for a blank one.
struct Given {
    question: Question,
    typed: String,
    lines: Option<String>,
}

/// All answers so far.
#[derive(Default)]
struct Answers(Vec<Given>);

impl Answers {
    /// The next question; none if all are answered.
    fn next(&self) -> Option<Question> {
        use Question::{Budget, Name, Objective, Parameter};
        match self.0.last() {
            None => Some(Name),
            Some(Given { question: Name, .. }) => Some(Budget),
            Some(Given { question: Budget, .. }) => Some(Parameter),
            Some(Given { question: Parameter, lines: None, .. }) => Some(Objective),
            Some(Given { question: Objective, lines: None, .. }) => None,
            Some(Given { question, .. }) => Some(*question),
        }
    }

    fn has(&self, question: Question) -> bool {
        self.0.iter().any(|given| given.question == question)
    }

    fn text(&self) -> String {
        self.0.iter().filter_map(|given| given.lines.as_deref()).collect()
    }

    /// What is wrong with the file if these lines are added, where that can be told.
    fn mistakes(&self, path: &Path, question: Question, lines: &str) -> Option<String> {
        // A file is checked as a whole, so something stands for what is still to come.
        let rest = match question {
            Question::Name | Question::Budget => return None,
            Question::Parameter => "[objectives.\"-\"]\ndirection = \"minimise\"\ncost = 1\n",
            Question::Objective => "",
        };
        let text = format!("{}{lines}{rest}", self.text());
        StudyFile::parse(path, text.as_bytes()).err().map(|mistakes| {
            let of = mistakes.diagnostics().iter().map(|one| format!("  {}", one.message));
            of.collect::<Vec<_>>().join("\n")
        })
    }
}

/// Asks, on standard error, and reads answers from standard input, until the file is complete.
fn interview(path: &Path) -> Result<String, Failure> {
    let (mut answers, mut input) = (Answers::default(), std::io::stdin().lock());
    while let Some(question) = answers.next() {
        if let Some(words) = question.introduction().filter(|_| !answers.has(question)) {
            complain(words);
        }
        let _ = write!(std::io::stderr(), "{} ", question.words());
        let mut line = String::new();
        if input.read_line(&mut line).map_err(|error| Failure::file(path, &error))? == 0 {
            return Err(ended_early(path, &answers));
        }
        match line.trim() {
            "back" => go_back(&mut answers),
            "list" => complain(&answers.text()),
            typed => {
                if let Err(complaint) = take(&mut answers, path, question, typed) {
                    complain(&complaint);
                }
            }
        }
    }
    Ok(answers.text() + MORE)
}

/// Understands an answer, or says what is wrong with it.
fn take(answers: &mut Answers, path: &Path, question: Question, typed: &str) -> Result<(), String> {
    let not_understood = |expected| format!("  not understood; an answer looks like {expected}");
    let lines = question.reader()(typed).map_err(not_understood)?;
    if lines.is_none() && question.is_list() && !answers.has(question) {
        return Err("  at least one is needed".to_owned());
    }
    if let Some(mistakes) = lines.as_ref().and_then(|lines| answers.mistakes(path, question, lines))
    {
        return Err(format!("{mistakes}\n  this answer was not taken; give it again"));
    }
    answers.0.push(Given { question, typed: typed.to_owned(), lines });
    Ok(())
}

fn go_back(answers: &mut Answers) {
    match answers.0.pop() {
        Some(Given { typed, .. }) if typed.is_empty() => {
            complain("  back to where you were before")
        }
        Some(Given { typed, .. }) => complain(&format!("  taken back: {typed}")),
        None => complain("  this is the first question"),
    }
}

/// What was answered is kept for whoever goes on by hand.
fn ended_early(path: &Path, answers: &Answers) -> Failure {
    let text = answers.text();
    if text.is_empty() || write(path, &(text + MORE)).is_err() {
        return Failure::Refused("the answers ended early; nothing was written".to_owned());
    }
    Failure::Refused(format!(
        "the answers ended early; what was answered is in {0}: complete it by hand, `unyoke check {0}` says \
         what is missing",
        path.display()
    ))
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

/// Words of an answer; those in quotes stay together as in a shell.
fn words(answer: &str) -> Option<Vec<String>> {
    shell_words::split(answer).ok()
}

/// A table for an answer such as `length 0.1 2.0`. Names may have several words, and what kind of number it is
/// may stand anywhere behind them.
fn parameter(answer: &str) -> Answer {
    const EXPECTED: &str =
        "`length 0.1 2.0`, with `log` or `integer` if it is that, or `kind oak,steel`";
    let words = words(answer).ok_or(EXPECTED)?;
    if words.is_empty() {
        return Ok(None);
    }
    let (name, fields) = match words.iter().skip(1).position(|word| number(word).is_some()) {
        Some(place) => numbers(&words, place + 1).ok_or(EXPECTED)?,
        None => choices(&words).ok_or(EXPECTED)?,
    };
    Ok(Some(format!("[parameters.{}]\n{fields}\n", quoted(&name))))
}

/// The name and fields of a parameter whose lower bound is the word at this place.
fn numbers(words: &[String], place: usize) -> Option<(String, String)> {
    let (mut name, low, high) = (words[..place].to_vec(), &words[place], words.get(place + 1)?);
    let mut kinds: Vec<String> = words[place + 2..].to_vec();
    while name.len() > 1 && name.last().is_some_and(|word| is_kind(word)) {
        kinds.extend(name.pop());
    }
    let is_log = kinds.iter().any(|kind| kind == "log");
    let is_integer = kinds.iter().any(|kind| kind != "log");
    if !kinds.iter().all(|kind| is_kind(kind)) || number(low)? > number(high)? {
        return None;
    }
    let mut fields = match is_integer {
        true => {
            let whole = |text: &str| number(text).filter(|n| n.fract() == 0.0).map(|n| n as i64);
            format!("type = \"integer\"\nlow = {}\nhigh = {}\n", whole(low)?, whole(high)?)
        }
        false => format!("low = {:?}\nhigh = {:?}\n", number(low)?, number(high)?),
    };
    if is_log {
        fields += "scale = \"log\"\n";
    }
    Some((name.join(" "), fields))
}

fn is_kind(word: &str) -> bool {
    ["log", "integer", "int", "whole"].contains(&word)
}

/// The name and fields of a parameter with choices: what comes before the first comma is the first choice.
fn choices(words: &[String]) -> Option<(String, String)> {
    let first = words.iter().position(|word| word.contains(','))?;
    let (name, rest) = words.split_at(first);
    let rest = rest.join(" ");
    let choices: Vec<&str> = rest.split(',').map(str::trim).collect();
    if name.is_empty() || choices.len() < 2 || choices.contains(&"") {
        return None;
    }
    let choices: Vec<String> = choices.into_iter().map(quoted).collect();
    Some((name.join(" "), format!("choices = [{}]\n", choices.join(", "))))
}

/// A table for an answer such as `mass minimise 1 python3 mass.py {length}`.
fn objective(answer: &str) -> Answer {
    const EXPECTED: &str = "`mass minimise 1 python3 mass.py {length}`";
    let words = words(answer).ok_or(EXPECTED)?;
    if words.is_empty() {
        return Ok(None);
    }
    let direction = |word: &String| match word.as_str() {
        "minimise" | "minimize" | "min" => Some("minimise"),
        "maximise" | "maximize" | "max" => Some("maximise"),
        _ => None,
    };
    let place =
        words.iter().skip(1).position(|word| direction(word).is_some()).ok_or(EXPECTED)? + 1;
    let wish = direction(&words[place]).ok_or(EXPECTED)?;
    let cost = words.get(place + 1).and_then(|word| number(word)).filter(|cost| *cost > 0.0);
    let mut table = format!(
        "[objectives.{}]\ndirection = {}\ncost = {:?}\n",
        quoted(&words[..place].join(" ")),
        quoted(wish),
        cost.ok_or(EXPECTED)?
    );
    let command = &words[place + 2..];
    if !command.is_empty() {
        let command: Vec<String> = command.iter().map(|word| quoted(word)).collect();
        table += &format!("command = [{}]\n", command.join(", "));
    }
    Ok(Some(table + "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_understood_in_many_orders() {
        let understood = |answer: &str| parameter(answer).unwrap().unwrap();
        let log = understood("layers 1 8 log integer");
        assert!(log.contains("type = \"integer\"") && log.contains("scale = \"log\""), "{log}");
        assert_eq!(understood("layers 1 8 integer log"), log);
        assert_eq!(understood("layers integer log 1 8"), log);
        assert_eq!(understood("layers 1.0 8.0 int log"), log);
        let spaced = "[parameters.\"wall thickness\"]\nlow = 1.0\nhigh = 5.0\n\n";
        assert_eq!(understood("wall thickness 1 5"), spaced);
        assert_eq!(understood("'wall thickness' 1 5"), spaced);
        let kinds = understood("kind of wood dark oak, steel");
        assert!(kinds.contains("\"kind of wood dark\"") && kinds.contains("[\"oak\", \"steel\"]"));
        let kinds = understood("\"kind of wood\" \"dark oak,steel\"");
        assert!(kinds.contains("[\"dark oak\", \"steel\"]"), "{kinds}");
        for wrong in ["x", "x 1", "x 2 1", "x 1 2 3", "x 1 2 lag", "x 0.5 2 integer", "oak,steel"] {
            assert!(parameter(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn objectives_may_have_names_of_several_words() {
        let table = objective("peak stress min 2.5 ./stress {x}").unwrap().unwrap();
        assert!(table.starts_with("[objectives.\"peak stress\"]\ndirection = \"minimise\""));
        assert!(table.contains("command = [\"./stress\", \"{x}\"]"), "{table}");
        for wrong in ["f", "minimise 1", "f minimse 1", "f minimise", "f minimise -1"] {
            assert!(objective(wrong).is_err(), "{wrong}");
        }
    }
}
