//! How designs of the unit cube are varied: simulated binary crossover, polynomial mutation.
//!
//! Powers are products and square roots where the index allows, else go through `libm`: a seed
//! gives the same bits on every machine.

use crate::random::Rng;

/// Coordinates closer than this are left as they are: crossing them would only add rounding.
const SAME: f64 = 1e-14;

/// Crosses two designs in place (Deb & Agrawal 1995, bounded as in Deb 2000): each coordinate
/// with probability ½ moves to ½(a + b) ∓ ½β|a − b|, where β has a polynomial density around 1.
pub(super) fn cross(a: &mut [f64], b: &mut [f64], index: f64, rng: &mut Rng) {
    for (a, b) in a.iter_mut().zip(b) {
        if rng.uniform() < 0.5 && (*a - *b).abs() > SAME {
            let (low, high) = cross_coordinate(a.min(*b), a.max(*b), index, rng.uniform());
            (*a, *b) = if rng.uniform() < 0.5 { (low, high) } else { (high, low) };
        }
    }
}

/// The two children, the lower first, of coordinates `low` < `high` for a uniform number `u`.
fn cross_coordinate(low: f64, high: f64, index: f64, u: f64) -> (f64, f64) {
    let (middle, gap) = (0.5 * (low + high), high - low);
    let below = spread(1.0 + 2.0 * low / gap, index, u);
    let above = spread(1.0 + 2.0 * (1.0 - high) / gap, index, u);
    ((middle - 0.5 * below * gap).clamp(0.0, 1.0), (middle + 0.5 * above * gap).clamp(0.0, 1.0))
}

/// The spread factor β whose distribution, cut off at `most`, takes the value `u`:
/// (uα)^(1∕(η+1)) for u ≤ 1∕α, else (2 − uα)^(−1∕(η+1)), with α = 2 − most^−(η+1).
fn spread(most: f64, index: f64, u: f64) -> f64 {
    let alpha = 2.0 - power(most, index + 1.0).recip();
    let inner = u * alpha;
    if inner <= 1.0 { root(inner, index + 1.0) } else { root(2.0 - inner, index + 1.0).recip() }
}

/// Mutates one coordinate of `design` on average (Deb & Goyal 1996).
pub(super) fn mutate(design: &mut [f64], index: f64, rng: &mut Rng) {
    let probability = 1.0 / design.len() as f64;
    for x in design {
        if rng.uniform() < probability {
            *x = (*x + shift(*x, index, rng.uniform())).clamp(0.0, 1.0);
        }
    }
}

/// How often a coordinate moves sideways as well, so that a population that lies along a curve does not stay
/// on it.
const SIDEWAYS: f64 = 0.5;
/// The smallest part of a step that is taken.
const SMALLEST: f64 = 0.1;

/// Moves `x` by a part of the step between two designs, as differential evolution does (Storn & Price 1997),
/// with parts of all magnitudes and at times a random step of the same size beside it. Populations that
/// converge take smaller and smaller steps.
pub(super) fn step(x: &mut [f64], from: &[f64], to: &[f64], rng: &mut Rng) {
    let part = libm::pow(SMALLEST, rng.uniform());
    let length = from.iter().zip(to).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    for ((x, a), b) in x.iter_mut().zip(from).zip(to) {
        let sideways = if rng.uniform() < SIDEWAYS { length * rng.normal() } else { 0.0 };
        *x = (*x + part * (a - b + sideways)).clamp(0.0, 1.0);
    }
}

/// The polynomial step from `x` for a uniform number `u`, which never leaves [0, 1]:
/// (2u + (1 − 2u)(1 − x)^(η+1))^(1∕(η+1)) − 1 downwards for u < ½, the mirror image upwards.
fn shift(x: f64, index: f64, u: f64) -> f64 {
    let step = |room: f64, u: f64| {
        let inner = 2.0 * u + (1.0 - 2.0 * u) * power(1.0 - room, index + 1.0);
        1.0 - root(inner, index + 1.0)
    };
    if u < 0.5 { -step(x, u) } else { step(1.0 - x, 1.0 - u) }
}

