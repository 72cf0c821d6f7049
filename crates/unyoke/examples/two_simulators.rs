//! Two objectives of different price: the loop of ask, run, tell, and the front at the end.
//!
//! `cargo run --release -p unyoke --example two_simulators`
#![allow(clippy::print_stdout)]

use unyoke::{Problem, Result, Study, Suggestion};

/// Stands for two simulators: drag is cheap and rough, mass is expensive and smooth.
fn run(suggestion: &Suggestion) -> f64 {
    let at = |name: &str| suggestion.design.real(name).unwrap_or_default();
    let (x, y) = (at("x"), at("y"));
    match suggestion.measurement.as_str() {
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
    while study.spent() < 120.0 {
        let suggestion = study.ask()?;
        let value = run(&suggestion);
        study.tell(suggestion.evaluation, value)?;
        let gain = suggestion.gain_per_cost().map_or("initial".to_owned(), |g| format!("{g:.1e}"));
        let (what, spent) = (&suggestion.measurement, study.spent());
        println!("{what} = {value:>7.3}   spent {spent:>5}   gain per cost {gain}");
    }
    println!("\n{} on drag, {} on mass", study.spent_on("drag")?, study.spent_on("mass")?);
    for point in study.front(8)?.points {
        let forecast = |m: usize| {
            let forecast = &point.outputs[m];
            format!("{:.3} ± {:.3}", forecast.mean, forecast.sd)
        };
        println!("drag {}   mass {}   at {}", forecast(0), forecast(1), point.design);
    }
    Ok(())
}
