//! A study that is driven by lines of text, for tests that compare other languages with Rust.
//!
//! The first line is `{"problem": ..., "config": ..., "seed": ...}` as journals have them. Then each
//! line is `ask`, which prints the suggestion and the seconds that it took, or the value of what was
//! asked for last.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::io::stdin;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use unyoke::{Config, Problem, Study};
use unyoke_view::SuggestionView;

/// How a study begins.
#[derive(Deserialize)]
struct Beginning {
    problem: Problem,
    config: Config,
    seed: u64,
}

/// What is printed.
#[derive(Serialize)]
struct Step {
    suggestion: SuggestionView,
    seconds: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut lines = stdin().lines();
    let first = lines.next().ok_or("the first line says how the study begins")??;
    let beginning: Beginning = serde_json::from_str(&first)?;
    let mut study = Study::with_config(beginning.problem, beginning.config, beginning.seed)?;
    let mut last = None;
    for line in lines {
        let line = line?;
        if line == "ask" {
            let began = Instant::now();
            let asked = study.ask()?;
            let seconds = began.elapsed().as_secs_f64();
            last = Some(asked.evaluation);
            let suggestion = SuggestionView::new(study.problem(), &asked, None);
            println!("{}", serde_json::to_string(&Step { suggestion, seconds })?);
        } else {
            let evaluation = last.take().ok_or("nothing was asked for")?;
            study.tell(evaluation, line.parse::<f64>()?)?;
        }
    }
    Ok(())
}