/// xⁿ for x ≥ 0; by squaring where n is whole, which is several times faster.
fn power(x: f64, n: f64) -> f64 {
    if n.fract() != 0.0 || n > 64.0 {
        return libm::pow(x, n);
    }
    let (mut result, mut square, mut left) = (1.0, x, n as u32);
    while left > 0 {
        if left % 2 == 1 {
            result *= square;
        }
        square *= square;
        left /= 2;
    }
    result
}

/// x^(1∕n) for x ≥ 0; by square roots where n is a power of two.
fn root(x: f64, n: f64) -> f64 {
    if n.fract() != 0.0 || n > 64.0 || !(n as u32).is_power_of_two() {
        return libm::pow(x, 1.0 / n);
    }
    (0..(n as u32).ilog2()).fold(x, |root, _| root.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn children_stay_in_the_cube_and_are_numbers(
            a in 0.0..=1.0_f64, b in 0.0..=1.0_f64, index in 0.0..60.0_f64, seed in 0..u64::MAX,
        ) {
            let mut rng = Rng::new(seed, 0);
            let (mut a, mut b) = ([a, 0.0, b, 1.0], [b, 1.0, b, 0.0]);
            cross(&mut a, &mut b, index, &mut rng);
            mutate(&mut a, index, &mut rng);
            prop_assert!(a.iter().chain(&b).all(|x| (0.0..=1.0).contains(x)));
        }

        #[test]
        fn the_step_of_a_mutation_stays_inside_without_clamping(
            x in 0.0..=1.0_f64, index in 0.0..60.0_f64, u in 0.0..1.0_f64,
        ) {
            let moved = x + shift(x, index, u);
            prop_assert!((-1e-12..=1.0 + 1e-12).contains(&moved));
        }

        #[test]
        fn quick_powers_and_roots_are_those_of_the_library(x in 0.0..=3.0_f64, n in 1..40_u32) {
            let n = f64::from(n);
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-14 * n * b.abs();
            prop_assert!(near(power(x, n), x.powf(n)));
            prop_assert!(near(root(x, n), x.powf(1.0 / n)));
            prop_assert!(near(power(x, n + 0.5), x.powf(n + 0.5)));
        }

        #[test]
        fn far_from_the_bounds_a_crossing_keeps_the_mean(u in 0.0..1.0_f64) {
            let (low, high) = cross_coordinate(0.499, 0.501, 15.0, u);
            prop_assert!((low + high - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn steps_are_as_long_as_those_between_the_designs() {
        let mut rng = Rng::new(1, 0);
        for scale in [1e-9, 1e-3] {
            for _ in 0..1000 {
                let (mut x, from) = ([0.5, 0.0], [0.2 + scale, 0.7]);
                step(&mut x, &from, &[0.2, 0.7], &mut rng);
                assert!((x[0] - 0.5).abs() < 7.0 * scale && (0.0..7.0 * scale).contains(&x[1]));
            }
        }
        let mut x = [0.5, 0.25];
        step(&mut x, &[0.1, 0.9], &[0.1, 0.9], &mut rng);
        assert_eq!(x, [0.5, 0.25]);
    }

    #[test]
    fn a_mutation_goes_down_and_up_alike() {
        for u in [0.01, 0.2, 0.4] {
            assert!((shift(0.5, 20.0, u) + shift(0.5, 20.0, 1.0 - u)).abs() < 1e-15);
        }
        assert_eq!(shift(0.3, 20.0, 0.5), 0.0);
        assert!((shift(0.3, 20.0, 0.0) + 0.3).abs() < 1e-15);
    }

    #[test]
    fn a_spread_factor_is_one_in_the_middle_and_at_most_its_bound() {
        assert!((spread(f64::INFINITY, 15.0, 0.5) - 1.0).abs() < 1e-15);
        assert!((spread(1.5, 2.0, 1.0) - 1.5).abs() < 1e-12);
    }
}
