//! Reads `[parameters.NAME]` and `[limits]`.

use unyoke::{Design, Limit, Parameter, Scale, Value};

use super::fields;
use super::table::{Entry, Findings, Table};
use crate::diagnostic::Diagnostic;

/// The parameters in the order of the file.
///
/// One that cannot be read is there nevertheless, with bounds of its own, so that the rest of the
/// file can be checked against its name.
pub(super) fn read(root: &Table<'_>, found: &mut Findings) -> Vec<Parameter> {
    let Some(section) = root.section("parameters", found) else { return vec![] };
    let read = |entry: Entry<'_>| {
        let name = entry.name.to_owned();
        parameter(&entry, found).unwrap_or(Parameter::Continuous {
            name,
            low: 0.0,
            high: 1.0,
            scale: Scale::Linear,
            step: None,
        })
    };
    section.entries().map(read).collect()
}

/// For parameters that were added to a study, the values that designs had before.
pub(super) fn was(root: &Table<'_>, parameters: &[Parameter], found: &mut Findings) -> Design {
    let section = root.get("parameters").and_then(|entry| entry.inner());
    let mut design = Design::new();
    for entry in section.iter().flat_map(Table::entries) {
        let Some(was) = entry.inner().and_then(|table| table.get("was")) else { continue };
        let parameter = parameters.iter().find(|parameter| parameter.name() == entry.name);
        if let Some(value) = parameter.and_then(|parameter| earlier(&was, parameter, found)) {
            design = design.with(entry.name, value);
        }
    }
    design
}

/// A value that the parameter can have, within its bounds or not.
fn earlier(was: &Entry<'_>, parameter: &Parameter, found: &mut Findings) -> Option<Value> {
    match parameter {
        Parameter::Continuous { .. } => was.number(found).map(Value::Real),
        Parameter::Integer { .. } => was.whole(found).map(Value::Integer),
        Parameter::Categorical { choices, .. } => {
            let text = was.text(found)?;
            if !choices.iter().any(|choice| choice == text) {
                let reason = format!("is {text:?}, but must be one of the choices");
                was.refuse(reason, "not a choice", found);
                return None;
            }
            Some(Value::Choice(text.to_owned()))
        }
    }
}

/// The limits between parameters in the order of the file.
pub(super) fn limits(root: &Table<'_>, found: &mut Findings) -> Vec<Limit> {
    let Some(section) = root.section("limits", found) else { return vec![] };
    let read = |entry: Entry<'_>| {
        let formula = entry.text(found)?.to_owned();
        Some(Limit { name: entry.name.to_owned(), formula })
    };
    section.entries().filter_map(read).collect()
}

fn parameter(entry: &Entry<'_>, found: &mut Findings) -> Option<Parameter> {
    refuse_nul(entry, found);
    let table = entry.table(found)?;
    table.refuse_unknown(fields::PARAMETER, found);
    let name = entry.name.to_owned();
    match kind(&table, found)? {
        "categorical" => {
            let others = ["low", "high", "scale", "step", "digits"];
            refuse_beside(&table, &others, "a parameter with choices", found);
            let ordered = table.get("ordered").and_then(|entry| entry.truth(found));
            let choices = table.need("choices", found)?.texts(found)?;
            let choices = choices.iter().map(|choice| choice.as_text().to_owned()).collect();
            let ordered = ordered.unwrap_or_default();
            Some(Parameter::Categorical { name, choices, ordered })
        }
        "integer" => {
            let others = ["choices", "ordered", "step", "digits"];
            refuse_beside(&table, &others, "an integer", found);
            // All three are read before the first that is missing ends it.
            let low = table.need("low", found).and_then(|entry| entry.whole(found));
            let high = table.need("high", found).and_then(|entry| entry.whole(found));
            let scale = scale(&table, found)?;
            Some(Parameter::Integer { name, low: low?, high: high?, scale })
        }
        _ => {
            refuse_beside(&table, &["ordered"], "a number", found);
            let low = table.need("low", found).and_then(|entry| entry.number(found));
            let high = table.need("high", found).and_then(|entry| entry.number(found));
            let step = step(&table, low, found);
            let scale = scale(&table, found)?;
            Some(Parameter::Continuous { name, low: low?, high: high?, scale, step })
        }
    }
}

/// The distance between two values, or the digits after their points.
fn step(table: &Table<'_>, low: Option<f64>, found: &mut Findings) -> Option<f64> {
    let digits = match (table.get("step"), table.get("digits")) {
        (step, None) => return step.and_then(|entry| entry.number(found)),
        (Some(_), Some(digits)) => {
            let message = format!("{} cannot be combined with step", digits.path);
            found.add(Diagnostic::new(digits.key, message).label("remove one of them"));
            return None;
        }
        (None, Some(digits)) => digits,
    };
    let count: u32 = digits.whole(found)?;
    if count > MOST_DIGITS {
        digits.refuse(format!("must be at most {MOST_DIGITS}"), "too many", found);
        return None;
    }
    // Steps begin at the lowest value, which must therefore have no more digits itself.
    if let Some(low) = low.filter(|low| !has_digits(*low, count)) {
        let reason = format!("is {count}, but low is {low}, which has more digits");
        digits.refuse(reason, "steps begin at low", found);
        return None;
    }
    // As it is written: the nearest number to 0.01 is not what 1 / 100 need be.
    format!("1e-{count}").parse().ok()
}

/// With more digits numbers around 1 are not exact.
const MOST_DIGITS: u32 = 15;

/// Whether so many digits after the point are enough to write a number.
fn has_digits(number: f64, digits: u32) -> bool {
    format!("{number:.*}", digits as usize).parse() == Ok(number)
}

/// What is said, otherwise what the other fields imply.
fn kind<'t>(table: &Table<'t>, found: &mut Findings) -> Option<&'t str> {
    match table.get("type") {
        Some(entry) => entry.word(fields::PARAMETER_TYPES, found),
        None if table.get("choices").is_some() => Some("categorical"),
        None if table.get("low").is_none() && table.get("high").is_none() => {
            let message = format!("{} needs low and high, or choices", table.path);
            let diagnostic = Diagnostic::new(table.place.clone(), message).label("no values");
            found.add(diagnostic);
            None
        }
        None => Some("continuous"),
    }
}

pub(super) fn scale(table: &Table<'_>, found: &mut Findings) -> Option<Scale> {
    let Some(entry) = table.get("scale") else { return Some(Scale::Linear) };
    match entry.word(fields::SCALES, found)? {
        "log" => Some(Scale::Log),
        _ => Some(Scale::Linear),
    }
}

fn refuse_beside(table: &Table<'_>, fields: &[&str], what: &str, found: &mut Findings) {
    for entry in fields.iter().filter_map(|field| table.get(field)) {
        let message = format!("{} does not apply to {what}", entry.path);
        found.add(Diagnostic::new(entry.key, message).label("remove this, or change the type"));
    }
}

/// Notes a name that no process could be told.
pub(super) fn refuse_nul(entry: &Entry<'_>, found: &mut Findings) {
    if entry.name.contains('\0') {
        let message = format!("the name {:?} contains a NUL character", entry.name);
        found.add(Diagnostic::new(entry.key.clone(), message).label("NUL inside"));
    }
}
