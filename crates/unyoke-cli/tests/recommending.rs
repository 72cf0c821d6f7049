//! What people have, and what they are told to expect: measured fronts, cautious ones, confirmations.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;

use place::{Place, TWO};
use serde_json::Value;

/// The values of an output at the points of a measured front.
fn values(front: &Value, output: &str) -> Vec<f64> {
    let points = front["points"].as_array().unwrap().iter();
    points.map(|point| point["outputs"][output]["value"].as_f64().unwrap()).collect()
}

fn count(value: &Value) -> usize {
    value.as_array().unwrap().len()
}

/// `mass` and `drag` without commands, and a limit to the stress.
const BY_HAND: &str = "
[parameters.x]
low = 0
high = 1
[objectives.mass]
direction = \"minimise\"
cost = 1
[objectives.drag]
direction = \"minimise\"
cost = 4
[constraints.stress]
at_most = 2
cost = 1
";

#[test]
fn what_was_measured_is_shown_with_its_values_and_without_what_is_beaten_or_infeasible() {
    let place = Place::new(BY_HAND);
    let rows = "0.1,1,9,1\n0.3,2,5,1\n0.5,3,6,1\n0.7,0.5,1,3\n0.9,4,2,2\n0.95,0.1,0.1,\n";
    place.write("old.csv", &format!("x,mass,drag,stress\n{rows}"));
    place.text(&["import", "old.csv"]);
    let front = place.json(&["front", "--measured"]);
    // 0.5 is beaten by 0.3, 0.7 has too much stress, and that of 0.95 is not known.
    assert_eq!(values(&front, "mass"), [1.0, 2.0, 4.0]);
    assert_eq!(values(&front, "drag"), [9.0, 5.0, 2.0]);
    let first = &front["points"][0]["outputs"]["mass"];
    assert_eq!((&first["sd"], &first["measured"]), (&Value::Null, &serde_json::json!([1.0])));
    let table = place.text(&["front", "--measured"]);
    assert!(table.contains("mass (minimise)") && table.contains("stress (at most 2)"), "{table}");
    assert_eq!(table.lines().filter(|line| line.contains("0.3")).count(), 1, "{table}");
}

#[test]
fn replicates_are_averaged_with_their_standard_errors() {
    let noisy = BY_HAND.replace("cost = 4", "cost = 4\nnoise = 0.5");
    let place = Place::new(noisy.split("[constraints").next().unwrap());
    let rows = "0.1,1,9\n0.1,,8\n0.1,,8.5\n0.1,,8.5\n0.6,2,3\n0.8,3,2\n";
    place.write("old.csv", &format!("x,mass,drag\n{rows}"));
    place.text(&["import", "old.csv", "--keep-duplicates"]);
    let front = place.json(&["front", "--measured"]);
    let drag = &front["points"][0]["outputs"]["drag"];
    assert!((drag["value"].as_f64().unwrap() - 8.5).abs() < 1e-9, "{drag}");
    assert!((drag["sd"].as_f64().unwrap() - 0.25).abs() < 1e-9, "half of 0.5: {drag}");
    assert_eq!(count(&drag["measured"]), 4);
    let table = place.text(&["front", "--measured"]);
    assert!(table.contains("8.50 ± 0.25 (4 values)"), "{table}");
}

#[test]
fn a_study_without_a_complete_design_says_so() {
    let place = Place::new(BY_HAND);
    place.write("old.csv", "x,mass,drag,stress\n0.2,1,2,\n0.4,2,1,\n");
    place.text(&["import", "old.csv"]);
    let said = place.text(&["front", "--measured"]);
    assert!(said.contains("no feasible design") && said.contains("unyoke confirm"), "{said}");
    assert_eq!(count(&place.json(&["front", "--measured"])["points"]), 0);
    let refused = place.fails(&["front", "--measured", "--points", "3"], 2);
    assert!(refused.contains("cannot be used with"), "{refused}");
}

#[test]
fn run_front_report_and_python_show_the_same_number_of_designs() {
    let place = Place::new(&TWO.replace("cost = 18", "cost = 40"));
    place.write("study.toml", &TWO.replace("cost = 18", "cost = 40"));
    let run = place.json(&["run"]);
    let front = place.json(&["front"]);
    assert_eq!(run["front"], front);
    assert_eq!(count(&front["points"]), 20);
    let page = std::fs::read_to_string(place.path("study.html")).unwrap();
    let (_, below) = page.split_once("The front: expected values").unwrap();
    let table = below.split("</table>").next().unwrap();
    assert_eq!(table.matches("<tr").count(), 21, "a head and twenty designs");
}

