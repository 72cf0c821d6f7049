//! Loops that the compiler turns into vector instructions chosen at run time.
//!
//! [`vectorised`] compiles a closure once per instruction set and picks the widest that the
//! machine has; [`exp`] and [`cos_sin_turns`] are written without branches or calls so that such loops
//! stay vectorisable. All of it is exactly rounded or fused arithmetic in a fixed order, so the
//! bits do not depend on the instruction set.

use pulp::{Arch, NullaryFnOnce, Simd, WithSimd};

/// Runs `work` compiled for the widest vector instructions of this machine.
///
/// What `work` calls must be `#[inline(always)]`, or it is compiled for the baseline machine.
#[inline]
pub(crate) fn vectorised<R>(work: impl FnOnce() -> R) -> R {
    Arch::new().dispatch(Work(work))
}

struct Work<F>(F);

impl<R, F: FnOnce() -> R> WithSimd for Work<F> {
    type Output = R;
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> R {
        simd.vectorize(Call(self.0))
    }
}

struct Call<F>(F);

impl<R, F: FnOnce() -> R> NullaryFnOnce for Call<F> {
    type Output = R;
    #[inline(always)]
    fn call(self) -> R {
        (self.0)()
    }
}

/// Partial sums kept side by side, so that a sum can use vector registers.
///
/// Their number is fixed: it, not the machine, decides the order of the additions.
const LANES: usize = 8;

/// Folds `term` over pairs, LANES at a time.
#[inline(always)]
fn sum_pairs(a: &[f64], b: &[f64], term: impl Fn(f64, f64, f64) -> f64) -> f64 {
    vectorised(
        #[inline(always)]
        || sum_pairs_in_lanes(a, b, term),
    )
}

/// The same inside a loop that is vectorised already.
#[inline(always)]
fn sum_pairs_in_lanes(a: &[f64], b: &[f64], term: impl Fn(f64, f64, f64) -> f64) -> f64 {
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a.remainder().iter().zip(b.remainder());
    let mut lanes = [0.0; LANES];
    for (x, y) in a.zip(b) {
        for i in 0..LANES {
            lanes[i] = term(x[i], y[i], lanes[i]);
        }
    }
    let last = rest.fold(0.0, |sum, (x, y)| term(*x, *y, sum));
    lanes.iter().sum::<f64>() + last
}

/// aᵀ b, for slices of one length.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    sum_pairs(
        a,
        b,
        #[inline(always)]
        |x, y, sum| x.mul_add(y, sum),
    )
}

/// aᵀ b inside a loop that is vectorised already.
#[inline(always)]
pub(crate) fn dot_in_lanes(a: &[f64], b: &[f64]) -> f64 {
    sum_pairs_in_lanes(
        a,
        b,
        #[inline(always)]
        |x, y, sum| x.mul_add(y, sum),
    )
}

/// Σᵢ wᵢ (aᵢ − c)², for slices of one length.
pub(crate) fn weighted_squares(a: &[f64], c: f64, weights: &[f64]) -> f64 {
    sum_pairs(
        a,
        weights,
        #[inline(always)]
        |x, w, sum| ((x - c) * (x - c)).mul_add(w, sum),
    )
}

/// Σᵢ wᵢ (c − aᵢ), for slices of one length.
pub(crate) fn weighted_gaps(a: &[f64], c: f64, weights: &[f64]) -> f64 {
    sum_pairs(
        a,
        weights,
        #[inline(always)]
        |x, w, sum| (c - x).mul_add(w, sum),
    )
}

/// `sum ← sum − Σ factors · terms`, four at once.
#[inline(always)]
pub(crate) fn subtract_four(sum: &mut [f64], factors: [f64; 4], terms: [&[f64]; 4]) {
    let [a, b, c, d] = factors;
    let [first, second, third, fourth] = terms;
    for ((((s, w), x), y), z) in sum.iter_mut().zip(first).zip(second).zip(third).zip(fourth) {
        let pair = (-a).mul_add(*w, (-b).mul_add(*x, *s));
        *s = (-c).mul_add(*y, (-d).mul_add(*z, pair));
    }
}

/// `sum ← sum + factor · terms`.
pub(crate) fn add_multiple(sum: &mut [f64], factor: f64, terms: &[f64]) {
    vectorised(
        #[inline(always)]
        || {
            for (s, t) in sum.iter_mut().zip(terms) {
                *s = factor.mul_add(*t, *s);
            }
        },
    );
}

/// Adding and subtracting 1.5 · 2⁵² rounds a number below 2⁵¹ to the nearest integer.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// 1/k! for k = 0..=13: enough for eˣ to the last bit on |x| ≤ ½ ln 2.
const INVERSE_FACTORIALS: [f64; 14] = [
    1.0,
    1.0,
    1.0 / 2.0,
    1.0 / 6.0,
    1.0 / 24.0,
    1.0 / 120.0,
    1.0 / 720.0,
    1.0 / 5_040.0,
    1.0 / 40_320.0,
    1.0 / 362_880.0,
    1.0 / 3_628_800.0,
    1.0 / 39_916_800.0,
    1.0 / 479_001_600.0,
    1.0 / 6_227_020_800.0,
];

/// eˣ for x ≤ 0, to within one unit in the last place; 0 where the result would be subnormal.
///
/// x = n ln 2 + r with ln 2 split in two (Cody and Waite 1980), then a Taylor polynomial in r.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    // ln 2 to 32 bits, so that its product with n is exact, and the rest.
    const LN_2_HIGH: f64 = f64::from_bits(0x3FE6_2E42_FEE0_0000);
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let shifted = x.max(-708.0).mul_add(std::f64::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = n.mul_add(-LN_2_LOW, n.mul_add(-LN_2_HIGH, x.max(-708.0)));
    let mut p = INVERSE_FACTORIALS[13];
    for k in (0..13).rev() {
        p = p.mul_add(r, INVERSE_FACTORIALS[k]);
    }
    // The low bits of `shifted` hold n; moved into the exponent they are 2ⁿ.
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    if x < -708.0 { 0.0 } else { p * power }
}

