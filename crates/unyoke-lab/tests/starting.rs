//! Runs that start from given designs, and metrics at equal costs.
#![allow(missing_docs, clippy::unwrap_used)]

use unyoke::Algorithm;
use unyoke_lab::{Hyper, Method, Row, Settings, Target, run};

const CMOKG: Method = Method::Published(Algorithm::CMokg);
const MAKG: Method = Method::Published(Algorithm::Makg);

fn initial_file(folder: &std::path::Path, text: &str) -> Settings {
    let path = folder.join("initial.json");
    std::fs::write(&path, text).unwrap();
    Settings { initial: Some(path), ..Settings::usual("lengthscales").unwrap() }
}

/// Three designs with values that no instance has.
const GIVEN: &str = r#"[{"id": 4, "seed": 1, "x": [[0.1, 0.2], [0.8, 0.3], [0.4, 0.9]],
    "y": [[1.5, -2.0], [0.25, 3.0], [-1.0, 0.5]]}]"#;

fn rows(method: Method, settings: &Settings) -> Vec<Row> {
    let instance = &settings.instances(&[4]).unwrap()[0];
    let target = Target::of(instance).unwrap();
    run(instance, &target, method, &settings.protocol(), |_| ()).unwrap()
}

#[test]
fn a_run_starts_from_the_designs_and_values_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { max_cost: 36.0, ..initial_file(folder.path(), GIVEN) };
    let rows = rows(CMOKG, &settings);
    let values: Vec<f64> = rows[..6].iter().map(|row| row.value).collect();
    assert_eq!(values, [1.5, -2.0, 0.25, 3.0, -1.0, 0.5]);
    assert_eq!(rows[4].design, [0.4, 0.9]);
    assert_eq!((rows[5].cumulative_cost, rows[5].metrics.is_some()), (33.0, true));
    assert!(rows[..5].iter().all(|row| row.metrics.is_none()));
    assert!(rows.len() > 6 && rows[6].cumulative_cost <= 36.0);
}

#[test]
fn metrics_at_equal_costs_are_those_of_all_metrics_there() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { max_cost: 60.0, ..initial_file(folder.path(), GIVEN) };
    let every = Settings { measure_every: Some(10.0), ..settings.clone() };
    for method in [CMOKG, MAKG] {
        let (all, some) = (rows(method, &settings), rows(method, &every));
        let at = |rows: &[Row], cost: f64| {
            let measured = rows.iter().filter(|row| row.cumulative_cost <= cost);
            measured.filter_map(|row| row.metrics).next_back().map(|m| m.bayesian_regret)
        };
        for cost in [33.0, 40.0, 50.0, 60.0] {
            assert_eq!(at(&some, cost), at(&all, cost), "{method:?} at {cost}");
        }
        let count = |rows: &[Row]| rows.iter().filter(|row| row.metrics.is_some()).count();
        assert!(count(&some) <= 4 && count(&some) <= count(&all));
    }
}

#[test]
fn initial_data_that_do_not_fit_are_refused_with_the_instance() {
    let folder = tempfile::tempdir().unwrap();
    for (text, what) in [
        (r#"[{"id": 3, "x": [[0.1, 0.2]], "y": [[1.0, 2.0]]}]"#, "instance 4: is missing"),
        (r#"[{"id": 4, "x": [[0.1, 0.2]], "y": []}]"#, "same number of rows"),
        (r#"[{"id": 4, "x": [[0.1]], "y": [[1.0, 2.0]]}]"#, "need 2 numbers in x"),
        (r#"[{"id": 4, "x": [], "y": []}]"#, "at least one"),
        ("{", "initial.json"),
    ] {
        let error = initial_file(folder.path(), text).instances(&[4]).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn true_hyper_parameters_are_known_instead_of_fitted() {
    let settings = Settings { hyper: Hyper::True, ..Settings::usual("observationnoise").unwrap() };
    let instance = &settings.instances(&[0]).unwrap()[0];
    let hyper = |m: usize| instance.problem.outputs[m].hyper.clone().unwrap();
    assert_eq!((hyper(0).lengthscales, hyper(0).noise), (vec![0.4], 1.0));
    assert_eq!((hyper(1).lengthscales, hyper(1).noise), (vec![0.4], 0.0));
    let formula = Settings { hyper: Hyper::True, ..Settings::usual("zdt1").unwrap() };
    assert!(formula.instances(&[0]).unwrap_err().to_string().contains("not a family"));
}
