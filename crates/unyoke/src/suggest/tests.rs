//! How good the maximiser is: against a dense grid, and whatever the number of threads.

use super::*;
use crate::acquisition::Scalarised;
use crate::acquisition::c_mokg::CMokg;
use crate::config::Discretisation;
use crate::discretise::{Setting, best_for_weights, discretise, ties_with_set};
use crate::problem::Problem;
use crate::surrogate::{Belief, Surrogate};
use unyoke_math::data::{Data, Standardizer};
use unyoke_math::gp::Gp;
use unyoke_math::kernel::{Family, Kernel};
use unyoke_math::random::Rng;

/// A model of one objective: a few points, values of a smooth random function.
fn output(rng: &mut Rng, n: usize, lengthscale: f64) -> Belief {
    let kernel = Kernel::new(Family::Matern52, 2, &[lengthscale], 1.0).unwrap();
    let prior = Gp::new(kernel.clone(), 0.0, 0.0, &Data::empty(2)).unwrap();
    let path = unyoke_math::path::Path::draw(&prior, 256, rng);
    let points = Points::from_rows(2, (0..n).map(|_| [rng.uniform(), rng.uniform()])).unwrap();
    let values = path.values(&points).unwrap();
    let gp = Gp::new(kernel, 0.0, 1e-4, &Data::new(&points, &values).unwrap()).unwrap();
    Belief { gp, known: None, map: Standardizer::new(&[]).unwrap(), unit: 1.0, notes: vec![] }
}

/// Two objectives, one rough and one smooth, after 6 to 45 evaluations each.
fn random_surrogate(rng: &mut Rng) -> Surrogate {
    let mut one = |low: f64, high: f64| {
        let n = 6 + rng.below(40);
        let lengthscale = low + (high - low) * rng.uniform();
        output(rng, n, lengthscale)
    };
    Surrogate::of_objectives(vec![one(0.15, 0.5), one(0.5, 1.8)])
}

fn grid(per_input: usize) -> Points {
    let at = |i: usize| i as f64 / (per_input - 1) as f64;
    let node = |i: usize| [at(i / per_input), at(i % per_input)];
    Points::from_rows(2, (0..per_input * per_input).map(node)).unwrap()
}

fn space() -> Space {
    let problem = Problem::builder().continuous("x", 0.0, 1.0).continuous("y", 0.0, 1.0);
    Space::new(&problem.maximise("f", 1.0).maximise("g", 10.0).build().unwrap())
}

/// The designs compared in a step: the plain grid of the paper, or with the best ones added.
fn step(surrogate: &Surrogate, kind: Discretisation, seed: u64) -> [Points; 4] {
    let weights = sobol::simplex(2, 4, seed).unwrap();
    let (space, observed) = (space(), Points::new(2));
    let setting =
        Setting { space: &space, surrogate, weights: &weights, observed: &observed, seed };
    let best = best_for_weights(&setting).unwrap();
    let set = discretise(kind, &setting, &best).unwrap();
    let mut promising = ties_with_set(&setting, &best, &set).unwrap();
    set.rows().for_each(|x| promising.push(x).unwrap());
    [weights, set, best, promising]
}

fn search(surrogate: &Surrogate, kind: Discretisation, seed: u64) -> Vec<Best> {
    let [weights, set, best, promising] = step(surrogate, kind, seed);
    let acquisition = CMokg::one_by_one(Scalarised::new(surrogate, &set, &weights).unwrap());
    let space = space();
    let search = Search::default();
    let region = Region { space: &space, search, promising: &promising, best: &best, seed };
    let costs = [CostModel::constant(1.0), CostModel::constant(10.0)];
    let found = best_of_each_option(&acquisition, &costs, &region, &|_, _| false).unwrap();
    found.into_iter().map(Option::unwrap).collect()
}

/// Random models in which the maximiser is compared with a dense grid, which takes long.
const MODELS: u64 = 100;

