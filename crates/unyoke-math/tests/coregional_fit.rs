//! Fits of correlated outputs, and the choice between them and independent ones, on drawn functions
//! and on data that must not break them.
#![allow(clippy::unwrap_used)]

use unyoke_math::coregional::fit::{Fit, MARGIN, Model};
use unyoke_math::coregional::set::{Candidate, StepsAdjoint};
use unyoke_math::coregional::{Hyper, Latent};
use unyoke_math::data::{Data, Standardizer};
use unyoke_math::fit::{self, Lengthscales, Mean, Noise, Search};
use unyoke_math::gamma::Gamma;
use unyoke_math::kernel::Family;
use unyoke_math::random::Rng;
use unyoke_math::{Error, Points, sobol};

const FAMILY: Family = Family::Matern52;

fn noiseless() -> fit::Model {
    fit::Model {
        family: FAMILY,
        lengthscales: Lengthscales::PerInput,
        lengthscale_prior: Some(Gamma::new(3.0, 6.0).unwrap().into()),
        lengthscale_spread: None,
        outputscale_prior: Some(Gamma::new(2.0, 0.15).unwrap()),
        noise: Noise::Fixed(1e-4),
        mean: Mean::Fitted,
    }
}

fn noisy() -> fit::Model {
    let prior = Some(Gamma::new(1.1, 0.05).unwrap());
    fit::Model { noise: Noise::Fitted { prior, lower: 1e-4 }, ..noiseless() }
}

fn standardised(points: &Points, values: &[f64]) -> Data {
    let map = Standardizer::new(values).unwrap();
    let standard: Vec<f64> = values.iter().map(|&y| map.standardize(y)).collect();
    Data::new(points, &standard).unwrap()
}

/// Two functions of two inputs with the given correlation and length scales between 0.2 and 0.8.
fn drawn(correlation: f64, cheap: usize, expensive: usize, seed: u64) -> Vec<Data> {
    let mut rng = Rng::new(seed, 17);
    let mut latent = |loadings: [f64; 2]| Latent {
        lengthscales: (0..2).map(|_| 0.2 + 0.6 * rng.uniform()).collect(),
        loadings: loadings.to_vec(),
        own: vec![0.0; 2],
    };
    let rest = (1.0 - correlation * correlation).sqrt();
    let latents = vec![latent([1.0, correlation]), latent([0.0, rest])];
    drawn_from(latents, [cheap, expensive], seed, &mut rng)
}

/// Two functions without correlation, each the sum of a slow one and a small quick one.
fn drawn_sums(cheap: usize, expensive: usize, seed: u64) -> Vec<Data> {
    let latent = |lengthscale: f64, variance: f64| Latent {
        lengthscales: vec![lengthscale; 2],
        loadings: vec![0.0; 2],
        own: vec![variance; 2],
    };
    let latents = vec![latent(1.5, 1.0), latent(0.2, 0.05)];
    drawn_from(latents, [cheap, expensive], seed, &mut Rng::new(seed, 18))
}

/// The first of two outputs measured at `cheap` designs, the second at six of these and others,
/// `expensive` in all.
fn drawn_from(
    latents: Vec<Latent>,
    [cheap, expensive]: [usize; 2],
    seed: u64,
    rng: &mut Rng,
) -> Vec<Data> {
    let hyper = Hyper { latents, noises: vec![0.0; 2], means: vec![0.0; 2] };
    let mut points = sobol::cube(2, cheap, seed).unwrap();
    let others = sobol::cube(2, expensive - 6, seed + 1_000).unwrap();
    others.rows().try_for_each(|x| points.push(x)).unwrap();
    let nothing = [Data::empty(2), Data::empty(2)];
    let joint = hyper.condition(FAMILY, &nothing).unwrap().joint(&points).unwrap();
    let normals: Vec<f64> = (0..2 * points.len()).map(|_| rng.normal()).collect();
    let sample = joint.sample(&Points::from_flat(normals.len(), normals).unwrap()).unwrap();
    let (first, second) = sample.row(0).split_at(points.len());
    let measured = |values: &[f64], rows: Vec<usize>| {
        let values: Vec<f64> = rows.iter().map(|&i| values[i]).collect();
        standardised(&points.select(&rows), &values)
    };
    let expensive = (0..6).chain(cheap..points.len()).collect();
    vec![measured(first, (0..cheap).collect()), measured(second, expensive)]
}