#[test]
fn measured_designs_are_on_the_front_and_marked() {
    let place = Place::new(TWO);
    place.text(&["run", "--no-report"]);
    let measured = place.json(&["front", "--measured"]);
    let front = place.json(&["front"]);
    let points = front["points"].as_array().unwrap();
    for known in measured["points"].as_array().unwrap() {
        let shown = points.iter().find(|point| point["design"] == known["design"]).unwrap();
        assert_eq!(shown["confirmed"], true);
    }
    let is_complete = |point: &&Value| {
        point["outputs"].as_object().unwrap().values().all(|f| count(&f["measured"]) > 0)
    };
    let confirmed = points.iter().filter(|point| point["confirmed"] == true).count();
    assert_eq!(points.iter().filter(is_complete).count(), confirmed);
    assert!(confirmed > 0 && confirmed < points.len(), "{confirmed} of {}", points.len());
    for forecast in points.iter().flat_map(|p| p["outputs"].as_object().unwrap().values()) {
        let interval = [0, 1].map(|i| forecast["interval"][i].as_f64().unwrap());
        let [mean, sd] = ["mean", "sd"].map(|field| forecast[field].as_f64().unwrap());
        let reach = 1.6448536 * sd;
        assert!((interval[0] - (mean - reach)).abs() <= 1e-6 * (reach + mean.abs()), "{forecast}");
        assert!((interval[1] - (mean + reach)).abs() <= 1e-6 * (reach + mean.abs()), "{forecast}");
    }
}

#[test]
fn cautious_people_are_shown_less_uncertain_designs() {
    let place = Place::new(TWO);
    place.text(&["run", "--no-report"]);
    let doubt = |arguments: &[&str]| {
        let front = place.json(arguments);
        let points = front["points"].as_array().unwrap();
        let sds = points.iter().map(|p| p["outputs"]["drag"]["sd"].as_f64().unwrap());
        sds.sum::<f64>() / points.len() as f64
    };
    assert!(doubt(&["front", "--cautious=0.99"]) <= doubt(&["front"]));
    assert_eq!(place.json(&["front", "--cautious"]), place.json(&["front", "--cautious=0.9"]));
    let best = place.json(&["front", "--cautious", "--weights", "0.5,0.5"]);
    assert_eq!(count(&best["points"]), 1);
    for quantile in ["0.4", "1", "nan"] {
        let refused = place.fails(&["front", &format!("--cautious={quantile}")], 1);
        assert!(refused.contains("from 0.5 to below 1"), "{refused}");
    }
}

#[test]
fn confirm_measures_what_recommended_designs_lack_within_the_budget() {
    let place = Place::new(TWO);
    place.text(&["run", "--no-report"]);
    let before = place.json(&["front", "--measured"]);
    // Nothing fits: it says what would be next, and what allows it.
    let said = place.text(&["confirm"]);
    assert!(said.contains("to confirm, next") && said.contains("--cost"), "{said}");
    let spent = place.json(&["status"])["spent"].as_f64().unwrap();
    let confirmed = place.json(&["confirm", "--points", "4", "--cost", "33"]);
    let now = place.json(&["status"])["spent"].as_f64().unwrap();
    assert!(now > spent && now <= 33.0, "{now}");
    let values_of_round = confirmed["confirmation"]["values"].as_array().unwrap();
    assert_eq!(values_of_round.len(), confirmed["finished"].as_u64().unwrap() as usize);
    assert!(!values_of_round.is_empty());
    let inside = values_of_round.iter().filter(|value| value["inside"] == true).count();
    assert_eq!(confirmed["confirmation"]["inside"], inside);
    let origins = place.json(&["export"]);
    let made = origins.as_array().unwrap().iter().filter(|e| e["origin"] == "confirmation");
    assert_eq!(made.count(), values_of_round.len());
    let after = &confirmed["measured_front"];
    assert!(count(&after["points"]) >= 1);
    for (mass, drag) in values(&before, "mass").into_iter().zip(values(&before, "drag")) {
        let pairs = values(after, "mass").into_iter().zip(values(after, "drag"));
        assert!(pairs.clone().any(|(m, d)| m <= mass && d <= drag), "{mass} {drag} is lost");
    }
    // Each command began once.
    assert!(place.starts().values().all(|times| *times == 1));
    let text = place.text(&["confirm", "--points", "1", "--cost", "33"]);
    assert!(text.contains("90 % interval") || text.contains("what is measured now"), "{text}");
}

