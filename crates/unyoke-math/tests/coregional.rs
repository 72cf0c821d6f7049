//! Correlated outputs: gradients against finite differences, the likelihood against a dense formula
//! with a row per observation, and what must not depend on order, sign or scale.
#![allow(clippy::unwrap_used)]

use unyoke_math::coregional::fit::Model;
use unyoke_math::coregional::set::{Adjoint, Candidate, FixedSet, Steps, StepsAdjoint};
use unyoke_math::coregional::{Coregional, Hyper, Latent, Place, QueryAdjoint};
use unyoke_math::data::Data;
use unyoke_math::envelope::{Envelope, SlopeOrder};
use unyoke_math::fit::{self, Lengthscales, Mean, Noise};
use unyoke_math::gamma::Gamma;
use unyoke_math::gp::Gp;
use unyoke_math::kernel::{Family, Kernel};
use unyoke_math::random::Rng;
use unyoke_math::{Error, Points};

const FAMILY: Family = Family::Matern52;

/// One value of one output, of known noise or not.
#[derive(Debug, Clone)]
struct Observation {
    x: Vec<f64>,
    output: usize,
    y: f64,
    variance: Option<f64>,
}

fn uniforms(rng: &mut Rng, count: usize) -> Vec<f64> {
    (0..count).map(|_| rng.uniform()).collect()
}

fn normals(rng: &mut Rng, count: usize) -> Vec<f64> {
    (0..count).map(|_| rng.normal()).collect()
}

/// Observations of a coarse grid, so that some coincide; a third have known noise.
fn observations(rng: &mut Rng, dim: usize, counts: &[usize]) -> Vec<Observation> {
    let mut all = vec![];
    for (output, &count) in counts.iter().enumerate() {
        for _ in 0..count {
            let x = (0..dim).map(|_| rng.below(5) as f64 / 4.0).collect();
            let variance = (rng.below(3) == 0).then(|| 0.05 + rng.uniform());
            all.push(Observation { x, output, y: rng.normal(), variance });
        }
    }
    all
}

fn data(dim: usize, outputs: usize, observations: &[Observation]) -> Vec<Data> {
    let of = |output: usize| {
        let rows: Vec<&Observation> = observations.iter().filter(|o| o.output == output).collect();
        let points = Points::from_rows(dim, rows.iter().map(|o| &o.x)).unwrap();
        let values: Vec<f64> = rows.iter().map(|o| o.y).collect();
        let variances: Vec<Option<f64>> = rows.iter().map(|o| o.variance).collect();
        Data::with_known_noise(&points, &values, &variances).unwrap()
    };
    (0..outputs).map(of).collect()
}

fn hyper(rng: &mut Rng, latents: usize, outputs: usize, lengthscales: usize) -> Hyper {
    let latent = |rng: &mut Rng| Latent {
        lengthscales: uniforms(rng, lengthscales).iter().map(|u| 0.3 + u).collect(),
        loadings: normals(rng, outputs),
        own: uniforms(rng, outputs),
    };
    Hyper {
        latents: (0..latents).map(|_| latent(rng)).collect(),
        noises: uniforms(rng, outputs).iter().map(|u| 0.05 + 0.3 * u).collect(),
        means: normals(rng, outputs),
    }
}

fn model(lengthscales: Lengthscales, noise: Noise, mean: Mean) -> fit::Model {
    fit::Model {
        family: FAMILY,
        lengthscales,
        lengthscale_prior: Some(Gamma::new(3.0, 6.0).unwrap().into()),
        lengthscale_spread: None,
        outputscale_prior: Some(Gamma::new(2.0, 0.15).unwrap()),
        noise,
        mean,
    }
}

fn noisy() -> Noise {
    Noise::Fitted { prior: Some(Gamma::new(1.1, 0.05).unwrap()), lower: 1e-4 }
}

/// A conditioned model with data of different numbers for each of two or three outputs.
fn conditioned(rng: &mut Rng, dim: usize, counts: &[usize]) -> Coregional {
    let hyper = hyper(rng, 2, counts.len(), dim);
    let points = |rng: &mut Rng, n: usize| {
        Points::from_rows(dim, (0..n).map(|_| uniforms(rng, dim))).unwrap()
    };
    let data: Vec<Data> =
        counts.iter().map(|&n| Data::new(&points(rng, n), &normals(rng, n)).unwrap()).collect();
    hyper.condition(FAMILY, &data).unwrap()
}

/// Sizes to go through, with an output without data and no data at all among them.
const COUNTS: [&[usize]; 6] = [&[0, 0], &[1, 0], &[5, 1], &[14, 4], &[6, 0, 3], &[12]];

