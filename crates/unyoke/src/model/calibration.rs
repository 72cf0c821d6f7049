//! How far the standard deviations of a model can be trusted.
//!
//! They are those of the fitted hyper-parameters, as if these were certain, at a design that was not chosen
//! by the same model. Neither is true of a recommendation; `docs/recommendation.md` has the trials.

use unyoke_math::gp::LeftOut;

/// How many values with errors as stated the belief in a model is worth: few values say little.
const PRIOR: f64 = 4.0;

/// No error counts as more standard deviations: a single value that is far off is another matter.
const FARTHEST: f64 = 5.0;

/// By how much deviations are too small at designs that were chosen because they look good: where a model
/// is mistaken, it is mistaken most where it promises most.
pub(super) const SELECTED: f64 = 2.0;

/// By how much the deviations that a model states are too small, at least 1: the root mean square of the
/// errors it makes when it predicts each of its values from the others, in standard deviations.
pub(super) fn doubt(left_out: &[LeftOut]) -> f64 {
    let square = |one: &LeftOut| {
        let error = (one.value - one.mean) / one.variance.sqrt();
        if error.is_finite() { error.abs().min(FARTHEST).powi(2) } else { 1.0 }
    };
    let squares: f64 = left_out.iter().map(square).sum();
    ((PRIOR + squares) / (PRIOR + left_out.len() as f64)).sqrt().max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(deviations: &[f64]) -> Vec<LeftOut> {
        let left_out = |z: &f64| LeftOut { value: 3.0 + 0.5 * z, mean: 3.0, variance: 0.25 };
        deviations.iter().map(left_out).collect()
    }

    #[test]
    fn errors_as_large_as_stated_or_smaller_leave_no_doubt() {
        assert_eq!(doubt(&[]), 1.0);
        assert_eq!(doubt(&errors(&[1.0, -1.0, 1.0])), 1.0);
        assert_eq!(doubt(&errors(&[0.1; 30])), 1.0);
    }

    #[test]
    fn larger_errors_count_the_more_the_more_there_are() {
        // (4 + 4 · 9) / (4 + 4) = 5, (4 + 46 · 9) / (4 + 46) = 8.36.
        assert!((doubt(&errors(&[3.0, -3.0, 3.0, -3.0])) - 5f64.sqrt()).abs() < 1e-12);
        assert!((doubt(&errors(&[3.0; 46])) - 8.36f64.sqrt()).abs() < 1e-12);
        // One that is a thousand off counts as five: (4 + 25) / 5.
        assert!((doubt(&errors(&[1e3])) - 5.8f64.sqrt()).abs() < 1e-12);
    }
}
