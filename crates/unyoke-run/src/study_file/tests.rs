//! That fields, schema, template and documents tell the same; mistakes are in `tests/study_file.rs`.

use super::*;
use serde_json::Value;

fn schema_value() -> Value {
    serde_json::from_str(schema()).unwrap()
}

/// The names of the properties of a part of the schema.
fn properties(part: &Value) -> Vec<&str> {
    part["properties"].as_object().unwrap().keys().map(String::as_str).collect()
}

fn sorted(names: &[&'static str]) -> Vec<&'static str> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names
}

/// TOML as the JSON that a schema is for.
fn json(text: &str) -> Value {
    toml::from_str(text).unwrap()
}

fn all_fields() -> Vec<(&'static str, &'static [&'static str])> {
    vec![
        ("study", fields::STUDY),
        ("budget", fields::BUDGET),
        ("stop", fields::STOP),
        ("run", fields::RUN),
        ("initial", fields::INITIAL),
        ("preference", fields::PREFERENCE),
        ("engine", fields::ENGINE),
    ]
}

fn all_parts() -> Vec<(&'static str, &'static [&'static str])> {
    vec![
        ("parameter", fields::PARAMETER),
        ("objective", fields::OBJECTIVE),
        ("constraint", fields::CONSTRAINT),
        ("measurement", fields::MEASUREMENT),
    ]
}

#[test]
fn the_schema_has_the_fields_that_are_read() {
    let schema = schema_value();
    assert_eq!(properties(&schema), sorted(fields::FILE));
    for (section, names) in all_fields() {
        assert_eq!(properties(&schema["properties"][section]), sorted(names), "{section}");
    }
    for (part, names) in all_parts() {
        assert_eq!(properties(&schema["$defs"][part]), sorted(names), "{part}");
    }
    let words = |value: &Value| {
        let words = value["enum"].as_array().unwrap().iter();
        words.map(|word| word.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let algorithms = &schema["properties"]["study"]["properties"]["algorithm"];
    assert_eq!(words(algorithms), unyoke::Algorithm::ALL.map(unyoke::Algorithm::name));
    assert_eq!(words(&schema["$defs"]["objective"]["properties"]["direction"]), fields::DIRECTIONS);
    let utilities = &schema["properties"]["preference"]["properties"]["utility"];
    assert_eq!(words(utilities), fields::UTILITIES);
    assert_eq!(words(&schema["$defs"]["parameter"]["properties"]["type"]), fields::PARAMETER_TYPES);
}

#[test]
fn the_document_describes_every_field() {
    let document = include_str!("../../../../docs/study-file.md");
    for section in fields::FILE {
        assert!(document.contains(&format!("## `[{section}")), "{section}");
    }
    for (section, names) in all_fields().into_iter().chain(all_parts()) {
        for name in names {
            assert!(document.contains(&format!("`{name}`")), "{section}.{name}");
        }
    }
}

#[test]
fn the_template_and_the_examples_pass_their_checks_and_the_schema() {
    let validator = jsonschema::validator_for(&schema_value()).unwrap();
    let document = include_str!("../../../../docs/study-file.md");
    let examples =
        document.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut texts: Vec<String> = examples.map(str::to_owned).collect();
    assert!(!texts.is_empty());
    texts.push(template());
    for text in texts {
        let file = StudyFile::parse("study.toml", text.as_bytes()).unwrap();
        file.require_commands().unwrap();
        let problems: Vec<String> =
            validator.iter_errors(&json(&text)).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{problems:?}\n{text}");
    }
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let validator = jsonschema::validator_for(&schema_value()).unwrap();
    let good = "[parameters.x]\nlow = 0\nhigh = 1\n[objectives.f]\ngoal = 'minimise'\ncost = 1\n";
    assert!(validator.is_valid(&json(good)));
    let changes = [
        ("goal = 'minimise'", "goal = 'lower'"),
        ("cost = 1", "cost = 0"),
        ("cost = 1", "cost = '1'"),
        ("cost = 1", "cost = 1\nweight = 1"),
        ("low = 0", "lowest = 0"),
        ("low = 0", "low = 0\nchoices = ['a']"),
        ("[objectives.f]", "[extra]\n[objectives.f]"),
        ("cost = 1", "cost = 1\ncommand = 'f {x}'"),
        ("cost = 1", "cost = 1\ntimeout = 60"),
        ("cost = 1", "cost = 1\nslots = 0"),
        ("cost = 1", "cost = 1\nformula = 'x'"),
        ("cost = 1", "cost = { learn = 'time' }"),
        ("cost = 1", "cost = { learn = 'luck', guess = 1 }"),
        ("cost = 1", "cost = { learn = 'time', guess = 0 }"),
        ("[objectives.f]", "[stop]\n[objectives.f]"),
        ("[objectives.f]", "[stop]\nworth = 40\n[objectives.f]"),
        ("[objectives.f]", "[stop]\nworth = {}\n[objectives.f]"),
        ("[objectives.f]", "[stop]\nworth = { f = 0 }\n[objectives.f]"),
        ("[objectives.f]", "[stop]\nworth = { f = 1 }\nsearches = 0\n[objectives.f]"),
        ("low = 0", "low = 0\nstep = 0"),
        ("low = 0", "low = 0\ndigits = -1"),
        ("low = 0", "low = 0\ndigits = 16"),
        ("low = 0\nhigh = 1", "choices = ['a', 'b']\nordered = 'yes'"),
        ("cost = 1", "cost = 1\n[constraints.s]\ncost = 1"),
        ("cost = 1", "cost = 1\n[constraints.s]\nat_most = 1\nat_least = 0\ncost = 1"),
        ("cost = 1", "cost = 1\n[measurements.m]\ncost = 1"),
        ("cost = 1", "cost = 1\n[measurements.m]\noutputs = []\ncost = 1"),
        ("cost = 1", "cost = 1\n[measurements.m]\noutputs = ['f', 'f']\ncost = 1"),
        ("cost = 1", "cost = 1\n[measurements.m]\noutputs = ['f']"),
        ("[objectives.f]", "[limits]\na = 1\n[objectives.f]"),
        ("cost = 1", "cost = 1\nenough = 'much'"),
        ("[objectives.f]", "[preference]\nutility = 'concave'\n[objectives.f]"),
        ("[objectives.f]", "[preference]\nimportance = 'f >= 0.5'\n[objectives.f]"),
        ("[objectives.f]", "[preference]\nimportance = [0.5]\n[objectives.f]"),
    ];
    for (from, to) in changes {
        let text = good.replace(from, to);
        assert!(!validator.is_valid(&json(&text)), "{text}");
        assert!(StudyFile::parse("study.toml", text.as_bytes()).is_err(), "{text}");
    }
}
