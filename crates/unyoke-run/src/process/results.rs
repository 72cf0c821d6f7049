//! From what a command left behind to the values of its outputs, and what it says it cost.
//!
//! A result file goes before what was printed. Of what was printed, a JSON object on the last line
//! goes before lines such as `lift=1.2`; a measurement of one output may print a bare number.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::Path;

use serde_json::{Map, Value};
use unyoke::Reading;

use super::number::{self, LONGEST_LINE};
use super::outcome::{Failure, Measured};

/// Longer than any result file that makes sense, or any object on a line.
const LONGEST_FILE: u64 = 1 << 20;

/// The field in which a command says what it cost, unless an output has this name.
const COST: &str = "cost";

/// The field in which it says why outputs have no value, unless an output has this name.
const MISSING: &str = "missing";

/// What a command left behind.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    pub(super) result: Result<Measured, Failure>,
    /// What it said it cost.
    pub(super) cost: Option<f64>,
}

impl Found {
    fn failed(failure: Failure) -> Self {
        Self { result: Err(failure), cost: None }
    }
}

/// For each output its value, or why it has none.
type Readings<'a> = Vec<(&'a str, Result<Reading, String>)>;

/// What is in the result file at `path`, or otherwise in an output that ends with `tail`.
pub(super) fn find(outputs: &[String], path: &Path, tail: &[u8]) -> Found {
    match content(path) {
        None => printed(outputs, tail),
        Some(Err(reason)) => Found::failed(Failure::BadResultFile { reason }),
        Some(Ok(text)) => match json(&text) {
            Some(Value::Object(fields)) => {
                in_object(outputs, &fields, |reason| Failure::BadResultFile { reason })
            }
            Some(value) if outputs.len() == 1 => {
                let result = collect(vec![(&outputs[0], reading(&value))]);
                let bad = |reason| Failure::BadResultFile { reason };
                Found { result: result.map_err(bad), cost: None }
            }
            _ => Found::failed(Failure::BadResultFile { reason: form(outputs) }),
        },
    }
}

/// The text of a file; `None` if there is no file.
fn content(path: &Path) -> Option<Result<String, String>> {
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(error) => return Some(Err(error.to_string())),
        // Opening a pipe would wait for somebody to write into it.
        Ok(data) if !data.is_file() => return Some(Err("it is no regular file".to_owned())),
        Ok(data) if data.len() > LONGEST_FILE => return Some(Err("it is too long".to_owned())),
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    let read =
        fs::File::open(path).and_then(|file| file.take(LONGEST_FILE).read_to_end(&mut bytes));
    Some(match read {
        Err(error) => Err(error.to_string()),
        Ok(_) if bytes.trim_ascii().is_empty() => Err("it is empty".to_owned()),
        Ok(_) => String::from_utf8(bytes).map_err(|_| "it is not text".to_owned()),
    })
}

/// The form that a result should have.
fn form(outputs: &[String]) -> String {
    match outputs {
        [_] => "it must be {\"value\": NUMBER} or a number alone".to_owned(),
        _ => {
            let fields: Vec<String> =
                outputs.iter().map(|name| format!("{name:?}: NUMBER")).collect();
            format!("it must be {{{}}}", fields.join(", "))
        }
    }
}

/// The outputs in the fields of an object. Other fields are the command's own business.
fn in_object(
    outputs: &[String],
    fields: &Map<String, Value>,
    failure: impl FnOnce(String) -> Failure,
) -> Found {
    let field = |name: &str| match fields.get(name) {
        Some(value) => reading(value),
        None if outputs.len() == 1 && fields.contains_key("value") => with_error(fields),
        None => Err(String::new()),
    };
    let readings: Readings<'_> = outputs.iter().map(|name| (name.as_str(), field(name))).collect();
    let is_other = readings.iter().all(|(_, one)| one.as_ref().is_err_and(String::is_empty));
    let said = fields.get(MISSING).filter(|_| outputs.iter().all(|name| name != MISSING));
    let said = said.and_then(Value::as_str).map(str::to_owned);
    let result = match (is_other, said) {
        (true, None) => Err(failure(form(outputs))),
        (false, None) => collect(readings).map_err(failure),
        (_, Some(said)) => explained(collect(readings), said),
    };
    let cost = fields.get(COST).filter(|_| outputs.iter().all(|name| name != COST));
    let cost = cost.and_then(Value::as_f64).filter(|cost| cost.is_finite() && *cost >= 0.0);
    Found { result, cost }
}