/// Each number of the hyper-parameters in turn.
fn each(hyper: &mut Hyper) -> Vec<&mut f64> {
    let mut all = vec![];
    for latent in &mut hyper.latents {
        all.extend(&mut latent.lengthscales);
        all.extend(&mut latent.loadings);
        all.extend(&mut latent.own);
    }
    all.extend(&mut hyper.noises);
    all.extend(&mut hyper.means);
    all
}

fn flat(hyper: &Hyper) -> Vec<f64> {
    each(&mut hyper.clone()).iter().map(|v| **v).collect()
}

fn moved(hyper: &Hyper, i: usize, by: f64) -> Hyper {
    let mut moved = hyper.clone();
    *each(&mut moved)[i] += by;
    moved
}

fn assert_slope(found: f64, f: impl Fn(f64) -> f64, what: &str) {
    let h = 1e-5;
    let expected = (f(h) - f(-h)) / (2.0 * h);
    let error = (found - expected).abs();
    assert!(error <= 2e-7 * (1.0 + expected.abs()), "{what}: {found}, by differences {expected}");
}

#[test]
fn derivatives_of_the_likelihood_match_finite_differences() {
    let mut rng = Rng::new(1, 0);
    for counts in COUNTS {
        for (latents, lengthscales) in [(1, 1), (2, 3), (3, 1)] {
            let hyper = hyper(&mut rng, latents, counts.len(), lengthscales);
            let data = data(3, counts.len(), &observations(&mut rng, 3, counts));
            let found = hyper.log_likelihood(FAMILY, &data).unwrap();
            for (i, slope) in flat(&found.gradient).iter().enumerate() {
                let value =
                    |h: f64| moved(&hyper, i, h).log_likelihood(FAMILY, &data).unwrap().value;
                assert_slope(*slope, value, &format!("{counts:?}, {latents} latent, {i}"));
            }
        }
    }
}

#[test]
fn derivatives_of_the_posterior_density_match_finite_differences() {
    let mut rng = Rng::new(2, 0);
    for counts in COUNTS {
        for mean in [Mean::Fixed(0.3), Mean::Fitted] {
            let mut hyper = hyper(&mut rng, 2, counts.len(), 3);
            hyper.means.fill(0.3);
            let data = data(3, counts.len(), &observations(&mut rng, 3, counts));
            let outputs = vec![model(Lengthscales::PerInput, noisy(), mean); counts.len()];
            let model = Model::new(outputs);
            let model = Model { latents: 2, ..model };
            let found = model.log_posterior(&data, &hyper).unwrap();
            let slopes = flat(&found.gradient);
            for (i, slope) in slopes.iter().enumerate().take(slopes.len() - counts.len()) {
                let value =
                    |h: f64| model.log_posterior(&data, &moved(&hyper, i, h)).unwrap().value();
                assert_slope(*slope, value, &format!("{counts:?}, {mean:?}, {i}"));
            }
            if mean == Mean::Fitted {
                // At the best means there is no slope in them.
                assert!(found.gradient.means.iter().all(|slope| slope.abs() < 1e-9));
            }
        }
    }
}

#[test]
fn gradients_of_means_and_covariances_at_a_point_match_finite_differences() {
    let mut rng = Rng::new(3, 0);
    for counts in COUNTS {
        let (model, outputs) = (conditioned(&mut rng, 3, counts), counts.len());
        let (means, pairs) = (normals(&mut rng, outputs), normals(&mut rng, outputs * outputs));
        let x = uniforms(&mut rng, 3);
        let quantity = |x: &[f64]| {
            let query = model.query(x).unwrap();
            let mut sum: f64 = means.iter().zip(query.means()).map(|(w, mean)| w * mean).sum();
            for (i, w) in pairs.iter().enumerate() {
                sum += w * query.covariance(i / outputs, i % outputs);
            }
            sum
        };
        let adjoint = QueryAdjoint { means: &means, covariances: &pairs };
        let found = model.gradient(&model.query(&x).unwrap(), adjoint).unwrap();
        let mut of_means = vec![0.0; 3];
        let at = model.means_with_gradient(&x, &means, &mut of_means).unwrap();
        for (found, expected) in at.iter().zip(model.query(&x).unwrap().means()) {
            assert!((found - expected).abs() < 1e-12);
        }
        let none = vec![0.0; outputs * outputs];
        let adjoint = QueryAdjoint { means: &means, covariances: &none };
        let also = model.gradient(&model.query(&x).unwrap(), adjoint).unwrap();
        for d in 0..3 {
            assert_slope(found[d], |h| quantity(&shifted(&x, d, h)), &format!("{counts:?}, {d}"));
            assert!((of_means[d] - also[d]).abs() < 1e-12);
        }
    }
}

