//! The standard normal distribution, its upper tail without underflow, and its quantiles.
//!
//! Everything is built from φ and two functions of the tail that neither underflow nor cancel:
//! R(z) = Φ(−z)/φ(z) and g(z) = f(−z)/φ(z) = 1 − z R(z), where f(z) = φ(z) + z Φ(z) is the integral
//! of Φ. Relative errors are below 1e-14 wherever the result is a normal floating-point number.

use crate::simd::vectorised;

/// 1/√(2π).
const INV_SQRT_TAU: f64 = 0.398_942_280_401_432_7;

/// ln √(2π).
const LN_SQRT_TAU: f64 = 0.918_938_533_204_672_8;

/// Beyond this the density is no number.
const FARTHEST: f64 = 40.0;

/// Density φ(z) = exp(−z²/2)/√(2π).
pub fn pdf(z: f64) -> f64 {
    if z.abs() > FARTHEST {
        return 0.0;
    }
    // The rounding error of z² would be multiplied by z²/2 in the exponential. A head of 26 bits has
    // an exact square, and the rest, δ = (z² − head²)/2 < 6e-5, needs four terms of its own series.
    let head = f64::from_bits(z.to_bits() & !((1 << 27) - 1));
    let delta = 0.5 * (z - head) * (z + head);
    let rest = 1.0 - delta * (1.0 - delta * (0.5 - delta / 6.0));
    libm::exp(-0.5 * head * head) * rest * INV_SQRT_TAU
}

/// Log density ln φ(z) = −z²/2 − ln √(2π).
pub fn log_pdf(z: f64) -> f64 {
    -0.5 * z * z - LN_SQRT_TAU
}

/// Distribution function Φ(z) = ∫ φ from −∞ to z.
pub fn cdf(z: f64) -> f64 {
    let tail = pdf(z) * mills(z.abs());
    if z < 0.0 { tail } else { 1.0 - tail }
}

/// Φ of many numbers at once: the bits of [`cdf`], several times as fast.
pub fn cdf_each(values: &mut [f64]) {
    // What the vector loop cannot do, because the exponential is no normal number there.
    let is_far = |z: f64| z.abs() > VECTOR_REACH && z.abs() <= FARTHEST;
    let far: Vec<(usize, f64)> =
        values.iter().copied().enumerate().filter(|(_, z)| is_far(*z)).collect();
    vectorised(
        #[inline(always)]
        || {
            for z in values.iter_mut() {
                *z = cdf_without_branches(*z);
            }
        },
    );
    for (i, z) in far {
        values[i] = cdf(z);
    }
}

/// Below this, exp(−z²/2) is a normal number.
const VECTOR_REACH: f64 = 37.5;

/// Φ(z) without branches or calls, for |z| up to [`VECTOR_REACH`] or beyond [`FARTHEST`].
#[inline(always)]
fn cdf_without_branches(z: f64) -> f64 {
    let size = z.abs();
    let head = f64::from_bits(size.to_bits() & !((1 << 27) - 1));
    let delta = 0.5 * (size - head) * (size + head);
    let rest = 1.0 - delta * (1.0 - delta * (0.5 - delta / 6.0));
    let density = exp_of_library(-0.5 * head * head) * rest * INV_SQRT_TAU;
    let near = size.min(FAR);
    let near = polynomial(&R_NUM, near) / polynomial(&R_DEN, near);
    let u = 1.0 / (size * size).max(FAR * FAR);
    let excess = u * polynomial(&FAR_NUM, u) / polynomial(&FAR_DEN, u);
    let mills = if size > FAR { (1.0 - excess) / size } else { near };
    let tail = if size > FARTHEST { 0.0 } else { density * mills };
    if z < 0.0 { tail } else { 1.0 - tail }
}

