//! Observations whose noise is known, against dense formulas in which every one is a row of its own.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use unyoke_math::Points;
use unyoke_math::data::Data;
use unyoke_math::fit::{Hyper, Lengthscales, Mean, Model, Noise, Search};
use unyoke_math::gamma::Gamma;
use unyoke_math::gp::Gp;
use unyoke_math::kernel::{Family, Kernel};

const DIM: usize = 2;

/// One observation: a point of a coarse grid, so that some coincide, a value, perhaps a variance.
#[derive(Debug, Clone)]
struct Observation {
    x: [f64; DIM],
    y: f64,
    variance: Option<f64>,
}

fn observations() -> impl Strategy<Value = Vec<Observation>> {
    let one = (0..3u8, 0..3u8, -2.0..2.0f64, prop::option::of(0.01..2.0f64));
    let observation = one.prop_map(|(a, b, y, variance)| {
        let x = [f64::from(a) / 2.0, f64::from(b) / 2.0];
        Observation { x, y, variance }
    });
    prop::collection::vec(observation, 1..16)
}

fn points(observations: &[Observation]) -> Points {
    Points::from_rows(DIM, observations.iter().map(|o| o.x)).unwrap()
}

fn data(observations: &[Observation]) -> Data {
    let values: Vec<f64> = observations.iter().map(|o| o.y).collect();
    let variances: Vec<_> = observations.iter().map(|o| o.variance).collect();
    Data::with_known_noise(&points(observations), &values, &variances).unwrap()
}

fn hyper() -> Hyper {
    Hyper { lengthscales: vec![0.6], outputscale: 1.7, noise: 0.3, mean: 0.4 }
}

fn model(mean: Mean) -> Model {
    Model {
        family: Family::Matern52,
        lengthscales: Lengthscales::Isotropic,
        lengthscale_prior: Some(Gamma::new(3.0, 6.0).unwrap().into()),
        lengthscale_spread: None,
        outputscale_prior: Some(Gamma::new(2.0, 0.15).unwrap()),
        noise: Noise::Fitted { prior: Some(Gamma::new(1.1, 0.05).unwrap()), lower: 1e-6 },
        mean,
    }
}

fn kernel(hyper: &Hyper) -> Kernel {
    Kernel::new(Family::Matern52, DIM, &hyper.lengthscales, hyper.outputscale).unwrap()
}

/// k(X, X) + noise with a row per observation.
fn covariance(observations: &[Observation], hyper: &Hyper) -> Vec<Vec<f64>> {
    let kernel = kernel(hyper);
    let entry = |i: usize, j: usize| {
        let noise = observations[i].variance.unwrap_or(hyper.noise);
        let k = kernel.covariance(&observations[i].x, &observations[j].x);
        if i == j { k + noise } else { k }
    };
    let n = observations.len();
    (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect()
}

/// Solves A x = b by elimination; also the logarithm of the determinant of the positive definite A.
fn eliminate(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> (Vec<f64>, f64) {
    let n = b.len();
    let mut log_determinant = 0.0;
    for k in 0..n {
        log_determinant += a[k][k].ln();
        for i in k + 1..n {
            let factor = a[i][k] / a[k][k];
            for j in k..n {
                a[i][j] -= factor * a[k][j];
            }
            b[i] -= factor * b[k];
        }
    }
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|j| a[k][j] * b[j]).sum();
        b[k] = (b[k] - known) / a[k][k];
    }
    (b, log_determinant)
}

