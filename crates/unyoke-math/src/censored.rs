//! A normal variable that counts no more than a bound.
//!
//! For f ~ N(μ, σ²) and the bound c, with d = (c − μ)/σ and g(z) = φ(z) + z Φ(z), min(f, c) has
//!
//! mean μ − σ g(−d), variance σ² ((1 + d²) Φ(d) + d φ(d) − g(d)²),
//!
//! and its mean moves with μ by P(f < c) = Φ(d), with σ² by −φ(d)/2σ (Tobin 1958).

use crate::gp::Prediction;
use crate::normal;

/// min(f, c) for a normal f, and how it moves with f.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Censored {
    /// Its mean.
    pub mean: f64,
    /// Its variance.
    pub variance: f64,
    /// The probability that f is below the bound: the derivative of the mean in that of f.
    pub share: f64,
    /// φ(d).
    density: f64,
    /// σ.
    deviation: f64,
    /// d.
    distance: f64,
}

/// Bounds further above than so many standard deviations make no difference.
const OUT_OF_REACH: f64 = 9.0;

impl Censored {
    /// What is expected of a value that is predicted like this, if it cannot exceed `bound`.
    pub fn new(prediction: Prediction, bound: f64) -> Self {
        let Prediction { mean, variance } = prediction;
        let deviation = variance.max(0.0).sqrt();
        let distance = (bound - mean) / deviation;
        if deviation == 0.0 || distance >= OUT_OF_REACH {
            let share = if mean < bound { 1.0 } else { 0.0 };
            let uncensored = Self { mean: mean.min(bound), variance, share, ..Self::default() };
            return Self { deviation, distance, ..uncensored };
        }
        let (share, density) = (normal::cdf(distance), normal::pdf(distance));
        // How far it is below the bound, in standard deviations, and the mean square of that.
        let below = normal::expected_excess(distance);
        let square = (1.0 + distance * distance) * share + distance * density;
        Self {
            mean: mean - deviation * normal::expected_excess(-distance),
            variance: variance * (square - below * below).clamp(0.0, 1.0),
            share,
            density,
            deviation,
            distance,
        }
    }

    /// Its mean and variance.
    pub fn prediction(&self) -> Prediction {
        Prediction { mean: self.mean, variance: self.variance }
    }

    /// Derivatives of the mean in mean and variance of f.
    pub fn mean_slopes(&self) -> [f64; 2] {
        [self.share, -0.5 * self.per_deviation(self.density)]
    }

    /// Derivatives of the share in mean and variance of f.
    pub fn share_slopes(&self) -> [f64; 2] {
        let by_mean = -self.per_deviation(self.density);
        [by_mean, 0.5 * self.per_deviation(by_mean * self.distance)]
    }

    /// Divided by σ; nothing where the bound makes no difference.
    fn per_deviation(&self, value: f64) -> f64 {
        if self.density == 0.0 { 0.0 } else { value / self.deviation }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and variance of min(f, c) by summing over f.
    fn by_quadrature(mean: f64, deviation: f64, bound: f64) -> [f64; 2] {
        let (steps, reach) = (400_000, 12.0);
        let width = 2.0 * reach / steps as f64;
        let moments = (0..steps).map(|i| {
            let z = -reach + (i as f64 + 0.5) * width;
            // From the bound, so that little is lost where nearly all is there.
            let below = (mean + deviation * z).min(bound) - bound;
            let mass = normal::pdf(z) * width;
            [mass * below, mass * below * below]
        });
        let [first, second] = moments.fold([0.0; 2], |sum, m| [sum[0] + m[0], sum[1] + m[1]]);
        [bound + first, second - first * first]
    }

    fn censored(mean: f64, variance: f64, bound: f64) -> Censored {
        Censored::new(Prediction { mean, variance }, bound)
    }

    #[test]
    fn moments_are_those_of_a_sum_over_outcomes() {
        for (mean, deviation, bound) in [
            (0.0, 1.0, 0.0),
            (1.0, 0.5, 0.8),
            (-2.0, 1.5, 1.0),
            (3.0, 0.7, 1.0),
            (0.3, 2.0, 8.0),
            (-1.0, 0.1, 0.0),
        ] {
            let found = censored(mean, deviation * deviation, bound);
            let [expected, variance] = by_quadrature(mean, deviation, bound);
            let case = format!("{mean} {deviation} {bound}: {found:?} {expected} {variance}");
            assert!((found.mean - expected).abs() < 1e-8 * deviation, "{case}");
            assert!((found.variance / variance - 1.0).abs() < 1e-6, "{case}");
        }
    }

    #[test]
    fn derivatives_are_those_of_finite_differences() {
        let h = 1e-5;
        for (mean, variance, bound) in
            [(0.0, 1.0, 0.0), (1.0, 0.25, 0.8), (-2.0, 2.0, 1.0), (3.0, 0.5, 1.0)]
        {
            let here = censored(mean, variance, bound);
            let [left, right] = [-h, h].map(|h| censored(mean + h, variance, bound));
            let [less, more] = [-h, h].map(|h| censored(mean, variance + h, bound));
            let slope = |a: f64, b: f64| (b - a) / (2.0 * h);
            let close = |a: f64, b: f64| (a - b).abs() < 1e-8 * (a.abs() + b.abs()) + 1e-10;
            let [by_mean, by_variance] = here.mean_slopes();
            assert!(close(by_mean, slope(left.mean, right.mean)), "{here:?}");
            assert!(close(by_variance, slope(less.mean, more.mean)), "{here:?}");
            let [by_mean, by_variance] = here.share_slopes();
            assert!(close(by_mean, slope(left.share, right.share)), "{here:?}");
            assert!(close(by_variance, slope(less.share, more.share)), "{here:?}");
        }
    }

    #[test]
    fn far_from_the_bound_and_without_variance_nothing_is_lost() {
        let far = censored(-1.0, 0.01, 0.5);
        assert_eq!((far.mean, far.variance, far.share), (-1.0, 0.01, 1.0));
        assert_eq!((far.mean_slopes(), far.share_slopes()), ([1.0, 0.0], [0.0, 0.0]));
        for (mean, share) in [(0.2, 1.0), (0.5, 0.0), (0.7, 0.0)] {
            let exact = censored(mean, 0.0, 0.5);
            assert_eq!((exact.mean, exact.variance, exact.share), (mean.min(0.5), 0.0, share));
            assert_eq!(exact.mean_slopes(), [share, 0.0]);
        }
        // Next to the reach it makes no difference either.
        let [near, beyond] = [8.999_999, 9.000_001].map(|d| censored(-d, 1.0, 0.0));
        assert!((near.mean - beyond.mean).abs() < 1e-5 && (near.variance - 1.0).abs() < 1e-13);
        // Far beyond the bound it is the bound, without a variance below nothing.
        let beyond = censored(60.0, 1.0, 0.0);
        assert_eq!((beyond.mean, beyond.variance, beyond.share), (0.0, 0.0, 0.0));
    }
}
