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
        let value = if asked.measurement == "f" { f(x, y) } else { g(x, y) };
        study.tell(asked.evaluation, value).unwrap();
    }
}

/// What an evaluation may keep for good: itself, and its share of growing buffers.
const PER_EVALUATION: u64 = 16 << 10;

#[test]
fn a_study_keeps_a_few_kilobytes_per_evaluation_and_no_more() {
    // Not many: the matrices of a search grow with the square of the values, and are not kept.
    const WINDOW: usize = 30;
    let config = Config {
        weights: 4,
        discretisation: Discretisation::Adaptive { points: 32 },
        search: Search { raw: 32, restarts: 2, iterations: 20 },
        ..Config::default()
    };
    let mut study = Study::with_config(two_objectives(), config, 0).unwrap();
    let mut sizes = vec![];
    for _ in 0..5 {
        run(&mut study, WINDOW);
        sizes.extend(resident());
    }
    assert_eq!(study.evaluations().len(), 5 * WINDOW);
    // What is not given back makes every stretch grow; pages that the allocator takes in advance,
    // or gives back late, only some. So the stretch that grew least tells.
    let growth = sizes.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).min();
    if let Some(growth) = growth {
        let per_evaluation = growth / WINDOW as u64;
        assert!(per_evaluation < PER_EVALUATION, "{per_evaluation} bytes each: {sizes:?}");
    }
}
