//! Reads `[objectives.NAME]`: what is measured, and the command that does so.

use std::collections::BTreeMap;
use std::path::Path;

use unyoke::{Direction, Noise, Objective, near};

use super::fields;
use super::parameters::refuse_nul;
use super::settings::ObjectiveRun;
use super::table::{Entry, Findings, Table};
use crate::command::{Argument, CommandTemplate};
use crate::diagnostic::Diagnostic;

/// What the commands of a study share.
pub(super) struct Setting<'a> {
    /// Names that placeholders may use.
    pub(super) parameters: Vec<&'a str>,
    /// Where commands run unless they say otherwise.
    pub(super) folder: &'a Path,
}

/// The objectives in the order of the file, and how each is measured.
///
/// One that cannot be read is there nevertheless, so that the rest of the file can be checked
/// against its name.
pub(super) fn read(
    root: &Table<'_>,
    setting: &Setting<'_>,
    found: &mut Findings,
) -> (Vec<Objective>, Vec<ObjectiveRun>) {
    let Some(section) = root.section("objectives", found) else { return (vec![], vec![]) };
    let read = |entry: Entry<'_>| {
        refuse_nul(&entry, found);
        refuse_taken(&entry, &setting.parameters, found);
        let Some(table) = entry.table(found) else {
            let unread = ObjectiveRun::new(entry.name, setting.folder);
            return (Objective::minimise(entry.name, 1.0), unread);
        };
        table.refuse_unknown(fields::OBJECTIVE, found);
        (objective(entry.name, &table, found), run(entry.name, &table, setting, found))
    };
    section.entries().map(read).unzip()
}

/// In tables with a column for each name, and to people, two things of one name are one.
fn refuse_taken(entry: &Entry<'_>, parameters: &[&str], found: &mut Findings) {
    if parameters.contains(&entry.name) {
        let message = format!("{:?} is the name of a parameter as well", entry.name);
        found.add(Diagnostic::new(entry.key.clone(), message).label("rename this or the other"));
    }
}

fn objective(name: &str, table: &Table<'_>, found: &mut Findings) -> Objective {
    let direction = match direction(table, found) {
        Some("maximise" | "maximize") => Direction::Maximise,
        _ => Direction::Minimise,
    };
    let cost = table.need("cost", found).and_then(|entry| entry.number(found));
    let noise = table.get("noise").and_then(|entry| noise(&entry, found));
    let priors = table.get("priors").and_then(|entry| entry.parse(found));
    let hyper = table.get("hyper").and_then(|entry| entry.parse(found));
    Objective {
        name: name.to_owned(),
        direction,
        cost: cost.unwrap_or(1.0),
        noise: noise.unwrap_or_default(),
        priors: priors.unwrap_or_default(),
        hyper,
    }
}

/// The word of `direction`, which files may also call `goal`, as all did once.
fn direction<'t>(table: &Table<'t>, found: &mut Findings) -> Option<&'t str> {
    let entry = match (table.get("direction"), table.get("goal")) {
        (Some(_), Some(goal)) => {
            let message = format!("{} says again what direction says", goal.path);
            found.add(Diagnostic::new(goal.key, message).label("remove this"));
            return None;
        }
        (None, Some(goal)) => Some(goal),
        _ => table.need("direction", found),
    };
    entry.and_then(|entry| entry.word(fields::DIRECTIONS, found))
}

fn noise(entry: &Entry<'_>, found: &mut Findings) -> Option<Noise> {
    if !entry.is_text() {
        return entry.number(found).map(|sd| Noise::Known { sd });
    }
    match entry.word(fields::NOISES, found)? {
        "unknown" => Some(Noise::Noisy),
        _ => Some(Noise::Deterministic),
    }
}

fn run(name: &str, table: &Table<'_>, setting: &Setting<'_>, found: &mut Findings) -> ObjectiveRun {
    let unsaid = ObjectiveRun::new(name, setting.folder);
    let directory = table.get("directory").and_then(|entry| entry.text(found));
    let retries = table.get("retries").and_then(|entry| entry.whole(found));
    ObjectiveRun {
        command: table.get("command").and_then(|entry| command(&entry, setting, found)),
        timeout: table.get("timeout").and_then(|entry| entry.duration(found)),
        retries: retries.unwrap_or(unsaid.retries),
        slots: table.get("slots").and_then(|entry| entry.count(found)),
        directory: directory.map_or(unsaid.directory, |directory| setting.folder.join(directory)),
        env: table.get("env").map_or_else(BTreeMap::new, |entry| variables(&entry, found)),
        ..unsaid
    }
}

fn command(
    entry: &Entry<'_>,
    setting: &Setting<'_>,
    found: &mut Findings,
) -> Option<CommandTemplate> {
    if entry.is_text() {
        refuse_shell(entry, found);
        return None;
    }
    let items = entry.texts(found)?;
    match items.first() {
        None => entry.refuse("must name a program", "nothing to run", found),
        Some(program) if program.as_text().is_empty() => {
            program.refuse("must name a program", "nothing to run", found);
        }
        Some(_) => {}
    }
    let argument = |item: &Entry<'_>| argument(item, setting, found);
    let arguments: Vec<_> = items.iter().filter_map(argument).collect();
    (arguments.len() == items.len()).then(|| CommandTemplate::from_arguments(arguments))
}

/// A command in one piece would need a shell to take it apart.
fn refuse_shell(entry: &Entry<'_>, found: &mut Findings) {
    let parts: Vec<String> =
        entry.as_text().split_whitespace().map(|part| format!("{part:?}")).collect();
    let message = format!("{} must be a list: there is no shell to take it apart", entry.path);
    let diagnostic = Diagnostic::new(entry.place(), message).label("expected a list of texts");
    found.add(diagnostic.help(format!("command = [{}]", parts.join(", "))));
}

fn argument(item: &Entry<'_>, setting: &Setting<'_>, found: &mut Findings) -> Option<Argument> {
    let argument = match Argument::parse(item.as_text()) {
        Ok(argument) => argument,
        Err(bad) => {
            let place = found.inside(item, bad.place);
            let message = format!("{} holds {}", item.path, bad.reason);
            found.add(Diagnostic::new(place, message).label("not a placeholder"));
            return None;
        }
    };
    for name in argument.parameters().filter(|name| !setting.parameters.contains(name)) {
        let placeholder = format!("{{{name}}}");
        let at = item.as_text().find(&placeholder).unwrap_or(0);
        let place = found.inside(item, at..at + placeholder.len());
        let message = format!("{} uses {placeholder}, but there is no such parameter", item.path);
        let diagnostic = Diagnostic::new(place, message).label("unknown parameter");
        let near = near(name, setting.parameters.iter().copied());
        let meant = near.map(|near| format!("did you mean {{{near}}}?"));
        let known = || format!("the parameters are {}", setting.parameters.join(", "));
        let help = meant.or_else(|| (!setting.parameters.is_empty()).then(known));
        found.add(match help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        });
    }
    Some(argument)
}

fn variables(entry: &Entry<'_>, found: &mut Findings) -> BTreeMap<String, String> {
    entry.map(found, |variable, found| {
        if variable.name.is_empty() || variable.name.contains(['=', '\0']) {
            let message = format!("{:?} cannot be the name of a variable", variable.name);
            found.add(Diagnostic::new(variable.key.clone(), message).label("not a name"));
        }
        variable.text(found).map(str::to_owned)
    })
}
