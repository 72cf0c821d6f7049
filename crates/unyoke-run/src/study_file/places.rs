//! From the engine's paths, such as `parameters[2].low`, back to places in the file.

use std::ops::Range;

use unyoke::{Mistake, Problem, Role};

use super::table::{Table, join};
use crate::diagnostic::Diagnostic;

/// A problem and the file that it was read from.
pub(super) struct Written<'a> {
    pub(super) problem: &'a Problem,
    pub(super) sections: &'a Sections,
    pub(super) root: &'a Table<'a>,
}

/// In which section of the file each part of a problem stands.
pub(super) struct Sections {
    pub(super) outputs: Vec<&'static str>,
    pub(super) measurements: Vec<&'static str>,
}

impl Written<'_> {
    /// The mistake as one of the file.
    pub(super) fn diagnostic(&self, mistake: &Mistake) -> Diagnostic {
        let (place, path) = locate(&self.steps(&mistake.path), self.root);
        let message = self.in_words_of_the_file(&mistake.message);
        // Most messages continue the path, as in "is 3, above high"; others are sentences.
        let continues = ["is ", "are ", "must ", "needs "];
        let message = match continues.iter().any(|start| message.starts_with(start)) {
            true => format!("{path} {message}"),
            false => format!("{path}: {message}"),
        };
        let diagnostic = Diagnostic::new(place, message).label("here");
        match mistake.path.as_str() {
            "parameters" if self.problem.parameters.is_empty() => {
                diagnostic.help("add a table [parameters.NAME] with low and high")
            }
            "outputs" if self.problem.objectives().next().is_none() => {
                diagnostic.help("add a table [objectives.NAME] with direction, cost and command")
            }
            _ => diagnostic,
        }
    }

    /// Whether the mistake is but a consequence of one that was noted before.
    pub(super) fn is_noted(&self, mistake: &Mistake) -> bool {
        let steps = self.steps(&mistake.path);
        let is_table = |entry: super::table::Entry<'_>| entry.inner().is_some();
        match &steps[..] {
            // A section that is no table; that it is also empty is no news.
            [Step::Field(section)] => self.root.get(section).is_some_and(|entry| !is_table(entry)),
            // Outputs that are missing or cannot be read; that there are none is no news.
            [Step::Field(section), Step::Field(name), Step::Field(outputs)]
                if outputs == "outputs" && mistake.message.starts_with("there must") =>
            {
                let table = self.root.get(section).and_then(|entry| entry.inner());
                let table = table.and_then(|table| table.get(name)).and_then(|one| one.inner());
                let listed = table.and_then(|table| table.get(outputs));
                !listed.is_some_and(|entry| entry.is_empty_list())
            }
            _ => false,
        }
    }

    /// The path of the file that the engine's path stands for.
    fn steps(&self, path: &str) -> Vec<Step> {
        if let Some(path) = path.strip_prefix("config.") {
            return self.config_steps(path);
        }
        let steps = split(path);
        match &steps[..] {
            [Step::Field(section), Step::Item(index), rest @ ..] => {
                let mut named = self.named(section, *index);
                // In the file a name is not a field of what it names.
                let is_name = rest == [Step::field("name")] && named[1] != Step::field("");
                let rest = if is_name { &[] } else { rest };
                named.extend(rest.iter().map(|step| self.renamed(section, *index, step)));
                named
            }
            [Step::Field(section)] if section == "outputs" => vec![Step::field("objectives")],
            _ => steps,
        }
    }

    /// Section and name of a part of the problem.
    fn named(&self, section: &str, index: usize) -> Vec<Step> {
        let Problem { parameters, outputs, measurements, limits } = self.problem;
        let of = |sections: &[&'static str]| sections.get(index).copied().unwrap_or_default();
        let (section, name) = match section {
            "outputs" => (of(&self.sections.outputs), outputs.get(index).map(|one| &*one.name)),
            "measurements" => {
                let name = measurements.get(index).map(|one| &*one.name);
                (of(&self.sections.measurements), name)
            }
            "limits" => (section, limits.get(index).map(|one| &*one.name)),
            _ => (section, parameters.get(index).map(|parameter| parameter.name())),
        };
        [section, name.unwrap_or_default()].map(Step::field).into()
    }

    /// A field as the file calls it.
    fn renamed(&self, section: &str, index: usize, step: &Step) -> Step {
        let role = self.problem.outputs.get(index).map(|output| output.role);
        match (section, step, role) {
            ("outputs", Step::Field(field), Some(Role::AtMost(_))) if field == "limit" => {
                Step::field("at_most")
            }
            ("outputs", Step::Field(field), Some(Role::AtLeast(_))) if field == "limit" => {
                Step::field("at_least")
            }
            _ => step.clone(),
        }
    }

    fn config_steps(&self, path: &str) -> Vec<Step> {
        // What follows these is a name, which may hold points and brackets.
        if let Some(name) = path.strip_prefix("reference.") {
            return ["engine", "reference", name].map(Step::field).into();
        }
        if let Some(name) = path.strip_prefix("enough.") {
            return ["objectives", name, "enough"].map(Step::field).into();
        }
        if path == "utility" {
            return ["preference", "utility"].map(Step::field).into();
        }
        if path.starts_with("preference.importance") && self.root.get("preference").is_some() {
            return split(path);
        }
        if let Some(name) = path.strip_prefix("initial.per_measurement.") {
            let initial = self.root.get("initial").and_then(|entry| entry.inner());
            let is_old = initial.is_some_and(|table| table.get("per_objective").is_some());
            let field = if is_old { "per_objective" } else { "per_measurement" };
            return ["initial", field, name].map(Step::field).into();
        }
        let section = match path {
            "algorithm" => Some("study"),
            _ if path.starts_with("initial.") => None,
            _ => Some("engine"),
        };
        section.map(Step::field).into_iter().chain(split(path)).collect()
    }

    /// A message in which `outputs[1]` is called as in the file, `objectives.mass`.
    fn in_words_of_the_file(&self, message: &str) -> String {
        let Problem { parameters, outputs, measurements, limits } = self.problem;
        let counts = [
            ("parameters", parameters.len()),
            ("outputs", outputs.len()),
            ("measurements", measurements.len()),
            ("limits", limits.len()),
        ];
        let mut message = message.to_owned();
        for (section, count) in counts {
            for index in 0..count {
                let engine = format!("{section}[{index}]");
                if message.contains(&engine) {
                    let (_, path) = locate(&self.named(section, index), self.root);
                    message = message.replace(&engine, &path);
                }
            }
        }
        message
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
