//! ZDT1 to ZDT3: two objectives, any number of inputs, fronts known exactly.
//!
//! Source: Zitzler, Deb, Thiele (2000), functions T1 to T3.

use std::f64::consts::PI;
use std::sync::Arc;

use super::{Formula, minimise_all, unit_inputs};

/// Inputs unless told otherwise; the paper's 30 are for algorithms with thousands of evaluations.
pub(super) const INPUTS: usize = 6;

/// h = 1 − √(f₁/g); the front is f₂ = 1 − √f₁.
pub(super) fn zdt1(inputs: usize) -> Formula {
    zdt("zdt1", inputs, |f1, g| 1.0 - (f1 / g).sqrt())
}

/// h = 1 − (f₁/g)²; the front is f₂ = 1 − f₁².
pub(super) fn zdt2(inputs: usize) -> Formula {
    zdt("zdt2", inputs, |f1, g| 1.0 - (f1 / g).powi(2))
}

/// h = 1 − √(f₁/g) − (f₁/g) sin(10πf₁); the front is five pieces of f₂ = h for g = 1.
pub(super) fn zdt3(inputs: usize) -> Formula {
    zdt("zdt3", inputs, |f1, g| 1.0 - (f1 / g).sqrt() - f1 / g * (10.0 * PI * f1).sin())
}

/// f₁ = x₁, f₂ = g h(f₁, g), g = 1 + 9 Σᵢ₌₂ xᵢ / (D − 1).
fn zdt(name: &'static str, inputs: usize, h: fn(f64, f64) -> f64) -> Formula {
    Formula {
        name,
        source: "Zitzler, Deb, Thiele, Evol. Comput. 8 (2000); reference: Yang et al. (2019)",
        inputs: unit_inputs(inputs),
        outputs: minimise_all(2),
        reference: Some(vec![11.0, 11.0]),
        evaluate: Arc::new(move |x| {
            let f1 = x[0];
            let g = 1.0 + 9.0 * x[1..].iter().sum::<f64>() / (x.len() - 1) as f64;
            vec![f1, g * h(f1, g)]
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Case, assert_values};
    use super::*;

    const CENTRE: [f64; 6] = [0.5; 6];
    const FIRST: [f64; 6] = [0.137, 0.823, 0.291, 0.619, 0.452, 0.968];
    const SECOND: [f64; 6] = [0.741, 0.058, 0.883, 0.346, 0.527, 0.209];

    // Computed with pymoo 0.6.2, which like the paper multiplies h by g in all three.
    #[test]
    fn values_agree_with_another_implementation() {
        let convex: [Case; 3] = [
            (&CENTRE, &[0.5, 3.8416876048223]),
            (&FIRST, &[0.137, 5.7190894855749]),
            (&SECOND, &[0.741, 2.7868711110365525]),
        ];
        let concave: [Case; 3] = [
            (&CENTRE, &[0.5, 5.454545454545455]),
            (&FIRST, &[0.137, 6.672588333283398]),
            (&SECOND, &[0.741, 4.523099271771448]),
        ];
        let in_parts: [Case; 3] = [
            (&CENTRE, &[0.5, 3.841687604822299]),
            (&FIRST, &[0.137, 5.844821869293606]),
            (&SECOND, &[0.741, 3.4984487321231663]),
        ];
        assert_values(&zdt1(INPUTS), &convex);
        assert_values(&zdt2(INPUTS), &concave);
        assert_values(&zdt3(INPUTS), &in_parts);
    }

    #[test]
    fn fronts_are_those_of_the_paper_for_any_number_of_inputs() {
        for n in [2, INPUTS, 30] {
            for f1 in [0.0, 0.04, 0.25, 0.6, 1.0] {
                let mut x = vec![0.0; n];
                x[0] = f1;
                let wave = f1 * (10.0 * PI * f1).sin();
                assert_values(&zdt1(n), &[(&x, &[f1, 1.0 - f1.sqrt()])]);
                assert_values(&zdt2(n), &[(&x, &[f1, 1.0 - f1 * f1])]);
                assert_values(&zdt3(n), &[(&x, &[f1, 1.0 - f1.sqrt() - wave])]);
            }
        }
    }

    #[test]
    fn the_worst_second_objective_is_ten() {
        let x = [0.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        for formula in [zdt1(INPUTS), zdt2(INPUTS), zdt3(INPUTS)] {
            assert_values(&formula, &[(&x, &[0.0, 10.0])]);
        }
    }

    #[test]
    fn zdt3_is_lowest_at_the_end_of_its_last_part() {
        // The last part of the front is 0.8233317983 < f1 <= 0.8518328654; f2 there ends at the
        // published lowest value, about -0.773369.
        let lowest = zdt3(2).evaluate(&[0.8518328654, 0.0])[1];
        assert!((lowest + 0.773369).abs() < 1e-6, "{lowest}");
        assert!(zdt3(2).evaluate(&[0.8508, 0.0])[1] > lowest);
        assert!(zdt3(2).evaluate(&[0.8528, 0.0])[1] > lowest);
    }
}