/// The same where the command itself says why outputs have no value.
fn explained(found: Result<Measured, String>, said: String) -> Result<Measured, Failure> {
    match found {
        Ok(Measured { values, missing }) => Ok(Measured { values, missing: missing.map(|_| said) }),
        Err(_) => Err(Failure::NoValue { reason: said }),
    }
}

/// A number, or an object with a value and perhaps its standard error.
fn reading(value: &Value) -> Result<Reading, String> {
    match value {
        Value::Object(fields) => with_error(fields),
        other => number(other).map(Reading::from),
    }
}

fn with_error(fields: &Map<String, Value>) -> Result<Reading, String> {
    let value = number(fields.get("value").unwrap_or(&Value::Null))?;
    let sd = match fields.get("sd") {
        None | Some(Value::Null) => None,
        Some(sd) => Some(number(sd).map_err(|reason| format!("has an sd that {reason}"))?),
    };
    match sd {
        Some(sd) if sd < 0.0 => Err(format!("has an sd that is {sd}, below zero")),
        _ => Ok(Reading { value, sd }),
    }
}

fn number(value: &Value) -> Result<f64, String> {
    let number = value.as_f64().filter(|number| number.is_finite());
    number.ok_or_else(|| match value {
        Value::String(word) if NOT_FINITE.contains(&word.as_str()) => format!("is {word}"),
        other => format!("is {}, not a number", number::quote(&other.to_string())),
    })
}

/// What was found of each output, if it is anything at all.
fn collect(readings: Readings<'_>) -> Result<Measured, String> {
    let (mut values, mut reasons) = (BTreeMap::new(), vec![]);
    for (name, found) in readings {
        match found {
            Ok(reading) => drop(values.insert(name.to_owned(), reading)),
            Err(reason) if reason.is_empty() => reasons.push(format!("there is no {name}")),
            Err(reason) => reasons.push(format!("{name} {reason}")),
        }
    }
    let missing = (!reasons.is_empty()).then(|| reasons.join("; "));
    match values.is_empty() {
        true => Err(missing.unwrap_or_default()),
        false => Ok(Measured { values, missing }),
    }
}

/// Words that are no JSON, but that many programs write nevertheless.
const NOT_FINITE: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

fn json(text: &str) -> Option<Value> {
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&quote_not_finite(text))).ok()
}

/// The same text with numbers that are not finite in quotes.
fn quote_not_finite(text: &str) -> Cow<'_, str> {
    if !NOT_FINITE.iter().any(|word| text.contains(word)) {
        return text.into();
    }
    let (mut quoted, mut rest) = (String::new(), text);
    let (mut is_inside, mut is_escaped) = (false, false);
    while let Some(next) = rest.chars().next() {
        let word = NOT_FINITE.iter().find(|word| !is_inside && rest.starts_with(**word));
        if let Some(word) = word {
            quoted.push_str(&format!("{word:?}"));
            rest = &rest[word.len()..];
            continue;
        }
        is_inside ^= next == '"' && !is_escaped;
        is_escaped = is_inside && next == '\\' && !is_escaped;
        quoted.push(next);
        rest = &rest[next.len_utf8()..];
    }
    quoted.into()
}

/// The outputs in what was printed.
fn printed(outputs: &[String], tail: &[u8]) -> Found {
    let has_any = |fields: &Map<String, Value>| {
        let is_only = outputs.len() == 1 && fields.contains_key("value");
        is_only || outputs.iter().any(|name| fields.contains_key(name))
    };
    // Otherwise it is a line of a log.
    if let Some(fields) = object_on_last_line(tail).filter(has_any) {
        return in_object(outputs, &fields, |reason| Failure::NoValue { reason });
    }
    let result = match outputs {
        [only] => alone(only, tail),
        _ => on_lines(outputs, tail),
    };
    Found { result, cost: None }
}

