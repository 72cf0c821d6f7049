//! The gamma distribution, the prior of positive quantities such as length scales and variances.

use crate::error::{Result, check_positive};

/// Gamma distribution with density β^α x^(α−1) e^(−βx) / Γ(α) on x > 0, α the shape and β the rate.
///
/// ```
/// use unyoke_math::gamma::Gamma;
///
/// let prior = Gamma::new(3.0, 10.0)?;
/// assert_eq!(prior.mode(), 0.2);
/// assert_eq!(prior.log_density(-1.0), f64::NEG_INFINITY);
/// # Ok::<(), unyoke_math::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gamma {
    shape: f64,
    rate: f64,
    /// α ln β − ln Γ(α).
    log_scale: f64,
}

impl Gamma {
    /// The distribution of this shape and rate, both positive.
    pub fn new(shape: f64, rate: f64) -> Result<Self> {
        check_positive("shape of a gamma distribution", shape)?;
        check_positive("rate of a gamma distribution", rate)?;
        let log_scale = shape * libm::log(rate) - libm::lgamma(shape);
        Ok(Self { shape, rate, log_scale })
    }

    /// The shape α.
    pub fn shape(&self) -> f64 {
        self.shape
    }

    /// The rate β.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Log density α ln β − ln Γ(α) + (α−1) ln x − βx, and −∞ for x ≤ 0.
    pub fn log_density(&self, x: f64) -> f64 {
        if x <= 0.0 {
            return f64::NEG_INFINITY;
        }
        self.log_scale + (self.shape - 1.0) * libm::log(x) - self.rate * x
    }

    /// Derivative (α−1)/x − β of the log density at x > 0.
    pub fn log_density_derivative(&self, x: f64) -> f64 {
        (self.shape - 1.0) / x - self.rate
    }

    /// Where the density is largest, max(0, (α−1)/β).
    pub fn mode(&self) -> f64 {
        ((self.shape - 1.0) / self.rate).max(0.0)
    }

    /// The mean α/β.
    pub fn mean(&self) -> f64 {
        self.shape / self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    /// Shape, rate, x, ln density; computed with mpmath at 50 digits.
    const LOG_DENSITIES: [[f64; 4]; 24] = [
        [3.0, 10.0, 0.001, -7.610902459542082],
        [3.0, 10.0, 0.1, 0.6094379124341004],
        [3.0, 10.0, 0.5, -0.17168626269769888],
        [3.0, 10.0, 1.0, -3.785391901577808],
        [3.0, 10.0, 7.0, -59.89357160346718],
        [3.0, 10.0, 40.0, -386.4076329933499],
        [3.0, 1.1, 0.001, -14.223827199111245],
        [3.0, 1.1, 0.1, -5.122386827135061],
        [3.0, 1.1, 0.5, -2.3435110022668613],
        [3.0, 1.1, 1.0, -1.5072166411469705],
        [3.0, 1.1, 7.0, -4.215396343036344],
        [3.0, 1.1, 40.0, -37.0294577329191],
        [2.0, 0.15, 0.001, -10.702145248753899],
        [2.0, 0.15, 0.1, -6.111825062765808],
        [2.0, 0.15, 0.5, -4.562387150331708],
        [2.0, 0.15, 1.0, -3.9442399697717625],
        [2.0, 0.15, 7.0, -2.8983298207164494],
        [2.0, 0.15, 40.0, -6.105360515657826],
        [1.1, 0.05, 0.001, -3.9362585875477647],
        [1.1, 0.05, 0.1, -3.4806915689489553],
        [1.1, 0.05, 0.5, -3.3397477777055453],
        [1.1, 0.05, 1.0, -3.2954330596495507],
        [1.1, 0.05, 7.0, -3.400842044744019],
        [1.1, 0.05, 40.0, -4.876545114238157],
    ];

    #[test]
    fn log_density_agrees_with_50_digit_values() {
        for [shape, rate, x, expected] in LOG_DENSITIES {
            let found = Gamma::new(shape, rate).unwrap().log_density(x);
            assert!((found - expected).abs() <= 1e-13 * expected.abs(), "{found} for {expected}");
        }
    }

    #[test]
    fn derivative_agrees_with_central_differences() {
        for [shape, rate, x, _] in LOG_DENSITIES {
            let gamma = Gamma::new(shape, rate).unwrap();
            let h = 1e-5 * x;
            let slope = (gamma.log_density(x + h) - gamma.log_density(x - h)) / (2.0 * h);
            let found = gamma.log_density_derivative(x);
            assert!((found - slope).abs() <= 1e-6 * (found.abs() + 1.0 / x), "{found} for {slope}");
        }
    }

    #[test]
    fn density_integrates_to_one_with_the_stated_mean() {
        let gamma = Gamma::new(3.0, 10.0).unwrap();
        let step = 1e-4;
        let nodes = (0..50_000).map(|i| (f64::from(i) + 0.5) * step);
        let (mass, mean) = nodes.fold((0.0, 0.0), |(mass, mean), x| {
            let weight = gamma.log_density(x).exp() * step;
            (mass + weight, mean + weight * x)
        });
        assert!((mass - 1.0).abs() < 1e-6 && (mean - gamma.mean()).abs() < 1e-6);
    }

    #[test]
    fn mode_is_stationary_or_at_the_boundary() {
        let gamma = Gamma::new(3.0, 1.1).unwrap();
        assert!(gamma.log_density_derivative(gamma.mode()).abs() < 1e-14);
        assert_eq!(Gamma::new(0.5, 2.0).unwrap().mode(), 0.0);
        assert_eq!(gamma.log_density(0.0), f64::NEG_INFINITY);
        assert_eq!([gamma.shape(), gamma.rate()], [3.0, 1.1]);
    }

    #[test]
    fn parameters_that_are_not_positive_are_refused() {
        for bad in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            let shape = Gamma::new(bad, 1.0).unwrap_err();
            let rate = Gamma::new(1.0, bad).unwrap_err();
            assert!(matches!(shape, Error::OutOfRange { what, .. } if what.starts_with("shape")));
            assert!(matches!(rate, Error::OutOfRange { what, .. } if what.starts_with("rate")));
        }
    }
}
