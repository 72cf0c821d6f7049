//! Length scales that are expected to be alike.
#![allow(clippy::unwrap_used)]

use unyoke_math::data::Data;
use unyoke_math::fit::{Hyper, Lengthscales, Mean, Model, Noise, Search};
use unyoke_math::gamma::Gamma;
use unyoke_math::kernel::Family;
use unyoke_math::prior::{LogNormal, Prior};
use unyoke_math::{Points, sobol};

fn model(prior: Prior, spread: Option<f64>) -> Model {
    Model {
        family: Family::Matern52,
        lengthscales: Lengthscales::PerInput,
        lengthscale_prior: Some(prior),
        lengthscale_spread: spread,
        outputscale_prior: Some(Gamma::new(2.0, 0.15).unwrap()),
        noise: Noise::Fixed(1e-4),
        mean: Mean::Fixed(0.0),
    }
}

/// Values that depend on the first of three inputs only.
fn data() -> Data {
    let points: Points = sobol::cube(3, 12, 1).unwrap();
    let values: Vec<f64> = points.rows().map(|x| (4.0 * x[0]).sin()).collect();
    Data::new(&points, &values).unwrap()
}

#[test]
fn derivatives_match_finite_differences() {
    let data = data();
    for prior in [Gamma::new(3.0, 6.0).unwrap().into(), LogNormal::new(0.3, 1.3).unwrap().into()] {
        for spread in [None, Some(0.5), Some(2.0)] {
            let model = model(prior, spread);
            let lengthscales = vec![0.4, 1.1, 2.5];
            let hyper = Hyper { lengthscales, outputscale: 1.3, noise: 1e-4, mean: 0.0 };
            let gradient = model.log_posterior(&data, &hyper).unwrap().gradient;
            for d in 0..3 {
                let h = 1e-6 * hyper.lengthscales[d];
                let shifted = |h: f64| {
                    let mut moved = hyper.clone();
                    moved.lengthscales[d] += h;
                    model.log_posterior(&data, &moved).unwrap().value()
                };
                let difference = (shifted(h) - shifted(-h)) / (2.0 * h);
                let found = gradient.lengthscales[d];
                let error = (found - difference).abs();
                assert!(error <= 1e-6 * difference.abs().max(0.1), "{found} for {difference}");
            }
        }
    }
}

#[test]
fn a_small_spread_makes_length_scales_alike_and_a_large_one_lets_them_differ() {
    let ratio = |spread: f64| {
        let prior = LogNormal::new(0.0, 1.3).unwrap().into();
        let fit = model(prior, Some(spread)).fit(&data(), None, &Search::default()).unwrap();
        let scales = fit.hyper.lengthscales;
        scales[1].min(scales[2]) / scales[0]
    };
    assert!((ratio(0.01) - 1.0).abs() < 0.05, "{}", ratio(0.01));
    assert!(ratio(0.5) > 1.2 && ratio(2.0) > 2.0 * ratio(0.5), "{} {}", ratio(0.5), ratio(2.0));
}
