//! Random numbers from a seed. The only file that turns random bits into numbers.
//!
//! A seed means the same numbers on every machine and in every version: the bits come from ChaCha
//! with eight rounds, logarithms from `libm`, and the tests record what they give.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

use crate::normal;

/// 2⁶⁴ divided by the golden ratio, the step of SplitMix64.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// 2⁻⁵³, half the distance from 1 to the next number.
const HALF_EPSILON: f64 = f64::EPSILON / 2.0;

/// Scatters a number over all 64-bit numbers, one to one (the finaliser of SplitMix64).
///
/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
pub fn mix(a: u64) -> u64 {
    let b = (a ^ (a >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let c = (b ^ (b >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    c ^ (c >> 31)
}

/// A seed of its own for each purpose that shares one seed.
pub fn seed_for(seed: u64, purpose: u64) -> u64 {
    // Mixed in turn, so that adjacent seeds or purposes have nothing in common.
    mix(mix(seed.wrapping_add(GOLDEN)).wrapping_add(purpose.wrapping_mul(GOLDEN)))
}

/// The top 52 bits as an odd multiple of 2⁻⁵³; with one bit more the largest would round to 1.
fn open_unit(bits: u64) -> f64 {
    ((bits >> 12) as f64 + 0.5) * f64::EPSILON
}

/// A source of random numbers.
///
/// ```
/// use unyoke_math::random::Rng;
///
/// let mut rng = Rng::new(7, 0);
/// let mut same = Rng::new(7, 0);
/// assert_eq!(rng.below(6), same.below(6));
/// assert_ne!(rng.uniform(), Rng::new(7, 1).uniform());
/// ```
#[derive(Debug, Clone)]
pub struct Rng(ChaCha8Rng);

impl Rng {
    /// Stream number `stream` of this seed; streams of one seed are independent of each other.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut key = [0; 32];
        let mut state = seed;
        for word in key.chunks_exact_mut(8) {
            state = state.wrapping_add(GOLDEN);
            word.copy_from_slice(&mix(state).to_le_bytes());
        }
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream(stream);
        Self(rng)
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), a multiple of 2⁻⁵³.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * HALF_EPSILON
    }

    /// Uniform in (0, 1), an odd multiple of 2⁻⁵³ and so never 0 or 1.
    pub fn open_uniform(&mut self) -> f64 {
        open_unit(self.next_u64())
    }

    /// Uniform among 0, 1, …, n − 1, without bias; 0 if n is 0.
    ///
    /// Source: D. Lemire, "Fast random integer generation in an interval", ACM TOMACS 29 (2019).
    pub fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        if n == 0 {
            return 0;
        }
        // Refusing 2⁶⁴ mod n of the 2⁶⁴ draws leaves the same number of draws for each result.
        let surplus = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            if product as u64 >= surplus {
                return (product >> 64) as usize;
            }
        }
    }

    /// Standard normal, Φ⁻¹(u) of a uniform u.
    pub fn normal(&mut self) -> f64 {
        normal::quantile(self.open_uniform())
    }

    /// χ² with k degrees of freedom: −2 Σ ln u over ⌊k/2⌋ uniforms, plus a squared normal if k is odd.
    pub fn chi_squared(&mut self, k: u32) -> f64 {
        let mut sum = 0.0;
        for _ in 0..k / 2 {
            sum -= 2.0 * libm::log(self.open_uniform());
        }
        let z = if k.is_multiple_of(2) { 0.0 } else { self.normal() };
        sum + z * z
    }

    /// Puts the items into a random order, each equally likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws<T>(mut draw: impl FnMut(&mut Rng) -> T) -> Vec<T> {
        let mut rng = Rng::new(42, 3);
        (0..4).map(|_| draw(&mut rng)).collect()
    }

    // Confirmed by a separate implementation of ChaCha in Python, the normals and χ² with mpmath at
    // 40 digits; where the last digit differs, what is recorded is what this file gives.
    #[test]
    fn a_seed_means_the_same_numbers_for_ever() {
        let bits = [
            14_337_368_776_685_914_797,
            1_364_626_347_485_624_262,
            16_450_575_446_303_521_233,
            15_087_558_891_619_392_841,
        ];
        assert_eq!(draws(Rng::next_u64), bits);
        let uniforms =
            [0.7772303187704354, 0.07397654252874353, 0.8917874818759487, 0.8178982063898367];
        assert_eq!(draws(Rng::uniform), uniforms);
        let inner =
            [0.7772303187704354, 0.07397654252874364, 0.8917874818759487, 0.8178982063898367];
        assert_eq!(draws(Rng::open_uniform), inner);
        assert_eq!(draws(|rng| rng.below(1000)), [777, 73, 891, 817]);
        let normals =
            [0.7628726268436842, -1.446799506453307, 1.2360902026367349, 0.9073843409867532];
        assert_eq!(draws(Rng::normal), normals);
        let squares =
            [7.239970550794624, 1.304178195604189, 0.27882407871702297, 2.2637882054199205];
        assert_eq!(draws(|rng| rng.chi_squared(5)), squares);
        let mut items = [0, 1, 2, 3, 4, 5, 6, 7];
        Rng::new(42, 3).shuffle(&mut items);
        assert_eq!(items, [7, 1, 3, 2, 4, 5, 0, 6]);
        assert_eq!([mix(0), mix(1)], [0, 6_238_072_747_940_578_789]);
        let seeds = [5_197_578_548_964_807_871, 3_603_600_226_484_403_572];
        assert_eq!([seed_for(0, 0), seed_for(42, 7)], seeds);
    }

    #[test]
    fn key_expansion_is_splitmix64() {
        // First outputs for seed 1234567 as published with the reference implementation.
        let outputs = [6457827717110365317, 3203168211198807973];
        let state = |i: u64| 1234567u64.wrapping_add(GOLDEN.wrapping_mul(i));
        assert_eq!([mix(state(1)), mix(state(2))], outputs);
    }

    /// Mean and variance of 100,000 draws.
    fn moments(mut draw: impl FnMut(&mut Rng) -> f64) -> (f64, f64) {
        let mut rng = Rng::new(1, 0);
        let n = 100_000;
        let values: Vec<f64> = (0..n).map(|_| draw(&mut rng)).collect();
        let mean = values.iter().sum::<f64>() / f64::from(n);
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / f64::from(n);
        (mean, variance)
    }

    #[test]
    fn moments_are_those_of_the_distribution() {
        // Four standard errors of a mean are 0.013 √variance.
        let check = |(mean, variance): (f64, f64), expected_mean: f64, expected_variance: f64| {
            let scale = expected_variance.sqrt();
            assert!((mean - expected_mean).abs() < 0.013 * scale, "mean {mean}");
            assert!((variance / expected_variance - 1.0).abs() < 0.03, "variance {variance}");
        };
        check(moments(Rng::uniform), 0.5, 1.0 / 12.0);
        check(moments(Rng::open_uniform), 0.5, 1.0 / 12.0);
        check(moments(Rng::normal), 0.0, 1.0);
        for k in [1, 2, 3, 5] {
            check(moments(|rng| rng.chi_squared(k)), f64::from(k), 2.0 * f64::from(k));
        }
        assert_eq!(Rng::new(1, 0).chi_squared(0), 0.0);
    }

    #[test]
    fn uniforms_stay_inside_their_interval() {
        let mut rng = Rng::new(5, 0);
        assert!((0..100_000).all(|_| (0.0..1.0).contains(&rng.uniform())));
        assert!((0..100_000).all(|_| (f64::MIN_POSITIVE..1.0).contains(&rng.open_uniform())));
        assert!(open_unit(0) > 0.0 && open_unit(u64::MAX) < 1.0);
    }

    #[test]
    fn below_covers_its_range_evenly() {
        let mut rng = Rng::new(9, 0);
        for n in [1usize, 2, 6, 7, 100] {
            let mut counts = vec![0u32; n];
            for _ in 0..1000 * n {
                counts[rng.below(n)] += 1;
            }
            let chi: f64 = counts.iter().map(|&c| (f64::from(c) - 1000.0).powi(2) / 1000.0).sum();
            let freedom = (n - 1) as f64;
            assert!(chi <= freedom + 5.0 * (2.0 * freedom).sqrt(), "χ² of {chi} for n = {n}");
        }
        assert_eq!(rng.below(0), 0);
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn below_is_unbiased_for_huge_ranges() {
        // Without rejection, every multiple of 3 would come up twice as often as other results.
        let n = (1usize << 63) + (1 << 62);
        let mut rng = Rng::new(10, 0);
        let threefold = (0..9000).filter(|_| rng.below(n).is_multiple_of(3)).count();
        assert!((2820..3180).contains(&threefold), "{threefold} of 9000 multiples of 3");
    }

    #[test]
    fn streams_seeds_and_purposes_differ() {
        let first = |seed, stream| Rng::new(seed, stream).next_u64();
        let mut all: Vec<u64> = (0..10).flat_map(|a| (0..10).map(move |b| first(a, b))).collect();
        all.extend((0..10).flat_map(|a| (0..10).map(move |b| seed_for(a, b))));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 200);
    }

    #[test]
    fn shuffle_is_a_permutation_and_each_is_equally_likely() {
        let mut rng = Rng::new(11, 0);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            let mut items = [0, 1, 2];
            rng.shuffle(&mut items);
            *counts.entry(items).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|c| (850..1150).contains(c)), "{counts:?}");
        let mut many: Vec<usize> = (0..1000).collect();
        rng.shuffle(&mut many);
        assert!(many.windows(2).any(|w| w[0] > w[1]));
        many.sort_unstable();
        assert_eq!(many, (0..1000).collect::<Vec<_>>());
    }
}
