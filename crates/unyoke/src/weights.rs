//! Weight vectors: which trade-offs a step looks at.

use crate::config::{Algorithm, Config, Preference, weights_mistake};
use crate::error::{Error, Result};
use crate::importance;
use crate::problem::Problem;
use unyoke_math::random::{Rng, seed_for};
use unyoke_math::{Points, sobol};

/// The weights of search number `search`, one row each, equally likely.
///
/// In expectation: a fresh scrambled Sobol' sample of the simplex. One at a time: the next point of
/// one sequence. `drawing` says in which order the objectives take the coordinates of what is drawn.
pub(crate) fn weights_of_step(
    config: &Config,
    drawing: &DrawingOrder<'_>,
    seed: u64,
    search: u64,
) -> Result<Points> {
    let order = &drawing.places[..];
    let objectives = order.len();
    match (&config.preference, config.algorithm.is_random()) {
        (Preference::Uniform, false) => {
            Ok(dealt(order, &sobol::simplex(objectives, config.weights, seed_for(seed, search))?))
        }
        (Preference::Uniform, true) => {
            Ok(dealt(order, &sobol::simplex_from(objectives, search as u32, 1, seed)?))
        }
        (Preference::Dirichlet(parameters), random) => {
            let count = if random { 1 } else { config.weights };
            let parameters: Vec<f64> = order.iter().map(|&m| parameters[m]).collect();
            let mut rng = Rng::new(seed, search);
            let rows = (0..count).map(|_| dirichlet(&parameters, &mut rng));
            Ok(dealt(order, &Points::from_rows(objectives, rows)?))
        }
        (Preference::Importance(statements), random) => {
            let region = importance::region(statements, &drawing.names)?;
            let drawn = match random {
                true => region.points_from(search as usize, 1, seed)?,
                false => region.points(config.weights, seed_for(seed, search))?,
            };
            Ok(dealt(order, &drawn))
        }
        (Preference::Weights(list), false) => {
            Ok(Points::from_rows(objectives, list.iter().map(|weights| normalised(weights)))?)
        }
        (Preference::Weights(list), true) => {
            let turn = (search % list.len().max(1) as u64) as usize;
            Ok(Points::from_rows(objectives, list.get(turn).map(|weights| normalised(weights)))?)
        }
    }
}

/// Many weights of the user's preference, the same at every step: what recommendations are judged
/// by.
pub(crate) fn weights_of_front(config: &Config, drawing: &DrawingOrder<'_>) -> Result<Points> {
    let config = Config { weights: 256, algorithm: Algorithm::CMokg, ..config.clone() };
    weights_of_step(&config, drawing, 0, 0)
}

/// The objectives sorted by name: the order in which a problem lists them must not decide which
/// weights they draw.
pub(crate) struct DrawingOrder<'a> {
    /// Their places among the objectives.
    pub(crate) places: Vec<usize>,
    names: Vec<&'a str>,
}

impl<'a> DrawingOrder<'a> {
    pub(crate) fn new(problem: &'a Problem) -> Self {
        Self::of(problem.objectives().map(|(_, objective)| objective.name.as_str()).collect())
    }

    fn of(names: Vec<&'a str>) -> Self {
        let mut places: Vec<usize> = (0..names.len()).collect();
        places.sort_by_key(|&m| names[m]);
        let names = places.iter().map(|&m| names[m]).collect();
        Self { places, names }
    }
}

/// Gives coordinate k of each row to objective `order[k]`.
fn dealt(order: &[usize], drawn: &Points) -> Points {
    let mut weights = Points::zeros(order.len(), drawn.len());
    for (q, row) in drawn.rows().enumerate() {
        for (&m, &weight) in order.iter().zip(row) {
            weights.row_mut(q)[m] = weight;
        }
    }
    weights
}

/// A user's weights scaled to sum 1.
pub(crate) fn checked(weights: &[f64], objectives: usize) -> Result<Vec<f64>> {
    match weights_mistake(weights, objectives) {
        Some(reason) => Err(Error::BadWeights { reason }),
        None => Ok(normalised(weights)),
    }
}

fn normalised(weights: &[f64]) -> Vec<f64> {
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|w| w / sum).collect()
}

/// A draw from the Dirichlet distribution: independent gammas, normalised.
fn dirichlet(parameters: &[f64], rng: &mut Rng) -> Vec<f64> {
    let logs: Vec<f64> = parameters.iter().map(|shape| log_gamma_draw(*shape, rng)).collect();
    // Small shapes give gammas below the smallest double; their ratios are still meaningful.
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    normalised(&logs.iter().map(|l| (l - largest).exp()).collect::<Vec<_>>())
}

