//! Hypervolumes against figures computed by an independent implementation.
#![allow(clippy::unwrap_used)]

use serde::Deserialize;
use unyoke_math::Points;
use unyoke_math::pareto::{hypervolume, hypervolume_with_gradient};

#[derive(Deserialize)]
struct Case {
    points: Vec<Vec<f64>>,
    #[serde(rename = "ref")]
    reference: Vec<f64>,
    hypervolume: f64,
}

#[test]
fn hypervolumes_agree_with_the_recorded_ones() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("golden/hypervolume.json")).unwrap();
    assert!(!cases.is_empty());
    for (number, case) in cases.iter().enumerate() {
        let points = Points::from_rows(case.reference.len(), &case.points).unwrap();
        let mut gradient = Points::zeros(points.dim(), points.len());
        let alone = hypervolume(&points, &case.reference).unwrap();
        let beside = hypervolume_with_gradient(&points, &case.reference, &mut gradient).unwrap();
        for found in [alone, beside] {
            let error = (found - case.hypervolume).abs() / case.hypervolume.abs().max(1e-300);
            assert!(error < 1e-10, "case {number}: {found} instead of {}", case.hypervolume);
        }
    }
}