fn shifted(x: &[f64], d: usize, h: f64) -> Vec<f64> {
    let mut moved = x.to_vec();
    moved[d] += h;
    moved
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn set_points(rng: &mut Rng) -> Points {
    Points::from_rows(3, (0..7).map(|_| uniforms(rng, 3))).unwrap()
}

fn candidate(set: &FixedSet<'_>, x: &[f64], m: usize) -> Candidate {
    let mut candidate = Candidate::default();
    set.evaluate(x, m, &mut candidate).unwrap();
    candidate
}

#[test]
fn gradients_of_covariances_with_a_fixed_set_match_finite_differences() {
    let mut rng = Rng::new(4, 0);
    for counts in COUNTS {
        let (model, outputs) = (conditioned(&mut rng, 3, counts), counts.len());
        let set = model.fixed_set(&set_points(&mut rng)).unwrap();
        let weights = normals(&mut rng, outputs * set.len());
        let means = normals(&mut rng, outputs);
        let pairs = normals(&mut rng, outputs * outputs);
        let x = uniforms(&mut rng, 3);
        for m in 0..outputs {
            let quantity = |x: &[f64]| {
                let candidate = candidate(&set, x, m);
                let query = candidate.query();
                let own = |i: usize| pairs[i] * query.covariance(i / outputs, i % outputs);
                dot(&weights, candidate.covariances())
                    + dot(&means, query.means())
                    + (0..pairs.len()).map(own).sum::<f64>()
            };
            let own = QueryAdjoint { means: &means, covariances: &pairs };
            let adjoint = Adjoint { own, set: &weights };
            let found = set.gradient(&candidate(&set, &x, m), adjoint).unwrap();
            for d in 0..3 {
                assert_slope(found[d], |h| quantity(&shifted(&x, d, h)), &format!("{counts:?}"));
            }
        }
    }
}

#[test]
fn gradients_of_steps_match_finite_differences() {
    let mut rng = Rng::new(5, 0);
    for counts in COUNTS {
        let (model, outputs) = (conditioned(&mut rng, 3, counts), counts.len());
        let set = model.fixed_set(&set_points(&mut rng)).unwrap();
        let weights = normals(&mut rng, outputs * set.len());
        let (own, means) = (normals(&mut rng, outputs), normals(&mut rng, outputs));
        let x = uniforms(&mut rng, 3);
        for m in 0..outputs {
            let quantity = |x: &[f64]| {
                let candidate = candidate(&set, x, m);
                let steps = set.steps(&candidate, 0.1).unwrap();
                dot(&weights, &steps.set)
                    + dot(&own, &steps.own)
                    + dot(&means, candidate.query().means())
            };
            let adjoint = StepsAdjoint { set: &weights, own: &own, means: &means };
            let found = set.steps_gradient(&candidate(&set, &x, m), 0.1, adjoint).unwrap();
            for d in 0..3 {
                assert_slope(found[d], |h| quantity(&shifted(&x, d, h)), &format!("{counts:?}"));
            }
        }
    }
}

/// Intercepts and slopes of the lines of the set and of x itself, for one vector of weights.
struct Lines {
    intercepts: Vec<f64>,
    slopes: Vec<f64>,
}

fn lines(set: &FixedSet<'_>, candidate: &Candidate, steps: &Steps, weights: &[f64]) -> Lines {
    let len = set.len();
    let (mut intercepts, mut slopes) = (vec![0.0; len + 1], vec![0.0; len + 1]);
    for (k, weight) in weights.iter().enumerate() {
        for j in 0..len {
            intercepts[j] += weight * set.means(k)[j];
            slopes[j] += weight * steps.set[k * len + j];
        }
        intercepts[len] += weight * candidate.query().means()[k];
        slopes[len] += weight * steps.own[k];
    }
    Lines { intercepts, slopes }
}

#[test]
fn the_gradient_of_the_log_gain_follows_through_the_envelope() {
    let mut rng = Rng::new(6, 0);
    let model = conditioned(&mut rng, 3, &[14, 4]);
    let set = model.fixed_set(&set_points(&mut rng)).unwrap();
    let weights = [0.3, 0.7];
    let x = uniforms(&mut rng, 3);
    for m in 0..2 {
        let mut envelope = Envelope::default();
        let mut gain = |x: &[f64]| {
            let candidate = candidate(&set, x, m);
            let steps = set.steps(&candidate, model.noise(m)).unwrap();
            let lines = lines(&set, &candidate, &steps, &weights);
            let order = SlopeOrder::new(&lines.slopes).unwrap();
            order.gain(&lines.intercepts, 1.0, &mut envelope).unwrap()
        };
        let at_x = gain(&x);
        let (mut in_set, mut in_own) = (vec![0.0; 2 * set.len()], vec![0.0; 2]);
        let mut in_means = vec![0.0; 2];
        let mut again = Envelope::default();
        let here = candidate(&set, &x, m);
        let steps = set.steps(&here, model.noise(m)).unwrap();
        let drawn = lines(&set, &here, &steps, &weights);
        let order = SlopeOrder::new(&drawn.slopes).unwrap();
        order.gain(&drawn.intercepts, 1.0, &mut again).unwrap();
        for line in again.gradient() {
            for (k, weight) in weights.iter().enumerate() {
                if line.line < set.len() {
                    in_set[k * set.len() + line.line] = weight * line.slope / at_x.scaled;
                } else {
                    in_own[k] = weight * line.slope / at_x.scaled;
                    in_means[k] = weight * line.intercept / at_x.scaled;
                }
            }
        }
        let adjoint = StepsAdjoint { set: &in_set, own: &in_own, means: &in_means };
        let found = set.steps_gradient(&here, model.noise(m), adjoint).unwrap();
        for d in 0..3 {
            let h = 1e-5;
            let mut log = |h: f64| gain(&shifted(&x, d, h)).log();
            let expected = (log(h) - log(-h)) / (2.0 * h);
            let error = (found[d] - expected).abs();
            assert!(error < 1e-6 * (1.0 + expected.abs()), "{} for {expected}", found[d]);
        }
    }
}

#[test]
fn a_value_moves_means_by_its_steps_and_takes_their_squares_off_variances() {
    let mut rng = Rng::new(7, 0);
    for counts in COUNTS {
        let (model, points) = (conditioned(&mut rng, 3, counts), set_points(&mut rng));
        let set = model.fixed_set(&points).unwrap();
        let x = uniforms(&mut rng, 3);
        for m in 0..counts.len() {
            let at = candidate(&set, &x, m);
            let steps = set.steps(&at, 0.2).unwrap();
            let expected = at.query().prediction(m);
            let z = 1.7;
            let value = expected.mean + z * (expected.variance + 0.2).sqrt();
            let mut after = model.clone();
            after.append(&x, m, value, 0.2).unwrap();
            let after = after.predict_many(&points).unwrap();
            for k in 0..counts.len() {
                for j in 0..points.len() {
                    let step = steps.set[k * points.len() + j];
                    let mean = set.means(k)[j] + z * step;
                    assert!((after[k][j].mean - mean).abs() < 1e-10);
                    let variance = set.variances(k)[j] - step * step;
                    assert!((after[k][j].variance - variance).abs() < 1e-10);
                }
            }
        }
    }
}

#[test]
fn imagined_values_of_several_outputs_are_drawn_one_after_the_other() {
    let mut rng = Rng::new(13, 0);
    for counts in COUNTS {
        let (model, points) = (conditioned(&mut rng, 3, counts), set_points(&mut rng));
        let mut one_by_one = model.clone();
        let (mut believed, mut drawn) = (model.clone(), vec![]);
        for k in (0..counts.len()).chain([0]) {
            let (x, z) = (uniforms(&mut rng, 3), rng.normal());
            believed.append(&x, k, model.predict(&x).unwrap()[k].mean, 0.2).unwrap();
            let prediction = one_by_one.predict(&x).unwrap()[k];
            let value = prediction.mean + z * (prediction.variance + 0.2).sqrt();
            one_by_one.append(&x, k, value, 0.2).unwrap();
            drawn.push(z);
        }
        let imagined = believed.imagine(&drawn).unwrap().predict_many(&points).unwrap();
        let wanted = one_by_one.predict_many(&points).unwrap();
        for (found, wanted) in imagined.iter().flatten().zip(wanted.iter().flatten()) {
            assert!((found.mean - wanted.mean).abs() < 1e-10);
            assert!((found.variance - wanted.variance).abs() < 1e-10);
        }
    }
}

#[test]
fn many_candidates_and_values_alone_are_what_single_candidates_are() {
    let mut rng = Rng::new(9, 0);
    for counts in COUNTS {
        let model = conditioned(&mut rng, 3, counts);
        let set = model.fixed_set(&set_points(&mut rng)).unwrap();
        let points = Points::from_rows(3, (0..5).map(|_| uniforms(&mut rng, 3))).unwrap();
        for m in 0..counts.len() {
            let many = set.evaluate_many(&points, m).unwrap();
            let mut value = Candidate::default();
            for (i, x) in points.rows().enumerate() {
                let one = candidate(&set, x, m);
                set.evaluate_value(x, m, &mut value).unwrap();
                assert_eq!(value.covariances(), one.covariances());
                let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-11, "{a} {b}");
                many.covariances(i).iter().zip(one.covariances()).for_each(|(a, b)| near(*a, *b));
                for k in 0..counts.len() {
                    assert_eq!(value.query().means()[k], one.query().means()[k]);
                    near(many.mean(k, i), one.query().means()[k]);
                    near(many.own_covariance(k, i), one.query().covariance(k, m));
                }
            }
        }
    }
}

