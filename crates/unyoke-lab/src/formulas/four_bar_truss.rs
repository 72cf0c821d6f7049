//! Four-bar truss: a light truss whose loaded joint moves little.
//!
//! Source: Cheng and Li (1999); problem RE2-4-1 of Tanabe and Ishibuchi (2020).

use std::f64::consts::SQRT_2;

use super::{Formula, Input, minimise, of_arrays};

/// The load in kN, Young's modulus in kN/cm², the length in cm and the stress in kN/cm².
const LOAD: f64 = 10.0;
const YOUNG: f64 = 2e5;
const LENGTH: f64 = 200.0;
const STRESS: f64 = 10.0;

/// The problem with the cross sections of the four bars in cm².
pub(super) fn formula() -> Formula {
    let thinnest = [1.0, SQRT_2, SQRT_2, 1.0].map(|factor| factor * LOAD / STRESS);
    let input = |(i, low): (usize, f64)| Input {
        name: format!("area_{}", i + 1),
        low,
        high: 3.0 * LOAD / STRESS,
        step: None,
    };
    Formula {
        name: "four-bar-truss",
        source: "Cheng, Li, Comput. Struct. 71 (1999), as RE2-4-1 of Tanabe, Ishibuchi (2020); \
                 reference: 1.1 times their nadir point",
        inputs: thinnest.into_iter().enumerate().map(input).collect(),
        outputs: minimise(["volume", "displacement"]),
        reference: Some(vec![3175.01, 0.044]),
        evaluate: of_arrays(|x| [volume(x), displacement(x)]),
    }
}

/// L (2x₁ + √2 x₂ + √x₃ + x₄).
fn volume([x1, x2, x3, x4]: [f64; 4]) -> f64 {
    LENGTH * (2.0 * x1 + SQRT_2 * x2 + x3.sqrt() + x4)
}

/// F L/E (2/x₁ + 2√2/x₂ − 2√2/x₃ + 2/x₄).
fn displacement([x1, x2, x3, x4]: [f64; 4]) -> f64 {
    LOAD * LENGTH / YOUNG * (2.0 / x1 + 2.0 * SQRT_2 / x2 - 2.0 * SQRT_2 / x3 + 2.0 / x4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_are_those_published_with_the_suite() {
        // Ideal (1237.8414230005442, 0.00276142374915842), nadir (2886.3695604236, 0.04), both found by
        // evolution and so to twelve digits or so.
        let lightest = formula().evaluate(&[1.0, SQRT_2, SQRT_2, 1.0]);
        let stiffest = formula().evaluate(&[3.0, 3.0, SQRT_2, 3.0]);
        for (value, published) in [
            (lightest[0], 1237.8414230005442),
            (stiffest[1], 0.00276142374915842),
            (stiffest[0], 2886.3695604236),
            (lightest[1], 0.04),
        ] {
            assert!((value / published - 1.0).abs() < 1e-11, "{value}, not {published}");
        }
    }
}
