//! Branin-Currin: two smooth functions of two inputs that disagree about where to be.

use std::f64::consts::PI;

use super::{Formula, minimise, of_arrays, unit_inputs};

/// The problem as Belakaria et al. pair the functions, with Branin's inputs scaled to \[0, 1\].
pub(super) fn formula() -> Formula {
    Formula {
        name: "branin-currin",
        source: "Belakaria, Deshwal, Doppa, NeurIPS 2019; reference: BoTorch",
        inputs: unit_inputs(2),
        outputs: minimise(["branin", "currin"]),
        reference: Some(vec![18.0, 6.0]),
        evaluate: of_arrays(|[x1, x2]| [branin(15.0 * x1 - 5.0, 15.0 * x2), currin(x1, x2)]),
    }
}

/// (x₂ − b x₁² + c x₁ − 6)² + 10 (1 − t) cos x₁ + 10, b = 5.1/(4π²), c = 5/π, t = 1/(8π).
///
/// Source: Branin (1972), in the form of Dixon and Szegö (1978).
fn branin(x1: f64, x2: f64) -> f64 {
    let b = 5.1 / (4.0 * PI * PI);
    let c = 5.0 / PI;
    let t = 1.0 / (8.0 * PI);
    (x2 - b * x1 * x1 + c * x1 - 6.0).powi(2) + 10.0 * (1.0 - t) * x1.cos() + 10.0
}

/// (1 − exp(−1/(2x₂))) (2300x₁³ + 1900x₁² + 2092x₁ + 60) / (100x₁³ + 500x₁² + 4x₁ + 20).
///
/// At x₂ = 0 the first factor is its limit, 1.
///
/// Source: Currin et al. (1991).
fn currin(x1: f64, x2: f64) -> f64 {
    let above = ((2300.0 * x1 + 1900.0) * x1 + 2092.0) * x1 + 60.0;
    let below = ((100.0 * x1 + 500.0) * x1 + 4.0) * x1 + 20.0;
    (1.0 - (-1.0 / (2.0 * x2)).exp()) * above / below
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_values;
    use super::*;

    // Computed with BoTorch 0.18.1.
    #[test]
    fn values_agree_with_another_implementation() {
        assert_values(
            &formula(),
            &[
                (&[0.5, 0.5], &[24.129964413622268, 7.40512391329881]),
                (&[0.0, 0.0], &[308.12909601160663, 3.0]),
                (&[0.137, 0.823], &[0.8717151393331157, 5.854353977653453]),
                (&[0.741, 0.058], &[19.518749534575953, 10.611084019779087]),
                (&[1.0, 1.0], &[145.87219087939556, 4.005316104976526]),
            ],
        );
    }

    #[test]
    fn branin_has_its_three_published_minima() {
        // Dixon and Szegö (1978): the minimum is 0.397887.
        for (x1, x2) in [(-PI, 12.275), (PI, 2.275), (3.0 * PI, 2.475)] {
            let scaled = [(x1 + 5.0) / 15.0, x2 / 15.0];
            assert!((formula().evaluate(&scaled)[0] - 0.397887).abs() < 1e-6);
        }
    }

    #[test]
    fn currin_is_continuous_where_its_second_input_vanishes() {
        assert!((currin(0.3, 0.0) - currin(0.3, 1e-3)).abs() < 1e-12);
    }
}