#[test]
fn changing_the_observed_output_is_evaluating_anew() {
    let mut rng = Rng::new(8, 0);
    let model = conditioned(&mut rng, 3, &[9, 4, 2]);
    let set = model.fixed_set(&set_points(&mut rng)).unwrap();
    let x = uniforms(&mut rng, 3);
    let mut moving = candidate(&set, &uniforms(&mut rng, 3), 1);
    set.evaluate(&x, 0, &mut moving).unwrap();
    for m in [2, 0, 1] {
        set.observe(m, &mut moving).unwrap();
        assert_eq!(moving.covariances(), candidate(&set, &x, m).covariances());
        assert_eq!(moving.observed(), m);
    }
}

/// K with a row per observation.
fn dense(hyper: &Hyper, observations: &[Observation]) -> Vec<Vec<f64>> {
    let dim = observations[0].x.len();
    let entry = |a: &Observation, b: &Observation| -> f64 {
        let part = |latent: &Latent| {
            let kernel = Kernel::new(FAMILY, dim, &latent.lengthscales, 1.0).unwrap();
            let own = if a.output == b.output { latent.own[a.output] } else { 0.0 };
            let mixing = latent.loadings[a.output] * latent.loadings[b.output] + own;
            mixing * kernel.covariance(&a.x, &b.x)
        };
        hyper.latents.iter().map(part).sum()
    };
    let n = observations.len();
    let mut k: Vec<Vec<f64>> = (0..n)
        .map(|i| (0..n).map(|j| entry(&observations[i], &observations[j])).collect())
        .collect();
    for (i, o) in observations.iter().enumerate() {
        k[i][i] += o.variance.unwrap_or(hyper.noises[o.output]);
    }
    k
}

