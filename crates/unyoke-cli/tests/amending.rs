//! Study files that change during a study: `unyoke amend`, and what `run`, `ask` and `check` say.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;

use place::{ENGINE, Place, TWO};
use serde_json::json;
use std::fs;

/// A study of `TWO` with some evaluations.
fn begun() -> Place {
    let place = Place::new(TWO);
    place.text(&["run", "--no-report", "--cost", "10"]);
    place
}

/// Replaces the study file by `TWO` with changes.
fn edit(place: &Place, changes: &[(&str, &str)]) {
    let text = changes.iter().fold(format!("{TWO}{ENGINE}"), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    });
    place.write("study.toml", &text);
}

#[test]
fn changed_bounds_are_refused_until_they_are_amended() {
    let place = begun();
    let before = place.evaluations();
    edit(&place, &[("high = 1", "high = 3")]);
    for command in [&["run"][..], &["ask"], &["status"], &["check"]] {
        let said = place.fails(command, 3);
        assert!(said.contains("parameter \"x\" high from 1.0 to 3.0"), "{said}");
        assert!(said.contains("`unyoke amend` makes these changes count"), "{said}");
    }
    let said = place.fails(&["amend"], 1);
    assert!(said.contains("nothing was recorded; `unyoke amend --yes` records this"), "{said}");
    let said = place.text(&["amend", "--yes"]);
    assert!(said.contains("parameter \"x\" high from 1.0 to 3.0"), "{said}");
    assert!(said.contains("holds from evaluation"), "{said}");
    assert!(place.text(&["check"]).contains("is valid"));
    place.text(&["run", "--no-report"]);
    let after = place.evaluations();
    assert!(after.len() > before.len());
    assert_eq!(after[..before.len()], before[..], "nothing is lost");
    assert!(place.text(&["amend", "--yes"]).contains("nothing to amend"));
    let journal = place.text(&["export", "--as", "journal"]);
    assert_eq!(journal.matches("\"event\":\"redefined\"").count(), 1);
    place.text(&["report"]);
}

#[test]
fn a_study_that_is_running_is_not_amended() {
    let text = TWO.replace("\"echo\", \"{x}\"", "\"sh\", \"-c\", \"cat gate; echo {x}\"");
    let text = text.replace("cost = 18", "cost = 1");
    let place = Place::new(&text);
    place.gate("gate");
    let mut run = place.spawn(&["run", "--no-report"]);
    place.await_that("the command has begun", |place| !place.starts().is_empty());
    place.write("study.toml", &format!("{}{ENGINE}", text.replacen("high = 1", "high = 3", 1)));
    let before = fs::read(place.path("study.db")).unwrap();
    let said = place.fails(&["amend", "--yes"], 1);
    assert!(said.contains("the study is running, by "), "{said}");
    assert!(said.contains("press Ctrl-C there, then amend it"), "{said}");
    assert_eq!(fs::read(place.path("study.db")).unwrap(), before, "nothing was recorded");
    // Lets the command go on, whose run then ends: there is no more to spend.
    fs::OpenOptions::new().write(true).open(place.path("gate")).unwrap();
    assert!(run.wait().unwrap().success());
    let said = place.text(&["amend", "--yes"]);
    assert!(said.contains("high from 1.0 to 3.0") && said.contains("recorded"), "{said}");
}

#[test]
fn narrowed_bounds_keep_what_is_outside() {
    let place = begun();
    let values = place.json(&["status"])["outputs"][0]["values"].clone();
    edit(&place, &[("high = 1", "high = 0.375")]);
    place.text(&["amend", "--yes"]);
    assert_eq!(place.json(&["status"])["outputs"][0]["values"], values);
    let asked = place.json(&["ask"]);
    let x = asked[0]["design"]["x"].as_f64().unwrap();
    assert!((0.0..=0.375).contains(&x), "{x}");
}

