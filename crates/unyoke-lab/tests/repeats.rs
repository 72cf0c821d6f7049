//! What is known without noise is not measured again.
#![allow(missing_docs, clippy::unwrap_used)]

use unyoke_lab::{Method, Row, Settings, Target, run};

/// Distance of each evaluation to the nearest earlier one of the same objective.
fn distances(rows: &[Row]) -> Vec<f64> {
    let distance = |a: &Row, b: &Row| {
        a.design.iter().zip(&b.design).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
    };
    let nearest = |(i, row): (usize, &Row)| {
        let earlier = rows[..i].iter().filter(|other| other.objective == row.objective);
        earlier.map(|other| distance(row, other)).fold(f64::INFINITY, f64::min)
    };
    rows.iter().enumerate().map(nearest).collect()
}

#[test]
fn no_design_is_measured_right_beside_a_noise_free_value() {
    let settings = Settings {
        max_cost: 264.0,
        measure_every: Some(1e6),
        ..Settings::usual("branin-currin").unwrap()
    };
    let instance = &settings.instances(&[2]).unwrap()[0];
    let target = Target::of(instance).unwrap();
    let rows = run(instance, &target, Method::ImprovedCMokg, &settings.protocol(), |_| ()).unwrap();
    let close: Vec<f64> = distances(&rows).into_iter().filter(|d| *d < 1e-3).collect();
    assert_eq!(close, Vec::<f64>::new());
    let last = rows.last().unwrap().metrics.unwrap();
    assert!(last.bayesian_regret < 1e-4, "{last:?}");
}
