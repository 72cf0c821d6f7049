//! A study that goes on for long does not grow: what a step needs is given back.
#![allow(clippy::unwrap_used)]

mod studies;

use studies::*;
use unyoke::{Config, Discretisation, Search, Study};

/// Resident memory in bytes, where the system tells.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

fn run(study: &mut Study, steps: usize) {
    for _ in 0..steps {
        let asked = study.ask().unwrap();
        let (x, y) = (asked.design.real("x").unwrap(), asked.design.real("y").unwrap());
        let value = if asked.objective == "f" { f(x, y) } else { g(x, y) };
        study.tell(asked.evaluation, value).unwrap();
    }
}

#[test]
fn memory_after_300_asks_is_about_that_after_60() {
    let config = Config {
        weights: 4,
        discretisation: Discretisation::Adaptive { points: 32 },
        search: Search { raw: 32, restarts: 2, iterations: 20 },
        ..Config::default()
    };
    let mut study = Study::with_config(two_objectives(), config, 0).unwrap();
    run(&mut study, 60);
    let early = resident();
    run(&mut study, 240);
    assert_eq!(study.evaluations().len(), 300);
    if let (Some(early), Some(late)) = (early, resident()) {
        assert!(late < 2 * early + (32 << 20), "{early} bytes, then {late}");
    }
}