/// eˣ for −708 ≤ x ≤ 0 with the bits of `libm::exp`, which has branches: the same reduction x = k ln 2 + r
/// and the same ratio (Ng 1993).
#[inline(always)]
fn exp_of_library(x: f64) -> f64 {
    const LN_2_HIGH: f64 = f64::from_bits(0x3FE6_2E42_FEE0_0000);
    const LN_2_LOW: f64 = f64::from_bits(0x3DEA_39EF_3579_3C76);
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const P: [f64; 5] = [
        f64::from_bits(0x3FC5_5555_5555_553E),
        f64::from_bits(0xBF66_C16C_16BE_BD93),
        f64::from_bits(0x3F11_566A_AF25_DE2C),
        f64::from_bits(0xBEBB_BD41_C5D2_6BF1),
        f64::from_bits(0x3E66_3769_72BE_A4D0),
    ];
    let high_word = (x.to_bits() >> 32) & 0x7FFF_FFFF;
    let far = (std::f64::consts::LOG2_E * x - 0.5).trunc();
    let near = if high_word > 0x3FD6_2E42 { -1.0 } else { 0.0 };
    let k = if high_word >= 0x3FF0_A2B2 { far } else { near };
    let (high, low) = (x - k * LN_2_HIGH, k * LN_2_LOW);
    let r = high - low;
    let rr = r * r;
    let c = r - rr * (P[0] + rr * (P[1] + rr * (P[2] + rr * (P[3] + rr * P[4]))));
    let y = 1.0 + (r * c / (2.0 - c) - low + high);
    let y = if high_word > 0x3E30_0000 { y } else { 1.0 + x };
    // The low bits of the sum hold k; moved into the exponent they are 2ᵏ.
    y * f64::from_bits(((k + ROUND).to_bits() << 52).wrapping_add(1023 << 52))
}

/// Log distribution function ln Φ(z).
pub fn log_cdf(z: f64) -> f64 {
    if z < 0.0 { log_pdf(z) + libm::log(mills(-z)) } else { libm::log1p(-pdf(z) * mills(z)) }
}

/// Expected excess f(z) = E max(0, z + Z) = φ(z) + z Φ(z) of a standard normal Z, with f′ = Φ.
pub fn expected_excess(z: f64) -> f64 {
    let tail = pdf(z) * tail_excess_ratio(z.abs());
    if z < 0.0 { tail } else { z + tail }
}

/// Log expected excess ln f(z).
pub fn log_expected_excess(z: f64) -> f64 {
    if z < 0.0 {
        log_pdf(z) + libm::log(tail_excess_ratio(-z))
    } else {
        libm::log(expected_excess(z))
    }
}

/// Excess beyond z in units of the density there, g(z) = f(−z)/φ(z) = 1 − z R(z), about 1/(z² + 3).
pub fn tail_excess_ratio(z: f64) -> f64 {
    if z < 0.0 {
        // f(−z) = f(z) − z.
        tail_excess_ratio(-z) - z / pdf(z)
    } else if z > FAR {
        far_excess_ratio(z)
    } else {
        polynomial(&G_NUM, z) / polynomial(&G_DEN, z)
    }
}

/// The same for z ≥ 0 without branches or calls, for vector loops; the same bits.
#[inline(always)]
pub(crate) fn tail_excess_ratio_of_positive(z: f64) -> f64 {
    let near = z.min(FAR);
    let near = polynomial(&G_NUM, near) / polynomial(&G_DEN, near);
    let u = 1.0 / (z * z).max(FAR * FAR);
    let far = u * polynomial(&FAR_NUM, u) / polynomial(&FAR_DEN, u);
    if z > FAR { far } else { near }
}

/// Mills' ratio R(z) = Φ(−z)/φ(z), about 1/z.
pub fn mills(z: f64) -> f64 {
    if z < 0.0 {
        // Φ(−z) = 1 − Φ(z).
        1.0 / pdf(z) - mills(-z)
    } else if z > FAR {
        (1.0 - far_excess_ratio(z)) / z
    } else {
        polynomial(&R_NUM, z) / polynomial(&R_DEN, z)
    }
}

