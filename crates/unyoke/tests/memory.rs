//! A study that goes on for long does not grow: what a step needs is given back.
#![allow(clippy::unwrap_used)]

mod studies;

use studies::*;
use unyoke::{Config, Design, Discretisation, Permission, Search, Study};

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

/// What an evaluation may keep for good, itself and its share of growing buffers; and what may be left of a search.
const MOST: u64 = 16 << 10;

/// Fails if each of `count` steps keeps more than [`MOST`], in each of some stretches of them.
///
/// What is not given back makes every stretch grow; pages that the allocator takes in advance,
/// or gives back late, only some. So the stretch that grew least tells.
fn assert_grows_little(what: &str, count: usize, mut step: impl FnMut(usize)) {
    let stretch = |i: usize| {
        (i * count..(i + 1) * count).for_each(&mut step);
        resident()
    };
    let sizes: Vec<u64> = (0..5).filter_map(stretch).collect();
    let growth = sizes.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).min();
    if let Some(growth) = growth {
        let each = growth / count as u64;
        assert!(each < MOST, "{what}: {each} bytes each, {sizes:?}");
    }
}

#[test]
fn searches_keep_nothing_and_evaluations_a_few_kilobytes() {
    let config = Config {
        weights: 4,
        discretisation: Discretisation::Adaptive { points: 32 },
        search: Search { raw: 32, restarts: 2, iterations: 20 },
        ..Config::default()
    };
    let mut study = Study::with_config(two_objectives(), config, 0).unwrap();
    // Searches of one size: the matrices of a search grow with the square of the values, and with them the pages that
    // an allocator holds ready, though none of it is kept.
    run(&mut study, 40);
    assert_grows_little("a search", 30, |_| {
        study.suggest_where(|_, _| Permission::Granted).unwrap().unwrap();
    });
    assert_grows_little("an evaluation", 300, |i| {
        let (x, y) = (i as f64 / 1500.0, (i * 7919 % 1500) as f64 / 1500.0);
        study.tell_result(Design::new().with("x", x).with("y", y), "f", f(x, y)).unwrap();
    });
}