fn alone(model: &fit::Model, data: &[Data]) -> Vec<fit::Fit> {
    data.iter().map(|data| model.fit(data, None, &Search::default()).unwrap()).collect()
}

fn fitted(model: &fit::Model, data: &[Data]) -> Fit {
    let both = Model::new(vec![model.clone(); data.len()]);
    both.fit(data, &alone(model, data), None, &Search::default()).unwrap()
}

#[test]
fn independent_functions_are_found_independent_in_nearly_all_cases() {
    let mut preferred = 0;
    for seed in 0..48 {
        let (cheap, expensive) = [(12, 12), (20, 10), (40, 15)][seed as usize % 3];
        let fit = fitted(&noiseless(), &drawn(0.0, cheap, expensive, seed));
        assert!(fit.gain > -1e-6, "{}", fit.gain);
        preferred += usize::from(fit.is_preferred());
    }
    assert!(preferred <= 2, "{preferred} of 48");
}

#[test]
fn functions_of_two_scales_are_not_taken_for_correlated() {
    let (mut better, mut preferred) = (0, 0);
    for seed in 0..16 {
        let fit = fitted(&noiseless(), &drawn_sums(60, 40, seed));
        better += usize::from(fit.gain > MARGIN);
        preferred += usize::from(fit.is_preferred());
    }
    // A joint model explains some of them clearly better, as it has two sets of length scales, but not by
    // correlation.
    assert!(better >= 4 && preferred == 0, "{better} and {preferred} of 16");
}

#[test]
fn correlations_are_found_with_their_sign_once_data_suffice() {
    let mut found = vec![];
    for seed in 0..40 {
        let correlation = if seed % 2 == 0 { 0.8f64 } else { -0.8 };
        let fit = fitted(&noiseless(), &drawn(correlation, 60, 25, seed));
        if fit.is_preferred() {
            found.push(fit.hyper.correlation(0, 1) * correlation.signum());
        }
    }
    found.sort_by(f64::total_cmp);
    assert!(found.len() >= 30, "{} of 40", found.len());
    // Single samples of a process with correlation 0.8 may look less correlated, but not opposed.
    let median = found[found.len() / 2];
    assert!(found[0] > 0.3 && (0.75..0.85).contains(&median), "{found:?}");
}

#[test]
fn correlated_fits_predict_an_expensive_output_better_when_there_is_a_correlation() {
    // The last of the designs of the expensive output are kept back to test with.
    let (mut independent, mut correlated) = (0.0, 0.0);
    for seed in 0..12 {
        let mut data = drawn(-0.95, 40, 50, seed);
        let all = data[1].clone();
        data[1] = all.subset(&(0..12).collect::<Vec<_>>());
        let tests: Vec<usize> = (12..50).collect();
        let tests = all.subset(&tests);
        let one = alone(&noiseless(), &data);
        let gp = one[1].hyper.condition(FAMILY, &data[1]).unwrap();
        let both = fitted(&noiseless(), &data).hyper.condition(FAMILY, &data).unwrap();
        let error = |means: &[f64]| -> f64 {
            means.iter().zip(tests.values()).map(|(a, b)| (a - b).powi(2)).sum()
        };
        independent += error(&gp.means(tests.points()).unwrap());
        correlated += error(&both.means(tests.points()).unwrap()[1]);
    }
    assert!(correlated < 0.5 * independent, "{correlated} and {independent}");
}

#[test]
fn a_fit_is_never_less_probable_than_independent_fits_and_stays_when_climbed_again() {
    for seed in 0..6 {
        let data = drawn(0.5, 25, 10, seed);
        for model in [noiseless(), noisy()] {
            let one = alone(&model, &data);
            let both = Model::new(vec![model.clone(); 2]);
            let fit = both.fit(&data, &one, None, &Search::default()).unwrap();
            let sum: f64 = one.iter().map(|fit| fit.log_posterior).sum();
            assert!(fit.log_posterior > sum - 1e-6 && fit.gain == fit.log_posterior - sum);
            let at = both.log_posterior(&data, &fit.hyper).unwrap();
            assert!((at.value() - fit.log_posterior).abs() < 1e-9);
            let warm = both.fit(&data, &one, Some(&fit.hyper), &Search::default()).unwrap();
            assert!(warm.log_posterior >= fit.log_posterior - 1e-9);
        }
    }
}