#[test]
fn a_new_parameter_has_the_value_that_designs_had_before() {
    let place = begun();
    let parameter = "[parameters.kind]\nchoices = [\"oak\", \"steel\"]\n[objectives.mass]";
    edit(&place, &[("[objectives.mass]", parameter)]);
    let said = place.fails(&["amend", "--yes"], 1);
    assert!(said.contains("parameter \"kind\" is new: `was` must say"), "{said}");
    let wrong = parameter.replacen("\n[obj", "\nwas = \"pine\"\n[obj", 1);
    edit(&place, &[("[objectives.mass]", &wrong)]);
    assert!(place.fails(&["amend"], 3).contains("must be one of the choices"));
    let right = parameter.replacen("\n[obj", "\nwas = \"oak\"\n[obj", 1);
    edit(&place, &[("[objectives.mass]", &right)]);
    let said = place.json(&["amend", "--yes"]);
    assert_eq!(said, json!({ "amended": true, "changes": ["parameter \"kind\" is new"] }));
    assert!(place.evaluations().iter().all(|row| row["kind"] == "oak"));
    place.text(&["run", "--no-report"]);
    // The field may stay in the file.
    assert!(place.text(&["amend", "--yes"]).contains("nothing to amend"));
}

#[test]
fn a_new_objective_is_measured_from_then_on() {
    let place = begun();
    let drag = "[objectives.drag]";
    let noise = "[objectives.noise]\ndirection = \"minimise\"\ncost = 0.5\ncommand = [\"echo\", \"{x}\"]\n[objectives.drag]";
    edit(&place, &[(drag, noise)]);
    let said = place.text(&["amend", "--yes"]);
    assert!(said.contains("objective \"noise\" is new"), "{said}");
    assert!(said.contains("measurement \"noise\" is new"), "{said}");
    place.text(&["run", "--no-report"]);
    let status = place.json(&["status"]);
    assert!(status["outputs"][1]["values"].as_u64().unwrap() > 0, "{status}");
    assert!(status["spent"].as_f64().unwrap() <= 18.0);
}

#[test]
fn what_cannot_be_changed_is_refused_with_the_reason() {
    let place = begun();
    for (from, to, reason) in [
        ("[budget]", "[study]\nseed = 4\n[budget]", "the seed cannot be changed"),
        ("[objectives.mass]", "[objectives.weight]", "output \"mass\" cannot be removed"),
        ("[parameters.x]", "[parameters.y]", "parameter \"x\" cannot be removed"),
        ("low = 0", "type = \"integer\"\nlow = 0", "would have to be a whole number"),
    ] {
        let mut text = format!("{TWO}{ENGINE}").replacen(from, to, 1);
        if from == "[parameters.x]" {
            text = text.replace("{x}", "{y}");
        }
        place.write("study.toml", &text);
        let said = place.fails(&["amend", "--yes"], 1);
        assert!(said.contains(reason), "{said}");
    }
    let journal = place.text(&["export", "--as", "journal"]);
    assert!(!journal.contains("redefined"), "nothing was recorded");
}

#[test]
fn settings_count_once_they_are_amended() {
    let place = begun();
    edit(
        &place,
        &[("[budget]", "[study]\nalgorithm = \"sobol\"\n[budget]"), ("weights = 2", "weights = 3")],
    );
    let changes = ["setting algorithm from \"auto\" to \"sobol\"", "setting weights from 2 to 3"];
    let check = place.text(&["check"]);
    let asked = place.run(&["ask", "--json"]);
    let said = place::stderr(&asked);
    assert!(asked.status.success(), "{said}");
    for change in changes {
        assert!(check.contains(change), "{check}");
        assert!(said.contains(change), "{said}");
    }
    assert!(said.contains("`unyoke amend` makes those of the file count"), "{said}");
    let amended = place.json(&["amend", "--yes"]);
    assert_eq!(amended["changes"], json!(changes));
    let asked = place.run(&["ask", "--json"]);
    assert_eq!(place::stderr(&asked), "");
    let asked: serde_json::Value = serde_json::from_slice(&asked.stdout).unwrap();
    assert_eq!(asked[0]["options"], json!([]), "no model is asked");
}
