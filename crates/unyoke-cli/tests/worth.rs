//! Runs that end before their budget is spent, because nothing is worth its cost any more.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;

use place::{Place, TWO, stderr};
use serde_json::Value;

/// The study of `TWO` in which a unit of mass is worth so much, and three searches must agree.
fn with_worth(worth: &str) -> String {
    format!("[stop]\nworth = {{ mass = {worth} }}\nsearches = 3\n{TWO}")
}

/// Changes the study file of a place, which keeps its settings of the engine.
fn change(place: &Place, from: &str, to: &str) {
    let text = std::fs::read_to_string(place.path("study.toml")).unwrap();
    assert!(text.contains(from), "{from}");
    place.write("study.toml", &text.replace(from, to));
}

#[test]
fn a_run_ends_by_itself_when_nothing_is_worth_its_cost_and_can_be_continued() {
    let place = Place::new(&with_worth("1e-6"));
    let output = place.run(&["run", "--no-report"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let sentence = "stopped: no evaluation is worth its cost for the 3rd search in a row, and as far as \
                    the models can tell none will be: all together gain at most about";
    assert!(text.contains(sentence) && text.contains("less mass, worth"), "{text}");
    // Four initial evaluations, and two until the third search.
    assert_eq!(place.evaluations().len(), 6, "{text}");
    let spent = place.spent();
    assert!(spent < 18.0, "{spent}");

    let again = place.json(&["run", "--no-report"]);
    assert_eq!(again["finished"], 0, "it knows at once that it is done: {again}");
    assert!(again["ending"].as_str().unwrap().starts_with("no evaluation is worth its cost"));

    change(&place, "mass = 1e-6", "mass = 1e9");
    let more = place.json(&["run", "--no-report"]);
    assert_eq!(more["spent"].as_f64(), Some(18.0), "{more}");
    assert_eq!(more["ending"], "nothing more fits into the budget");
}

#[test]
fn a_run_whose_section_was_removed_spends_its_budget() {
    let place = Place::new(&with_worth("1e-6"));
    place.text(&["run", "--no-report"]);
    assert!(place.spent() < 18.0);
    change(&place, "[stop]\nworth = { mass = 1e-6 }\nsearches = 3\n", "");
    place.text(&["run", "--no-report"]);
    assert_eq!(place.spent(), 18.0);
}

#[test]
fn what_runs_in_other_slots_is_waited_for_before_a_run_ends() {
    // So much that it is not spent, in whatever order the slots end.
    let place = Place::new(&with_worth("1e-6").replace("cost = 18", "cost = 90"));
    let output = place.run(&["run", "--no-report", "--slots", "3"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let evaluations = place.evaluations();
    assert!(evaluations.iter().all(|row| row["status"] == "completed"), "{evaluations:?}");
    assert!(place.spent() < 90.0);
    assert_eq!(place.json(&["run", "--no-report"])["finished"], 0);
}

#[test]
fn ask_answers_and_says_that_it_is_not_worth_it() {
    let place = Place::new(&with_worth("1e-6"));
    place.text(&["run", "--no-report"]);
    let asked = place.text(&["ask"]);
    assert!(asked.contains("evaluation 6: "), "{asked}");
    assert!(
        asked.contains("[stop]: no evaluation is worth its cost for the 3rd search"),
        "{asked}"
    );
    let asked = &place.json(&["ask"])[0];
    assert_eq!(asked["appraisal"]["verdict"], "final", "{asked}");
    assert_eq!(asked["appraisal"]["objective"], "mass");
    assert_eq!(asked["appraisal"]["worth"], 1e-6);
    let gain = |value: &Value| value.as_f64().unwrap();
    assert!(gain(&asked["prospect"]["gain"]) <= gain(&asked["prospect"]["most"]));
}

#[test]
fn explain_tells_what_is_to_be_gained_in_units_of_the_objectives() {
    let place = Place::new(TWO);
    place.text(&["run", "--no-report", "--cost", "12"]);
    let text = place.text(&["explain"]);
    assert!(text.contains("the next evaluation is expected to gain as much as "), "{text}");
    assert!(text.contains(" less mass or ") && text.contains(" less drag"), "{text}");
    assert!(
        text.contains("all further evaluations together are expected to gain at most about "),
        "{text}"
    );
    assert!(!text.contains("[stop]"), "nothing was said about worth: {text}");
    let explained = place.json(&["explain"]);
    assert_eq!(explained["appraisal"], Value::Null);
    let mass = &explained["prospect"]["equivalents"][0];
    assert_eq!(
        (mass["objective"].as_str(), mass["direction"].as_str()),
        (Some("mass"), Some("minimise"))
    );

    let text = std::fs::read_to_string(place.path("study.toml")).unwrap();
    place.write("study.toml", &format!("[stop]\nworth = {{ drag = 1e9 }}\n{text}"));
    let text = place.text(&["explain"]);
    assert!(text.contains("[stop]: the next evaluation is worth its cost: it costs "), "{text}");
    assert!(place.text(&["check"]).contains("stopping by [stop]"));
}

#[test]
fn a_worth_that_cannot_be_used_is_refused_with_its_place() {
    for (worth, algorithm, message) in [
        ("mass = 40, weight = 1", "c-mokg", "there is no objective \"weight\""),
        ("mass = -1", "c-mokg", "stop.worth.mass is -1, but must be positive"),
        ("mass = 40", "jes-lb-d", "jes-lb-d does not tell what evaluations are worth"),
    ] {
        let place = Place::new(&format!(
            "[study]\nalgorithm = \"{algorithm}\"\n[stop]\nworth = {{ {worth} }}\n{TWO}"
        ));
        let refused = place.fails(&["check"], 3);
        assert!(refused.contains(message) && refused.contains("study.toml:4"), "{refused}");
    }
    let balanced = "[preference]\nutility = \"chebyshev\"\n";
    let refused = Place::new(&format!("[stop]\nworth = {{ mass = 40 }}\n{balanced}{TWO}"));
    let refused = refused.fails(&["check"], 3);
    assert!(refused.contains("weighted sums of the objectives only"), "{refused}");
}