#[test]
fn a_wider_search_finds_little_more() {
    let wide = Search { raw: 96, restarts: 16, ..Search::default() };
    let mut short = vec![];
    for seed in 0..8 {
        let data = drawn(0.8, 40, 15, seed);
        let one = alone(&noiseless(), &data);
        let both = Model::new(vec![noiseless(); 2]);
        let fit = both.fit(&data, &one, None, &Search::default()).unwrap();
        let best = both.fit(&data, &one, Some(&fit.hyper), &wide).unwrap();
        short.push(best.log_posterior - fit.log_posterior);
    }
    short.sort_by(f64::total_cmp);
    assert!(short[5] < 0.05 && short[7] < 1.0, "{short:?}");
}

/// Problems with the log posterior of the joint fit where it was preferred.
const RECORDED: [(f64, usize, usize, u64, Option<f64>); 24] = [
    (0.0, 20, 10, 50, None),
    (0.0, 20, 10, 51, None),
    (0.0, 20, 10, 52, None),
    (0.0, 20, 10, 53, None),
    (0.0, 20, 10, 54, None),
    (0.0, 20, 10, 55, None),
    (0.4, 30, 12, 50, Some(-43.11664)),
    (0.4, 30, 12, 51, None),
    (0.4, 30, 12, 52, None),
    (0.4, 30, 12, 53, None),
    (0.4, 30, 12, 54, None),
    (0.4, 30, 12, 55, None),
    (0.8, 40, 15, 50, None),
    (0.8, 40, 15, 51, Some(-0.61778)),
    (0.8, 40, 15, 52, Some(-42.44836)),
    (0.8, 40, 15, 53, Some(-47.25148)),
    (0.8, 40, 15, 54, None),
    (0.8, 40, 15, 55, Some(-16.32259)),
    (-0.95, 25, 12, 50, None),
    (-0.95, 25, 12, 51, Some(-15.60783)),
    (-0.95, 25, 12, 52, None),
    (-0.95, 25, 12, 53, Some(-41.87041)),
    (-0.95, 25, 12, 54, Some(-42.00830)),
    (-0.95, 25, 12, 55, Some(-27.88300)),
];

#[test]
fn no_choice_changes_and_no_fit_is_less_probable_than_recorded() {
    let mut lower = vec![];
    for (correlation, cheap, expensive, seed, recorded) in RECORDED {
        let fit = fitted(&noisy(), &drawn(correlation, cheap, expensive, seed));
        assert_eq!(fit.is_preferred(), recorded.is_some(), "{correlation} {seed}: {fit:?}");
        lower.extend(recorded.map(|recorded| recorded - fit.log_posterior));
    }
    // Where climbs end before they are at the top, rounding decides on the last hundredths.
    lower.sort_by(f64::total_cmp);
    let median = lower[lower.len() / 2];
    assert!(median < 1e-4 && lower[lower.len() - 1] < 0.3, "{lower:?}");
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let data = drawn(0.8, 20, 10, 3);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fitted(&noisy(), &data))
    };
    assert_eq!(run(1), run(2));
}

#[test]
fn an_output_of_the_other_sign_has_the_other_correlation_and_nothing_else() {
    let data = drawn(0.8, 20, 10, 5);
    let turned: Vec<f64> = data[1].values().iter().map(|y| -y).collect();
    let other = [data[0].clone(), Data::new(data[1].points(), &turned).unwrap()];
    let (a, b) = (fitted(&noiseless(), &data), fitted(&noiseless(), &other));
    assert!((a.gain - b.gain).abs() < 1e-6, "{} {}", a.gain, b.gain);
    let (r, s) = (a.hyper.correlation(0, 1), b.hyper.correlation(0, 1));
    assert!((r + s).abs() < 1e-4 && r.abs() > 0.1, "{r} {s}");
}

#[test]
fn the_order_of_rows_and_outputs_hardly_changes_the_fit() {
    let data = drawn(0.8, 30, 12, 6);
    let reversed = |data: &Data| data.subset(&(0..data.len()).rev().collect::<Vec<_>>());
    let (a, b) = (fitted(&noiseless(), &data), {
        fitted(&noiseless(), &[reversed(&data[1]), reversed(&data[0])])
    });
    assert!((a.log_posterior - b.log_posterior).abs() < 1e-5, "{} {}", a.gain, b.gain);
    let (r, s) = (a.hyper.correlation(0, 1), b.hyper.correlation(1, 0));
    assert!((r - s).abs() < 1e-3, "{r} {s}");
}