/// −½ (rᵀA⁻¹r + ln det 2πA) by elimination.
fn log_density(mut a: Vec<Vec<f64>>, mut r: Vec<f64>) -> f64 {
    let n = r.len();
    let mut sum = 0.0;
    for k in 0..n {
        sum += r[k] * r[k] / a[k][k] + (std::f64::consts::TAU * a[k][k]).ln();
        for i in k + 1..n {
            let factor = a[i][k] / a[k][k];
            for j in k..n {
                a[i][j] -= factor * a[k][j];
            }
            r[i] -= factor * r[k];
        }
    }
    -0.5 * sum
}

#[test]
fn merged_replicates_have_the_likelihood_of_a_row_per_observation() {
    let mut rng = Rng::new(9, 0);
    for counts in [&[30, 12][..], &[40, 3, 1], &[25, 0]] {
        let hyper = hyper(&mut rng, 2, counts.len(), 2);
        let observations = observations(&mut rng, 2, counts);
        let merged = data(2, counts.len(), &observations);
        assert!(merged.iter().map(Data::len).sum::<usize>() < observations.len());
        let residuals = observations.iter().map(|o| o.y - hyper.means[o.output]).collect();
        let expected = log_density(dense(&hyper, &observations), residuals);
        let found = hyper.log_likelihood(FAMILY, &merged).unwrap().value;
        assert!((found - expected).abs() < 1e-10 * expected.abs(), "{found} for {expected}");
    }
}

#[test]
fn fitted_means_are_those_of_the_largest_likelihood() {
    let mut rng = Rng::new(10, 0);
    let hyper = hyper(&mut rng, 2, 2, 2);
    let data = data(2, 2, &observations(&mut rng, 2, &[12, 5]));
    let one = model(Lengthscales::PerInput, noisy(), Mean::Fitted);
    let best = Model::new(vec![one; 2]).log_posterior(&data, &hyper).unwrap().likelihood;
    let at = |means: [f64; 2]| {
        let hyper = Hyper { means: means.to_vec(), ..hyper.clone() };
        hyper.log_likelihood(FAMILY, &data).unwrap()
    };
    // The likelihood is quadratic in the means: Newton's step from anywhere is exact.
    let (zero, mut hessian) = (at([0.0, 0.0]), [[0.0; 2]; 2]);
    for k in 0..2 {
        let mut unit = [0.0; 2];
        unit[k] = 1.0;
        for other in 0..2 {
            hessian[k][other] = at(unit).gradient.means[other] - zero.gradient.means[other];
        }
    }
    let [[a, b], [c, d]] = hessian;
    let (g, determinant) = (&zero.gradient.means, a * d - b * c);
    let means = [(b * g[1] - d * g[0]) / determinant, (c * g[0] - a * g[1]) / determinant];
    assert!((at(means).value - best).abs() < 1e-10, "{best}");
}

