//! From the engine's paths, such as `parameters[2].low`, back to places in the file.

use std::ops::Range;

use unyoke::{Mistake, Problem};

use super::table::{Table, join};
use crate::diagnostic::Diagnostic;

/// The mistake as one of the file.
pub(super) fn diagnostic(mistake: &Mistake, problem: &Problem, root: &Table<'_>) -> Diagnostic {
    let steps = steps(&mistake.path, problem);
    let (place, path) = locate(&steps, root);
    // Most messages continue the path, as in "is 3, above high"; others are sentences.
    let continues = ["is ", "are ", "must ", "needs "];
    let message = match continues.iter().any(|start| mistake.message.starts_with(start)) {
        true => format!("{path} {}", mistake.message),
        false => format!("{path}: {}", mistake.message),
    };
    let diagnostic = Diagnostic::new(place, message).label("here");
    match mistake.path.as_str() {
        "parameters" if problem.parameters.is_empty() => {
            diagnostic.help("add a table [parameters.NAME] with low and high")
        }
        "objectives" if problem.objectives.is_empty() => {
            diagnostic.help("add a table [objectives.NAME] with direction, cost and command")
        }
        _ => diagnostic,
    }
}

/// One step down into the file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Field(String),
    Item(usize),
}

impl Step {
    fn field(name: &str) -> Self {
        Self::Field(name.to_owned())
    }
}

/// The path of the file that the engine's path stands for.
fn steps(path: &str, problem: &Problem) -> Vec<Step> {
    if let Some(path) = path.strip_prefix("config.") {
        return config_steps(path);
    }
    let mut steps = split(path);
    if let [Step::Field(section), Step::Item(index), ..] = steps.as_slice() {
        let name = match section.as_str() {
            "parameters" => problem.parameters.get(*index).map(|parameter| parameter.name()),
            _ => problem.objectives.get(*index).map(|objective| objective.name.as_str()),
        };
        steps[1] = Step::field(name.unwrap_or_default());
    }
    steps
}

fn config_steps(path: &str) -> Vec<Step> {
    // What follows these is the name of an objective, which may hold points and brackets.
    if let Some(name) = path.strip_prefix("reference.") {
        return ["engine", "reference", name].map(Step::field).into();
    }
    if let Some(name) = path.strip_prefix("initial.per_objective.") {
        return ["initial", "per_objective", name].map(Step::field).into();
    }
    let section = match path {
        "algorithm" => Some("study"),
        _ if path.starts_with("initial.") => None,
        _ => Some("engine"),
    };
    section.map(Step::field).into_iter().chain(split(path)).collect()
}

/// `a.b[2].c` as four steps.
fn split(path: &str) -> Vec<Step> {
    let parts = path.split(['.', '[']).map(|part| match part.strip_suffix(']') {
        Some(index) => index.parse().map_or_else(|_| Step::Field(index.to_owned()), Step::Item),
        None => Step::Field(part.to_owned()),
    });
    parts.collect()
}

/// Where the steps lead, or the last place on the way that exists; and its path in the file.
fn locate(steps: &[Step], root: &Table<'_>) -> (Range<usize>, String) {
    let (mut place, mut path) = (root.place.clone(), String::new());
    let mut table = Some(root.clone());
    let mut steps = steps.iter().peekable();
    while let Some(step) = steps.next() {
        let (Step::Field(name), Some(inside)) = (step, &table) else { break };
        path = join(&path, name);
        let Some(entry) = inside.get(name) else { break };
        table = entry.inner();
        place = if table.is_some() { entry.key.clone() } else { entry.place() };
        if let Some(Step::Item(index)) = steps.peek() {
            place = entry.item_place(*index).unwrap_or(place);
            path = format!("{path}[{index}]");
            break;
        }
    }
    (place, path)
}
