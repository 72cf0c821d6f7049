//! Fits to many rows, which begin with a part of them, against climbs on all rows from many places.
#![allow(clippy::unwrap_used)]

use unyoke_math::data::{Data, Standardizer};
use unyoke_math::fit::{Hyper, Lengthscales, Mean, Model, Noise, Search};
use unyoke_math::gamma::Gamma;
use unyoke_math::kernel::Family;
use unyoke_math::optimize::{Bounds, Stopping, maximize_each};
use unyoke_math::random::Rng;
use unyoke_math::{Points, sobol};

/// What is modelled: smooth, wavy in one input, a step, or next to nothing but noise.
fn value(kind: usize, x: &[f64]) -> f64 {
    let wave = |frequency: f64| -> f64 {
        x.iter().enumerate().map(|(d, v)| (frequency * v + d as f64).sin()).sum()
    };
    match kind {
        0 => wave(2.5),
        1 => wave(2.0) + (17.0 * x[0]).sin(),
        2 => wave(3.0) + f64::from(u8::from(x[0] + x[x.len() - 1] > 1.1)),
        _ => 0.1 * x[0],
    }
}

fn data(kind: usize, dim: usize, rows: usize, noise: f64, seed: u64) -> Data {
    let (points, mut rng) = (sobol::cube(dim, rows, seed).unwrap(), Rng::new(seed, 3));
    let values: Vec<f64> = points.rows().map(|x| value(kind, x) + noise * rng.normal()).collect();
    let map = Standardizer::new(&values).unwrap();
    let values: Vec<f64> = values.iter().map(|y| map.standardize(*y)).collect();
    // In the order of their coordinates, as studies have them.
    let mut order: Vec<usize> = (0..rows).collect();
    order.sort_by(|i, j| points.row(*i).partial_cmp(points.row(*j)).unwrap());
    let sorted: Vec<f64> = order.iter().map(|i| values[*i]).collect();
    Data::new(&points.select(&order), &sorted).unwrap()
}

fn model(lengthscales: Lengthscales, noise: Noise) -> Model {
    Model {
        family: Family::Matern52,
        lengthscales,
        lengthscale_prior: Some(Gamma::new(3.0, 6.0).unwrap().into()),
        lengthscale_spread: None,
        outputscale_prior: Some(Gamma::new(2.0, 0.15).unwrap()),
        noise,
        mean: Mean::Fitted,
    }
}

/// The best that climbs on all rows reach from some places of the whole range of hyper-parameters.
fn best_of_many(model: &Model, data: &Data, starts: usize) -> f64 {
    let count = match model.lengthscales {
        Lengthscales::Isotropic => 1,
        _ => data.points().dim(),
    };
    let fitted = matches!(model.noise, Noise::Fitted { .. });
    let hyper = |theta: &[f64]| Hyper {
        lengthscales: theta[..count].iter().map(|t| t.exp()).collect(),
        outputscale: theta[count].exp(),
        noise: match model.noise {
            Noise::Fixed(noise) => noise,
            Noise::Fitted { lower, .. } => theta[count + 1].exp().max(lower),
        },
        mean: 0.0,
    };
    let climb = |theta: &[f64], slopes: &mut [f64]| {
        let at = hyper(theta);
        let Ok(posterior) = model.log_posterior(data, &at) else { return f64::NAN };
        let gradient = posterior.gradient.clone();
        let by = gradient.lengthscales.iter().zip(&at.lengthscales).map(|(g, l)| g * l);
        let rest = [gradient.outputscale * at.outputscale, gradient.noise * at.noise];
        slopes.iter_mut().zip(by.chain(rest)).for_each(|(slope, value)| *slope = value);
        posterior.value()
    };
    let mut lower = vec![(1e-3f64).ln(); count];
    let mut upper = vec![(1e3f64).ln(); count];
    lower.push((1e-4f64).ln());
    upper.push((1e4f64).ln());
    if fitted {
        lower.push((1e-4f64).ln());
        upper.push((1e3f64).ln());
    }
    let raw = sobol::cube(lower.len(), starts, 5).unwrap();
    let place = |u: &[f64]| -> Vec<f64> {
        let mut theta: Vec<f64> = u[..count].iter().map(|u| (0.06f64).ln() + u * 3.5).collect();
        theta.push((0.2f64).ln() + u[count] * 4.6);
        theta.extend(u[count + 1..].iter().map(|u| (1e-4f64).ln() + u * 9.2));
        theta
    };
    let starts = Points::from_rows(lower.len(), raw.rows().map(place)).unwrap();
    let stopping = Stopping { iterations: 100, gradient: 1e-5, gain: 1e-10 };
    let bounds = Bounds::new(lower, upper).unwrap();
    let tops = maximize_each(|| climb, &starts, &bounds, &stopping).unwrap();
    tops.iter().map(|top| top.value).fold(f64::NEG_INFINITY, f64::max)
}

#[test]
fn a_fit_to_many_rows_is_as_good_as_the_best_of_many_climbs_on_all_of_them() {
    let noisy = Noise::Fitted { prior: Some(Gamma::new(1.1, 0.05).unwrap()), lower: 1e-4 };
    for case in 0..6 {
        let (kind, dim) = (case % 4, [2, 3, 5][(case / 2) % 3]);
        let (rows, noise) = (170 + 20 * (case % 3), [0.0, 0.3, 0.05][case % 3]);
        let data = data(kind, dim, rows, noise, case as u64);
        for lengthscales in [Lengthscales::Isotropic, Lengthscales::PerInput] {
            let model = model(lengthscales, noisy);
            let fit = model.fit(&data, None, &Search::default()).unwrap();
            let best = best_of_many(&model, &data, 4);
            let shortfall = best - fit.log_posterior;
            assert!(shortfall < 1e-6 * best.abs().max(1.0), "case {case}: {shortfall} of {best}");
        }
    }
}
