//! Correlated outputs against figures computed independently (`golden/lmc.json`): with numpy, and
//! torch for derivatives, in double precision.
#![allow(clippy::unwrap_used)]

use serde::Deserialize;
use unyoke_math::Points;
use unyoke_math::coregional::set::Candidate;
use unyoke_math::coregional::{Coregional, Hyper, Latent, Place};
use unyoke_math::data::Data;
use unyoke_math::envelope::{Envelope, SlopeOrder};
use unyoke_math::kernel::Family;

#[derive(Deserialize)]
struct Gradient {
    loadings: Vec<Vec<f64>>,
    kappa: Vec<Vec<f64>>,
    lengthscales: Vec<Vec<f64>>,
    noise: Vec<f64>,
    mean: Vec<f64>,
}

#[derive(Deserialize)]
struct At {
    x: Vec<f64>,
    mean: Vec<f64>,
    covariance: Vec<Vec<f64>>,
    covariance_to_first_node: Vec<Vec<f64>>,
    log_gain: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
struct Case {
    #[serde(rename = "X")]
    x: Vec<Vec<f64>>,
    task: Vec<usize>,
    y: Vec<f64>,
    #[serde(flatten)]
    hyper: Gradient,
    log_likelihood: f64,
    gradient: Gradient,
    set: Vec<Vec<f64>>,
    weights: Vec<Vec<f64>>,
    points: Vec<At>,
}

impl Gradient {
    fn hyper(&self) -> Hyper {
        let latent = |q: usize| Latent {
            lengthscales: self.lengthscales[q].clone(),
            loadings: self.loadings[q].clone(),
            own: self.kappa[q].clone(),
        };
        let latents = (0..self.loadings.len()).map(latent).collect();
        Hyper { latents, noises: self.noise.clone(), means: self.mean.clone() }
    }
}

impl Case {
    fn data(&self) -> Vec<Data> {
        let of = |output: usize| {
            let rows: Vec<usize> = (0..self.y.len()).filter(|&i| self.task[i] == output).collect();
            let points = Points::from_rows(self.x[0].len(), rows.iter().map(|&i| &self.x[i]));
            let values: Vec<f64> = rows.iter().map(|&i| self.y[i]).collect();
            Data::new(&points.unwrap(), &values).unwrap()
        };
        (0..self.hyper.mean.len()).map(of).collect()
    }

    fn model(&self) -> Coregional {
        self.hyper.hyper().condition(Family::Matern52, &self.data()).unwrap()
    }

    fn set(&self) -> Points {
        Points::from_rows(self.x[0].len(), &self.set).unwrap()
    }
}

fn cases() -> Vec<Case> {
    let cases: Vec<Case> = serde_json::from_str(include_str!("golden/lmc.json")).unwrap();
    assert!(cases.len() >= 3 && cases.iter().any(|case| case.hyper.mean.len() == 3));
    cases
}

fn assert_close(found: f64, expected: f64, scale: f64, what: &str) {
    let error = (found - expected).abs();
    assert!(error <= 1e-9 * scale, "{what}: {found} is {error:e} off {expected}");
}

/// Every number of a set of hyper-parameters with what it is.
fn numbers(hyper: &Hyper) -> Vec<(String, f64)> {
    let mut all = vec![];
    let mut add = |what: &str, values: &[f64]| {
        all.extend(values.iter().enumerate().map(|(i, v)| (format!("{what} {i}"), *v)));
    };
    for (q, latent) in hyper.latents.iter().enumerate() {
        add(&format!("length scale of {q},"), &latent.lengthscales);
        add(&format!("loading of {q},"), &latent.loadings);
        add(&format!("own variance of {q},"), &latent.own);
    }
    add("noise", &hyper.noises);
    add("mean", &hyper.means);
    all
}

#[test]
fn the_likelihood_and_all_its_derivatives_match() {
    for case in cases() {
        let found = case.hyper.hyper().log_likelihood(Family::Matern52, &case.data()).unwrap();
        let expected = case.log_likelihood;
        assert_close(found.value, expected, expected.abs(), "likelihood");
        let (found, expected) = (numbers(&found.gradient), numbers(&case.gradient.hyper()));
        assert_eq!(found.len(), expected.len());
        for ((what, found), (_, expected)) in found.iter().zip(expected) {
            assert_close(*found, expected, expected.abs().max(1e-2), what);
        }
    }
}

#[test]
fn posterior_means_and_covariances_of_all_outputs_match() {
    for case in cases() {
        let (model, outputs) = (case.model(), case.hyper.mean.len());
        let set = model.fixed_set(&case.set()).unwrap();
        for at in &case.points {
            let query = model.query(&at.x).unwrap();
            let both = Points::from_rows(at.x.len(), [&at.x, &case.set[0]]).unwrap();
            let joint = model.joint(&both).unwrap();
            let means = model.means(&both).unwrap();
            for k in 0..outputs {
                assert_close(query.means()[k], at.mean[k], 1.0, "mean");
                assert_close(means[k][0], at.mean[k], 1.0, "mean");
                for m in 0..outputs {
                    let expected = at.covariance[k][m];
                    assert_close(query.covariance(k, m), expected, 1.0, "covariance");
                    let (x, node) = ([k, m].map(|output| Place { output, point: 0 }), 1);
                    assert_close(joint.covariance(x[0], x[1]), expected, 1.0, "covariance");
                    // K̃_mk(node, x): the output at the node comes first.
                    let expected = at.covariance_to_first_node[m][k];
                    let node = Place { output: m, point: node };
                    assert_close(joint.covariance(x[0], node), expected, 1.0, "to the node");
                    let mut candidate = Candidate::default();
                    set.evaluate(&at.x, k, &mut candidate).unwrap();
                    let found = candidate.covariances()[m * set.len()];
                    assert_close(found, expected, 1.0, "to the node");
                }
            }
        }
    }
}

#[test]
fn gains_of_observing_each_output_match_in_their_logarithms() {
    for case in cases() {
        let (model, outputs) = (case.model(), case.hyper.mean.len());
        let set = model.fixed_set(&case.set()).unwrap();
        for at in &case.points {
            for m in 0..outputs {
                let mut candidate = Candidate::default();
                set.evaluate(&at.x, m, &mut candidate).unwrap();
                let steps = set.steps(&candidate, model.noise(m)).unwrap();
                for (weights, expected) in case.weights.iter().zip(&at.log_gain[m]) {
                    let (mut a, mut b) = (vec![0.0; set.len() + 1], vec![0.0; set.len() + 1]);
                    for (k, weight) in weights.iter().enumerate() {
                        for j in 0..set.len() {
                            a[j] += weight * set.means(k)[j];
                            b[j] += weight * steps.set[k * set.len() + j];
                        }
                        a[set.len()] += weight * candidate.query().means()[k];
                        b[set.len()] += weight * steps.own[k];
                    }
                    let order = SlopeOrder::new(&b).unwrap();
                    let found = order.gain(&a, 1.0, &mut Envelope::default()).unwrap().log();
                    let error = (found - expected).abs();
                    assert!(error <= 1e-8 * expected.abs(), "{found} is {error:e} off {expected}");
                }
            }
        }
    }
}