/// One latent process per output, nothing in common.
fn independent(rng: &mut Rng, outputs: usize, dim: usize) -> (Hyper, Vec<fit::Hyper>) {
    let alone: Vec<fit::Hyper> = (0..outputs)
        .map(|_| fit::Hyper {
            lengthscales: uniforms(rng, dim).iter().map(|u| 0.2 + u).collect(),
            outputscale: 0.5 + rng.uniform(),
            noise: 0.1 + rng.uniform(),
            mean: rng.normal(),
        })
        .collect();
    let latent = |q: usize| {
        let mut own = vec![0.0; outputs];
        own[q] = alone[q].outputscale;
        let lengthscales = alone[q].lengthscales.clone();
        Latent { lengthscales, loadings: vec![0.0; outputs], own }
    };
    let hyper = Hyper {
        latents: (0..outputs).map(latent).collect(),
        noises: alone.iter().map(|h| h.noise).collect(),
        means: alone.iter().map(|h| h.mean).collect(),
    };
    (hyper, alone)
}

#[test]
fn without_loadings_predictions_are_those_of_independent_processes() {
    let mut rng = Rng::new(11, 0);
    let (hyper, alone) = independent(&mut rng, 3, 2);
    let data = data(2, 3, &observations(&mut rng, 2, &[11, 4, 0]));
    let together = hyper.condition(FAMILY, &data).unwrap();
    let gps: Vec<Gp> =
        alone.iter().zip(&data).map(|(h, data)| h.condition(FAMILY, data).unwrap()).collect();
    for _ in 0..20 {
        let x = uniforms(&mut rng, 2);
        let query = together.query(&x).unwrap();
        for (k, gp) in gps.iter().enumerate() {
            let (found, expected) = (query.prediction(k), gp.predict(&x).unwrap());
            assert!((found.mean - expected.mean).abs() < 1e-12);
            assert!((found.variance - expected.variance).abs() < 1e-12);
            for other in 0..k {
                assert_eq!(query.covariance(k, other), 0.0);
            }
        }
    }
}

#[test]
fn without_loadings_the_log_posterior_is_the_sum_of_those_of_independent_models() {
    let mut rng = Rng::new(12, 0);
    for outputs in [1, 2, 3] {
        for mean in [Mean::Fitted, Mean::Fixed(0.2)] {
            let (mut hyper, alone) = independent(&mut rng, outputs, 2);
            let data = data(2, outputs, &observations(&mut rng, 2, &[9, 4, 2][..outputs]));
            // Also where length scales are expected to be alike.
            let lengthscale_spread = (outputs == 2).then_some(0.7);
            let one =
                fit::Model { lengthscale_spread, ..model(Lengthscales::PerInput, noisy(), mean) };
            if let Mean::Fixed(mean) = mean {
                hyper.means.fill(mean);
            }
            let both = Model::new(vec![one.clone(); outputs]);
            let found = both.log_posterior(&data, &hyper).unwrap();
            let (mut likelihood, mut prior) = (0.0, 0.0);
            for ((data, hyper), k) in data.iter().zip(&alone).zip(0..) {
                let mut hyper = hyper.clone();
                if let Mean::Fixed(mean) = mean {
                    hyper.mean = mean;
                }
                let expected = one.log_posterior(data, &hyper).unwrap();
                likelihood += expected.likelihood;
                prior += expected.prior;
                let slopes = &found.gradient.latents[k];
                for (a, b) in slopes.lengthscales.iter().zip(&expected.gradient.lengthscales) {
                    assert!((a - b).abs() < 1e-10 * (1.0 + b.abs()));
                }
                assert!((slopes.own[k] - expected.gradient.outputscale).abs() < 1e-9);
                assert!((found.gradient.noises[k] - expected.gradient.noise).abs() < 1e-9);
            }
            assert!((found.likelihood - likelihood).abs() < 1e-10 * likelihood.abs());
            assert!((found.prior - prior).abs() < 1e-10 * prior.abs());
        }
    }
}

