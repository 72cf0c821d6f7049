//! Why a suggestion was made: the table it won, and the price at which it would have lost.
//!
//! `cargo run --release -p unyoke --example explain`
#![allow(clippy::print_stdout)]

use unyoke::{Design, Problem, Result, Study};

fn main() -> Result<()> {
    let problem = Problem::builder()
        .continuous("temperature", 20.0, 90.0)
        .continuous_log("concentration", 1e-3, 1.0)
        .maximise("yield", 8.0)
        .minimise("impurity", 1.0)
        .build()?;
    let mut study = Study::new(problem)?;
    // Measurements made before: any objective at any design.
    for (i, t) in [25.0, 40.0, 55.0, 70.0, 85.0, 62.0].into_iter().enumerate() {
        let c = 10f64.powf(-0.5 * i as f64);
        let design = Design::new().with("temperature", t).with("concentration", c);
        study.tell_result(
            design.clone(),
            "yield",
            60.0 - 0.02 * (t - 60.0f64).powi(2) + 5.0 * c,
        )?;
        study.tell_result(design, "impurity", 0.1 * t * c.sqrt())?;
    }
    let suggestion = study.suggest()?;
    println!("next: {} at {}", suggestion.measurement, suggestion.design);
    for row in &suggestion.options {
        let flips = row
            .break_even_cost
            .map_or("never".to_owned(), |cost| format!("at a cost of {cost:.2}"));
        println!(
            "  {:<9} gain {:.4}  cost {:>3}  per cost {:.4}  flips {flips}",
            row.measurements.join(" + "),
            row.gain(),
            row.cost,
            row.gain_per_cost(),
        );
    }
    for note in &suggestion.notes {
        println!("  note: {note}");
    }
    // A costlier impurity measurement may change the choice.
    study.set_cost("impurity", 200.0)?;
    println!("if impurity cost 200: {}", study.suggest()?.measurement);
    Ok(())
}
