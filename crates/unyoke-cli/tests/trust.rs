//! What the program says about how far its models can be trusted.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;

use place::Place;
use std::fmt::Write;

/// `mass` and `drag` are measured, `price` is a formula.
const SMOOTH: &str = "
[parameters.x]
low = 0
high = 1
[objectives.mass]
direction = \"minimise\"
noise = \"none\"
cost = 1
[objectives.drag]
direction = \"minimise\"
cost = 3
[objectives.price]
direction = \"minimise\"
formula = \"x^2\"
";

fn smooth() -> Place {
    let place = Place::new(SMOOTH);
    let mut results = "x,mass,drag\n".to_owned();
    for i in 0..12u32 {
        let x = f64::from(i) / 11.0;
        let (mass, drag) = ((4.0 * x).sin(), (x - 0.4).powi(2));
        writeln!(results, "{x},{mass},{drag}").unwrap();
    }
    place.write("old.csv", &results);
    place.text(&["import", "old.csv"]);
    place
}

/// The row of a table that begins with this word, as cells.
fn row(text: &str, name: &str) -> Vec<String> {
    let below = text.split("models, checked by").nth(1).unwrap_or_else(|| panic!("{text}"));
    let line = below.lines().find(|line| line.split_whitespace().next() == Some(name));
    let line = line.unwrap_or_else(|| panic!("{name}: {text}"));
    line.split("  ").map(str::trim).filter(|c| !c.is_empty()).map(str::to_owned).collect()
}

#[test]
fn explain_says_how_well_each_model_predicts() {
    let place = smooth();
    let text = place.text(&["explain"]);
    for name in ["mass", "drag"] {
        let cells = row(&text, name);
        assert_eq!((cells[1].as_str(), cells.len()), ("12", 6), "{text}");
        assert!(cells[2] == "100 %" && cells[4].starts_with("predicts well"), "{text}");
        assert!(cells[5].starts_with("evaluation ") && cells[5].contains(" ± "), "{text}");
    }
    assert!(
        !text.split("models, checked by").nth(1).unwrap().contains("price"),
        "a formula: {text}"
    );
    let json = place.json(&["explain"]);
    let models = json["models"].as_array().unwrap();
    assert_eq!(models.len(), 2);
    assert_eq!((&models[0]["accuracy"], &models[0]["designs"]), (&"good".into(), &12.into()));
    assert_eq!(models[0]["left_out"].as_array().unwrap().len(), 12);
    let worst = models[0]["worst"].as_u64().unwrap() as usize;
    let number = &models[0]["left_out"][worst]["evaluations"][0];
    assert!(row(&text, "mass")[5].starts_with(&format!("evaluation {number}: ")), "{text}");
}

#[test]
fn the_report_has_a_table_and_a_picture_of_it() {
    let place = smooth();
    place.text(&["report"]);
    let page = std::fs::read_to_string(place.path("study.html")).unwrap();
    let section = page.split("<h2>Can the models be trusted?</h2>").nth(1).expect("the section");
    let section = section.split("<h2>").next().unwrap();
    assert!(section.contains("<svg") && section.contains("Predicted from the others"));
    assert!(section.contains("predicts well") && section.contains("evaluation "));
}

#[test]
fn a_study_without_values_says_nothing_of_models() {
    let place = Place::new(SMOOTH);
    place.text(&["ask"]);
    assert!(!place.text(&["explain"]).contains("models, checked"));
    let models = place.json(&["explain"])["models"].clone();
    assert!(models.as_array().unwrap().iter().all(|model| model["accuracy"] == "too_few"));
}
