//! The studies in `examples/`, each run for a few evaluations.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::{fs, io};

use place::{ENGINE, Place};
use serde_json::Value;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// A copy of an example with another budget and few initial designs.
fn small(name: &str, budget: &str) -> Place {
    let place = Place::new("");
    for entry in fs::read_dir(folder().join(name)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "py") {
            fs::copy(&path, place.path(path.file_name().unwrap().to_str().unwrap())).unwrap();
        }
    }
    let text = fs::read_to_string(folder().join(name).join("study.toml")).unwrap();
    let sections = ["budget", "initial", "engine"];
    let text = sections.iter().fold(text, |text, section| without(&text, section));
    let added = format!("[budget]\n{budget}\n[initial]\ndesigns = 4\n{ENGINE}");
    place.write("study.toml", &format!("{text}\n{added}"));
    place
}

/// A study file without one of its sections.
fn without(text: &str, section: &str) -> String {
    let Some((above, rest)) = text.split_once(&format!("\n[{section}]")) else {
        return text.to_owned();
    };
    let below = rest.find("\n[").map_or("", |end| &rest[end..]);
    format!("{above}\n{below}")
}

/// What became of every evaluation, after a run that must succeed.
fn evaluations_of(place: &Place) -> Vec<Value> {
    place.text(&["run"]);
    place.json(&["export"]).as_array().unwrap().clone()
}

fn number(evaluation: &Value, parameter: &str) -> f64 {
    evaluation["design"][parameter].as_f64().unwrap()
}

fn is_multiple(value: f64, step: f64) -> bool {
    (value / step - (value / step).round()).abs() < 1e-6
}

/// The outputs that an evaluation gave.
fn outputs(evaluation: &Value) -> BTreeSet<String> {
    evaluation["values"].as_object().unwrap().keys().cloned().collect()
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn of<'e>(evaluations: &'e [Value], measurement: &str) -> Vec<&'e Value> {
    evaluations.iter().filter(|e| e["measurement"] == measurement).collect()
}

#[test]
fn every_example_has_no_mistakes_and_says_how_it_is_run() -> io::Result<()> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder())? {
        let path = entry?.path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let place = small(&name, "cost = 10");
        place.write("study.toml", &fs::read_to_string(path.join("study.toml"))?);
        place.text(&["check"]);
        let readme = fs::read_to_string(path.join("README.md"))?;
        let command = format!("unyoke run examples/{name}/study.toml");
        assert!(readme.contains(&command), "{name}: {command}");
        found.insert(name);
    }
    assert_eq!(found, names(&["beam", "cantilever", "classifier", "reaction", "wing"]));
    Ok(())
}

#[test]
fn the_cantilever_is_measured_by_two_commands() {
    let place = small("cantilever", "cost = 60");
    let evaluations = evaluations_of(&place);
    assert!(of(&evaluations, "mass").len() > of(&evaluations, "deflection").len());
    assert!(evaluations.iter().all(|e| e["status"] == "completed"));
    assert!(place.spent() <= 60.0 && place.spent() > 50.0);
}

#[test]
fn nothing_is_spent_on_the_mass_of_the_beam_and_its_stress_has_a_price_of_its_own() {
    let place = small("beam", "cost = 60");
    let evaluations = evaluations_of(&place);
    assert!(of(&evaluations, "mass").is_empty());
    assert!(of(&evaluations, "stress").len() > of(&evaluations, "deflection").len());
    for evaluation in &evaluations {
        assert_eq!(evaluation["status"], "completed", "{evaluation}");
        assert!(number(evaluation, "tip") <= 0.8 * number(evaluation, "root") + 1e-12);
        let parameters = ["root", "tip", "width"];
        assert!(parameters.iter().all(|name| is_multiple(number(evaluation, name), 1e-3)));
    }
    let spent = 10 * of(&evaluations, "deflection").len() + 2 * of(&evaluations, "stress").len();
    assert_eq!(place.spent(), spent as f64);
    let front = place.json(&["front", "--points", "3"]);
    for point in front["points"].as_array().unwrap() {
        let [root, tip, width] = ["root", "tip", "width"].map(|name| number(point, name));
        let mass = point["outputs"]["mass"]["mean"].as_f64().unwrap();
        assert!((mass - 7850.0 * width * (root + tip)).abs() < 1e-6);
    }
}

#[test]
fn classifiers_that_do_not_fit_into_memory_fail_and_training_costs_its_time() {
    let place = small("classifier", "evaluations = { error = 12, latency = 6 }");
    let evaluations = evaluations_of(&place);
    let trainings = of(&evaluations, "error");
    assert_eq!(trainings.len(), 12);
    let mut failed = 0;
    for training in trainings {
        let bits = training["design"]["precision"].as_str().unwrap().split_once(' ').unwrap().0;
        let is_large = number(training, "units") * bits.parse::<f64>().unwrap() > 300.0;
        let reason = training["reason"].as_str().unwrap_or_default();
        assert_eq!(reason.contains("out of memory"), is_large, "{training}");
        assert!(training["spent"].as_f64().unwrap() > 0.0, "{training}");
        failed += usize::from(is_large);
    }
    assert!(failed > 0, "none was too large");
    for latency in of(&evaluations, "latency") {
        assert!(latency["values"]["latency"]["sd"].as_f64().unwrap() > 0.0, "{latency}");
        assert_eq!(latency["cost"], 0.05);
    }
}

#[test]
fn assays_of_the_reaction_differ_in_price_and_error() {
    let place = small("reaction", "cost = 40");
    let evaluations = evaluations_of(&place);
    for (assay, expected, error) in
        [("quick", names(&["yield"]), 4.0), ("chromatography", names(&["yield", "purity"]), 0.8)]
    {
        assert!(!of(&evaluations, assay).is_empty(), "{assay}");
        for evaluation in of(&evaluations, assay) {
            assert_eq!(outputs(evaluation), expected);
            assert_eq!(evaluation["values"]["yield"]["sd"], error);
        }
    }
    for evaluation in &evaluations {
        assert!(is_multiple(number(evaluation, "temperature"), 5.0), "{evaluation}");
        assert!(number(evaluation, "catalyst") + number(evaluation, "base") <= 0.4 + 1e-12);
    }
}

#[test]
fn the_price_of_a_flow_around_the_wing_follows_its_mesh() {
    let place = small("wing", "cost = 50");
    let evaluations = evaluations_of(&place);
    let mut spent = 0.0;
    for evaluation in of(&evaluations, "cfd") {
        assert_eq!(outputs(evaluation), names(&["lift", "drag", "moment"]));
        let cost = 2.0 + 0.5 * number(evaluation, "span") / number(evaluation, "chord");
        assert!((evaluation["spent"].as_f64().unwrap() - cost).abs() < 1e-9, "{evaluation}");
        spent += cost;
    }
    assert!(!of(&evaluations, "panels").is_empty());
    for evaluation in of(&evaluations, "panels") {
        assert_eq!(outputs(evaluation), names(&["lift"]));
        spent += 0.5;
    }
    assert!((place.spent() - spent).abs() < 1e-9 && spent <= 50.0);
}