fn dense_log_likelihood(observations: &[Observation], hyper: &Hyper) -> f64 {
    let residuals: Vec<f64> = observations.iter().map(|o| o.y - hyper.mean).collect();
    let (alpha, log_determinant) = eliminate(covariance(observations, hyper), residuals.clone());
    let fit: f64 = residuals.iter().zip(&alpha).map(|(r, a)| r * a).sum();
    -0.5 * (fit + log_determinant + residuals.len() as f64 * std::f64::consts::TAU.ln())
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-10 * b.abs().max(1.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_likelihood_is_that_of_all_observations_as_rows_of_their_own(all in observations()) {
        let hyper = hyper();
        let posterior =
            model(Mean::Fixed(hyper.mean)).log_posterior(&data(&all), &hyper).unwrap();
        let expected = dense_log_likelihood(&all, &hyper);
        prop_assert!(close(posterior.likelihood, expected), "{} {expected}", posterior.likelihood);
    }

    #[test]
    fn the_posterior_is_that_of_all_observations_as_rows_of_their_own(
        all in observations(), x in prop::array::uniform2(0.0..1.0f64),
    ) {
        let hyper = hyper();
        let gp = hyper.condition(Family::Matern52, &data(&all)).unwrap();
        let found = gp.predict(&x).unwrap();
        let k: Vec<f64> = all.iter().map(|o| kernel(&hyper).covariance(&o.x, &x)).collect();
        let (weights, _) = eliminate(covariance(&all, &hyper), k.clone());
        let mean: f64 = weights.iter().zip(&all).map(|(w, o)| w * (o.y - hyper.mean)).sum();
        let explained: f64 = weights.iter().zip(&k).map(|(w, k)| w * k).sum();
        prop_assert!(close(found.mean, hyper.mean + mean));
        prop_assert!(close(found.variance, hyper.outputscale - explained));
    }

    #[test]
    fn gradients_of_the_log_posterior_match_finite_differences(all in observations()) {
        let (data, hyper) = (data(&all), hyper());
        for mean in [Mean::Fixed(hyper.mean), Mean::Fitted] {
            let model = model(mean);
            let gradient = model.log_posterior(&data, &hyper).unwrap().gradient;
            let difference = |change: fn(&mut Hyper, f64)| {
                let at = |step: f64| {
                    let mut moved = hyper.clone();
                    change(&mut moved, step);
                    model.log_posterior(&data, &moved).unwrap().value()
                };
                (at(1e-5) - at(-1e-5)) / 2e-5
            };
            for (found, expected) in [
                (gradient.lengthscales[0], difference(|h, step| h.lengthscales[0] += step)),
                (gradient.outputscale, difference(|h, step| h.outputscale += step)),
                (gradient.noise, difference(|h, step| h.noise += step)),
            ] {
                prop_assert!((found - expected).abs() < 1e-5 * (1.0 + expected.abs()));
            }
        }
    }

    #[test]
    fn observations_of_known_noise_count_the_same_in_any_order(all in observations()) {
        let mut reversed = all.clone();
        reversed.reverse();
        let hyper = hyper();
        let model = model(Mean::Fixed(0.0));
        let value = |all: &[Observation]| model.log_posterior(&data(all), &hyper).unwrap().value();
        prop_assert!(close(value(&all), value(&reversed)));
    }
}

#[test]
fn a_variance_for_everyone_equal_to_the_noise_changes_nothing() {
    let all: Vec<Observation> = (0..9)
        .map(|i| {
            let x = [f64::from(i % 4) / 3.0, f64::from(i % 3) / 2.0];
            Observation { x, y: f64::from(i).sin(), variance: None }
        })
        .collect();
    let mut known = all.clone();
    known.iter_mut().for_each(|o| o.variance = Some(0.3));
    let hyper = hyper();
    let shared = hyper.condition(Family::Matern52, &data(&all)).unwrap().predict(&[0.3, 0.8]);
    let known = hyper.condition(Family::Matern52, &data(&known)).unwrap().predict(&[0.3, 0.8]);
    let (shared, known) = (shared.unwrap(), known.unwrap());
    assert!(close(known.mean, shared.mean) && close(known.variance, shared.variance));
}

/// Nine points of a line, the variance of each by number.
fn line(variance: impl Fn(usize) -> Option<f64>) -> Vec<Observation> {
    let one = |i: usize| {
        let t = i as f64 / 8.0;
        Observation { x: [t, 0.5], y: (6.0 * t).sin(), variance: variance(i) }
    };
    (0..9).map(one).collect()
}

#[test]
fn where_all_noise_is_known_a_fit_takes_its_median_for_what_comes() {
    let data = data(&line(|i| Some(0.01 * (i + 1) as f64)));
    let model = model(Mean::Fitted);
    let fit = model.fit(&data, None, &Search::default()).unwrap();
    assert_eq!(fit.hyper.noise, 0.05);
    let fixed = Model { noise: Noise::Fixed(0.7), ..model.clone() };
    let same = fixed.fit(&data, None, &Search::default()).unwrap();
    assert_eq!(same.hyper.lengthscales, fit.hyper.lengthscales);
    let bounded = Noise::Fitted { prior: None, lower: 0.2 };
    let fit = Model { noise: bounded, ..model }.fit(&data, Some(&fit.hyper), &Search::default());
    assert_eq!(fit.unwrap().hyper.noise, 0.2);
}

#[test]
fn a_fitted_noise_is_found_from_the_observations_that_share_it() {
    // Half a unit above or below what is known exactly: a variance of a quarter.
    let mut all = line(|_| Some(0.0));
    for i in 0..40 {
        let twin = all[i % 8].clone();
        let y = twin.y + if i % 16 < 8 { 0.5 } else { -0.5 };
        all.push(Observation { y, variance: None, ..twin });
    }
    let fit = model(Mean::Fitted).fit(&data(&all), None, &Search::default()).unwrap();
    assert!((fit.hyper.noise - 0.25).abs() < 0.05, "{:?}", fit.hyper);
}

#[test]
fn extreme_variances_leave_everything_finite_and_the_exact_observations_exact() {
    let cases: [fn(usize) -> Option<f64>; 6] = [
        |_| Some(0.0),
        |_| Some(1e-300),
        |_| Some(1e300),
        |i| Some([0.0, 1e-300, 1e300][i % 3]),
        |i| [None, Some(0.0), Some(1e300)][i % 3],
        |i| [None, Some(1e-300), Some(1.0)][i % 3],
    ];
    for (number, variance) in cases.into_iter().enumerate() {
        let mut all = line(variance);
        // Every point twice, so that equal points contradict each other.
        all.extend(all.clone().into_iter().map(|o| Observation { y: o.y + 0.1, ..o }));
        let data = data(&all);
        for mean in [Mean::Fitted, Mean::Fixed(0.0)] {
            let model = model(mean);
            let fit = model.fit(&data, None, &Search::default()).unwrap();
            assert!(fit.log_posterior.is_finite(), "{number}");
            let posterior = model.log_posterior(&data, &fit.hyper).unwrap();
            let g = posterior.gradient;
            assert!([g.lengthscales[0], g.outputscale, g.noise].iter().all(|g| g.is_finite()));
            let gp = fit.hyper.condition(model.family, &data).unwrap();
            for (i, o) in all.iter().take(9).enumerate() {
                let prediction = gp.predict(&o.x).unwrap();
                assert!(prediction.mean.is_finite() && prediction.variance.is_finite());
                if variance(i).is_some_and(|v| v < 1e-12) {
                    assert!((prediction.mean - o.y - 0.05).abs() < 1e-3, "{number} {i}");
                }
            }
        }
    }
}

#[test]
fn an_enormous_variance_next_to_points_that_almost_coincide_hides_nothing() {
    let mut all = line(|_| Some(0.0));
    all.extend(line(|_| Some(0.0)).into_iter().map(|mut o| {
        o.x[1] += 1e-12;
        o
    }));
    all.push(Observation { x: [0.3, 0.3], y: 100.0, variance: Some(1e300) });
    let gp = Gp::new(kernel(&hyper()), 0.0, 0.0, &data(&all)).unwrap();
    for o in &all[..9] {
        assert!((gp.predict(&o.x).unwrap().mean - o.y).abs() < 1e-4);
    }
}