/// Logarithm of a gamma variate of this shape and rate 1 (Marsaglia and Tsang 2000).
fn log_gamma_draw(shape: f64, rng: &mut Rng) -> f64 {
    if shape < 1.0 {
        return log_gamma_draw(shape + 1.0, rng) + rng.open_uniform().ln() / shape;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = rng.normal();
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && rng.open_uniform().ln() < 0.5 * x * x + d * (1.0 - v + v.ln()) {
            return (d * v).ln();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(preference: Preference, algorithm: Algorithm) -> Config {
        Config { preference, algorithm, ..Config::default() }
    }

    fn two() -> DrawingOrder<'static> {
        DrawingOrder::of(vec!["a", "b"])
    }

    #[test]
    fn weights_of_a_preference_with_statements_satisfy_them_at_every_step() {
        let statements = ["mass >= 2 * drag", "0.1 <= drag <= 0.25"].map(str::to_owned);
        for algorithm in [Algorithm::CMokg, Algorithm::CMokgRandom] {
            let config = config(Preference::Importance(statements.to_vec()), algorithm);
            let order = DrawingOrder::of(vec!["mass", "drag", "noise"]);
            let mut seen = vec![];
            for search in 0..20 {
                let weights = weights_of_step(&config, &order, 3, search).unwrap();
                assert_eq!(weights, weights_of_step(&config, &order, 3, search).unwrap());
                for w in weights.rows() {
                    assert!(w[0] >= 2.0 * w[1] - 1e-9, "{w:?}");
                    assert!((0.1 - 1e-9..=0.25 + 1e-9).contains(&w[1]), "{w:?}");
                    assert!((w.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                    seen.push(w[1]);
                }
            }
            seen.sort_by(f64::total_cmp);
            assert!(seen[0] < 0.13 && seen[seen.len() - 1] > 0.22, "{seen:?}");
        }
    }

    #[test]
    fn weights_are_drawn_anew_each_step_and_again_for_the_same_step() {
        let config = config(Preference::Uniform, Algorithm::CMokg);
        let step =
            |ask| weights_of_step(&config, &DrawingOrder::of(vec!["a", "b", "c"]), 7, ask).unwrap();
        assert_eq!(step(4), step(4));
        assert_ne!(step(4), step(5));
        assert_eq!(step(4).len(), 16);
    }

    #[test]
    fn weights_stay_with_their_objectives_when_these_are_listed_otherwise() {
        let dirichlet = |parameters: [f64; 3]| Preference::Dirichlet(parameters.to_vec());
        let twice = || Preference::Importance(vec!["a >= 2 * c".to_owned()]);
        let preferences = [
            [Preference::Uniform, Preference::Uniform],
            [dirichlet([1.0, 2.0, 3.0]), dirichlet([2.0, 3.0, 1.0])],
            [twice(), twice()],
        ];
        for [plain, turned] in preferences {
            for algorithm in [Algorithm::CMokg, Algorithm::CMokgRandom] {
                let step = |preference: &Preference, names: [&'static str; 3]| {
                    let order = DrawingOrder::of(names.to_vec());
                    weights_of_step(&config(preference.clone(), algorithm), &order, 7, 4).unwrap()
                };
                let plain = step(&plain, ["a", "b", "c"]);
                let turned = step(&turned, ["b", "c", "a"]);
                for (a, b) in plain.rows().zip(turned.rows()) {
                    assert_eq!([a[0], a[1], a[2]], [b[2], b[0], b[1]]);
                }
            }
        }
    }

    #[test]
    fn random_scalarisations_walk_along_one_sequence() {
        let config = config(Preference::Uniform, Algorithm::CMokgRandom);
        let whole = sobol::simplex(2, 8, 7).unwrap();
        for ask in 0..8 {
            assert_eq!(
                weights_of_step(&config, &two(), 7, ask).unwrap().row(0),
                whole.row(ask as usize)
            );
        }
    }

    #[test]
    fn a_dirichlet_preference_has_its_mean_and_variance() {
        for parameters in [vec![2.0, 5.0, 1.0], vec![0.3, 0.2, 0.5], vec![1e-3, 1e-3, 1e-3]] {
            let total: f64 = parameters.iter().sum();
            let (mut rng, count) = (Rng::new(3, 0), 40_000);
            let (mut mean, mut square) = (0.0, 0.0);
            for _ in 0..count {
                let draw = dirichlet(&parameters, &mut rng);
                assert!((draw.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                mean += draw[0] / count as f64;
                square += draw[0] * draw[0] / count as f64;
            }
            let expected = parameters[0] / total;
            let variance = expected * (1.0 - expected) / (total + 1.0);
            assert!((mean - expected).abs() < 0.01, "{parameters:?}: {mean}");
            assert!((square - mean * mean - variance).abs() < 0.01, "{parameters:?}");
        }
    }

    #[test]
    fn listed_weights_are_normalised_and_taken_in_turn() {
        let list = Preference::Weights(vec![vec![2.0, 2.0], vec![0.0, 5.0]]);
        let all = weights_of_step(&config(list.clone(), Algorithm::CMokg), &two(), 1, 9).unwrap();
        assert_eq!(all.as_flat(), [0.5, 0.5, 0.0, 1.0]);
        let one = weights_of_step(&config(list, Algorithm::MakgRandom), &two(), 1, 9).unwrap();
        assert_eq!(one.as_flat(), [0.0, 1.0]);
    }

    #[test]
    fn weights_that_weigh_nothing_are_refused() {
        for bad in [vec![0.0, 0.0], vec![1.0], vec![-1.0, 2.0], vec![f64::NAN, 1.0]] {
            assert!(matches!(checked(&bad, 2), Err(Error::BadWeights { .. })), "{bad:?}");
        }
        assert_eq!(checked(&[1.0, 3.0], 2).unwrap(), [0.25, 0.75]);
    }
}
