//! Reads `[objectives.NAME]` and `[constraints.NAME]`: what matters about a design.

use unyoke::{Direction, Noise, Output, Role, Scale};

use super::fields;
use super::parameters::{refuse_nul, scale};
use super::table::{Entry, Findings, Table};
use crate::diagnostic::Diagnostic;

/// An output with its table; none if that could not be read.
pub(super) struct OutputTable<'t> {
    /// `objectives` or `constraints`.
    pub(super) section: &'static str,
    pub(super) output: Output,
    /// The value of an objective beyond which more is worth nothing.
    pub(super) enough: Option<f64>,
    pub(super) table: Option<Table<'t>>,
}

/// The objectives and then the constraints, in the order of the file.
///
/// One that cannot be read is there nevertheless, so that the rest of the file can be checked
/// against its name.
pub(super) fn read<'t>(
    root: &Table<'t>,
    parameters: &[&str],
    found: &mut Findings,
) -> Vec<OutputTable<'t>> {
    let mut outputs = vec![];
    for (section, known) in [("objectives", fields::OBJECTIVE), ("constraints", fields::CONSTRAINT)]
    {
        let Some(entries) = root.section(section, found) else { continue };
        for entry in entries.entries() {
            refuse_nul(&entry, found);
            refuse_taken(&entry, parameters, found);
            let table = entry.table(found);
            let mut output = Output::minimise(entry.name);
            let mut enough = None;
            if let Some(table) = &table {
                table.refuse_unknown(known, found);
                output.role = match section {
                    "objectives" => Role::Objective(direction(table, found)),
                    _ => limit(table, found),
                };
                model(&mut output, table, found);
                enough = match section {
                    "objectives" => table.get("enough").and_then(|entry| entry.number(found)),
                    _ => None,
                };
            }
            outputs.push(OutputTable { section, output, enough, table });
        }
    }
    outputs
}

/// In tables with a column for each name, and to people, two things of one name are one.
fn refuse_taken(entry: &Entry<'_>, parameters: &[&str], found: &mut Findings) {
    if parameters.contains(&entry.name) {
        let message = format!("{:?} is the name of a parameter as well", entry.name);
        found.add(Diagnostic::new(entry.key.clone(), message).label("rename this or the other"));
    }
}

/// What is known about its values.
fn model(output: &mut Output, table: &Table<'_>, found: &mut Findings) {
    output.formula = table.get("formula").and_then(|entry| entry.text(found)).map(str::to_owned);
    if output.formula.is_some() {
        refuse_beside_formula(table, found);
        return;
    }
    let noise = table.get("noise").and_then(|entry| noise(&entry, found));
    let priors = table.get("priors").and_then(|entry| entry.parse(found));
    output.scale = scale(table, found).unwrap_or(Scale::Linear);
    output.noise = noise.unwrap_or_default();
    output.priors = priors.unwrap_or_default();
    output.hyper = table.get("hyper").and_then(|entry| entry.parse(found));
}

/// What is known everywhere is neither measured nor modelled.
fn refuse_beside_formula(table: &Table<'_>, found: &mut Findings) {
    let others = ["scale", "noise", "priors", "hyper"].iter().chain(fields::RUNNING);
    for entry in others.chain(&["cost"]).filter_map(|name| table.get(name)) {
        let message = format!("{} cannot be combined with a formula", entry.path);
        found.add(Diagnostic::new(entry.key, message).label("remove this, or the formula"));
    }
}

/// The word of `direction`, which files may also call `goal`, as all did once.
fn direction(table: &Table<'_>, found: &mut Findings) -> Direction {
    let entry = match (table.get("direction"), table.get("goal")) {
        (Some(_), Some(goal)) => {
            let message = format!("{} repeats direction", goal.path);
            found.add(Diagnostic::new(goal.key, message).label("remove this"));
            None
        }
        (None, Some(goal)) => Some(goal),
        _ => table.need("direction", found),
    };
    match entry.and_then(|entry| entry.word(fields::DIRECTIONS, found)) {
        Some("maximise" | "maximize") => Direction::Maximise,
        _ => Direction::Minimise,
    }
}

/// The limit of a constraint.
fn limit(table: &Table<'_>, found: &mut Findings) -> Role {
    let number = |entry: Entry<'_>, found: &mut Findings| entry.number(found).unwrap_or(0.0);
    match (table.get("at_most"), table.get("at_least")) {
        (Some(entry), None) => Role::AtMost(number(entry, found)),
        (None, Some(entry)) => Role::AtLeast(number(entry, found)),
        (None, None) => {
            let message = format!("{} needs at_most or at_least", table.path);
            found.add(Diagnostic::new(table.place.clone(), message).label("no limit"));
            Role::AtMost(0.0)
        }
        (Some(_), Some(second)) => {
            let message = format!("{} cannot be combined with at_most", second.path);
            let diagnostic = Diagnostic::new(second.key, message).label("a second limit");
            found.add(diagnostic.help("a constraint has one limit; add another for the second"));
            Role::AtMost(0.0)
        }
    }
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
