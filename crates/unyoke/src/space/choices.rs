//! The choices of a categorical parameter as points at distance 1 from each other.
//!
//! Up to 32 choices have an input each: choice k is 1/√2 there and 0 elsewhere, so any two are at
//! distance 1. More choices share 32 inputs: each choice has 32 signs of its own, and the inputs
//! are 1/2 ± 1/8. That is a unit vector scaled by 1/√2 and moved into the cube; signs drawn at
//! random agree in half of the places, which again makes distance 1, now on average.

use std::collections::{HashMap, HashSet};
use std::f64::consts::FRAC_1_SQRT_2;

use unyoke_math::random::mix;

use crate::problem::MOST_INPUTS;

// The signs of a choice are the bits of a `u32`.
const _: () = assert!(MOST_INPUTS == u32::BITS as usize);

/// The choices of one parameter with their places in the cube.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Choices {
    names: Vec<String>,
    places: HashMap<String, usize>,
    /// The signs of each choice, if the choices are too many for an input each.
    signs: Vec<u32>,
    by_signs: HashMap<u32, usize>,
}

impl Choices {
    /// Takes distinct names, at least one.
    pub(super) fn new(names: &[String]) -> Self {
        let names = names.to_vec();
        let places = names.iter().enumerate().map(|(k, name)| (name.clone(), k)).collect();
        let signs = if names.len() > MOST_INPUTS { distinct_signs(names.len()) } else { vec![] };
        let by_signs = signs.iter().enumerate().map(|(k, &signs)| (signs, k)).collect();
        Self { names, places, signs, by_signs }
    }

    /// Number of choices.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// Number of inputs.
    pub(super) fn inputs(&self) -> usize {
        self.names.len().min(MOST_INPUTS)
    }

    /// The names in order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Name of choice number `place`.
    pub(super) fn name(&self, place: usize) -> &str {
        &self.names[place]
    }

    /// Place of the choice called `name`.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// Writes the point of choice number `place`.
    pub(super) fn put(&self, place: usize, out: &mut [f64]) {
        if self.len() == 1 {
            out.fill(0.5);
        } else if let Some(signs) = self.signs.get(place) {
            for (bit, x) in out.iter_mut().enumerate() {
                *x = 0.5 + offset(*signs, bit);
            }
        } else {
            out.fill(0.0);
            out[place] = FRAC_1_SQRT_2;
        }
    }

    /// The choice whose point is nearest to `x`, the first of several.
    pub(super) fn nearest(&self, x: &[f64]) -> usize {
        if self.signs.is_empty() {
            // |x − e/√2|² is least where x · e is most.
            return first_of_most(x.iter().copied());
        }
        // If some choice has just the signs of x, no other can be nearer.
        if let Some(&place) = self.by_signs.get(&signs_of(x)) {
            return place;
        }
        // |x − x_k|² is least where Σ ± (x − ½) is most, and so the sum over the signs + alone.
        // Sums for each byte of the signs: searches come here with thousands of choices.
        let sums: [[f64; 256]; 4] = std::array::from_fn(|byte| sums_of_subsets(&x[8 * byte..]));
        let product = |signs: &u32| {
            let [a, b, c, d] = signs.to_le_bytes().map(usize::from);
            (sums[0][a] + sums[1][b]) + (sums[2][c] + sums[3][d])
        };
        first_of_most(self.signs.iter().map(product))
    }
}

/// For each subset of the first eight inputs, as bits, the sum of their heights above the centre.
fn sums_of_subsets(x: &[f64]) -> [f64; 256] {
    let mut sums = [0.0; 256];
    for subset in 1..256usize {
        let lowest = subset.trailing_zeros() as usize;
        sums[subset] = sums[subset & (subset - 1)] + (x[lowest] - 0.5);
    }
    sums
}

/// ± 1/8 by bit number `bit` of `signs`.
fn offset(signs: u32, bit: usize) -> f64 {
    if signs >> bit & 1 == 1 { 0.125 } else { -0.125 }
}

/// Which inputs are above the centre.
fn signs_of(x: &[f64]) -> u32 {
    x.iter().enumerate().fold(0, |signs, (bit, x)| signs | u32::from(*x > 0.5) << bit)
}

/// `count` different sets of signs, the same on every machine.
fn distinct_signs(count: usize) -> Vec<u32> {
    let mut taken = HashSet::with_capacity(count);
    let candidates = (1..).map(|i: u64| (mix(i.wrapping_mul(0x9E37_79B9_7F4A_7C15)) >> 32) as u32);
    candidates.filter(|&signs| taken.insert(signs)).take(count).collect()
}

/// Where the largest value stands; 0 if none compares.
fn first_of_most(values: impl Iterator<Item = f64>) -> usize {
    let mut best = (0, f64::NEG_INFINITY);
    for (i, value) in values.enumerate() {
        if value > best.1 {
            best = (i, value);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(count: usize) -> Choices {
        Choices::new(&(0..count).map(|i| i.to_string()).collect::<Vec<_>>())
    }

    fn point(choices: &Choices, place: usize) -> Vec<f64> {
        let mut x = vec![0.0; choices.inputs()];
        choices.put(place, &mut x);
        x
    }

    fn distance(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn two_different_choices_are_at_distance_one() {
        for count in [2, 5, 32] {
            let choices = numbered(count);
            assert_eq!(choices.inputs(), count);
            let d = distance(&point(&choices, 0), &point(&choices, count - 1));
            assert!((d - 1.0).abs() < 1e-15);
        }
    }

    #[test]
    fn many_choices_are_at_distance_one_on_average_and_never_together() {
        let choices = numbered(200);
        assert_eq!(choices.inputs(), 32);
        let points: Vec<_> = (0..200).map(|k| point(&choices, k)).collect();
        let pairs = (0..200).flat_map(|i| (0..i).map(move |j| (i, j)));
        let distances: Vec<f64> = pairs.map(|(i, j)| distance(&points[i], &points[j])).collect();
        let mean_square = distances.iter().map(|d| d * d).sum::<f64>() / distances.len() as f64;
        assert!((mean_square - 1.0).abs() < 0.01, "{mean_square}");
        assert!(distances.iter().all(|d| *d > 0.4));
    }

    #[test]
    fn every_choice_is_the_nearest_to_its_own_point() {
        for count in [1, 2, 32, 33, 10_000] {
            let choices = numbered(count);
            for place in 0..count {
                assert_eq!(choices.nearest(&point(&choices, place)), place);
            }
        }
    }

    #[test]
    fn the_nearest_choice_has_the_smallest_distance() {
        let choices = numbered(50);
        let points: Vec<_> = (0..50).map(|k| point(&choices, k)).collect();
        let mut rng = unyoke_math::random::Rng::new(3, 0);
        for _ in 0..100 {
            let x: Vec<f64> = (0..32).map(|_| rng.uniform()).collect();
            let nearest = distance(&x, &points[choices.nearest(&x)]);
            assert!(points.iter().all(|p| nearest <= distance(&x, p) + 1e-12));
        }
    }

    #[test]
    fn signs_never_change_from_version_to_version() {
        assert_eq!(distinct_signs(3), [3_793_791_033, 1_853_398_634, 113_532_184]);
    }

    #[test]
    fn numbers_that_are_not_numbers_still_give_a_choice() {
        assert_eq!(numbered(3).nearest(&[f64::NAN; 3]), 0);
        assert!(numbered(40).nearest(&[f64::NAN; 32]) < 40);
    }
}