/// g(z) for z > 5 from its expansion in u = z⁻².
fn far_excess_ratio(z: f64) -> f64 {
    let u = 1.0 / (z * z);
    u * polynomial(&FAR_NUM, u) / polynomial(&FAR_DEN, u)
}

/// Σ cₖ xᵏ; even and odd powers are summed apart so that the processor can do both at once.
#[inline(always)]
fn polynomial<const N: usize>(c: &[f64; N], x: f64) -> f64 {
    let square = x * x;
    let (mut even, mut odd) = (0.0, 0.0);
    for k in (0..N).rev() {
        if k % 2 == 0 {
            even = even * square + c[k];
        } else {
            odd = odd * square + c[k];
        }
    }
    even + x * odd
}

/// Quantile Φ⁻¹(p): −∞ at 0, +∞ at 1, NaN outside [0, 1].
///
/// Source: M. J. Wichura, "Algorithm AS 241: The percentage points of the normal distribution",
/// Applied Statistics 37 (1988), function PPND16.
pub fn quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180625 - q * q;
        return q * polynomial(&CENTRE_NUM, r) / polynomial(&CENTRE_DEN, r);
    }
    if p == 0.0 || p == 1.0 {
        return f64::INFINITY.copysign(q);
    }
    // NaN for p outside [0, 1], through the logarithm of a negative number.
    let r = (-libm::log(p.min(1.0 - p))).sqrt();
    let z = if r <= 5.0 {
        polynomial(&NEAR_NUM, r - 1.6) / polynomial(&NEAR_DEN, r - 1.6)
    } else {
        polynomial(&REMOTE_NUM, r - 5.0) / polynomial(&REMOTE_DEN, r - 5.0)
    };
    z.copysign(q)
}

// The coefficients of R, g and z² g were found by interpolating each function, computed with 70
// digits, at the Chebyshev points of its interval by a ratio of two polynomials. All of them are
// positive, so neither polynomial cancels and rounding stays at a few units in the last place.

/// Where R and g change from a ratio in z to one in z⁻².
const FAR: f64 = 5.0;

/// N of R(z) ≈ N(z)/D(z) on [0, 5], error 7e-17, lowest power first.
const R_NUM: [f64; 9] = [
    1.2533141373155003,
    1.6331339540636844,
    1.064228474813331,
    0.4354880523033255,
    0.12070025328678458,
    0.023056832617898395,
    0.0029613323881640175,
    0.00023452321759540466,
    8.838239591820126e-06,
];

/// D of R(z).
const R_DEN: [f64; 10] = [
    1.0,
    2.1009369284732236,
    2.0254366076695205,
    1.179026847524314,
    0.45808226263198965,
    0.12364341935012096,
    0.023291384733172993,
    0.0029701693878468067,
    0.0002345232520421913,
    8.838239126790488e-06,
];

/// N of g(z) ≈ N(z)/D(z) on [0, 5], error 4e-17.
const G_NUM: [f64; 9] = [
    1.0,
    1.0351995925751123,
    0.5617069788155991,
    0.19643487329894802,
    0.04753485860877798,
    0.008068479551316019,
    0.0009350714518525777,
    6.776496394271857e-05,
    2.3696766061600426e-06,
];

/// D of g(z).
const G_DEN: [f64; 11] = [
    1.0,
    2.2885137298906075,
    2.42993358992825,
    1.5800483330595931,
    0.6986781543772644,
    0.22024477247122187,
    0.05032505732171244,
    0.008271818895286588,
    0.0009421786819341039,
    6.776501109751395e-05,
    2.369676005748346e-06,
];

/// N of z² g(z) ≈ N(u)/D(u), u = z⁻² on [0, 1/25], error 2e-17.
const FAR_NUM: [f64; 7] = [
    1.0,
    64.1606349110596,
    1429.7166233897615,
    13463.0781983586,
    51477.908354010484,
    60705.625614780205,
    4166.752615684783,
];

