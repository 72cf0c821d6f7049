//! Logarithms of gains, from large ones to e^−4,000,000, against figures of 80 digits.

use super::*;

#[derive(Deserialize)]
struct Case {
    gps: Vec<Process>,
    weights: Vec<Vec<f64>>,
    points: Vec<At>,
}

#[derive(Deserialize)]
struct At {
    x: Vec<f64>,
    /// Per objective, per weight vector; none where nothing can be gained.
    log_gain: Vec<Vec<Option<f64>>>,
    log_gain_gradient: Vec<Vec<Option<Vec<f64>>>>,
}

fn cases() -> Vec<(Model, Case)> {
    let text = include_str!("../../../tests/golden/log_kg.json");
    let cases: Vec<Case> = serde_json::from_str(text).unwrap();
    let model = |case: &Case| Model::of_objectives(case.gps.iter().map(Process::output).collect());
    cases.into_iter().map(|case| (model(&case), case)).collect()
}

/// The logarithm of a gain and its gradient.
fn log_gain(acquisition: &dyn Acquisition, option: usize, x: &[f64]) -> (f64, Vec<f64>) {
    let mut gradient = vec![0.0; x.len()];
    let log = acquisition.evaluator(option)(x, Some(&mut gradient));
    (log, gradient)
}

fn assert_logs_close(found: f64, expected: f64, what: &str) {
    let error = (found - expected).abs() / expected.abs().max(1.0);
    assert!(error <= 1e-10, "{what}: {found} is {error:e} off {expected}");
}

fn assert_gradients_close(found: &[f64], expected: &[f64], what: &str) {
    let size = expected.iter().fold(0.0f64, |size, g| size.max(g.abs()));
    for (found, expected) in found.iter().zip(expected) {
        let error = (found - expected).abs() / size;
        assert!(error <= 1e-9, "{what}: {found} is {error:e} off {expected}");
    }
}

#[test]
fn logarithms_of_gains_and_their_gradients_match_however_small_the_gain() {
    let (mut finite, mut smallest) = (0, 0.0f64);
    for (model, case) in cases() {
        for (q, weights) in case.weights.iter().enumerate() {
            let shared = Scalarised::new(&model, &grid(), &one(weights)).unwrap();
            let acquisition = CMokg::one_by_one(shared);
            for at in &case.points {
                for m in 0..2 {
                    let (log, gradient) = log_gain(&acquisition, m, &at.x);
                    let what = format!("objective {m} for {weights:?} at {:?}", at.x);
                    match (&at.log_gain[m][q], &at.log_gain_gradient[m][q]) {
                        (Some(expected), Some(slope)) => {
                            assert_logs_close(log, *expected, &what);
                            assert_gradients_close(&gradient, slope, &what);
                            finite += 1;
                            smallest = smallest.min(*expected);
                        }
                        _ => assert_eq!(log, f64::NEG_INFINITY, "{what}"),
                    }
                }
            }
        }
    }
    assert!(finite >= 100 && smallest < -1e6, "{finite} gains down to e^{smallest}");
}

#[test]
fn the_logarithm_of_an_expectation_over_weights_matches_its_parts() {
    for (model, case) in cases() {
        // Leaving out the weights of the largest gains, one after another, brings smaller ones to
        // light.
        for first in 0..case.weights.len() {
            let weights = Points::from_rows(2, &case.weights[first..]).unwrap();
            let count = weights.len() as f64;
            let acquisition =
                CMokg::one_by_one(Scalarised::new(&model, &grid(), &weights).unwrap());
            for at in &case.points {
                for m in 0..2 {
                    let (log, _) = log_gain(&acquisition, m, &at.x);
                    let parts: Vec<f64> =
                        at.log_gain[m][first..].iter().flatten().copied().collect();
                    let top = parts.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    let sum: f64 = parts.iter().map(|part| (part - top).exp()).sum();
                    if parts.is_empty() {
                        assert_eq!(log, f64::NEG_INFINITY);
                    } else {
                        assert_logs_close(log, top + (sum / count).ln(), "mean over weights");
                    }
                }
            }
        }
    }
}
