//! Priors of positive quantities such as length scales and variances.

use crate::error::{Error, Result, check_positive};
use crate::gamma::Gamma;

/// Log-normal distribution: the logarithm is normal with mean μ and standard deviation σ.
///
/// Its tail is so long that it hardly minds quantities far above its median, as length scales of
/// inputs that do not matter should be.
///
/// ```
/// use unyoke_math::prior::LogNormal;
///
/// let prior = LogNormal::new(0.5_f64.ln(), 1.0)?;
/// assert!((prior.median() - 0.5).abs() < 1e-15);
/// assert_eq!(prior.log_density(0.0), f64::NEG_INFINITY);
/// # Ok::<(), unyoke_math::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogNormal {
    location: f64,
    scale: f64,
}

impl LogNormal {
    /// The distribution with these mean and standard deviation of the logarithm.
    pub fn new(location: f64, scale: f64) -> Result<Self> {
        check_positive("scale of a log-normal distribution", scale)?;
        if !location.is_finite() {
            let what = "location of a log-normal distribution";
            return Err(Error::OutOfRange { what, value: location, must: "finite" });
        }
        Ok(Self { location, scale })
    }

    /// Log density −ln x − ln σ − ½ ln 2π − ½ ((ln x − μ)/σ)², and −∞ for x ≤ 0.
    pub fn log_density(&self, x: f64) -> f64 {
        if x <= 0.0 {
            return f64::NEG_INFINITY;
        }
        let log = libm::log(x);
        let z = (log - self.location) / self.scale;
        const HALF_LOG_TAU: f64 = 0.918_938_533_204_672_7;
        -log - libm::log(self.scale) - HALF_LOG_TAU - 0.5 * z * z
    }

    /// Derivative −(1 + (ln x − μ)/σ²)/x of the log density at x > 0.
    pub fn log_density_derivative(&self, x: f64) -> f64 {
        -(1.0 + (libm::log(x) - self.location) / (self.scale * self.scale)) / x
    }

    /// The median e^μ.
    pub fn median(&self) -> f64 {
        libm::exp(self.location)
    }
}

/// A prior of one kind or the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Prior {
    /// With a tail that falls exponentially.
    Gamma(Gamma),
    /// With a long tail.
    LogNormal(LogNormal),
}

impl From<Gamma> for Prior {
    fn from(gamma: Gamma) -> Self {
        Self::Gamma(gamma)
    }
}

impl From<LogNormal> for Prior {
    fn from(log_normal: LogNormal) -> Self {
        Self::LogNormal(log_normal)
    }
}

impl Prior {
    /// Log density, and −∞ for x ≤ 0.
    pub fn log_density(&self, x: f64) -> f64 {
        match self {
            Self::Gamma(gamma) => gamma.log_density(x),
            Self::LogNormal(log_normal) => log_normal.log_density(x),
        }
    }

    /// Derivative of the log density at x > 0.
    pub fn log_density_derivative(&self, x: f64) -> f64 {
        match self {
            Self::Gamma(gamma) => gamma.log_density_derivative(x),
            Self::LogNormal(log_normal) => log_normal.log_density_derivative(x),
        }
    }

    /// A typical value: the mean, or the median where that is far below the mean.
    pub fn typical(&self) -> f64 {
        match self {
            Self::Gamma(gamma) => gamma.mean(),
            Self::LogNormal(log_normal) => log_normal.median(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Location, scale, x, ln density; computed with mpmath at 50 digits.
    const RECORDED: [[f64; 4]; 6] = [
        [0.0, 1.0, 1.0, -0.9189385332046728],
        [0.0, 1.0, 0.001, -17.869724751375326],
        [0.3, 1.3, 2.5, -2.2099646142190945],
        [-0.69, 0.5, 0.02, -17.07663284223303],
        [1.9, 1.73, 300.0, -9.588023263458947],
        [1.0, 1.3, 1e-06, -52.30642924951584],
    ];

    #[test]
    fn log_densities_match_recorded_ones() {
        for [location, scale, x, expected] in RECORDED {
            let found = LogNormal::new(location, scale).unwrap().log_density(x);
            assert!((found - expected).abs() <= 1e-14 * expected.abs().max(1.0), "{found}");
        }
    }

    #[test]
    fn derivatives_are_those_of_differences() {
        for prior in [
            Prior::from(LogNormal::new(0.3, 1.3).unwrap()),
            Prior::from(Gamma::new(3.0, 6.0).unwrap()),
        ] {
            for x in [1e-3, 0.1, 0.7, 2.0, 40.0] {
                let h = 1e-6 * x;
                let difference = (prior.log_density(x + h) - prior.log_density(x - h)) / (2.0 * h);
                let found = prior.log_density_derivative(x);
                assert!((found - difference).abs() <= 1e-7 * difference.abs().max(1e-3), "{x}");
            }
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for [location, scale] in [[0.0, 0.0], [0.0, -1.0], [f64::NAN, 1.0], [0.0, f64::INFINITY]] {
            assert!(LogNormal::new(location, scale).is_err(), "{location} {scale}");
        }
    }
}
