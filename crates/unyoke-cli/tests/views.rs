//! What `docs/views.md` says of the JSON of the program, compared with what it prints.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;

use std::collections::BTreeMap;

use place::Place;
use serde_json::Value;

const PAGE: &str = include_str!("../../../docs/views.md");

/// The first block of this language under a heading, or on the page.
fn block(heading: &str, language: &str) -> &'static str {
    let (_, below) = PAGE.split_once(heading).unwrap_or_else(|| panic!("{heading}"));
    let (_, block) = below.split_once(&format!("```{language}\n")).unwrap();
    block.split_once("```").unwrap().0
}

/// The study of the page: with imported values, one of them corrected, a failed evaluation and a
/// pending one.
fn study() -> (Place, Value) {
    let place = Place::new(block("# Views", "toml"));
    place.write("old.csv", block("# Views", "csv"));
    place.text(&["import", "old.csv"]);
    place.text(&["tell", "--correct", "1", "0.031"]);
    let first = place.json(&["ask"]);
    place.text(&["tell", &first[0]["evaluation"].to_string(), "--failed", "no licence"]);
    let second = place.json(&["ask"]);
    (place, second)
}

/// All fields in a value with the kinds of what they hold. Elements of a list count as one.
fn fields(value: &Value) -> BTreeMap<String, Vec<&'static str>> {
    let mut found = BTreeMap::new();
    collect(value, String::new(), &mut found);
    for kinds in found.values_mut() {
        kinds.sort_unstable();
        kinds.dedup();
    }
    found
}

fn collect(value: &Value, path: String, found: &mut BTreeMap<String, Vec<&'static str>>) {
    let kind = match value {
        Value::Null => None,
        Value::Bool(_) => Some("boolean"),
        Value::Number(_) => Some("number"),
        Value::String(_) => Some("text"),
        Value::Array(_) => Some("list"),
        Value::Object(_) => Some("object"),
    };
    found.entry(path.clone()).or_default().extend(kind);
    match value {
        Value::Array(items) => {
            items.iter().for_each(|item| collect(item, format!("{path}[]"), found));
        }
        Value::Object(members) => {
            members.iter().for_each(|(key, item)| collect(item, format!("{path}.{key}"), found));
        }
        _ => {}
    }
}

/// Checks that a heading's example has the fields that the program prints, and no others.
fn agrees(heading: &str, printed: &Value) {
    let example: Value = serde_json::from_str(block(heading, "json")).unwrap();
    let (documented, printed) = (fields(&example), fields(printed));
    for (path, kinds) in &printed {
        let known = documented.get(path).unwrap_or_else(|| panic!("{heading}: {path} is new"));
        let is_same = kinds.is_empty() || known.is_empty() || kinds == known;
        assert!(is_same, "{heading}: {path} is {kinds:?}, but {known:?} on the page");
    }
    // Nothing may be measured at any point of a front.
    let optional = |path: &&String| path.ends_with(".measured[]");
    for path in documented.keys().filter(|path| !optional(path)) {
        assert!(printed.contains_key(path), "{heading}: there is no {path} any more");
    }
}

#[test]
fn the_documented_fields_are_those_that_are_printed() {
    let (place, asked) = study();
    agrees("## Suggestions", &asked);
    agrees("## Status", &place.json(&["status"]));
    agrees("## Front", &place.json(&["front", "--points", "4"]));
    agrees("## Front", &place.json(&["front", "--weights", "0.5,0.5"]));
    agrees("## Front", &place.json(&["front", "--cautious"]));
    agrees("## Measured front", &place.json(&["front", "--measured"]));
    agrees("## Explanation", &place.json(&["explain"]));
    let at = ["explain", "--at", "length=0.5,material=oak"];
    agrees("## Designs of your own", &place.json(&at));
    agrees("## Evaluations", &place.json(&["export"]));
    let confirming = place.json(&["confirm"]);
    place.text(&["tell", &confirming["asked"][0]["evaluation"].to_string(), "0.5"]);
    agrees("## Confirmation", &place.json(&["confirm"])["confirmation"]);
}

#[test]
fn evaluations_say_what_became_of_them_in_the_words_of_the_page() {
    let (place, _) = study();
    let printed = place.json(&["export"]);
    let word = |i: usize, field: &str| printed[i][field].as_str().unwrap_or("null").to_owned();
    assert_eq!((word(0, "status"), word(0, "origin")), ("completed".into(), "imported".into()));
    assert_eq!((word(6, "status"), word(6, "reason")), ("failed".into(), "no licence".into()));
    assert_eq!((word(7, "status"), word(7, "origin")), ("pending".into(), "chosen".into()));
    let rows = place.evaluations();
    assert_eq!(rows.len(), printed.as_array().unwrap().len());
    for (row, view) in rows.iter().zip(printed.as_array().unwrap()) {
        assert_eq!(row["status"], view["status"]);
        assert_eq!(row["length"].parse::<f64>().unwrap(), view["design"]["length"]);
    }
}

#[test]
fn a_study_that_was_just_begun_prints_the_same_fields() {
    let place = Place::new(block("# Views", "toml"));
    let asked = place.json(&["ask"]);
    assert_eq!((&asked[0]["options"], &asked[0]["chosen"]), (&Value::Array(vec![]), &Value::Null));
    assert_eq!(asked[0]["gain_per_cost"], Value::Null);
    let status = place.json(&["status"]);
    for output in status["outputs"].as_array().unwrap() {
        assert_eq!(output["best"], Value::Null);
    }
    for measurement in status["measurements"].as_array().unwrap() {
        assert!(measurement["spent"].as_f64().unwrap().is_sign_positive(), "not minus zero");
    }
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let example: Value = serde_json::from_str(block("## Status", "json")).unwrap();
    assert_eq!(keys(&status), keys(&example));
}