#[test]
fn nothing_is_left_of_a_round_that_is_complete() {
    let place = Place::new(TWO);
    place.text(&["run", "--no-report"]);
    let said = place.text(&["confirm", "--points", "2", "--cost", "100"]);
    assert!(said.contains("90 % intervals"), "{said}");
    assert!(!said.contains("to confirm, next"), "{said}");
}

#[test]
fn a_confirmation_that_was_killed_goes_on_with_the_same_designs() {
    let plan = |place: &Place| -> Vec<(String, String)> {
        let all = place.json(&["export"]);
        let made = all.as_array().unwrap().iter().filter(|e| e["origin"] == "confirmation");
        made.map(|e| (e["measurement"].to_string(), e["design"].to_string())).collect()
    };
    let (whole, parts) = (Place::new(TWO), Place::new(TWO));
    whole.text(&["run", "--no-report"]);
    parts.text(&["run", "--no-report"]);
    whole.text(&["confirm", "--points", "4", "--cost", "60"]);
    // A budget that ends in between, then one for the rest.
    parts.text(&["confirm", "--points", "4", "--cost", "25"]);
    let begun = plan(&parts);
    let all = plan(&whole);
    assert!(!begun.is_empty() && begun.len() < all.len(), "{begun:?} {all:?}");
    let mut child = parts.spawn(&["confirm", "--points", "4", "--cost", "60"]);
    parts.await_that("another one begins", |place| place.starts().len() > 8 + begun.len());
    child.kill().unwrap();
    child.wait().unwrap();
    parts.text(&["confirm", "--points", "4", "--cost", "60"]);
    let mut resumed = plan(&parts);
    resumed.truncate(all.len());
    assert_eq!(resumed, all);
    assert!(parts.starts().values().all(|times| *times == 1), "{:?}", parts.starts());
}

#[test]
fn a_share_of_the_budget_is_kept_for_confirmations() {
    let text = TWO.replace("cost = 18", "cost = 40") + "[run]\nconfirm = 0.4\n";
    let place = Place::new(&text);
    place.text(&["run", "--no-report"]);
    let all = place.json(&["export"]);
    let cost = |origin: &str| -> f64 {
        let of = all.as_array().unwrap().iter().filter(|e| e["origin"] == origin);
        of.map(|e| e["cost"].as_f64().unwrap()).sum()
    };
    let (confirmed, others) = (cost("confirmation"), cost("initial") + cost("chosen"));
    assert!(confirmed >= 10.0, "{confirmed} of 40, {others} on others");
    assert!(confirmed + others <= 40.0 && confirmed + others > 35.0, "{confirmed} {others}");
    for (share, word) in [("1.5", "below 1"), ("0", "positive")] {
        place.write("study.toml", &text.replace("confirm = 0.4", &format!("confirm = {share}")));
        let refused = place.fails(&["check"], 3);
        assert!(refused.contains("run.confirm") && refused.contains(word), "{refused}");
    }
    place.write("study.toml", &text.replace("[budget]\ncost = 40", ""));
    assert!(place.fails(&["check"], 3).contains("run.confirm needs a budget"));
}

#[test]
fn without_commands_confirm_says_what_to_measure() {
    let place = Place::new(BY_HAND);
    assert!(place.fails(&["confirm"], 1).contains("there is no study"));
    place.text(&["ask"]);
    assert!(place.fails(&["confirm"], 1).contains("there are no values yet"));
    let rows = "0.1,1,9,1\n0.3,2,5,1\n0.5,3,4,1\n0.7,4,3.5,1\n0.9,5,3.4,1\n";
    place.write("old.csv", &format!("x,mass,drag,stress\n{rows}"));
    place.text(&["import", "old.csv"]);
    let asked = place.json(&["confirm", "--count", "3"]);
    assert_eq!(count(&asked["asked"]), 3);
    let [first, second] = [0, 1].map(|i| &asked["asked"][i]);
    assert_eq!(first["design"], second["design"], "one design after the other");
    assert_ne!(first["measurement"], second["measurement"]);
    let number = first["evaluation"].to_string();
    let said = place.text(&["tell", &number, "3.3"]);
    assert!(!said.is_empty());
    let text = place.text(&["confirm"]);
    assert!(text.contains("of 1 value inside the predicted 90 % intervals"), "{text}");
    assert!(text.contains("confirms a recommended design"), "{text}");
    assert!(text.contains("unyoke tell"), "{text}");
}