/// Fits and uses a model; everything that comes out must be a number.
fn model_everything(data: &[Data], models: &[fit::Model]) -> Vec<Fit> {
    let one = |model: &fit::Model| {
        let one = alone(model, data);
        let both = Model::new(vec![model.clone(); data.len()]);
        let fit = both.fit(data, &one, None, &Search::default()).unwrap();
        assert!(fit.log_posterior.is_finite() && fit.gain > -1e-6, "{fit:?}");
        let together = fit.hyper.condition(FAMILY, data).unwrap();
        let dim = data[0].points().dim();
        let set = together.fixed_set(&sobol::cube(dim.min(8), 5, 1).map_or_else(
            |_| Points::new(dim),
            |points| Points::from_rows(dim, points.rows().map(|row| vec![row[0]; dim])).unwrap(),
        ));
        let set = set.unwrap();
        let mut at: Vec<Vec<f64>> = vec![vec![0.37; dim]];
        at.extend(data.iter().flat_map(|data| data.points().rows().take(3).map(<[f64]>::to_vec)));
        for x in &at {
            for m in 0..data.len() {
                let mut candidate = Candidate::default();
                set.evaluate(x, m, &mut candidate).unwrap();
                let steps = set.steps(&candidate, together.noise(m)).unwrap();
                let (ones, count) = (vec![1.0; steps.set.len()], vec![1.0; data.len()]);
                let adjoint = StepsAdjoint { set: &ones, own: &count, means: &count };
                let noise = together.noise(m);
                let gradient = set.steps_gradient(&candidate, noise, adjoint).unwrap();
                let numbers = steps.set.iter().chain(&steps.own).chain(&gradient);
                assert!(numbers.chain(candidate.query().means()).all(|v| v.is_finite()));
                for k in 0..data.len() {
                    let p = candidate.query().prediction(k);
                    assert!(p.variance >= 0.0 && p.variance.is_finite());
                    assert!(fit.hyper.correlation(k, m).abs() <= 1.0 + 1e-12);
                }
            }
        }
        fit
    };
    models.iter().map(one).collect()
}

fn both_kinds() -> [fit::Model; 2] {
    [noiseless(), noisy()]
}

fn waves(count: usize, shift: f64) -> (Points, Vec<f64>) {
    let points = sobol::cube(2, count, 9).unwrap();
    let values = points.rows().map(|x| (5.0 * x[0] + shift).sin() + x[1]).collect();
    (points, values)
}

#[test]
fn an_output_with_one_value_or_none_is_modelled() {
    let (points, values) = waves(15, 0.0);
    let full = standardised(&points, &values);
    let one = standardised(&points.select(&[3]), &[2.0]);
    model_everything(&[full.clone(), one.clone()], &both_kinds());
    model_everything(&[one.clone(), full.clone()], &both_kinds());
    for fit in model_everything(&[full.clone(), Data::empty(2)], &both_kinds()) {
        assert!(!fit.is_preferred() && fit.hyper.correlation(0, 1).abs() < 1e-3, "{fit:?}");
    }
    model_everything(&[Data::empty(2), Data::empty(2)], &both_kinds());
    model_everything(&[one.clone(), one], &both_kinds());
    model_everything(&[full], &both_kinds());
}

#[test]
fn equal_values_and_outputs_that_are_multiples_of_each_other_are_modelled() {
    let (points, values) = waves(12, 0.0);
    let full = standardised(&points, &values);
    model_everything(&[full.clone(), standardised(&points, &[7.0; 12])], &both_kinds());
    model_everything(&[standardised(&points, &[1.0; 12]), Data::empty(2)], &both_kinds());
    let turned: Vec<f64> = values.iter().map(|y| -3.0 * y).collect();
    let opposite = standardised(&points, &turned);
    for fit in model_everything(&[full.clone(), opposite.clone()], &both_kinds()) {
        assert!(fit.is_preferred() && fit.hyper.correlation(0, 1) < -0.9, "{fit:?}");
    }
    for fit in model_everything(&[full.clone(), opposite, full], &both_kinds()[..1]) {
        assert!(fit.is_preferred() && fit.hyper.correlation(0, 2) > 0.9, "{fit:?}");
    }
}