#[test]
fn appended_values_give_the_posterior_of_all_at_once() {
    let mut rng = Rng::new(13, 0);
    let hyper = hyper(&mut rng, 2, 2, 3);
    let points = Points::from_rows(3, (0..12).map(|_| uniforms(&mut rng, 3))).unwrap();
    let values = normals(&mut rng, 12);
    let rows = |output: usize| (0..12).filter(|i| i % 2 == output).collect::<Vec<usize>>();
    let of = |output: usize| {
        let values: Vec<f64> = rows(output).iter().map(|&i| values[i]).collect();
        Data::new(&points.select(&rows(output)), &values).unwrap()
    };
    let fresh = hyper.condition(FAMILY, &[of(0), of(1)]).unwrap();
    let nothing = [Data::empty(3), Data::empty(3)];
    let mut grown = hyper.condition(FAMILY, &nothing).unwrap();
    for (i, x) in points.rows().enumerate() {
        grown.append(x, i % 2, values[i], hyper.noises[i % 2]).unwrap();
    }
    assert_eq!((grown.len(), grown.is_empty()), (12, false));
    let x = uniforms(&mut rng, 3);
    let (a, b) = (grown.query(&x).unwrap(), fresh.query(&x).unwrap());
    let place = |output, point| Place { output, point };
    let joint = fresh.joint(&Points::from_rows(3, [&x, &uniforms(&mut rng, 3)]).unwrap()).unwrap();
    for k in 0..2 {
        assert!((a.means()[k] - b.means()[k]).abs() < 1e-11);
        assert!((joint.mean(place(k, 0)) - b.means()[k]).abs() < 1e-11);
        for other in 0..2 {
            assert!((a.covariance(k, other) - b.covariance(k, other)).abs() < 1e-11);
        }
    }
    let again = fresh.condition_on(&points.select(&[0]), 0, &[0.0], 0.0).unwrap();
    assert_eq!(again.len(), 13);
    let twice = again.condition_on(&points.select(&[0]), 0, &[0.0], 0.0).unwrap();
    assert_eq!(twice.len(), 13, "a value that is known already is passed over");
}

#[test]
fn the_order_of_rows_and_of_outputs_does_not_matter() {
    let mut rng = Rng::new(14, 0);
    for counts in [[11, 4, 6], [3, 0, 9]] {
        let hyper = hyper(&mut rng, 2, 3, 2);
        let mut all = observations(&mut rng, 2, &counts);
        let before = (data(2, 3, &all), uniforms(&mut rng, 2));
        let expected = hyper.condition(FAMILY, &before.0).unwrap().predict(&before.1).unwrap();
        let likelihood = hyper.log_likelihood(FAMILY, &before.0).unwrap().value;
        rng.shuffle(&mut all);
        let turned = |k: usize| (k + 1) % 3;
        for o in &mut all {
            o.output = turned(o.output);
        }
        let turn = |values: &[f64]| vec![values[2], values[0], values[1]];
        let latent = |l: &Latent| Latent {
            lengthscales: l.lengthscales.clone(),
            loadings: turn(&l.loadings),
            own: turn(&l.own),
        };
        let hyper = Hyper {
            latents: hyper.latents.iter().rev().map(latent).collect(),
            noises: turn(&hyper.noises),
            means: turn(&hyper.means),
        };
        let after = data(2, 3, &all);
        let found = hyper.condition(FAMILY, &after).unwrap().predict(&before.1).unwrap();
        for (k, expected) in expected.iter().enumerate() {
            assert!((found[turned(k)].mean - expected.mean).abs() < 1e-11);
            assert!((found[turned(k)].variance - expected.variance).abs() < 1e-11);
        }
        let again = hyper.log_likelihood(FAMILY, &after).unwrap().value;
        assert!((again - likelihood).abs() < 1e-11 * likelihood.abs());
    }
}

#[test]
fn an_output_of_the_other_sign_or_scale_has_loadings_of_that_sign_and_scale() {
    let mut rng = Rng::new(15, 0);
    for factor in [-1.0, 8.0, -0.125] {
        let before = hyper(&mut rng, 2, 2, 2);
        let observed = observations(&mut rng, 2, &[9, 4]);
        let mut scaled = observed.clone();
        for o in scaled.iter_mut().filter(|o| o.output == 1) {
            o.y *= factor;
            o.variance = o.variance.map(|v| v * factor * factor);
        }
        let mut after = before.clone();
        for latent in &mut after.latents {
            latent.loadings[1] *= factor;
            latent.own[1] *= factor * factor;
        }
        after.noises[1] *= factor * factor;
        after.means[1] *= factor;
        let condition = |hyper: &Hyper, all: &[Observation]| {
            let data = data(2, 2, all);
            (hyper.condition(FAMILY, &data).unwrap(), hyper.log_likelihood(FAMILY, &data).unwrap())
        };
        let (model, likelihood) = condition(&before, &observed);
        let (turned, other) = condition(&after, &scaled);
        let x = uniforms(&mut rng, 2);
        let (a, b) = (model.query(&x).unwrap(), turned.query(&x).unwrap());
        // All factors are powers of two, so that nothing is rounded differently.
        assert_eq!([a.means()[0], a.means()[1] * factor], [b.means()[0], b.means()[1]]);
        assert_eq!(a.covariance(0, 1) * factor, b.covariance(0, 1));
        assert_eq!(a.covariance(1, 1) * factor * factor, b.covariance(1, 1));
        let values = observed.iter().filter(|o| o.output == 1).count() as f64;
        let expected = likelihood.value - values * factor.abs().ln();
        assert!((other.value - expected).abs() < 1e-12 * expected.abs());
        let correlation = before.correlation(0, 1) * factor.signum();
        assert!((after.correlation(0, 1) - correlation).abs() < 1e-15);
    }
}

