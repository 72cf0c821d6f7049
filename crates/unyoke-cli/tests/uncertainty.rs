//! Numbers are shown as certain as they are: measured, predicted, given by a formula, or not there.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;

use place::Place;

/// `mass` has no noise; `drag` has none either, but comes with standard errors; `price` is a formula
/// without a value at x = 0.3, where `margin` has none either.
const MIXED: &str = "
[parameters.x]
low = 0
high = 1
[objectives.mass]
direction = \"minimise\"
noise = \"none\"
cost = 1
[objectives.drag]
direction = \"minimise\"
noise = \"none\"
cost = 3
[objectives.price]
direction = \"minimise\"
formula = \"1 / (x - 0.3)^2\"
[constraints.margin]
at_least = -1
formula = \"1 / abs(x - 0.3) - 2\"
";

const RESULTS: &str =
    "x,mass,drag,drag.sd\n0.1,0.25,1.5,0.125\n0.5,0.75,0.5,0.125\n0.9,1.25,0.25,\n";

fn mixed() -> Place {
    let place = Place::new(MIXED);
    place.write("old.csv", RESULTS);
    place.text(&["import", "old.csv"]);
    place
}

/// What `explain --at` expects of an output.
fn expected(table: &str, at: &str, output: &str) -> String {
    let row = table.lines().find(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some(at) && words.next() == Some(output)
    });
    let cells = row.unwrap_or_else(|| panic!("{at} {output}: {table}"));
    let cells: Vec<&str> = cells.split("   ").map(str::trim).filter(|c| !c.is_empty()).collect();
    cells[2].to_owned()
}

#[test]
fn predictions_have_a_deviation_and_measured_values_without_noise_need_none() {
    let place = mixed();
    let table = place.text(&["explain", "--at", "x=0.5", "--at", "x=0.7"]);
    assert_eq!(expected(&table, "x=0.5", "mass"), "0.75 *");
    let drag = expected(&table, "x=0.5", "drag");
    assert!(drag.contains(" ± ") && drag.ends_with('*'), "it came with a standard error: {drag}");
    for output in ["mass", "drag"] {
        let predicted = expected(&table, "x=0.7", output);
        assert!(predicted.contains(" ± ") && !predicted.contains('*'), "{predicted}");
    }
}

#[test]
fn a_value_with_a_standard_error_is_shown_with_it() {
    let place = mixed();
    place.write("more.csv", "x,drag,drag.sd\n0.95,0.125,0.03125\n");
    place.text(&["import", "more.csv"]);
    let status = place.text(&["status"]);
    assert!(status.contains("0.125 ± 0.031"), "{status}");
    assert_eq!(place.json(&["status"])["outputs"][1]["best_sd"], 0.03125);
}

#[test]
fn a_formula_is_exact_and_says_where_it_has_no_value() {
    let place = mixed();
    let table = place.text(&["explain", "--at", "x=0.8", "--at", "x=0.3"]);
    assert_eq!(expected(&table, "x=0.8", "price"), "4");
    assert_eq!(expected(&table, "x=0.8", "feasible"), "100 %");
    assert_eq!(expected(&table, "x=0.3", "price"), "no value");
    assert_eq!(expected(&table, "x=0.3", "margin"), "no value");
    assert_eq!(expected(&table, "x=0.3", "feasible"), "0 %");
    let json = place.json(&["explain", "--at", "x=0.3"]);
    assert!(json[0]["outputs"]["price"].is_null() && json[0]["outputs"]["mass"].is_object());
}

#[test]
fn a_front_and_its_report_show_what_is_not_measured_with_a_deviation() {
    let place = mixed();
    let front = place.json(&["front"]);
    let shown = place.text(&["front"]);
    let unmeasured =
        |point: &serde_json::Value| point["outputs"]["mass"]["measured"] == serde_json::json!([]);
    let points = front["points"].as_array().unwrap();
    assert!(points.iter().any(unmeasured), "{shown}");
    assert_eq!(shown.lines().count(), points.len() + 2, "{shown}");
    for row in shown.lines().skip(2) {
        let cells: Vec<&str> = row.split("   ").map(str::trim).filter(|c| !c.is_empty()).collect();
        assert!(cells[1].contains(" ± ") || cells[1].ends_with('*'), "{row}");
        assert!(cells[2].contains(" ± "), "drag has standard errors: {row}");
        assert!(!cells[3].contains(" ± "), "price is a formula: {row}");
    }
    place.text(&["report"]);
    let html = std::fs::read_to_string(place.path("study.html")).unwrap();
    // Not in what the page computes with: a checksum may hold any letters, a script asks for NaN.
    let shown = html.split("<body").nth(1).unwrap().split("<script").next().unwrap();
    assert!(shown.contains(" ± ") && !shown.contains("e12") && !shown.contains("NaN"));
}