#[test]
fn replicates_that_disagree_and_known_noise_are_modelled() {
    let (points, values) = waves(30, 0.3);
    let rows: Vec<usize> = (0..30).map(|i| i % 10).collect();
    let mut rng = Rng::new(4, 0);
    let repeated: Vec<f64> = rows.iter().map(|&i| values[i] + 0.3 * rng.normal()).collect();
    let noisy_data = standardised(&points.select(&rows), &repeated);
    let known: Vec<Option<f64>> = (0..30).map(|i| (i % 3 > 0).then_some(0.1)).collect();
    let partly = Data::with_known_noise(&points.select(&rows), &repeated, &known).unwrap();
    let all = vec![Some(0.2); 30];
    let all = Data::with_known_noise(&points.select(&rows), &repeated, &all).unwrap();
    model_everything(&[noisy_data.clone(), partly.clone()], &both_kinds());
    model_everything(&[all, noisy_data], &both_kinds());
    let huge: Vec<Option<f64>> = (0..30).map(|i| Some(10f64.powi(i - 15))).collect();
    let huge = Data::with_known_noise(&points, &values, &huge).unwrap();
    model_everything(&[partly, huge], &both_kinds());
}

#[test]
fn close_designs_and_many_inputs_are_modelled() {
    let next = f64::from_bits(0.5f64.to_bits() + 1);
    let rows = [[0.5, 0.5], [next, 0.5], [0.5 + 1e-8, 0.5], [0.1, 0.9]];
    let points = Points::from_rows(2, rows).unwrap();
    let a = standardised(&points, &[0.0, 1.0, 0.5, 0.3]);
    let b = standardised(&points, &[1.0, 0.0, 0.5, 0.3]);
    model_everything(&[a, b], &both_kinds());
    let wide = |i: usize| (0..50).map(move |d| ((i * 50 + d) as f64 * 0.618_034).fract());
    let points = Points::from_rows(50, (0..8).map(|i| wide(i).collect::<Vec<_>>())).unwrap();
    let sums: Vec<f64> = points.rows().map(|x| x.iter().sum()).collect();
    let data = standardised(&points, &sums);
    model_everything(&[data.clone(), data.subset(&[0, 1, 2])], &both_kinds()[..1]);
}

#[test]
fn many_rows_are_modelled() {
    let (points, values) = waves(150, 0.0);
    let (_, other) = waves(150, 1.0);
    let data = [standardised(&points, &values), standardised(&points, &other)];
    let quick = Search { raw: 4, restarts: 1, ..Search::default() };
    let one: Vec<fit::Fit> =
        data.iter().map(|data| noiseless().fit(data, None, &quick).unwrap()).collect();
    let fit = Model::new(vec![noiseless(); 2]).fit(&data, &one, None, &quick).unwrap();
    assert!(fit.gain >= -1e-6 && fit.log_posterior.is_finite());
}

#[test]
fn more_or_fewer_latent_processes_than_outputs_are_fine() {
    let data = drawn(0.8, 20, 10, 1);
    let one = alone(&noiseless(), &data);
    let at = |latents: usize| {
        let model = Model { latents, ..Model::new(vec![noiseless(); 2]) };
        model.fit(&data, &one, None, &Search::default()).unwrap()
    };
    let gains = [1, 2, 3].map(|latents| at(latents).gain);
    assert!(gains.iter().all(|gain| gain.is_finite()), "{gains:?}");
    assert!(gains[1] >= 0.0 && gains[2] >= 0.0, "{gains:?}");
}

#[test]
fn models_that_do_not_fit_together_are_refused() {
    let data = drawn(0.0, 8, 7, 1);
    let one = alone(&noiseless(), &data);
    let refused = |outputs: Vec<fit::Model>, latents: usize| {
        let fit = Model { outputs, latents }.fit(&data, &one, None, &Search::default());
        assert!(matches!(fit, Err(Error::Shape { .. })), "{fit:?}");
    };
    refused(vec![noiseless()], 2);
    refused(vec![noiseless(); 2], 0);
    refused(vec![noiseless(), fit::Model { family: Family::Matern32, ..noiseless() }], 2);
    let isotropic = fit::Model { lengthscales: Lengthscales::Isotropic, ..noiseless() };
    refused(vec![noiseless(), isotropic.clone()], 2);
    let model = Model::new(vec![noiseless(); 2]);
    assert!(model.fit(&data, &one[..1], None, &Search::default()).is_err());
    let wrong = Model::new(vec![fit::Model { noise: Noise::Fixed(-1.0), ..noiseless() }; 2]);
    assert!(wrong.fit(&data, &one, None, &Search::default()).is_err());
    // Fits with another kind of length scales are starting points like others.
    let shared = alone(&isotropic, &data);
    assert!(model.fit(&data, &shared, None, &Search::default()).is_ok());
}