#[test]
fn impossible_arguments_are_typed_errors() {
    let mut rng = Rng::new(16, 0);
    let good = hyper(&mut rng, 2, 2, 2);
    let data = data(2, 2, &observations(&mut rng, 2, &[5, 3]));
    let refused = |change: &dyn Fn(&mut Hyper)| {
        let mut hyper = good.clone();
        change(&mut hyper);
        assert!(hyper.condition(FAMILY, &data).is_err());
        assert!(hyper.log_likelihood(FAMILY, &data).is_err());
    };
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        refused(&|hyper| hyper.latents[0].lengthscales[1] = bad);
        refused(&|hyper| hyper.latents[1].own[0] = bad);
        refused(&|hyper| hyper.noises[1] = bad);
    }
    for bad in [f64::NAN, f64::INFINITY, 1e200] {
        refused(&|hyper| hyper.latents[0].loadings[0] = bad);
    }
    refused(&|hyper| hyper.means[0] = f64::NAN);
    refused(&|hyper| hyper.latents.clear());
    refused(&|hyper| hyper.latents[0].loadings.truncate(1));
    refused(&|hyper| hyper.latents[0].own.truncate(1));
    refused(&|hyper| hyper.noises.truncate(1));
    refused(&|hyper| hyper.means.truncate(1));
    refused(&|hyper| hyper.latents[0].lengthscales.push(1.0));
    assert!(matches!(good.condition(FAMILY, &data[..1]), Err(Error::Shape { .. })));
    let mixed = [data[0].clone(), Data::empty(3)];
    assert!(matches!(good.condition(FAMILY, &mixed), Err(Error::Shape { .. })));
    let mut model = good.condition(FAMILY, &data).unwrap();
    assert!(matches!(model.query(&[f64::NAN; 2]), Err(Error::NotFinite { .. })));
    assert!(matches!(model.query(&[0.5; 3]), Err(Error::Shape { .. })));
    assert!(matches!(model.append(&[0.5; 2], 2, 0.0, 0.1), Err(Error::OutOfRange { .. })));
    assert!(model.append(&[0.5; 2], 1, f64::NAN, 0.1).is_err());
    assert!(model.append(&[0.5; 2], 1, 0.0, -0.1).is_err());
    let set = model.fixed_set(&set_of(2)).unwrap();
    let mut candidate = Candidate::default();
    assert!(set.evaluate(&[0.5; 2], 2, &mut candidate).is_err());
    set.evaluate(&[0.5; 2], 1, &mut candidate).unwrap();
    assert!(set.observe(5, &mut candidate).is_err());
    assert!(set.steps(&candidate, f64::NAN).is_err());
    let short = StepsAdjoint { set: &[0.0; 3], own: &[0.0; 2], means: &[0.0; 2] };
    assert!(set.steps_gradient(&candidate, 0.1, short).is_err());
    let short = StepsAdjoint { set: &[0.0; 4], own: &[0.0; 2], means: &[0.0; 1] };
    assert!(set.steps_gradient(&candidate, 0.1, short).is_err());
}

fn set_of(count: usize) -> Points {
    Points::from_rows(2, (0..count).map(|j| [0.1 * j as f64, 0.3])).unwrap()
}

#[test]
fn a_value_that_is_known_exactly_moves_nothing() {
    let latent = Latent { lengthscales: vec![0.5], loadings: vec![1.0, 0.5], own: vec![0.0, 0.5] };
    let hyper = Hyper { latents: vec![latent], noises: vec![0.0; 2], means: vec![0.0; 2] };
    let known = Data::new(&Points::from_rows(2, [[0.5, 0.5]]).unwrap(), &[1.0]).unwrap();
    let model = hyper.condition(FAMILY, &[known, Data::empty(2)]).unwrap();
    let set = model.fixed_set(&set_of(3)).unwrap();
    let at = candidate(&set, &[0.5, 0.5], 0);
    let steps = set.steps(&at, 0.0).unwrap();
    assert!(steps.set.iter().chain(&steps.own).all(|step| step.abs() < 1e-7), "{steps:?}");
    let adjoint = StepsAdjoint { set: &[1.0; 6], own: &[1.0; 2], means: &[1.0; 2] };
    let gradient = set.steps_gradient(&at, 0.0, adjoint).unwrap();
    assert!(gradient.iter().all(|g| g.is_finite()), "{gradient:?}");
}
