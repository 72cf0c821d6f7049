//! Reads `[measurements.NAME]`, and what objectives and constraints say about how they are measured
//! alone: what one run gives, what it costs, and the command that makes it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use toml::de::DeTable;
use unyoke::{Cost, LearnedCost, Measurement, near};

use super::executors;
use super::fields;
use super::outputs::OutputTable;
use super::parameters::refuse_nul;
use super::settings::MeasurementRun;
use super::table::{Entry, Findings, Table};
use crate::command::{Argument, CommandTemplate};
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};

/// What the commands of a study share.
pub(super) struct Setting<'a> {
    /// Names that placeholders may use.
    pub(super) parameters: Vec<&'a str>,
    /// Where commands run unless they say otherwise.
    pub(super) folder: &'a Path,
}

/// A measurement, how it is made, and where the file says so.
pub(super) struct MeasurementTable {
    /// `measurements`, or where the output is that it gives alone.
    pub(super) section: &'static str,
    pub(super) measurement: Measurement,
    pub(super) run: MeasurementRun,
    /// Where it is named.
    pub(super) place: Range<usize>,
}

/// The measurements of single outputs in the order of these, then the others in the order of the file.
pub(super) fn read(
    root: &Table<'_>,
    outputs: &[OutputTable<'_>],
    setting: &Setting<'_>,
    found: &mut Findings,
) -> Vec<MeasurementTable> {
    let several = several(root, setting, found);
    let mut all: Vec<MeasurementTable> =
        outputs.iter().filter_map(|one| alone(one, &several, setting, found)).collect();
    all.extend(several);
    all
}

/// `[measurements.NAME]`.
fn several(root: &Table<'_>, setting: &Setting<'_>, found: &mut Findings) -> Vec<MeasurementTable> {
    let Some(section) = root.section("measurements", found) else { return vec![] };
    let read = |entry: Entry<'_>| {
        refuse_nul(&entry, found);
        let table = entry.table(found)?;
        table.refuse_unknown(fields::MEASUREMENT, found);
        let listed = table.need("outputs", found).and_then(|entry| entry.texts(found));
        let listed = listed.unwrap_or_default();
        let outputs: Vec<String> = listed.iter().map(|one| one.as_text().to_owned()).collect();
        let cost = table.need("cost", found).and_then(|entry| cost(&entry, found));
        let run = run(entry.name, &table, setting, found);
        Some(MeasurementTable {
            section: "measurements",
            measurement: Measurement::new(entry.name, outputs.clone(), cost.unwrap_or(UNREAD)),
            run: MeasurementRun { outputs, ..run },
            place: entry.key,
        })
    };
    section.entries().filter_map(read).collect()
}

/// Stands for a cost that cannot be read.
const UNREAD: Cost = Cost::Constant(1.0);

/// The measurement of an output alone, if it has one of its own.
fn alone(
    output: &OutputTable<'_>,
    several: &[MeasurementTable],
    setting: &Setting<'_>,
    found: &mut Findings,
) -> Option<MeasurementTable> {
    let name = output.output.name.as_str();
    let lists = |other: &&MeasurementTable| other.run.outputs.iter().any(|listed| listed == name);
    let listed = several.iter().find(lists);
    let Some(table) = &output.table else {
        return listed.is_none().then(|| unread(output.section, name, setting));
    };
    if output.output.formula.is_some() {
        return None;
    }
    let is_run = table.get("command").is_some() || table.get("executor").is_some();
    let has_both = table.get("cost").is_some() && is_run;
    if let Some(other) = listed.filter(|_| !has_both) {
        refuse_half(table, &other.run.measurement, found);
        return None;
    }
    let cost = need_cost(table, found).and_then(|entry| cost(&entry, found));
    let run = run(name, table, setting, found);
    Some(MeasurementTable {
        section: output.section,
        measurement: Measurement::new(name, [name], cost.unwrap_or(UNREAD)),
        run: MeasurementRun { outputs: vec![name.to_owned()], ..run },
        place: table.place.clone(),
    })
}

/// Stands for the measurement of an output that cannot be read.
fn unread(section: &'static str, name: &str, setting: &Setting<'_>) -> MeasurementTable {
    let run = MeasurementRun::new(name, setting.folder);
    let run = MeasurementRun { outputs: vec![name.to_owned()], ..run };
    MeasurementTable {
        section,
        measurement: Measurement::new(name, [name], UNREAD),
        run,
        place: 0..0,
    }
}

/// Notes what an output says about a measurement of its own that it does not have.
fn refuse_half(table: &Table<'_>, other: &str, found: &mut Findings) {
    for entry in fields::RUNNING.iter().chain(&["cost"]).filter_map(|name| table.get(name)) {
        let message =
            format!("{} is not allowed here: {other:?} measures {:?}", entry.path, table.name());
        let diagnostic = Diagnostic::new(entry.key, message).label("remove this");
        found.add(diagnostic.help("what is measured alone as well needs both cost and command"));
    }
}

