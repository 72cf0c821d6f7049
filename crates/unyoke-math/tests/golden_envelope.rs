//! Expected maxima of lines against figures computed independently (`golden/emax_lines.json`).
#![allow(clippy::unwrap_used)]

use serde::Deserialize;
use unyoke_math::envelope::{Envelope, SlopeOrder};

#[derive(Deserialize)]
struct Case {
    a: Vec<f64>,
    b: Vec<f64>,
    value: f64,
}

#[test]
fn expected_maxima_match() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("golden/emax_lines.json")).unwrap();
    assert!(cases.len() >= 17);
    for (number, case) in cases.iter().enumerate() {
        let order = SlopeOrder::new(&case.b).unwrap();
        let gain = order.gain(&case.a, 1.0, &mut Envelope::default()).unwrap();
        let best = case.a.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let error = (best + gain.value() - case.value).abs();
        assert!(error <= 1e-12 * case.value.abs().max(1e-300), "case {number}: {error:e} off");
    }
}
