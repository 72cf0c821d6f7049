//! The hypervolume knowledge gradient of one objective against figures computed independently
//! (`golden/hv_kg_exact.json`), from observations to the gradient in the candidate.
#![allow(clippy::unwrap_used)]

use serde::Deserialize;
use unyoke_math::data::Data;
use unyoke_math::gp::{Adjoint, Candidate, FixedSet, Gp};
use unyoke_math::hypervolume_gain::{HypervolumeGain, Work, directions};
use unyoke_math::kernel::{Family, Kernel};
use unyoke_math::{Error, Points};

#[derive(Deserialize)]
struct Model {
    kernel: String,
    #[serde(rename = "X")]
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    lengthscales: Vec<f64>,
    outputscale: f64,
    noise: f64,
    mean: f64,
}

#[derive(Deserialize)]
struct Expected {
    x: Vec<f64>,
    log_gain: Vec<f64>,
    log_gain_gradient: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
struct Case {
    gps: Vec<Model>,
    set: Vec<Vec<f64>>,
    reference: Vec<f64>,
    points: Vec<Expected>,
}

impl Model {
    fn condition(&self) -> Gp {
        assert_eq!(self.kernel, "matern52");
        let points = Points::from_rows(self.x[0].len(), &self.x).unwrap();
        let kernel =
            Kernel::new(Family::Matern52, points.dim(), &self.lengthscales, self.outputscale);
        let data = Data::new(&points, &self.y).unwrap();
        Gp::new(kernel.unwrap(), self.mean, self.noise, &data).unwrap()
    }
}

fn cases() -> Vec<Case> {
    let cases: Vec<Case> = serde_json::from_str(include_str!("golden/hv_kg_exact.json")).unwrap();
    assert!(cases.iter().any(|c| c.gps.len() == 2) && cases.iter().any(|c| c.gps.len() == 3));
    cases
}

/// Means of every objective at the points of the set.
fn means(sets: &[FixedSet<'_>]) -> Points {
    let rows = (0..sets[0].len()).map(|j| sets.iter().map(|s| s.means()[j]).collect::<Vec<_>>());
    Points::from_rows(sets.len(), rows).unwrap()
}

/// Logarithm of the gain at x, and its gradient in x: β_j = k_j/√v with v = variance + noise, the
/// candidate's own variance/√v.
fn log_gain(
    gain: &HypervolumeGain,
    sets: &[FixedSet<'_>],
    moving: usize,
    x: &[f64],
) -> (f64, Vec<f64>) {
    let mut seen = vec![Candidate::default(); sets.len()];
    for (set, candidate) in sets.iter().zip(&mut seen) {
        set.evaluate(x, candidate).unwrap();
    }
    let own: Vec<f64> = seen.iter().map(|c| c.prediction().mean).collect();
    let variance = seen[moving].prediction().variance;
    let deviation = (variance + sets[moving].noise()).sqrt();
    let covariances = seen[moving].covariances().iter().chain([&variance]);
    let slopes: Vec<f64> = covariances.map(|k| k / deviation).collect();
    let mut work = Work::default();
    let found = gain.gain(&slopes, &own, &mut work).unwrap();
    let by_variance: f64 = work.slopes().iter().zip(&slopes).map(|(g, b)| g * b).sum();
    let (own_slope, others) = work.slopes().split_last().unwrap();
    let by_covariance: Vec<f64> = others.iter().map(|g| g / deviation).collect();
    let mut gradient = vec![0.0; x.len()];
    for (k, (set, candidate)) in sets.iter().zip(&seen).enumerate() {
        let none = vec![0.0; by_covariance.len()];
        let variance = own_slope / deviation - 0.5 * by_variance / (deviation * deviation);
        let adjoint = if k == moving {
            Adjoint { mean: work.means()[k], variance, covariances: &by_covariance }
        } else {
            Adjoint { mean: work.means()[k], variance: 0.0, covariances: &none }
        };
        let terms = set.gradient(candidate, adjoint).unwrap();
        gradient.iter_mut().zip(terms).for_each(|(g, t)| *g += t / found.scaled);
    }
    (found.log(), gradient)
}

/// Calls `check` with the case's number, the sets, the moving objective and what is expected.
fn for_each_figure(mut check: impl FnMut(&Case, &[FixedSet<'_>], usize, &Expected)) {
    for case in cases() {
        let gps: Vec<Gp> = case.gps.iter().map(Model::condition).collect();
        let designs = Points::from_rows(case.set[0].len(), &case.set).unwrap();
        let sets: Vec<_> = gps.iter().map(|gp| gp.fixed_set(&designs).unwrap()).collect();
        for expected in &case.points {
            for moving in 0..gps.len() {
                check(&case, &sets, moving, expected);
            }
        }
    }
}

#[test]
fn logarithms_of_gains_and_their_gradients_match() {
    for_each_figure(|case, sets, moving, expected| {
        let gain = HypervolumeGain::new(&means(sets), moving, &case.reference).unwrap();
        let (log, gradient) = log_gain(&gain, sets, moving, &expected.x);
        let error = (log - expected.log_gain[moving]).abs();
        assert!(error < 1e-9, "{log} is {error:e} off at {:?}", expected.x);
        for (found, expected) in gradient.iter().zip(&expected.log_gain_gradient[moving]) {
            let error = (found - expected).abs() / expected.abs().max(1.0);
            assert!(error < 1e-6, "{found} is {error:e} off {expected}");
        }
    });
}

#[test]
fn many_directions_come_close_to_gains_that_are_not_tiny() {
    for_each_figure(|case, sets, moving, expected| {
        let rays = directions(sets.len() - 1, 512, 7).unwrap();
        let gain = HypervolumeGain::along(&rays, &means(sets), moving, &case.reference).unwrap();
        let (log, gradient) = log_gain(&gain, sets, moving, &expected.x);
        // A gain of e⁻²³ comes from a corner that few directions pass through.
        if expected.log_gain[moving] < -10.0 {
            return;
        }
        // One fixed objective has only one direction.
        let tolerance = if sets.len() == 2 { 1e-9 } else { 0.02 };
        let error = (log - expected.log_gain[moving]).abs();
        assert!(error < tolerance, "{log} is {error:e} off at {:?}", expected.x);
        let size = expected.log_gain_gradient[moving].iter().fold(1.0, |m: f64, g| m.max(g.abs()));
        for (found, expected) in gradient.iter().zip(&expected.log_gain_gradient[moving]) {
            let error = (found - expected).abs() / size;
            assert!(error < 5.0 * tolerance, "{found} is {error:e} off {expected}");
        }
    });
}

#[test]
fn four_objectives_need_directions() {
    let designs = Points::zeros(4, 2);
    let error = HypervolumeGain::new(&designs, 0, &[0.0; 4]).unwrap_err();
    assert!(matches!(error, Error::OutOfRange { .. }), "{error}");
    let rays = directions(3, 16, 7).unwrap();
    assert!(HypervolumeGain::along(&rays, &designs, 0, &[0.0; 4]).is_ok());
}
