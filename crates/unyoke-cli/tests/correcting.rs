//! Results that turn out to be wrong: `unyoke tell --correct` and `unyoke tell --retract`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;

use place::{Place, TWO};
use serde_json::json;

/// `mass` costs 1 and has no command.
const PLAIN: &str = "
[budget]
cost = 20
[initial]
designs = 2
[parameters.x]
low = 0
high = 1
[objectives.mass]
goal = \"minimise\"
cost = 1
";

/// One run gives lift and drag.
const WING: &str = "
[parameters.x]
low = 0
high = 1
[objectives.lift]
direction = \"maximise\"
[objectives.drag]
direction = \"minimise\"
[measurements.cfd]
outputs = [\"lift\", \"drag\"]
cost = 4
";

fn asked(text: &str, count: &str) -> Place {
    let place = Place::new(text);
    place.text(&["ask", "--count", count]);
    place
}

#[test]
fn a_mistyped_value_is_corrected_and_shown_with_what_it_was() {
    let place = asked(PLAIN, "2");
    place.text(&["tell", "0", "35"]);
    let said = place.text(&["tell", "--correct", "0", "3.5"]);
    assert!(said.contains("evaluation 0: 35, corrected to 3.5; spent 1 of 20"), "{said}");
    // Where the flag stands does not matter.
    let said = place.json(&["tell", "0", "3.25±0.5", "--correct"]);
    assert_eq!(said["values"]["mass"], json!({ "value": 3.25, "sd": 0.5 }));
    assert_eq!(said["superseded"][0]["values"]["mass"]["value"], 35.0);
    assert_eq!(said["superseded"][1]["values"]["mass"]["value"], 3.5);
    let changes = "35, corrected to 3.5, corrected to 3.25 ± 0.50";
    let status = place.text(&["status"]);
    assert!(status.contains(&format!("evaluation 0 (mass): {changes}")), "{status}");
    assert!(status.contains("spent 1 of 20"), "{status}");
    let [first, second] = &place.evaluations()[..] else { panic!("two evaluations") };
    assert_eq!((first["mass"].as_str(), first["changes"].as_str()), ("3.25", changes));
    assert_eq!(second["changes"], "");
    let shown = place.json(&["status"]);
    assert_eq!(shown["corrections"][0]["evaluation"], 0);
    assert_eq!(place.json(&["export"])[0]["superseded"].as_array().unwrap().len(), 2);
    place.text(&["tell", "1", "2"]);
    place.text(&["report"]);
    let report = std::fs::read_to_string(place.path("study.html")).unwrap();
    assert!(report.contains("Corrections") && report.contains(changes), "not in the report");
    // Every event is there.
    let journal = place.text(&["export", "--as", "journal"]);
    assert_eq!(journal.matches("\"event\":\"corrected\"").count(), 2, "{journal}");
}

#[test]
fn what_is_suggested_after_a_correction_is_what_the_right_value_would_have_led_to() {
    let [wrong, right] = ["0.9", "0.1"].map(|first| {
        let place = asked(PLAIN, "3");
        place.text(&["tell", "0", first]);
        place.text(&["tell", "1", "0.5"]);
        place.text(&["tell", "2", "0.25"]);
        place
    });
    let next = |place: &Place| place.json(&["explain"]);
    assert_ne!(next(&wrong), next(&right));
    wrong.text(&["tell", "--correct", "0", "0.1"]);
    assert_eq!(next(&wrong), next(&right));
    assert_eq!(wrong.json(&["front"]), right.json(&["front"]));
}

#[test]
fn costs_designs_and_failures_are_corrected() {
    let place = asked(PLAIN, "2");
    place.text(&["tell", "0", "3.5"]);
    let said = place.text(&["tell", "--correct", "0", "--cost", "2.5"]);
    assert!(said.contains("3.5, corrected to a cost of 2.5; spent 2.5 of 20"), "{said}");
    let said = place.text(&["tell", "--correct", "0", "--at", "x=0.125"]);
    assert!(said.contains("corrected to x=0.125"), "{said}");
    assert_eq!(place.evaluations()[0]["x"], "0.125");
    let said = place.text(&["tell", "--correct", "0", "--failed", "no mesh"]);
    assert!(said.contains("corrected to failed (no mesh); spent 2.5 of 20"), "{said}");
    let said = place.text(&["tell", "--correct", "0", "4.5"]);
    assert!(said.contains("failed (no mesh), corrected to 4.5; spent 2.5 of 20"), "{said}");
    // A failure that was none.
    place.text(&["tell", "1", "--failed", "no answer"]);
    let said = place.fails(&["tell", "1", "0.5"], 1);
    assert!(said.contains("`unyoke tell --correct 1 0.5` replaces that"), "{said}");
    place.text(&["tell", "--correct", "1", "0.5"]);
    assert_eq!(place.evaluations()[1]["status"], "completed");
}

#[test]
fn a_retracted_value_counts_for_nothing_but_its_cost() {
    let place = asked(PLAIN, "2");
    let design = place.evaluations()[0]["x"].clone();
    place.text(&["tell", "0", "1e6"]);
    let said = place.text(&["tell", "--retract", "0", "wrong", "mesh"]);
    assert!(said.contains("1.000e6, retracted (wrong mesh); spent 1 of 20"), "{said}");
    let status = place.json(&["status"]);
    assert_eq!(status["measurements"][0]["retracted"], 1);
    assert_eq!(status["outputs"][0]["values"], 0);
    assert_eq!(status["spent"], 1.0);
    assert_eq!(place.evaluations()[0]["status"], "retracted");
    // Like never measured: the initial design is asked for again.
    let again = place.json(&["ask"]);
    assert_eq!(again[0]["design"]["x"].as_f64(), design.parse().ok());
    let said = place.fails(&["tell", "--retract", "0"], 1);
    assert!(said.contains("evaluation 0 is already retracted"), "{said}");
    let said = place.fails(&["tell", "0", "3"], 1);
    assert!(said.contains("recorded as retracted; `unyoke tell --correct 0 3`"), "{said}");
    assert!(place.fails(&["retry", "0"], 1).contains("its design may be asked for again"));
    place.text(&["tell", "--correct", "0", "3"]);
    assert_eq!(place.evaluations()[0]["mass"], "3");
    let journal = place.text(&["export", "--as", "journal"]);
    assert!(journal.contains(r#""event":"retracted","evaluation":0,"reason":"wrong mesh""#));
}

#[test]
fn refused_corrections_say_what_would_help() {
    let place = asked(PLAIN, "3");
    place.text(&["tell", "1", "--withdraw"]);
    place.text(&["tell", "2", "1.5"]);
    for (arguments, advice) in [
        (&["--correct", "0", "3.5"][..], "pending and has no result yet; `unyoke tell 0 3.5`"),
        (&["--retract", "0"], "`unyoke tell 0 --withdraw` takes it back"),
        (&["--correct", "1", "3.5"], "`unyoke tell 1 3.5` records one if it was made after all"),
        (&["--retract", "1"], "was withdrawn and has no result; `unyoke tell 1 VALUE`"),
        (&["--correct", "9", "3.5"], "there is no evaluation 9; there are 0 to 2"),
        (&["--retract", "9"], "there is no evaluation 9; there are 0 to 2"),
        (&["2", "3.5"], "recorded as completed; `unyoke tell --correct 2 3.5` replaces that"),
        (&["2", "--failed", "x"], "`unyoke tell --correct 2 --failed REASON` replaces that"),
        (&["--correct", "2", "3,5"], "\"3,5\" is not a number"),
        (&["--correct", "2", "nan"], "`--failed REASON` says that there is none"),
        (&["--correct", "2", "drag=1"], "no output is called \"drag\""),
        (&["--correct", "2"], "no value was given"),
        (&["--correct", "2", "--cost", "-1"], "finite and not negative"),
        (&["--correct", "2", "--at", "y=1"], "no parameter is called \"y\""),
    ] {
        let all: Vec<&str> = ["tell"].iter().chain(arguments).copied().collect();
        let said = place.fails(&all, 1);
        assert!(said.contains(advice), "{arguments:?}: {said}");
    }
    for wrong in [
        &["--correct", "2", "1", "--withdraw"][..],
        &["--correct", "--retract", "2"],
        &["--retract", "2", "--cost", "1"],
        &["2", "--at", "x=1"],
    ] {
        let all: Vec<&str> = ["tell"].iter().chain(wrong).copied().collect();
        place.fails(&all, 2);
    }
    assert_eq!(place.evaluations()[2]["mass"], "1.5", "nothing was recorded");
}

#[test]
fn one_of_several_outputs_is_corrected_by_name() {
    let place = asked(WING, "1");
    place.text(&["tell", "0", "lift=1.2", "drag=30"]);
    let said = place.text(&["tell", "--correct", "0", "drag=0.3±0.05"]);
    assert!(said.contains("drag = 30, lift = 1.2, corrected to drag = 0.300 ± 0.050"), "{said}");
    assert_eq!(place.evaluations()[0]["lift"], "1.2");
    let said = place.fails(&["tell", "--correct", "0", "0.3"], 1);
    assert!(said.contains("by name"), "{said}");
    place.text(&["tell", "--correct", "0", "lift=1.5", "--missing", "no wake found"]);
    let row = &place.evaluations()[0];
    assert_eq!((row["lift"].as_str(), row["drag"].as_str()), ("1.5", ""));
    assert_eq!(row["reason"], "no wake found");
    // A failure had no values that could be kept.
    place.text(&["tell", "--correct", "0", "--failed", "diverged"]);
    let said = place.fails(&["tell", "--correct", "0", "lift=1.5"], 1);
    assert!(said.contains("gives drag as well"), "{said}");
}

#[test]
fn a_table_that_is_imported_again_brings_no_wrong_value_back() {
    let place = Place::new(PLAIN);
    place.write("old.csv", "x,mass\n0.25,35\n0.5,1e9\n");
    place.text(&["import", "old.csv"]);
    place.text(&["tell", "--correct", "0", "3.5"]);
    place.text(&["tell", "--retract", "1"]);
    let again = place.json(&["import", "old.csv"]);
    assert_eq!((again["imported"].as_u64(), again["known"].as_u64()), (Some(0), Some(2)));
    assert_eq!(place.spent(), 0.0);
    let said = place.fails(&["tell", "--correct", "0", "--cost", "3"], 1);
    assert!(said.contains("imported values cost nothing"), "{said}");
}

#[test]
fn a_run_goes_on_after_corrections_and_takes_old_outcomes_for_known() {
    let place = Place::new(TWO);
    place.text(&["run", "--no-report", "--cost", "6"]);
    let before = place.evaluations().len();
    place.text(&["tell", "--correct", "0", "0.75"]);
    place.text(&["tell", "--retract", "1", "dust"]);
    place.text(&["run", "--no-report"]);
    let after = place.evaluations();
    assert!(after.len() > before, "{before} evaluations, then {}", after.len());
    assert_eq!(
        (after[0]["status"].as_str(), after[1]["status"].as_str()),
        ("completed", "retracted")
    );
    let status = place.json(&["status"]);
    assert_eq!(status["late_results"], 0, "what the commands wrote then is known");
    let sum: f64 = after.iter().map(|row| row["spent"].parse::<f64>().unwrap()).sum();
    assert_eq!(status["spent"].as_f64(), Some(sum));
    assert!(sum <= 18.0);
}