fn object_on_last_line(tail: &[u8]) -> Option<Map<String, Value>> {
    let line = number::last_line(tail).filter(|line| line.first() == Some(&b'{'))?;
    match json(std::str::from_utf8(line).ok()?)? {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

/// A single output: a bare number at the end, or a line with its name.
fn alone(only: &str, tail: &[u8]) -> Result<Measured, Failure> {
    let measured =
        |reading| Measured { values: [(only.to_owned(), reading)].into(), missing: None };
    match number::on_last_line(tail) {
        Ok(reading) => Ok(measured(reading)),
        Err(failure @ Failure::NotFinite { .. }) => Err(failure),
        Err(failure) => match named(only, tail) {
            None => Err(failure),
            Some(Ok(reading)) => Ok(measured(reading)),
            Some(Err(failure)) => Err(failure),
        },
    }
}

/// Several outputs, each on a line with its name.
fn on_lines(outputs: &[String], tail: &[u8]) -> Result<Measured, Failure> {
    let found: Vec<_> = outputs.iter().map(|name| (name.as_str(), named(name, tail))).collect();
    if found.iter().all(|(_, found)| found.is_none()) {
        let reason = format!(
            "it should print a line for each output, such as {}=1.5, or write all to UNYOKE_RESULT",
            outputs.first().map_or("", String::as_str)
        );
        return Err(Failure::NoValue { reason });
    }
    let reading = |found: Option<Result<Reading, Failure>>| match found {
        None => Err(String::new()),
        Some(found) => found.map_err(|failure| reason(&failure)),
    };
    let readings = found.into_iter().map(|(name, found)| (name, reading(found))).collect();
    collect(readings).map_err(|reason| Failure::NoValue { reason })
}

/// What is wrong with the value of an output, to follow its name.
fn reason(failure: &Failure) -> String {
    match failure {
        Failure::NotFinite { text } => format!("is {text}"),
        Failure::NotANumber { line, .. } => format!("is {line:?}, not a number"),
        Failure::SeveralNumbers { line } => format!("is {line:?}, more than one number"),
        other => format!("cannot be used: {other}"),
    }
}

/// The value on the last line such as `lift=1.2` or `lift: 1.2`, where what follows is a number, finite
/// or not: other lines may be about something else. `None` without any such line.
fn named(name: &str, tail: &[u8]) -> Option<Result<Reading, Failure>> {
    let lines = tail.rsplit(|byte| matches!(byte, b'\n' | b'\r'));
    let mut last = None;
    for text in lines.filter_map(|line| value_of(name, line)) {
        match number::reading(text) {
            decided @ (Ok(_) | Err(Failure::NotFinite { .. })) => return Some(decided),
            failed => last = last.or(Some(failed)),
        }
    }
    last
}

/// What a line says about an output.
fn value_of<'t>(name: &str, line: &'t [u8]) -> Option<&'t str> {
    let line = line.trim_ascii();
    let rest = line.strip_prefix(name.as_bytes()).filter(|_| line.len() <= LONGEST_LINE)?;
    let rest = rest.trim_ascii_start();
    let value = rest.strip_prefix(b"=").or_else(|| rest.strip_prefix(b":"))?;
    std::str::from_utf8(value.trim_ascii()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where there is no result file.
    const NONE: &str = "/nowhere/result.json";

    fn names(outputs: &[&str]) -> Vec<String> {
        outputs.iter().map(|name| (*name).to_owned()).collect()
    }

    fn of_print(outputs: &[&str], printed: &str) -> Found {
        find(&names(outputs), Path::new(NONE), printed.as_bytes())
    }

    fn of_file(outputs: &[&str], text: &str) -> Found {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.json");
        fs::write(&path, text).unwrap();
        find(&names(outputs), &path, b"9\n")
    }

    fn lift_and_drag(lift: f64, drag: f64, sd: Option<f64>) -> Measured {
        let drag = Reading { value: drag, sd };
        Measured {
            values: [("lift".into(), lift.into()), ("drag".into(), drag)].into(),
            missing: None,
        }
    }

    /// The value of `mass` and its standard error.
    fn mass(found: Found) -> Result<(f64, Option<f64>), Failure> {
        found.result.map(|measured| (measured.values["mass"].value, measured.values["mass"].sd))
    }

    #[test]
    fn several_outputs_are_written_by_name() {
        let text = r#"{"lift": 1.2, "drag": {"value": 0.3, "sd": 0.05}, "iterations": 17}"#;
        let found = of_file(&["lift", "drag"], text);
        assert_eq!(found.result, Ok(lift_and_drag(1.2, 0.3, Some(0.05))));
        assert_eq!(found.cost, None);
    }

    #[test]
    fn several_outputs_are_printed_on_lines_or_as_an_object() {
        let expected = Ok(lift_and_drag(1.2, 0.3, Some(0.05)));
        for printed in [
            "lift=1.2\ndrag = 0.3 ± 0.05\n",
            "drag: 0.3+/-0.05\r\nsolving drag\nlift : 1.2\ndone\n",
            "lift=1.2\ndrag=0.3 ± 0.05\n{\"level\": \"info\", \"cost\": 3}\n",
            "lift=7\ndrag=0.3 ± 0.05\nlift=1.2\nlift: converged\nlifting = 3\nlift\n",
            "\u{1b}[0mlog\n{\"lift\": 1.2, \"drag\": {\"value\": 0.3, \"sd\": 0.05}}\n",
        ] {
            assert_eq!(of_print(&["lift", "drag"], printed).result, expected, "{printed}");
        }
    }

    #[test]
    fn one_output_is_a_bare_number_or_has_its_name() {
        for text in ["1.5", " 1.5\n", r#"{"value": 1.5}"#, r#"{"value":1.5,"unit":"kg"}"#] {
            assert_eq!(mass(of_file(&["mass"], text)), Ok((1.5, None)), "{text}");
        }
        for text in
            [r#"{"mass": {"value": 1.5, "sd": 0.1}}"#, r#"{"value": 1.5, "sd": 0.1, "mas": 7}"#]
        {
            assert_eq!(mass(of_file(&["mass"], text)), Ok((1.5, Some(0.1))), "{text}");
        }
        for printed in
            ["mass = 3\n1.5\n", "mass: 1.5\nbye\n", "{\"mass\": 1.5}", "{\"value\": 1.5}\n"]
        {
            assert_eq!(mass(of_print(&["mass"], printed)), Ok((1.5, None)), "{printed}");
        }
        assert_eq!(mass(of_print(&["mass"], "1.5 ± 0.1")), Ok((1.5, Some(0.1))));
        assert_eq!(mass(of_file(&["mass"], r#"{"value": 3}"#)), Ok((3.0, None)));
    }

    #[test]
    fn what_one_output_lacks_does_not_cost_the_others() {
        for (text, reason) in [
            (r#"{"lift": 1.2}"#, "there is no drag"),
            (r#"{"lift": 1.2, "drag": NaN}"#, "drag is NaN"),
            (r#"{"lift": 1.2, "drag": -Infinity, "note": "NaN \" Infinity"}"#, "drag is -Infinity"),
            (r#"{"lift": 1.2, "drag": null}"#, "drag is null, not a number"),
            (r#"{"lift": 1.2, "drag": "low"}"#, "drag is \"low\", not a number"),
            (r#"{"lift": 1.2, "drag": {"value": 1, "sd": -1}}"#, "drag has an sd that is -1"),
            (r#"{"lift": 1.2, "drag": {"sd": 1}}"#, "drag is null"),
        ] {
            let file = of_file(&["lift", "drag"], text).result.unwrap();
            let print = of_print(&["lift", "drag"], text).result.unwrap();
            assert_eq!(file, print);
            assert_eq!(file.values, [("lift".to_owned(), 1.2.into())].into());
            assert!(file.missing.clone().unwrap().starts_with(reason), "{file:?}");
        }
        let found = of_print(&["lift", "drag"], "drag = nan\nlift=1.2\n").result.unwrap();
        assert_eq!(found.missing.as_deref(), Some("drag is nan"));
        let found = of_print(&["lift", "drag"], "drag = 1.5 kg\nlift=1.2\n").result.unwrap();
        assert_eq!(found.missing.as_deref(), Some("drag is \"1.5 kg\", not a number"));
    }

    #[test]
    fn without_any_value_there_is_a_reason() {
        for (printed, reason) in [
            ("", "such as lift=1.5"),
            ("1.2 0.3\n", "such as lift=1.5"),
            ("lift=nan\ndrag=x\n", "lift is nan; drag is \"x\", not a number"),
            ("{\"LIFT\": 1}", "such as lift=1.5"),
        ] {
            let failure = of_print(&["lift", "drag"], printed).result.unwrap_err();
            assert!(failure.to_string().contains(reason), "{printed}: {failure}");
        }
        for text in ["1.5", "[1, 2]", "{}", "{", r#"{"lift": NaN}"#] {
            let failure = of_file(&["lift", "drag"], text).result.unwrap_err();
            assert!(matches!(failure, Failure::BadResultFile { .. }), "{text}: {failure}");
        }
        let failure = of_print(&["mass"], "mass = 3\nnan\n").result.unwrap_err();
        assert!(matches!(failure, Failure::NotFinite { .. }), "the last line says so: {failure}");
    }

    #[test]
    fn a_cost_is_reported_unless_it_is_an_output() {
        for text in [r#"{"value": 1, "cost": 3.5}"#, r#"{"mass": 1, "cost": 3.5}"#] {
            assert_eq!(of_file(&["mass"], text).cost, Some(3.5), "{text}");
            assert_eq!(of_print(&["mass"], text).cost, Some(3.5), "{text}");
        }
        let both = r#"{"cost": 3.5, "mass": 2}"#;
        let found = of_file(&["cost", "mass"], both);
        assert_eq!((found.cost, found.result.unwrap().values["cost"].value), (None, 3.5));
        for text in [r#"{"value": 1, "cost": -1}"#, r#"{"value": 1, "cost": "much"}"#] {
            let found = of_file(&["mass"], text);
            assert_eq!(found.cost, None);
            assert!(found.result.is_ok(), "a cost that makes no sense costs no result");
        }
        let failed = of_file(&["mass"], r#"{"value": NaN, "cost": 2}"#);
        assert_eq!(failed.cost, Some(2.0), "{failed:?}");
        assert!(failed.result.is_err());
    }

    #[test]
    fn a_command_may_say_itself_why_there_is_no_value() {
        let found =
            of_file(&["lift", "drag"], r#"{"lift": 1.2, "drag": null, "missing": "stalled"}"#);
        assert_eq!(found.result.unwrap().missing.as_deref(), Some("stalled"));
        for text in
            [r#"{"missing": "stalled"}"#, r#"{"lift": null, "drag": null, "missing": "stalled"}"#]
        {
            let failure = of_file(&["lift", "drag"], text).result.unwrap_err();
            assert_eq!(failure.to_string(), "the command gave no value: stalled");
        }
        let found = of_file(&["lift", "drag"], r#"{"lift": 1, "drag": 2, "missing": "nothing"}"#);
        assert_eq!(found.result, Ok(lift_and_drag(1.0, 2.0, None)));
        let found = of_file(&["missing"], r#"{"missing": 3}"#);
        assert_eq!(found.result.unwrap().values["missing"].value, 3.0);
    }

    #[test]
    fn names_may_hold_anything() {
        let names = ["a=b", "Ω 🎯", "a", "a:"];
        let printed = "a=b = 1\nΩ 🎯: 2\na: 3\na:= 4\n";
        let found = of_print(&names, printed).result.unwrap();
        let values: Vec<f64> = names.iter().map(|name| found.values[*name].value).collect();
        assert_eq!(values, [1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn a_bad_result_file_is_not_passed_over() {
        let bad =
            ["", "  ", "{", "NaN", r#"{"value": "1.5"}"#, r#"{"value": null}"#, "{}", "[1.5]"];
        let more = [r#"{"value": 1e400}"#, r#"{"value": NaN}"#, "1.5 2.5", "1.5\n\u{0}"];
        for text in bad.into_iter().chain(more) {
            let failure = of_file(&["mass"], text).result;
            assert!(matches!(failure, Err(Failure::BadResultFile { .. })), "{text}: {failure:?}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.json");
        fs::write(&path, vec![b' '; LONGEST_FILE as usize + 1]).unwrap();
        assert!(find(&names(&["mass"]), &path, b"1").result.is_err());
        fs::write(&path, b"1.5\xff").unwrap();
        assert!(find(&names(&["mass"]), &path, b"1").result.is_err());
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(find(&names(&["mass"]), &path, b"1").result.is_err());
    }
}