fn need_cost<'t>(table: &Table<'t>, found: &mut Findings) -> Option<Entry<'t>> {
    let cost = table.get("cost");
    if cost.is_none() {
        let message = format!("{} needs cost", table.path);
        let diagnostic = Diagnostic::new(table.place.clone(), message).label("no cost");
        found
            .add(diagnostic.help("or a formula, or a measurement that lists it among its outputs"));
    }
    cost
}

/// A number, a formula, or how it is learned.
fn cost(entry: &Entry<'_>, found: &mut Findings) -> Option<Cost> {
    if entry.is_text() {
        let text = entry.text(found)?;
        if text.trim().parse::<f64>().is_ok() {
            // Not a formula, although it would be one.
            entry.number(found)?;
        }
        return Some(Cost::formula(text));
    }
    match entry.inner() {
        Some(_) => entry.parse::<LearnedCost>(found).map(Cost::Learned),
        None => entry.number(found).map(Cost::Constant),
    }
}

fn run(
    name: &str,
    table: &Table<'_>,
    setting: &Setting<'_>,
    found: &mut Findings,
) -> MeasurementRun {
    let unsaid = MeasurementRun::new(name, setting.folder);
    let directory = table.get("directory").and_then(|entry| entry.text(found));
    let retries = table.get("retries").and_then(|entry| entry.whole(found));
    MeasurementRun {
        command: table.get("command").and_then(|entry| command(&entry, setting, found)),
        timeout: table.get("timeout").and_then(|entry| entry.duration(found)),
        retries: retries.unwrap_or(unsaid.retries),
        slots: table.get("slots").and_then(|entry| entry.count(found)),
        directory: directory.map_or(unsaid.directory, |directory| setting.folder.join(directory)),
        env: table.get("env").map_or_else(BTreeMap::new, |entry| variables(&entry, found)),
        executor: executors::read(table, found),
        ..unsaid
    }
}

impl MeasurementRun {
    /// How a measurement is made, by the fields that its table in a study file would have. Paths start in
    /// `folder`. Fails with all that is wrong with them.
    pub fn from_fields(
        measurement: &str,
        outputs: &[String],
        folder: &Path,
        written: &serde_json::Map<String, serde_json::Value>,
    ) -> Result<Self> {
        let refused = |reasons: Vec<String>| Error::BadExecutor {
            measurement: measurement.to_owned(),
            reason: reasons.join("; "),
        };
        let text = toml::to_string(written).map_err(|error| refused(vec![error.to_string()]))?;
        let document = DeTable::parse(&text).map_err(|error| refused(vec![error.to_string()]))?;
        let (mut found, table) = (Findings::new(&text), Table::root(document.get_ref()));
        table.refuse_unknown(fields::RUNNING, &mut found);
        let run = run(measurement, &table, &Setting { parameters: vec![], folder }, &mut found);
        let said = |one: Diagnostic| match one.help {
            Some(help) => format!("{} ({help})", one.message.trim()),
            None => one.message.trim().to_owned(),
        };
        match found.is_empty() {
            true => Ok(Self { outputs: outputs.to_vec(), ..run }),
            false => Err(refused(found.into_diagnostics().into_iter().map(said).collect())),
        }
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
    let message =
        format!("{} must be a list of arguments: commands are run without a shell", entry.path);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study_file::Executor;
    use serde_json::json;

    fn read(fields: serde_json::Value) -> Result<MeasurementRun> {
        let serde_json::Value::Object(fields) = fields else { panic!("not an object") };
        MeasurementRun::from_fields("drag", &["drag".to_owned()], Path::new("/here"), &fields)
    }

    #[test]
    fn fields_of_a_program_mean_what_those_of_a_file_mean() {
        let run = read(json!({
            "command": ["python3", "{{x}}"], "executor": "slurm", "slots": 3, "retries": 1, "poll": "500ms",
            "slurm": { "partition": "cpu", "time": "4h", "cpus": 8, "memory": "16G", "extra": ["--account=x"] },
        }));
        let run = run.unwrap();
        assert_eq!((run.slots, run.retries), (Some(3), 1));
        let argv = run.command.unwrap().fill(&unyoke::Design::new()).unwrap();
        assert_eq!(argv, ["python3", "{x}"]);
        let Executor::Slurm(resources, watching) = run.executor else { panic!("not Slurm") };
        assert_eq!((resources.cpus, watching.poll.as_millis()), (Some(8), 500));
    }

    #[test]
    fn all_that_is_wrong_with_them_is_said() {
        let wrong =
            json!({ "executor": "slurm", "slurm": { "memory": "much", "cpu": 8 }, "polls": "1s" });
        let message = read(wrong).unwrap_err().to_string();
        for part in ["drag cannot be run like this", "slurm.memory", "slurm.cpu", "polls", "cpus"] {
            assert!(message.contains(part), "{part}: {message}");
        }
    }
}