/// D of z² g(z).
const FAR_DEN: [f64; 7] = [
    1.0,
    67.16063491105945,
    1616.1985281231812,
    17409.26425891637,
    85569.58992261524,
    172904.46699798855,
    103002.6664442085,
];

// Coefficients of AS 241, lowest power first.

/// Numerator for |p − ½| ≤ 0.425.
const CENTRE_NUM: [f64; 8] = [
    3.3871328727963665,
    133.14166789178438,
    1971.5909503065513,
    13731.69376550946,
    45921.95393154987,
    67265.7709270087,
    33430.57558358813,
    2509.0809287301227,
];

/// Denominator for |p − ½| ≤ 0.425.
const CENTRE_DEN: [f64; 8] = [
    1.0,
    42.31333070160091,
    687.1870074920579,
    5394.196021424751,
    21213.794301586597,
    39307.89580009271,
    28729.085735721943,
    5226.495278852854,
];

/// Numerator for √(−ln p) ≤ 5.
const NEAR_NUM: [f64; 8] = [
    1.4234371107496835,
    4.630337846156546,
    5.769497221460691,
    3.6478483247632045,
    1.2704582524523684,
    0.2417807251774506,
    0.022723844989269184,
    0.0007745450142783414,
];

/// Denominator for √(−ln p) ≤ 5.
const NEAR_DEN: [f64; 8] = [
    1.0,
    2.053191626637759,
    1.6763848301838038,
    0.6897673349851,
    0.14810397642748008,
    0.015198666563616457,
    0.0005475938084995345,
    1.0507500716444169e-09,
];

/// Numerator for √(−ln p) > 5.
const REMOTE_NUM: [f64; 8] = [
    6.657904643501103,
    5.463784911164114,
    1.7848265399172913,
    0.29656057182850487,
    0.026532189526576124,
    0.0012426609473880784,
    2.7115555687434876e-05,
    2.0103343992922881e-07,
];

