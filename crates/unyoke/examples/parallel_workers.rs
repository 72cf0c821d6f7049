//! Several evaluations under way at once, one of which fails, and a study that is killed.
//!
//! `cargo run --release -p unyoke --example parallel_workers`
#![allow(clippy::print_stdout)]

use unyoke::{Config, MemoryJournal, Output, Problem, Result, Study};

fn main() -> Result<()> {
    let problem = Problem::builder()
        .integer("layers", 1, 8)
        .continuous_log("rate", 1e-4, 1e-1)
        .categorical("optimiser", ["adam", "sgd", "lion"])
        .measured(Output::maximise("accuracy").noisy(), 20.0)
        .minimise("latency", 1.0)
        .build()?;
    let journal = MemoryJournal::default();
    let mut study = Study::create(problem, Config::default(), 7, journal.clone())?;
    for round in 0..6 {
        // Four workers: none is sent where another one is already.
        for (worker, suggestion) in study.ask_many(4)?.into_iter().enumerate() {
            let layers = suggestion.design.real("layers").unwrap_or_default();
            let rate = suggestion.design.real("rate").unwrap_or_default();
            match suggestion.measurement.as_str() {
                "accuracy" if rate > 0.05 => {
                    study.tell_failure(suggestion.evaluation, "diverged")?
                }
                "accuracy" => {
                    let value =
                        0.9 - 0.02 * (layers - 5.0f64).abs() - (rate.log10() + 2.5).abs() * 0.1;
                    study.tell(suggestion.evaluation, value)?;
                }
                _ => study.tell(suggestion.evaluation, 2.0 * layers)?,
            }
            println!(
                "round {round}, worker {worker}: {} at {}",
                suggestion.measurement, suggestion.design
            );
        }
    }
    // The journal is the study: whoever opens it goes on where this one stopped.
    let reopened = Study::open(journal)?;
    assert_eq!(reopened.suggest()?, study.suggest()?);
    println!("spent {}, next {}", reopened.spent(), reopened.suggest()?.measurement);
    Ok(())
}
