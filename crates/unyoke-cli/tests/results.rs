//! Results of measurements with several outputs: recorded by hand, retried, imported and exported.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;

use place::{Place, TWO, stderr};

/// One run gives lift and drag, another one stress, which must stay below 2. Nothing has a command.
const WING: &str = "
[budget]
cost = 100
[initial]
designs = 2
[parameters.camber]
low = 0
high = 1
[parameters.chord]
low = 1
high = 2
[objectives.lift]
direction = \"maximise\"
[objectives.drag]
direction = \"minimise\"
[constraints.stress]
at_most = 2
[measurements.cfd]
outputs = [\"lift\", \"drag\"]
cost = 4
[measurements.fem]
outputs = [\"stress\"]
cost = 1
";

/// Asks until this measurement comes, and takes back the others.
fn ask(place: &Place, measurement: &str) -> String {
    loop {
        let asked = place.json(&["ask"])[0].clone();
        let number = asked["evaluation"].to_string();
        if asked["measurement"] == measurement {
            return number;
        }
        place.text(&["tell", &number, "1.5"]);
    }
}

#[test]
fn a_measurement_of_two_outputs_is_told_by_name() {
    let place = Place::new(WING);
    let cfd = ask(&place, "cfd");
    let status = place.text(&["status"]);
    let hint = format!("unyoke tell {cfd} lift=VALUE drag=VALUE");
    assert!(status.contains(&hint), "{status}");
    assert!(place.fails(&["tell", &cfd, "1.2"], 1).contains("measures lift, drag"));
    let forgotten = place.fails(&["tell", &cfd, "lift=1.2"], 1);
    assert!(forgotten.contains("drag as well") && forgotten.contains("--missing"), "{forgotten}");
    let unknown = place.fails(&["tell", &cfd, "lift=1.2", "darg=0.3"], 1);
    assert!(unknown.contains("did you mean \"drag\""), "{unknown}");
    let other = place.fails(&["tell", &cfd, "lift=1.2", "drag=0.3", "stress=1"], 1);
    assert!(other.contains("stress is not one of these"), "{other}");
    assert!(place.fails(&["tell", &cfd, "lift=1", "lift=2"], 1).contains("two values of lift"));
    assert!(place.fails(&["tell", &cfd, "lift=1", "drag=x"], 1).contains("\"x\" is not a number"));
    let told = place.text(&["tell", &cfd, "lift=1.25±0.05", "drag=-0.5+-0.25", "--cost", "3.5"]);
    let expected = "recorded as lift = 1.250 ± 0.050, drag = -0.50 ± 0.25";
    assert!(told.contains(expected), "{told}");
    let shown = &place.json(&["export"])[cfd.parse::<usize>().unwrap()];
    assert_eq!(shown["values"]["lift"], serde_json::json!({ "value": 1.25, "sd": 0.05 }));
    assert_eq!(shown["values"]["drag"], serde_json::json!({ "value": -0.5, "sd": 0.25 }));
    assert_eq!((&shown["cost"], &shown["spent"]), (&4.0.into(), &3.5.into()));
}

#[test]
fn negative_values_may_have_errors() {
    let place = Place::new(WING);
    let fem = place.json(&["ask", "--measurement", "fem"])[0]["evaluation"].to_string();
    let comma = place.fails(&["tell", &fem, "-3,25"], 1);
    assert!(
        comma.contains("\"-3,25\" is not a number") && comma.contains("decimal point"),
        "{comma}"
    );
    let said = place.text(&["tell", &fem, "-3.25±0.5", "--cost", "2"]);
    assert!(said.contains("recorded as -3.25 ± 0.50"), "{said}");
    let said = place.text(&["tell", "--correct", &fem, "-3.5+-0.25"]);
    assert!(said.contains("corrected to -3.50 ± 0.25"), "{said}");
    assert!(place.run(&["tell", &fem, "-x"]).status.code() == Some(2), "an option that is none");
}

#[test]
fn what_is_missing_and_where_it_was_made_is_recorded() {
    let place = Place::new(WING);
    let cfd = ask(&place, "cfd");
    let at = ["--at", "chord=1.75", "--at", "camber=0.5"];
    let tell = ["tell", &cfd, "lift=1.2", "--missing", "no wake found", "--json"];
    let told = place.text(&[&tell[..], &at[..]].concat());
    assert!(told.contains("\"completed\""), "{told}");
    let row = place.evaluations()[cfd.parse::<usize>().unwrap()].clone();
    assert_eq!((row["chord"].as_str(), row["camber"].as_str()), ("1.75", "0.5"));
    assert_eq!((row["lift"].as_str(), row["drag"].as_str()), ("1.2", ""));
    assert_eq!(row["reason"], "no wake found");
    // A parameter that is not named is as it was asked for.
    let asked = place.json(&["ask"])[0].clone();
    let number = asked["evaluation"].to_string();
    let values: &[&str] = match asked["measurement"].as_str() {
        Some("cfd") => &["lift=1", "drag=1"],
        _ => &["1"],
    };
    place.text(&[&["tell", &number, "--at", "camber=0.125"], values].concat());
    let shown = &place.json(&["export"])[asked["evaluation"].as_u64().unwrap() as usize];
    assert_eq!(shown["design"]["camber"], 0.125);
    assert_eq!(shown["design"]["chord"], asked["design"]["chord"]);
    assert!(place.fails(&["tell", &number, "--at", "cord=1"], 2).contains("--at"));
}

#[test]
fn status_shows_measurements_and_outputs() {
    let place = Place::new(WING);
    let cfd = ask(&place, "cfd");
    place.text(&["tell", &cfd, "lift=1.25", "drag=0.5"]);
    let status = place.json(&["status"]);
    assert_eq!(status["measurements"][0]["outputs"], serde_json::json!(["lift", "drag"]));
    assert_eq!(status["measurements"][0]["completed"], 1);
    assert_eq!(status["outputs"][0]["best"], 1.25);
    assert_eq!(status["outputs"][2]["at_most"], 2.0);
    assert_eq!(status["outputs"][2]["best"], serde_json::Value::Null);
    let text = place.text(&["status"]);
    for words in ["lift, drag", "maximise", "at most 2", "measurement", "output"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(place.text(&["check"]).contains("2 objectives, 1 constraint, 2 measurements"));
}

#[test]
fn the_front_says_how_likely_constraints_hold() {
    let place = Place::new(WING);
    place.write(
        "old.csv",
        "camber,chord,lift,drag,stress\n0.1,1.1,0.2,0.1,0.5\n0.5,1.5,0.6,0.3,1.5\n\
         0.9,1.9,1.0,0.7,3.5\n0.3,1.8,0.5,0.4,1.9\n",
    );
    place.text(&["import", "old.csv"]);
    let front = place.json(&["front"]);
    for point in front["points"].as_array().unwrap() {
        let feasible = point["feasibility"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&feasible), "{point}");
    }
    let table = place.text(&["front"]);
    assert!(table.contains("feasible") && table.contains("stress (at most 2)"), "{table}");
    let there = place.text(&["explain", "--at", "camber=0.5,chord=1.5"]);
    for words in ["feasible", "cfd", "stress"] {
        assert!(there.contains(words), "{words}: {there}");
    }
}

#[test]
fn standard_errors_are_imported_and_exported() {
    let place = Place::new(WING);
    let csv = "camber,chord,lift,lift.sd,drag\n0.1,1.1,0.2,0.05,0.1\n0.5,1.5,0.6,,0.3\n";
    place.write("old.csv", csv);
    assert_eq!(place.json(&["import", "old.csv"])["imported"], 4);
    let designs = place.text(&["export", "--as", "designs"]);
    let expected =
        "camber,chord,lift,lift.sd,drag,stress\n0.1,1.1,0.2,0.05,0.1,\n0.5,1.5,0.6,,0.3,\n";
    assert_eq!(designs, expected);
    place.write("again.csv", &designs);
    let again = place.json(&["import", "again.csv"]);
    assert_eq!((&again["imported"], &again["known"]), (&0.into(), &4.into()));
    let rows = place.evaluations();
    assert_eq!((rows[0]["lift.sd"].as_str(), rows[0]["measurement"].as_str()), ("0.05", ""));
    for (csv, wrong) in [
        ("camber,chord,lift.sd\n0.1,1.1,0.5\n", "lift.sd has a value, but lift has none"),
        ("camber,chord,lift,lift.sd\n0.1,1.1,1,a\n", "lift.sd is \"a\""),
        ("camber,chord,lift,lift.sd\n0.1,1.1,1,-1\n", "standard error of lift"),
        ("camber,chord,left\n0.1,1.1,1\n", "did you mean \"lift\"?"),
    ] {
        place.write("bad.csv", csv);
        let said = place.fails(&["import", "bad.csv"], 1);
        assert!(said.contains(wrong), "{said}");
    }
}

#[test]
fn failed_evaluations_are_listed_and_made_again() {
    let place = Place::new(&TWO.replace("\"echo\", \"{x}\"", "\"sh\", \"mass.sh\", \"{x}\""));
    place.write("mass.sh", "echo no licence >&2\nexit 1\n");
    let said = place.fails(&["run", "--no-report"], 1);
    assert!(said.contains("unyoke retry"), "{said}");
    let failed = |place: &Place| {
        place.evaluations().into_iter().filter(|row| row["status"] == "failed").count()
    };
    let before = failed(&place);
    assert!(before > 0);
    assert!(place.fails(&["retry", "99"], 1).contains("no evaluation 99"));
    let completed = place.evaluations().into_iter().find(|row| row["status"] == "completed");
    let number = completed.unwrap()["evaluation"].clone();
    assert!(place.fails(&["retry", &number], 1).contains("is completed; only failed ones"));
    assert_eq!(failed(&place), before, "nothing was retried");
    // One by its number, then all others.
    let row = place.evaluations().into_iter().find(|row| row["status"] == "failed").unwrap();
    let one = place.json(&["retry", &row["evaluation"]]);
    assert_eq!(one["retried"][0].to_string(), row["evaluation"]);
    assert_eq!(failed(&place), before - 1);
    let said = place.text(&["retry"]);
    assert_eq!(said.matches("failed: the command failed").count(), before - 1, "{said}");
    assert!(said.contains("no licence") && said.contains("pending again"), "{said}");
    assert_eq!(failed(&place), 0);
    assert!(place.text(&["retry"]).contains("no evaluation has failed"));
    place.write("mass.sh", "echo $1\n");
    let run = place.run(&["run", "--no-report"]);
    assert!(run.status.success(), "{}", stderr(&run));
    assert!(place.evaluations().iter().all(|row| row["status"] == "completed"));
}