/// (-1)ᵏ/(2k)! for k = 0..=8.
const COSINE: [f64; 9] = [
    1.0,
    -1.0 / 2.0,
    1.0 / 24.0,
    -1.0 / 720.0,
    1.0 / 40_320.0,
    -1.0 / 3_628_800.0,
    1.0 / 479_001_600.0,
    -1.0 / 87_178_291_200.0,
    1.0 / 20_922_789_888_000.0,
];

/// (-1)ᵏ/(2k + 1)! for k = 0..=10.
const SINE: [f64; 11] = [
    1.0,
    -1.0 / 6.0,
    1.0 / 120.0,
    -1.0 / 5_040.0,
    1.0 / 362_880.0,
    -1.0 / 39_916_800.0,
    1.0 / 6_227_020_800.0,
    -1.0 / 1_307_674_368_000.0,
    1.0 / 355_687_428_096_000.0,
    -1.0 / 121_645_100_408_832_000.0,
    1.0 / 51_090_942_171_709_440_000.0,
];

/// Cosine and sine of an angle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CosSin {
    pub(crate) cos: f64,
    pub(crate) sin: f64,
}

/// cos 2πt and sin 2πt, to 4e-16 absolute for |t| < 2⁴⁸.
///
/// Counting in turns makes the reduction to an eighth of a turn exact.
#[inline(always)]
pub(crate) fn cos_sin_turns(t: f64) -> CosSin {
    let shifted = 4.0f64.mul_add(t, ROUND);
    let quarters = shifted.to_bits();
    let r = std::f64::consts::TAU * (shifted - ROUND).mul_add(-0.25, t);
    let r2 = r * r;
    let mut c = COSINE[8];
    for k in (0..8).rev() {
        c = c.mul_add(r2, COSINE[k]);
    }
    let mut s = SINE[7];
    for k in (0..7).rev() {
        s = s.mul_add(r2, SINE[k]);
    }
    s *= r;
    // Rotate by the quarter turns taken off: odd ones swap, the sign bit follows from two of them.
    let (x, y) = if quarters & 1 == 1 { (s, c) } else { (c, s) };
    CosSin {
        cos: f64::from_bits(x.to_bits() ^ ((quarters.wrapping_add(1) & 2) << 62)),
        sin: f64::from_bits(y.to_bits() ^ ((quarters & 2) << 62)),
    }
}

/// cos 2πt alone, to 4e-16 absolute for |t| < 2⁴⁸: the sine of what is missing to a quarter turn.
#[inline(always)]
pub(crate) fn cos_turns(t: f64) -> f64 {
    let part = t - ((t + ROUND) - ROUND);
    let r = std::f64::consts::TAU * (0.25 - part.abs());
    let r2 = r * r;
    let mut s = SINE[10];
    for k in (0..10).rev() {
        s = s.mul_add(r2, SINE[k]);
    }
    s * r
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_within_one_unit_in_the_last_place() {
        for i in 0..200_000 {
            let x = -(i as f64) * 708.0 / 200_000.0 - 1e-3 * (i as f64).sin().abs();
            let expected = libm::exp(x);
            if x >= -708.0 {
                let ulps = (exp(x).to_bits() as i64 - expected.to_bits() as i64).abs();
                assert!(ulps <= 1, "exp({x}) = {} is {ulps} off {expected}", exp(x));
            }
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-709.0), 0.0);
        assert_eq!(exp(f64::NEG_INFINITY), 0.0);
    }

    #[test]
    fn cosine_and_sine_of_turns_match_the_library() {
        for i in -50_000..50_000 {
            let t = i as f64 * 1.000_37e-3;
            // The library's own reduction of 2πt costs it |t| units in the last place.
            let r = t - t.round();
            let CosSin { cos, sin } = cos_sin_turns(t);
            assert!((cos - libm::cos(std::f64::consts::TAU * r)).abs() < 1e-15, "{t}");
            assert!((sin - libm::sin(std::f64::consts::TAU * r)).abs() < 1e-15, "{t}");
            assert!((cos_turns(t) - cos).abs() < 1e-15, "{t}");
        }
    }

    #[test]
    fn sums_agree_with_plain_sums_at_every_length() {
        for n in 0..40 {
            let a: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin()).collect();
            let b: Vec<f64> = (0..n).map(|i| (i as f64 * 1.3).cos()).collect();
            let plain: f64 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
            assert!((dot(&a, &b) - plain).abs() < 1e-14);
            let squares: f64 = a.iter().zip(&b).map(|(x, w)| w * (x - 0.3).powi(2)).sum();
            assert!((weighted_squares(&a, 0.3, &b) - squares).abs() < 1e-14);
            let gaps: f64 = a.iter().zip(&b).map(|(x, w)| w * (0.3 - x)).sum();
            assert!((weighted_gaps(&a, 0.3, &b) - gaps).abs() < 1e-14);
        }
    }

    #[test]
    fn vectorised_loops_give_the_bits_of_the_plain_loop() {
        let xs: Vec<f64> = (0..1003).map(|i| -0.37 * i as f64).collect();
        let plain: Vec<u64> = xs.iter().map(|&x| exp(x).to_bits()).collect();
        let vector: Vec<u64> = vectorised(|| xs.iter().map(|&x| exp(x).to_bits()).collect());
        assert_eq!(plain, vector);
    }
}