/// How often a dense grid has a better design, per objective.
fn misses_against_dense_grid(kind: Discretisation) -> [usize; 2] {
    let mut rng = Rng::new(1, 0);
    let dense = grid(201);
    let mut misses = [0; 2];
    for round in 0..MODELS {
        let surrogate = random_surrogate(&mut rng);
        let [weights, set, ..] = step(&surrogate, kind, round);
        let acquisition = CMokg::one_by_one(Scalarised::new(&surrogate, &set, &weights).unwrap());
        for best in search(&surrogate, kind, round) {
            let values = raw_values(&acquisition, best.option, &dense);
            let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if best.log_gain < top - 1e-9 {
                misses[best.option] += 1;
            }
        }
    }
    misses
}

#[test]
fn the_maximiser_beats_a_dense_grid_in_all_models_but_one() {
    let misses = misses_against_dense_grid(Discretisation::Auto);
    assert!(misses.iter().all(|m| *m <= 1), "missed {misses:?} of {MODELS}");
}

#[test]
fn so_it_does_with_the_plain_grid_of_the_paper() {
    let misses = misses_against_dense_grid(Discretisation::Grid { per_input: 11 });
    assert!(misses.iter().all(|m| *m <= 1), "missed {misses:?} of {MODELS}");
}

#[test]
fn the_published_effort_finds_no_more_than_a_millionth_more() {
    // 10 climbs of up to 200 iterations from the best of 32 space-filling designs.
    let published = Search { raw: 32, restarts: 10, iterations: 200 };
    let mut rng = Rng::new(3, 0);
    for round in 0..20 {
        let surrogate =
            Surrogate::of_objectives(vec![output(&mut rng, 60, 0.2), output(&mut rng, 20, 1.8)]);
        let kind = Discretisation::Grid { per_input: 11 };
        let [weights, set, ..] = step(&surrogate, kind, round);
        let acquisition = CMokg::one_by_one(Scalarised::new(&surrogate, &set, &weights).unwrap());
        let (space, none) = (space(), Points::new(2));
        let region =
            Region { space: &space, search: published, promising: &none, best: &none, seed: round };
        let raw = region.raw_designs().unwrap();
        for ours in search(&surrogate, kind, round) {
            let values = raw_values(&acquisition, ours.option, &raw);
            let theirs =
                climb_from_best(&acquisition, ours.option, &region, &raw, &values).unwrap();
            for theirs in theirs {
                // Peaks on a narrow ridge come in tight groups: which of them is climbed is chance.
                assert!(ours.log_gain >= theirs.value - 1e-6, "{ours:?} {theirs:?}");
            }
        }
    }
}

#[test]
fn one_thread_and_two_find_the_same_bits() {
    let mut rng = Rng::new(2, 0);
    for round in 0..5 {
        let surrogate = random_surrogate(&mut rng);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| search(&surrogate, Discretisation::Auto, round))
        };
        assert_eq!(run(1), run(2));
    }
}

/// Not a number in one half of the square, a hill in the other.
struct Broken;

impl Acquisition for Broken {
    fn options(&self) -> usize {
        1
    }

    fn evaluator(&self, _option: usize) -> Evaluator<'_> {
        Box::new(|x, gradient| {
            if let Some(gradient) = gradient {
                gradient.copy_from_slice(&[2.0 * (0.9 - x[0]), 2.0 * (0.5 - x[1])]);
            }
            if x[0] < 0.5 { f64::NAN } else { -(x[0] - 0.9).powi(2) - (x[1] - 0.5).powi(2) }
        })
    }
}

#[test]
fn what_is_not_a_number_never_wins() {
    let (space, none) = (space(), Points::new(2));
    let search = Search { raw: 64, restarts: 64, iterations: 50 };
    let region = Region { space: &space, search, promising: &none, best: &none, seed: 1 };
    let costs = [CostModel::constant(1.0)];
    let found = best_of_each_option(&Broken, &costs, &region, &|_, _| false).unwrap();
    let best = found[0].as_ref().unwrap();
    assert!(best.log_gain > -1e-6 && best.x[0] >= 0.5, "{best:?}");
    // Nor where everything else is taken: then nothing is expected to be gained.
    let taken = |_: usize, x: &[f64]| x[0] >= 0.5;
    let found = best_of_each_option(&Broken, &costs, &region, &taken).unwrap();
    assert!(found[0].as_ref().is_none_or(|best| best.log_gain == f64::NEG_INFINITY), "{found:?}");
}
