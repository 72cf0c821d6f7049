//! Two objectives of different price: the loop of ask, run, tell, and the front at the end.
//!
//! `cargo run --release --example two_simulators`
#![allow(clippy::print_stdout)]

use unyoke::{Problem, Result, Study};

/// A cheap, rough objective and a dear, smooth one.
fn run(objective: &str, x: f64, y: f64) -> f64 {
    match objective {
        "drag" => (9.0 * x).sin() + (7.0 * y + 1.0).cos() - x,
        _ => (x - 0.7).powi(2) + (y - 0.2).powi(2),
    }
}

fn main() -> Result<()> {
    let problem = Problem::builder()
        .continuous("x", 0.0, 1.0)
        .continuous("y", 0.0, 1.0)
        .minimise("drag", 1.0)
        .minimise("mass", 10.0)
        .build()?;
    let mut study = Study::new(problem)?;
    while study.spent() < 150.0 {
        let suggestion = study.ask()?;
        let design = |name: &str| suggestion.design.real(name).unwrap_or(0.0);
        let value = run(&suggestion.objective, design("x"), design("y"));
        let gain =
            suggestion.gain_per_cost().map_or(String::from("initial"), |g| format!("{g:.2e}"));
        println!(
            "{:<5} at {:<45} {value:>8.3}   gain per cost {gain}",
            suggestion.objective,
            suggestion.design.to_string()
        );
        study.tell(suggestion.evaluation, value)?;
    }
    println!(
        "\nspent {}: {} on drag, {} on mass",
        study.spent(),
        study.spent_on("drag")?,
        study.spent_on("mass")?
    );
    for point in study.front(10)?.points {
        let values: Vec<String> =
            point.objectives.iter().map(|f| format!("{:.3} ± {:.3}", f.mean, f.sd)).collect();
        println!("{:<45} {}", point.design.to_string(), values.join("   "));
    }
    Ok(())
}
