//! Posteriors against figures computed independently (`golden/gp_posterior.json`).
#![allow(clippy::unwrap_used, clippy::panic)]

use serde::Deserialize;
use unyoke_math::Points;
use unyoke_math::data::Data;
use unyoke_math::gp::Gp;
use unyoke_math::kernel::{Family, Kernel};

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
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
struct Case {
    gp: Model,
    #[serde(rename = "Xs")]
    xs: Vec<Vec<f64>>,
    mean: Vec<f64>,
    cov: Vec<Vec<f64>>,
    mean_grad_first: Vec<f64>,
    var_grad_first: Vec<f64>,
}

fn family(name: &str) -> Family {
    match name {
        "matern52" => Family::Matern52,
        "matern32" => Family::Matern32,
        "rbf" | "se" => Family::SquaredExponential,
        other => panic!("unknown kernel {other}"),
    }
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("golden/gp_posterior.json")).unwrap()
}

impl Model {
    fn points(&self) -> Points {
        Points::from_rows(self.x[0].len(), &self.x).unwrap()
    }

    fn condition(&self) -> Gp {
        let points = self.points();
        let kernel =
            Kernel::new(family(&self.kernel), points.dim(), &self.lengthscales, self.outputscale);
        let data = Data::new(&points, &self.y).unwrap();
        Gp::new(kernel.unwrap(), self.mean, self.noise, &data).unwrap()
    }
}

/// Relative to the scale of the quantity: a posterior covariance is a difference of numbers of
/// the size of the prior variance, which is what 1e-9 can refer to.
fn assert_close(found: f64, expected: f64, scale: f64, what: &str) {
    let error = (found - expected).abs();
    assert!(
        error <= 1e-9 * scale.max(expected.abs()),
        "{what}: {found} is {error:e} off {expected}"
    );
}

#[test]
fn posterior_mean_covariance_and_gradients_match() {
    let cases = cases();
    assert!(cases.len() >= 15);
    for (number, case) in cases.iter().enumerate() {
        let gp = case.gp.condition();
        let points = Points::from_rows(gp.dim(), &case.xs).unwrap();
        let joint = gp.joint(&points).unwrap();
        let means = gp.means(&points).unwrap();
        let many = gp.predict_many(&points).unwrap();
        let spread = case.gp.y.iter().fold(0.0f64, |m, y| m.max(y.abs()));
        let variance = case.gp.outputscale;
        for i in 0..points.len() {
            let what = format!("case {number}, point {i}");
            let one = gp.predict(points.row(i)).unwrap();
            for mean in [one.mean, joint.means()[i], means[i], many[i].mean] {
                assert_close(mean, case.mean[i], spread, &what);
            }
            for found in [one.variance, joint.covariance(i, i), many[i].variance] {
                assert_close(found, case.cov[i][i], variance, &what);
            }
            for j in 0..points.len() {
                assert_close(joint.covariance(i, j), case.cov[i][j], variance, &what);
            }
        }
        let query = gp.query(points.row(0)).unwrap();
        let scales: f64 = case.gp.lengthscales.iter().cloned().fold(f64::INFINITY, f64::min);
        for (d, expected) in case.mean_grad_first.iter().enumerate() {
            let found = gp.gradient(&query, 1.0, 0.0)[d];
            assert_close(found, *expected, spread / scales, &format!("case {number} mean'"));
        }
        for (d, expected) in case.var_grad_first.iter().enumerate() {
            let found = gp.gradient(&query, 0.0, 1.0)[d];
            assert_close(found, *expected, variance / scales, &format!("case {number} variance'"));
        }
    }
}

#[test]
fn appending_rows_one_by_one_gives_the_same_posterior() {
    for case in cases() {
        let gp = case.gp.condition();
        let points = case.gp.points();
        let mut grown =
            Gp::new(gp.kernel().clone(), gp.prior_mean(), gp.noise(), &Data::empty(gp.dim()))
                .unwrap();
        for (x, y) in points.rows().zip(&case.gp.y) {
            grown.append(x, *y, gp.noise()).unwrap();
        }
        for x in &case.xs {
            let (a, b) = (gp.predict(x).unwrap(), grown.predict(x).unwrap());
            assert_close(a.mean, b.mean, 1.0, "mean");
            assert_close(a.variance, b.variance, case.gp.outputscale, "variance");
        }
    }
}
