//! DTLZ2: any number of inputs and objectives, the front is the unit sphere.
//!
//! Source: Deb, Thiele, Laumanns, Zitzler (2002).

use std::f64::consts::FRAC_PI_2;
use std::sync::Arc;

use super::{Formula, minimise_all, unit_inputs};

/// Inputs unless told otherwise, as is usual for costly evaluations.
pub(super) const INPUTS: usize = 6;

/// Objectives unless told otherwise.
pub(super) const OBJECTIVES: usize = 2;

/// The problem with `inputs` inputs, at least as many as there are objectives.
pub(super) fn dtlz2(inputs: usize, objectives: usize) -> Formula {
    Formula {
        name: "dtlz2",
        source: "Deb, Thiele, Laumanns, Zitzler, CEC 2002; reference: BoTorch",
        inputs: unit_inputs(inputs),
        outputs: minimise_all(objectives),
        reference: Some(vec![1.1; objectives]),
        evaluate: Arc::new(move |x| evaluate(x, objectives)),
    }
}

/// The problem with four objectives and the usual number of inputs.
pub(super) fn dtlz2_of_four() -> Formula {
    Formula { name: "dtlz2-4", ..dtlz2(INPUTS, 4) }
}

/// fₘ = (1 + g) cos θ₁ … cos θ_{M−m} sin θ_{M−m+1}, without the sine for m = 1.
///
/// θᵢ = xᵢ π/2 for i < M, and g = Σ (xᵢ − ½)² over the other inputs.
fn evaluate(x: &[f64], objectives: usize) -> Vec<f64> {
    let (angles, rest) = x.split_at(objectives - 1);
    let g: f64 = rest.iter().map(|x| (x - 0.5).powi(2)).sum();
    let mut values = Vec::with_capacity(objectives);
    let mut cosines = 1.0 + g;
    // The last objective has the fewest factors, so all of them are found from there.
    for x in angles {
        let (sin, cos) = (x * FRAC_PI_2).sin_cos();
        values.push(cosines * sin);
        cosines *= cos;
    }
    values.push(cosines);
    values.reverse();
    values
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_1_SQRT_2;

    use unyoke_math::sobol;

    use super::super::tests::assert_values;
    use super::*;

    // Computed with pymoo 0.6.2.
    #[test]
    fn values_agree_with_another_implementation() {
        assert_values(
            &dtlz2(INPUTS, OBJECTIVES),
            &[
                (&[0.5; 6], &[FRAC_1_SQRT_2; 2]),
                (&[0.0; 6], &[2.25, 0.0]),
                (
                    &[0.137, 0.823, 0.291, 0.619, 0.452, 0.968],
                    &[1.351587071031626, 0.2954350561818124],
                ),
                (
                    &[0.741, 0.058, 0.883, 0.346, 0.527, 0.209],
                    &[0.5742399408563701, 1.3327298977535817],
                ),
            ],
        );
    }

    // Computed with pymoo 0.6.2.
    #[test]
    fn values_of_four_objectives_agree_with_another_implementation() {
        assert_values(
            &dtlz2(7, 4),
            &[
                (&[0.5; 7], &[0.35355339059327384, 0.3535533905932738, 0.5, FRAC_1_SQRT_2]),
                (
                    &[0.137, 0.823, 0.291, 0.619, 0.452, 0.968, 0.074],
                    &[
                        0.3409278789185309,
                        0.16768340991213573,
                        1.3311216069046197,
                        0.3025814506426545,
                    ],
                ),
                (
                    &[0.741, 0.058, 0.883, 0.346, 0.527, 0.209, 0.655],
                    &[
                        0.08160438136892853,
                        0.43901485829263276,
                        0.04079501558528962,
                        1.04066019172643,
                    ],
                ),
            ],
        );
    }

    #[test]
    fn the_distance_to_the_origin_is_one_on_the_front_and_one_plus_g_elsewhere() {
        for objectives in 2..=5 {
            let formula = dtlz2(8, objectives);
            let points = sobol::cube(8, 64, 3).unwrap();
            for i in 0..64 {
                let mut x = points.row(i).to_vec();
                let g: f64 = x[objectives - 1..].iter().map(|x| (x - 0.5) * (x - 0.5)).sum();
                assert!((length(&formula.evaluate(&x)) - 1.0 - g).abs() < 1e-13);
                x[objectives - 1..].fill(0.5);
                assert!((length(&formula.evaluate(&x)) - 1.0).abs() < 1e-13);
            }
        }
    }

    fn length(values: &[f64]) -> f64 {
        values.iter().map(|v| v * v).sum::<f64>().sqrt()
    }
}
