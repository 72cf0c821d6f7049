//! A small suite from runs to tables and figures.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use unyoke::Algorithm;
use unyoke_lab::comparison::Comparison;
use unyoke_lab::summary::Metric;
use unyoke_lab::{Method, Progress, Record, Suite, read_run};

const DEFAULT: Method = Method::Default;
const PAREGO: Method = Method::Published(Algorithm::Parego);
const SOBOL: Method = Method::Published(Algorithm::Sobol);

/// One problem without constraints, one with; a quarter of a full evaluation each.
fn suite(out: &Path) -> Suite {
    Suite {
        problems: vec!["branin-currin".to_owned(), "disc-brake".to_owned()],
        methods: vec![DEFAULT, PAREGO, SOBOL],
        instances: vec![0, 1],
        budget: 0.25,
        seed: 0,
        threads: 2,
        out: out.to_owned(),
    }
}

#[test]
fn a_suite_is_run_tabulated_drawn_and_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path();
    let first = Suite { instances: vec![0], ..suite(out) };
    let outcome = first.run(&|_| ()).unwrap();
    assert!(outcome.failed.is_empty(), "{:?}", outcome.failed);
    assert_eq!((outcome.finished, outcome.before), (5, 0), "ParEGO knows no constraints");

    let begun = AtomicUsize::new(0);
    let watch = |progress: Progress| {
        if let Progress::Begun { runs, before } = progress {
            begun.store(100 * runs + before, Ordering::Relaxed);
        }
    };
    let outcome = suite(out).run(&watch).unwrap();
    assert_eq!((outcome.finished, outcome.before), (5, 5));
    assert_eq!(begun.load(Ordering::Relaxed), 505);

    let comparison = Comparison::read(&suite(out), DEFAULT, &Record::default()).unwrap();
    for file in comparison.write(&suite(out)).unwrap() {
        assert!(std::fs::metadata(&file).unwrap().len() > 100, "{file:?}");
    }
    for metric in [Metric::BayesianRegret, Metric::HypervolumeRegret] {
        let verdict = comparison.problems[0].verdict(DEFAULT, metric).unwrap();
        assert!(verdict.own >= -1e-4 && verdict.rival.unwrap().0 == PAREGO, "{verdict:?}");
        let verdict = comparison.problems[1].verdict(DEFAULT, metric).unwrap();
        assert!(verdict.rival.is_none() && verdict.floor.is_some(), "{verdict:?}");
    }
    let page = comparison.markdown();
    assert!(page.contains("| disc-brake | 2 |") && page.contains("| n/a |"), "{page}");
    let svg = std::fs::read_to_string(out.join("figures/suite-bayesian-regret.svg")).unwrap();
    assert!(svg.contains("branin-currin") && svg.contains("disc-brake"));
    let long = std::fs::read_to_string(out.join("comparison.csv")).unwrap();
    // Two metrics at four parts of the budget for each of five, a line for ParEGO, and the head.
    assert_eq!(long.lines().count(), 5 * 8 + 2, "{long}");
    assert!(long.contains("not applicable"));
    // The same tables come from a record of the rivals.
    let file = out.join("record.json");
    Record::of(out).unwrap().write(&file).unwrap();
    let record = Record::read(&file).unwrap();
    assert_eq!(record, Record::of(out).unwrap());
    let alone = Suite { methods: vec![DEFAULT], ..suite(out) };
    let recorded = Comparison::read(&alone, DEFAULT, &record).unwrap();
    assert_eq!(recorded.markdown(), page);
    // What is recorded for some of the instances only is left out, and says so.
    let more = Suite { instances: vec![2], ..alone };
    assert!(more.run(&|_| ()).unwrap().failed.is_empty());
    let more = Suite { instances: vec![0, 1, 2], ..more };
    let page = Comparison::read(&more, DEFAULT, &record).unwrap().markdown();
    assert!(page.contains("recorded on 2 of 3 instances"), "{page}");
    // Runs of another budget are another matter.
    let other = Suite { budget: 0.5, ..more };
    let error = Comparison::read(&other, DEFAULT, &record).unwrap_err().to_string();
    assert!(error.contains("made with other settings"), "{error}");
    let summary = unyoke_lab::summary::write(out);
    summary.unwrap();
    let summary = std::fs::read_to_string(out.join("summary.csv")).unwrap();
    assert!(
        summary.contains(",hypervolume_regret,") && summary.contains("hypervolume_regret_share")
    );
}

#[test]
fn all_algorithms_start_from_the_same_data_and_measure_constraints() {
    let folder = tempfile::tempdir().unwrap();
    let suite = Suite {
        problems: vec!["disc-brake".to_owned()],
        methods: vec![Method::Published(Algorithm::CMokg), SOBOL],
        instances: vec![3],
        ..suite(folder.path())
    };
    assert!(suite.run(&|_| ()).unwrap().failed.is_empty());
    let rows = |name: &str| {
        read_run(&folder.path().join("runs/disc-brake").join(name).join("3.csv")).unwrap()
    };
    let (ours, sobol) = (rows("c-mokg"), rows("sobol"));
    let initial = 10 * 5;
    assert!(ours.len() > initial && sobol.len() >= initial);
    for (a, b) in ours[..initial].iter().zip(&sobol[..initial]) {
        assert_eq!((&a.design, &a.objective, a.value), (&b.design, &b.objective, b.value));
        assert!(a.design[1] - a.design[0] >= 20.0 - 1e-9, "the radii keep their distance");
    }
    for name in ["mass", "stopping_time", "pressure", "heat", "torque"] {
        let count = ours[..initial].iter().filter(|row| row.objective == name).count();
        assert_eq!(count, 10, "{name}");
    }
    // Metrics at the start and at the end, and none before the start.
    assert!(ours[..initial - 1].iter().all(|row| row.metrics.is_none()));
    assert!(ours[initial - 1].metrics.is_some() && ours.last().unwrap().metrics.is_some());
}

#[test]
fn the_algorithm_to_compare_must_take_part() {
    let folder = tempfile::tempdir().unwrap();
    let suite = Suite { methods: vec![SOBOL], ..suite(folder.path()) };
    let error = Comparison::read(&suite, DEFAULT, &Record::default()).unwrap_err().to_string();
    assert!(error.contains("default is not among the algorithms"), "{error}");
}
