//! Log posterior and MAP fit against figures computed independently
//! (`golden/log_posterior.json`, `golden/map_fit.json`).
#![allow(clippy::unwrap_used)]

use serde::Deserialize;
use std::collections::HashMap;
use unyoke_math::Points;
use unyoke_math::data::{Data, Standardizer};
use unyoke_math::fit::{Hyper, Lengthscales, Mean, Model, Noise, Search};
use unyoke_math::gamma::Gamma;
use unyoke_math::kernel::Family;

type Priors = HashMap<String, [f64; 2]>;

fn prior(priors: &Priors, name: &str) -> Option<Gamma> {
    priors.get(name).map(|[shape, rate]| Gamma::new(*shape, *rate).unwrap())
}

fn lengthscales(ard: bool) -> Lengthscales {
    if ard { Lengthscales::PerInput } else { Lengthscales::Isotropic }
}

fn data(x: &[Vec<f64>], y: &[f64]) -> Data {
    Data::new(&Points::from_rows(x[0].len(), x).unwrap(), y).unwrap()
}

fn assert_close(found: f64, expected: f64, what: &str) {
    let error = (found - expected).abs();
    assert!(error <= 1e-9 * expected.abs(), "{what}: {found} is {error:e} off {expected}");
}

#[derive(Deserialize)]
struct Gradient {
    lengthscales: Vec<f64>,
    outputscale: f64,
    noise: f64,
    mean: f64,
}

#[derive(Deserialize)]
struct PosteriorCase {
    #[serde(rename = "X")]
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    ard: bool,
    priors: Priors,
    lengthscales: Vec<f64>,
    outputscale: f64,
    noise: f64,
    mean: f64,
    log_likelihood: f64,
    log_prior: f64,
    grad: Gradient,
}

#[test]
fn log_posterior_and_its_gradient_match() {
    let cases: Vec<PosteriorCase> =
        serde_json::from_str(include_str!("golden/log_posterior.json")).unwrap();
    assert!(cases.len() >= 6);
    for (number, case) in cases.iter().enumerate() {
        let noise = match prior(&case.priors, "noise") {
            None => Noise::Fixed(case.noise),
            some => Noise::Fitted { prior: some, lower: 1e-4 },
        };
        let model = Model {
            family: Family::Matern52,
            lengthscales: lengthscales(case.ard),
            lengthscale_prior: prior(&case.priors, "lengthscale").map(Into::into),
            lengthscale_spread: None,
            outputscale_prior: prior(&case.priors, "outputscale"),
            noise,
            mean: Mean::Fixed(case.mean),
        };
        let hyper = Hyper {
            lengthscales: case.lengthscales.clone(),
            outputscale: case.outputscale,
            noise: case.noise,
            mean: case.mean,
        };
        let found = model.log_posterior(&data(&case.x, &case.y), &hyper).unwrap();
        assert_close(found.likelihood, case.log_likelihood, &format!("{number} likelihood"));
        assert_close(found.prior, case.log_prior, &format!("{number} prior"));
        for (g, expected) in found.gradient.lengthscales.iter().zip(&case.grad.lengthscales) {
            assert_close(*g, *expected, &format!("{number} length scale"));
        }
        assert_eq!(found.gradient.lengthscales.len(), case.grad.lengthscales.len());
        assert_close(found.gradient.outputscale, case.grad.outputscale, "output scale");
        assert_close(found.gradient.noise, case.grad.noise, &format!("{number} noise"));
        assert_close(found.gradient.mean, case.grad.mean, &format!("{number} mean"));
    }
}

#[derive(Deserialize)]
struct Optimum {
    lengthscales: Vec<f64>,
    outputscale: f64,
    value: f64,
    noise: f64,
    mean: f64,
}

#[derive(Deserialize)]
struct FitCase {
    #[serde(rename = "X")]
    x: Vec<Vec<f64>>,
    y_raw: Vec<f64>,
    y: Vec<f64>,
    ard: bool,
    priors: Priors,
    mean_fixed: Option<f64>,
    noise_fixed: Option<f64>,
    noise_lower_bound: f64,
    optimum: Optimum,
}

#[test]
fn the_map_fit_reaches_the_best_known_posterior() {
    let cases: Vec<FitCase> = serde_json::from_str(include_str!("golden/map_fit.json")).unwrap();
    assert!(cases.len() >= 8);
    for (number, case) in cases.iter().enumerate() {
        let map = Standardizer::new(&case.y_raw).unwrap();
        for (raw, y) in case.y_raw.iter().zip(&case.y) {
            assert_close(map.standardize(*raw), *y, "standardised value");
        }
        let lower = case.noise_lower_bound;
        let fitted = Noise::Fitted { prior: prior(&case.priors, "noise"), lower };
        let model = Model {
            family: Family::Matern52,
            lengthscales: lengthscales(case.ard),
            lengthscale_prior: prior(&case.priors, "lengthscale").map(Into::into),
            lengthscale_spread: None,
            outputscale_prior: prior(&case.priors, "outputscale"),
            noise: case.noise_fixed.map_or(fitted, Noise::Fixed),
            mean: case.mean_fixed.map_or(Mean::Fitted, Mean::Fixed),
        };
        let data = data(&case.x, &case.y);
        let fit = model.fit(&data, None, &Search::default()).unwrap();
        let short = case.optimum.value - fit.log_posterior;
        assert!(short.abs() <= 1e-6, "case {number}: {short:e} short: {:?}", fit.hyper);
        let close = |found: f64, expected: f64| {
            assert!((found - expected).abs() <= 2e-3 * expected.abs().max(0.1), "case {number}");
        };
        assert_eq!(fit.hyper.lengthscales.len(), case.optimum.lengthscales.len());
        for (found, expected) in fit.hyper.lengthscales.iter().zip(&case.optimum.lengthscales) {
            close(*found, *expected);
        }
        close(fit.hyper.outputscale, case.optimum.outputscale);
        close(fit.hyper.noise, case.optimum.noise);
        close(fit.hyper.mean, case.optimum.mean);
        let warm = model.fit(&data, Some(&fit.hyper), &Search::default()).unwrap();
        assert!(warm.log_posterior >= fit.log_posterior - 1e-12);
    }
}