/// Denominator for √(−ln p) > 5.
const REMOTE_DEN: [f64; 8] = [
    1.0,
    0.599832206555888,
    0.1369298809227358,
    0.014875361290850615,
    0.0007868691311456133,
    1.8463183175100548e-05,
    1.421511758316446e-07,
    2.0442631033899397e-15,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_at_once_have_the_bits_of_one() {
        let mut rng = crate::random::Rng::new(1, 0);
        let random: Vec<f64> = (0..200_000).map(|_| 8.0 * rng.normal()).collect();
        let small = (0..2_000).map(|i| 1e-3 * f64::from(i - 1_000)).map(|v| v.powi(5));
        let special = [0.0, -0.0, 5.0, -5.0, 1e-300, 41.0, -41.0, 1e200, f64::INFINITY];
        let large = (0..2_000).map(|i| 0.021 * f64::from(i - 1_000) * 2.0);
        let at: Vec<f64> = random.into_iter().chain(small).chain(special).chain(large).collect();
        let mut found = at.clone();
        cdf_each(&mut found);
        for (z, found) in at.iter().zip(found) {
            assert_eq!(found.to_bits(), cdf(*z).to_bits(), "{z}");
        }
    }

    #[test]
    fn the_exponential_for_vectors_has_the_bits_of_the_library() {
        for i in 0..1_000_000 {
            let x = -7.08e-4 * f64::from(i);
            assert_eq!(exp_of_library(x).to_bits(), libm::exp(x).to_bits(), "{x}");
            let x = -1e-6 * f64::from(i);
            assert_eq!(exp_of_library(x).to_bits(), libm::exp(x).to_bits(), "{x}");
        }
    }

    fn assert_close(what: &str, z: f64, found: f64, expected: f64) {
        let error = (found - expected).abs();
        assert!(
            error <= 1e-14 * expected.abs(),
            "{what}({z}) = {found:e}, not {expected:e}: off by {:e}",
            error / expected.abs()
        );
    }

    #[test]
    fn density_cdf_and_excess_agree_with_80_digit_values() {
        for [z, density, distribution, excess] in VALUES {
            assert_close("pdf", z, pdf(z), density);
            assert_close("cdf", z, cdf(z), distribution);
            assert_close("expected_excess", z, expected_excess(z), excess);
        }
    }

    #[test]
    fn logarithms_agree_with_80_digit_values() {
        for [z, density, distribution, excess] in LOGS {
            assert_close("log_pdf", z, log_pdf(z), density);
            assert_close("log_cdf", z, log_cdf(z), distribution);
            assert_close("log_expected_excess", z, log_expected_excess(z), excess);
        }
    }

    #[test]
    fn log_excess_stays_accurate_around_its_zero() {
        // ln f crosses zero here; f itself has a rounding error, so only the absolute error is small.
        let (z, expected) = (0.89947, -1.2736700907815332e-6);
        assert!((log_expected_excess(z) - expected).abs() <= 1e-14);
    }

    #[test]
    fn tail_ratios_agree_with_80_digit_values() {
        for [z, ratio, excess] in TAILS {
            assert_close("mills", z, mills(z), ratio);
            assert_close("tail_excess_ratio", z, tail_excess_ratio(z), excess);
        }
    }

    #[test]
    fn quantiles_agree_with_60_digit_values() {
        for [p, z] in QUANTILES {
            assert_close("quantile", p, quantile(p), z);
        }
    }

    #[test]
    fn limits_are_exact_and_nan_stays_nan() {
        let inf = f64::INFINITY;
        assert_eq!([pdf(inf), pdf(-inf), cdf(-inf), cdf(inf)], [0.0, 0.0, 0.0, 1.0]);
        assert_eq!([log_pdf(inf), log_cdf(-inf), log_cdf(inf)], [-inf, -inf, 0.0]);
        assert_eq!([expected_excess(-inf), expected_excess(inf)], [0.0, inf]);
        assert_eq!([log_expected_excess(-inf), log_expected_excess(inf)], [-inf, inf]);
        assert_eq!([mills(inf), tail_excess_ratio(inf)], [0.0, 0.0]);
        assert_eq!([mills(-inf), tail_excess_ratio(-inf)], [inf, inf]);
        assert_eq!([mills(1e300), tail_excess_ratio(1e300)], [1e-300, 0.0]);
        assert_eq!([quantile(0.0), quantile(1.0)], [-inf, inf]);
        for f in [pdf, log_pdf, cdf, log_cdf, quantile, expected_excess, log_expected_excess] {
            assert!(f(f64::NAN).is_nan());
        }
        assert!(mills(f64::NAN).is_nan() && tail_excess_ratio(f64::NAN).is_nan());
        assert!([-0.1, 1.1, inf, -inf].map(quantile).iter().all(|z| z.is_nan()));
    }

    /// Numbers from `low` to `high` at equal distances.
    fn sweep(low: f64, high: f64, n: u32) -> impl Iterator<Item = f64> {
        (0..=n).map(move |i| low + (high - low) * f64::from(i) / f64::from(n))
    }

    #[test]
    fn derivative_of_the_excess_is_the_distribution_function() {
        let h = 1e-5;
        for z in sweep(-6.0, 6.0, 500) {
            let slope = (expected_excess(z + h) - expected_excess(z - h)) / (2.0 * h);
            assert!((slope - cdf(z)).abs() < 2e-10, "at {z}: {slope} against {}", cdf(z));
        }
    }

    #[test]
    fn all_are_monotone() {
        let grid: Vec<f64> = sweep(-36.0, 4.0, 10_000).collect();
        for f in [cdf, log_cdf, expected_excess, log_expected_excess] {
            assert!(grid.windows(2).all(|w| f(w[0]) < f(w[1])));
        }
        let grid: Vec<f64> = sweep(0.0, 38.0, 10_000).collect();
        for f in [pdf, mills, tail_excess_ratio] {
            assert!(grid.windows(2).all(|w| f(w[0]) > f(w[1])));
        }
        let grid: Vec<f64> = sweep(1e-9, 1.0 - 1e-9, 10_000).collect();
        assert!(grid.windows(2).all(|w| quantile(w[0]) < quantile(w[1])));
    }

    #[test]
    fn the_two_tails_complement_each_other() {
        for z in sweep(0.0, 10.0, 1000) {
            assert!((cdf(z) + cdf(-z) - 1.0).abs() <= 2.0 * f64::EPSILON);
            assert_eq!(pdf(z), pdf(-z));
            let difference = expected_excess(z) - expected_excess(-z);
            assert!((difference - z).abs() <= 4.0 * f64::EPSILON * (z + 1.0));
        }
        for p in sweep(0.0, 0.5, 1024) {
            assert_eq!(quantile(p), -quantile(1.0 - p), "1 − {p} is exact");
        }
    }

    #[test]
    fn ratios_satisfy_their_recurrence_across_the_whole_range() {
        // g = 1 − z R, up to the cancellation in that formula.
        for z in sweep(0.0, 60.0, 20_000) {
            let (g, r) = (tail_excess_ratio(z), mills(z));
            assert!((g + z * r - 1.0).abs() < 1e-15, "at {z}");
            assert_close("Φ(−z)", z, pdf(z) * r, cdf(-z));
            assert_close("f(−z)", z, pdf(z) * g, expected_excess(-z));
        }
    }

    #[test]
    fn cdf_agrees_with_the_error_function_where_that_is_accurate() {
        for z in sweep(-3.0, 3.0, 5000) {
            assert_close("cdf", z, cdf(z), 0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2));
        }
    }

    #[test]
    fn nothing_jumps_where_the_formula_changes() {
        for f in [mills, tail_excess_ratio] {
            assert_close("far switch", FAR, f(FAR.next_up()), f(FAR));
        }
        let remote = (-25.0f64).exp();
        for p in [0.075, 0.925, remote] {
            let (below, above) = (quantile(p * (1.0 - 1e-15)), quantile(p * (1.0 + 1e-15)));
            assert!((below / above - 1.0).abs() < 2e-14, "at {p}: {below}, {above}");
        }
    }

    #[test]
    fn quantile_inverts_the_distribution_function() {
        for z in sweep(-35.0, 5.0, 4000) {
            // An error of one rounding in p moves the quantile by that much over φ(z).
            let rounding = 4.0 * f64::EPSILON * cdf(z) / pdf(z);
            assert!((quantile(cdf(z)) - z).abs() <= rounding + 1e-14 * z.abs(), "at {z}");
        }
    }

    // Reference values, computed with mpmath at 80 digits from exp and erfc (beyond z = 1000 from the
    // asymptotic series), the quantiles by Newton's method on ln Φ.

    /// z, φ(z), Φ(z), f(z).
    const VALUES: [[f64; 4]; 28] = [
        [-35.0, 3.940396277136024e-267, 1.1249107064724062e-268, 3.208804482602477e-270],
        [-30.0, 1.4736461348785476e-196, 4.906713927148187e-198, 1.631956734091401e-199],
        [-20.0, 5.520948362159764e-88, 2.7536241186062337e-89, 1.3700124947295798e-90],
        [-10.0, 7.694598626706419e-23, 7.619853024160525e-24, 7.474560254589328e-25],
        [-8.0, 5.052271083536892e-15, 6.220960574271784e-16, 7.550262411946499e-17],
        [-5.0001, 1.4859763333560205e-06, 2.865029370897625e-07, 5.3432997613499083e-08],
        [-5.0, 1.4867195147342977e-06, 2.866515718791939e-07, 5.346165533832815e-08],
        [-4.9999, 1.4874630529252644e-06, 2.868002810046024e-07, 5.349032793035266e-08],
        [-4.5, 1.5983741106905475e-05, 3.3976731247300603e-06, 6.942120456202026e-07],
        [-4.0001, 0.00013377670371068667, 3.165786148681343e-05, 7.142091977284279e-06],
        [-4.0, 0.00013383022576488534, 3.1671241833119924e-05, 7.145258432405667e-06],
        [-3.9999, 0.0001338837678936183, 3.168462753263556e-05, 7.1484262258293424e-06],
        [-3.0, 0.0044318484119380075, 0.0013498980316300946, 0.0003821543170477236],
        [-2.0, 0.05399096651318805, 0.02275013194817921, 0.008490702616829637],
        [-1.0, 0.24197072451914334, 0.15865525393145705, 0.0833154705876863],
        [-0.5, 0.35206532676429947, 0.3085375387259869, 0.19779655740130603],
        [-0.001, 0.39894208093034234, 0.49960105778608893, 0.39844247987255627],
        [0.0, 0.3989422804014327, 0.5, 0.3989422804014327],
        [0.3, 0.3813878154605241, 0.6179114221889527, 0.5667612421172099],
        [1.0, 0.24197072451914334, 0.8413447460685429, 1.0833154705876864],
        [1.7, 0.09404907737688693, 0.955434537241457, 1.7182877906873637],
        [3.0, 0.0044318484119380075, 0.9986501019683699, 3.0003821543170477],
        [4.9999, 1.4874630529252644e-06, 0.999999713199719, 4.999900053490328],
        [5.0, 1.4867195147342977e-06, 0.9999997133484281, 5.0000000534616555],
        [5.0001, 1.4859763333560205e-06, 0.999999713497063, 5.000100053432997],
        [8.0, 5.052271083536892e-15, 0.9999999999999993, 8.0],
        [20.0, 5.520948362159764e-88, 1.0, 20.0],
        [35.0, 3.940396277136024e-267, 1.0, 35.0],
    ];

    /// z, ln φ(z), ln Φ(z), ln f(z).
    const LOGS: [[f64; 4]; 31] = [
        [-1000000.0, -500000000000.91895, -500000000014.73444, -500000000028.55],
        [-1000.0, -500000.9189385332, -500007.82669481216, -500014.73445209116],
        [-38.0, -722.9189385332047, -726.5572160188201, -730.1961834021138],
        [-35.0, -613.4189385332047, -616.9751012619225, -620.532076675948],
        [-30.0, -450.91893853320465, -454.3212439563432, -457.724653760598],
        [-20.0, -200.91893853320468, -203.91715537109727, -206.9178385094251],
        [-10.0, -50.918938533204674, -53.23128515051247, -55.55312203612235],
        [-8.0, -32.918938533204674, -35.01343715991455, -37.12236426169263],
        [-5.0001, -13.419438538204671, -15.065517049221956, -16.744837348985083],
        [-5.0, -13.418938533204672, -15.064998393988725, -16.74430116266099],
        [-4.9999, -13.418438538204674, -15.06447974842853, -16.74376498573682],
        [-4.5, -11.043938533204672, -12.59241973571308, -14.18048838186834],
        [-4.0001, -8.919338538204672, -10.360524052008378, -11.84950483050974],
        [-4.0, -8.918938533204672, -10.360101486527292, -11.849061577550662],
        [-3.9999, -8.918538538204672, -10.359678930579474, -11.848618333761356],
        [-3.0, -5.418938533204673, -6.607726221510349, -7.869686059603029],
        [-2.0, -2.9189385332046727, -3.783184333682032, -4.768783523917114],
        [-1.0, -1.4189385332046727, -1.8410216450092636, -2.4851210257126413],
        [-0.5, -1.0439385332046727, -1.1759117615936185, -1.6205162643873199],
        [-0.001, -0.9189390332046727, -0.6939453834669652, -0.9201921327697264],
        [0.0, -0.9189385332046728, -std::f64::consts::LN_2, -0.9189385332046728],
        [0.3, -0.9639385332046727, -0.4814101615884812, -0.567817153677937],
        [1.0, -1.4189385332046727, -0.17275377902344988, 0.08002621884930694],
        [1.7, -2.3639385332046725, -0.045589029170068934, 0.5413283244849005],
        [3.0, -5.418938533204673, -0.0013508099647481938, 1.0987396653277077],
        [4.9999, -13.418438538204674, -2.868003221318109e-07, 1.6094179229323773],
        [5.0, -13.418938533204672, -2.866516129637636e-07, 1.6094379231264313],
        [5.0001, -13.419438538204671, -2.8650297813173684e-07, 1.6094579229204888],
        [8.0, -32.918938533204674, -6.220960574271786e-16, 2.0794415416798357],
        [20.0, -200.91893853320468, -2.7536241186062337e-89, 2.995732273553991],
        [35.0, -613.4189385332047, -1.1249107064724062e-268, 3.5553480614894135],
    ];

    /// z, R(z), g(z).
    const TAILS: [[f64; 3]; 29] = [
        [0.0, 1.2533141373155003, 1.0],
        [1e-09, 1.2533141363155003, 0.9999999987466859],
        [0.001, 1.252314763639392, 0.9987476852363606],
        [0.3, 1.0018374009921558, 0.6994487797023533],
        [0.5, 0.8763644564536923, 0.5618177717731538],
        [1.0, 0.6556795424187984, 0.34432045758120156],
        [1.7, 0.4738532689688591, 0.19444944275293954],
        [2.0, 0.4213692292880545, 0.15726154142389107],
        [3.0, 0.3045902987101033, 0.08622910386969011],
        [3.9999, 0.2366577220758502, 0.0533927774688068],
        [4.0, 0.23665238291356067, 0.053390468345757315],
        [4.5, 0.21257058044203178, 0.04343238801085694],
        [4.9999, 0.19281170072801285, 0.035960777530008474],
        [5.0, 0.19280810471531576, 0.03595947642342118],
        [5.0001, 0.1928045088327259, 0.035958175385487276],
        [6.0, 0.16237766089686745, 0.02573403461879523],
        [8.0, 0.1231319632579323, 0.01494429393654163],
        [10.0, 0.09902859647173193, 0.009714035282680786],
        [20.0, 0.04987592598183679, 0.002481480363264327],
        [38.0, 0.026297602974252963, 0.0006910869783873536],
        [100.0, 0.009999000299850106, 9.997001498950944e-05],
        [1000.0, 0.0009999990000029999, 9.99997000015e-07],
        [1000000.0, 9.99999999999e-07, 9.99999999997e-13],
        [100000000.0, 9.999999999999999e-09, 9.999999999999997e-17],
        [1000000000000.0, 1e-12, 1e-24],
        [1e+100, 1e-100, 1e-200],
        [-0.5, 1.9640174953579939, 1.982008747678997],
        [-3.0, 225.33489622034912, 677.0046886610473],
        [-20.0, 1.8112830158925917e+87, 3.6225660317851834e+88],
    ];

    /// p, Φ⁻¹(p).
    const QUANTILES: [[f64; 2]; 20] = [
        [5e-324, -38.467405617144344],
        [1e-300, -37.0470962993612],
        [1e-100, -21.273453560965326],
        [1e-20, -9.262340089798407],
        [1e-11, -6.706023155495136],
        [1e-10, -6.361340902404057],
        [1e-05, -4.264890793922825],
        [0.01, -2.326347874040841],
        [0.0749999, -1.4395321773759007],
        [0.075, -1.439531470938456],
        [0.1, -1.2815515655446004],
        [0.25, -0.6744897501960817],
        [0.49999, -2.5066282748960008e-05],
        [0.5, 0.0],
        [0.50001, 2.506628274882086e-05],
        [0.6, 0.2533471031357997],
        [0.925, 1.4395314709384561],
        [0.9250001, 1.4395321773759004],
        [0.999, 3.090232306167813],
        [0.9999999999999999, 8.209536151601387],
    ];
}
