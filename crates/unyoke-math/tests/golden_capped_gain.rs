//! Knowledge gradients of Chebyshev utilities against figures computed independently on a mesh of
//! 16,001 outcomes (`golden/chebyshev_kg.json`), right to 1e-8 for two objectives and 1e-6 for three.
#![allow(clippy::unwrap_used)]

use serde::Deserialize;
use unyoke_math::Points;
use unyoke_math::capped_gain::minimum::{Minimum, Nodes};
use unyoke_math::capped_gain::{Ceiling, Curve, Curves, Work};
use unyoke_math::data::Data;
use unyoke_math::gp::{Candidate, Gp, Prediction};
use unyoke_math::kernel::{Family, Kernel};

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

#[derive(Deserialize)]
struct Expected {
    x: Vec<f64>,
    /// Per objective, per weight vector.
    gain: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
struct Case {
    gps: Vec<Model>,
    set: Vec<Vec<f64>>,
    reference: Vec<f64>,
    rho: f64,
    weights: Vec<Vec<f64>>,
    points: Vec<Expected>,
}

/// w_k ∝ 1/λ_k.
fn factors(lambda: &[f64]) -> Vec<f64> {
    let inverse: Vec<f64> = lambda.iter().map(|l| 1.0 / l.max(1e-3)).collect();
    let sum: f64 = inverse.iter().sum();
    inverse.iter().map(|w| w / sum).collect()
}

/// The curve of a design with these predictions when objective `moving` is observed.
fn curve(
    case: &Case,
    predictions: &[Prediction],
    lambda: &[f64],
    moving: usize,
) -> (Curve, Vec<Ceiling>) {
    let w = factors(lambda);
    let scaled = |k: usize| w[k] * (predictions[k].mean - case.reference[k]);
    let variance = |k: usize| w[k] * w[k] * predictions[k].variance;
    let fixed: Vec<usize> = (0..w.len()).filter(|k| *k != moving).collect();
    let level = case.rho * fixed.iter().map(|k| scaled(*k)).sum::<f64>();
    let curve = Curve { level, free: case.rho, mean: scaled(moving), variance: variance(moving) };
    if let [other] = fixed[..] {
        let ceiling = Ceiling { weight: 1.0, mean: scaled(other), variance: variance(other) };
        return (curve, vec![ceiling]);
    }
    let nodes = Nodes::new(fixed.len(), 101, 400).unwrap();
    let means: Vec<f64> = fixed.iter().map(|k| scaled(*k)).collect();
    let deviations: Vec<f64> = fixed.iter().map(|k| variance(*k).sqrt()).collect();
    let mut least = Minimum::default();
    least.compute(&nodes, &means, &deviations, f64::INFINITY).unwrap();
    (curve, least.ceilings().to_vec())
}

#[test]
fn gains_of_chebyshev_utilities_match() {
    let text = include_str!("golden/chebyshev_kg.json");
    let cases: Vec<Case> = serde_json::from_str(text).unwrap();
    assert!(cases.iter().any(|c| c.gps.len() == 2) && cases.iter().any(|c| c.gps.len() == 3));
    for case in &cases {
        let gps: Vec<Gp> = case.gps.iter().map(Model::condition).collect();
        let designs = Points::from_rows(case.set[0].len(), &case.set).unwrap();
        let predict = |x: &[f64]| gps.iter().map(|gp| gp.predict(x).unwrap()).collect::<Vec<_>>();
        for expected in &case.points {
            let most = expected.gain.iter().flatten().copied().fold(0.0, f64::max);
            let own_error = if gps.len() == 2 { 1e-8 } else { 1e-6 };
            for (moving, gp) in gps.iter().enumerate() {
                let set = gp.fixed_set(&designs).unwrap();
                let mut seen = Candidate::default();
                set.evaluate(&expected.x, &mut seen).unwrap();
                let variance = seen.prediction().variance;
                let deviation = (variance + set.noise()).sqrt();
                for (q, lambda) in case.weights.iter().enumerate() {
                    let unit = factors(lambda)[moving] / deviation;
                    let covariances = seen.covariances().iter().chain([&variance]);
                    let slopes: Vec<f64> = covariances.map(|k| unit * k).collect();
                    let mut curves = Curves::default();
                    for x in designs.rows() {
                        let (curve, ceilings) = curve(case, &predict(x), lambda, moving);
                        curves.push(curve, &ceilings).unwrap();
                    }
                    let (own, ceilings) = curve(case, &predict(&expected.x), lambda, moving);
                    let gain = curves.gain(Some((own, &ceilings)), &slopes, &mut Work::default());
                    let (found, expected) = (gain.unwrap().value(), expected.gain[moving][q]);
                    let error = (found - expected).abs();
                    assert!(error < 1e-5 * most + own_error, "{found} for {expected}, {error:e}");
                }
            }
        }
    }
}
