//! A decision maker who knows which trade-offs matter, and one who has decided.
//!
//! `cargo run --release -p unyoke --example preferences`
#![allow(clippy::print_stdout)]

use unyoke::{Config, Preference, Problem, Result, Study};

fn main() -> Result<()> {
    let problem = Problem::builder()
        .continuous("x", 0.0, 1.0)
        .maximise("comfort", 5.0)
        .maximise("range", 1.0)
        .build()?;
    // Comfort matters about three times as much as range, give or take.
    let preference = Preference::Dirichlet(vec![6.0, 2.0]);
    let config = Config { preference, ..Config::default() };
    let mut study = Study::with_config(problem, config, 0)?;
    for _ in 0..20 {
        let suggestion = study.ask()?;
        let x = suggestion.design.real("x").unwrap_or_default();
        let value = match suggestion.measurement.as_str() {
            "comfort" => 1.0 - x * x,
            _ => (3.0 * x).sin() + x,
        };
        study.tell(suggestion.evaluation, value)?;
    }
    for weights in [[3.0, 1.0], [1.0, 1.0], [1.0, 3.0]] {
        let best = study.best_for(&weights)?;
        let values: Vec<String> =
            best.outputs.iter().map(|f| format!("{:.3} ± {:.3}", f.mean, f.sd)).collect();
        println!("weights {weights:?}: {} at {}", values.join(", "), best.design);
    }
    Ok(())
}
