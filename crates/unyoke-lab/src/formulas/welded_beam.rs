//! Welded beam: a cheap beam that bends little and neither breaks nor buckles.
//!
//! Source: Ray and Liew (2002). RE3-4-2 of Tanabe and Ishibuchi (2020) is the same with the sum of
//! violations as a third objective; here constraints are constraints.

use std::f64::consts::SQRT_2;

use super::{Formula, Output, inputs, of_arrays};

/// The load at the end of the beam in pounds.
const LOAD: f64 = 6000.0;

/// How far the beam stands out from the weld, in inches.
const OVERHANG: f64 = 14.0;

/// Young's modulus in psi.
const YOUNG: f64 = 30e6;

/// The shear modulus in psi.
const SHEAR: f64 = 12e6;

/// The problem with lengths in inches.
pub(super) fn formula() -> Formula {
    Formula {
        name: "welded-beam",
        source: "Ray, Liew, Eng. Optim. 34 (2002); reference: BoTorch",
        inputs: inputs([
            ("weld_thickness", 0.125, 5.0),
            ("weld_length", 0.1, 10.0),
            ("beam_height", 0.1, 10.0),
            ("beam_thickness", 0.125, 5.0),
        ]),
        outputs: outputs(),
        reference: Some(vec![40.0, 0.015]),
        evaluate: of_arrays(evaluate),
    }
}

/// All are positive and range over magnitudes, up to a beam of an eighth of an inch.
fn outputs() -> Vec<Output> {
    let measured = [
        Output::minimised("cost", 1.0),
        Output::minimised("deflection", 10.0),
        Output::at_most("shear_stress", 13_600.0, 1.0),
        Output::at_most("bending_stress", 30_000.0, 1.0),
        Output::at_least("buckling_load", LOAD, 1.0),
    ];
    let overlap =
        Output::at_most("overlap", 0.0, 0.0).stated_as("weld_thickness <= beam_thickness");
    measured.map(Output::over_magnitudes).into_iter().chain([overlap]).collect()
}

/// Cost, deflection, shear stress, bending stress, buckling load, and by how much the weld is thicker
/// than the beam.
fn evaluate(x: [f64; 4]) -> [f64; 6] {
    let [weld_thickness, weld_length, height, thickness] = x;
    let cost = 1.10471 * weld_thickness * weld_thickness * weld_length
        + 0.04811 * height * thickness * (OVERHANG + weld_length);
    let deflection = 4.0 * LOAD * OVERHANG.powi(3) / (YOUNG * thickness * height.powi(3));
    let bending = 6.0 * LOAD * OVERHANG / (thickness * height * height);
    let buckling = buckling_load(height, thickness);
    [cost, deflection, shear_stress(x), bending, buckling, weld_thickness - thickness]
}

/// The shear stress in the weld, √(τ′² + τ′τ″ l/R + τ″²), direct and by torsion.
///
/// τ′ = P/(√2 h l), τ″ = M R/J, M = P (L + l/2), R² = l²/4 + s², J = 2√2 h l (l²/12 + s²), with
/// the weld's thickness h and length l, the beam's height t, and s = (h + t)/2.
fn shear_stress([h, l, t, _]: [f64; 4]) -> f64 {
    let s = (h + t) / 2.0;
    let radius = (l * l / 4.0 + s * s).sqrt();
    let moment = LOAD * (OVERHANG + l / 2.0);
    let inertia = 2.0 * SQRT_2 * h * l * (l * l / 12.0 + s * s);
    let direct = LOAD / (SQRT_2 * h * l);
    let torsion = moment * radius / inertia;
    (direct * direct + direct * torsion * l / radius + torsion * torsion).sqrt()
}

/// The load under which the beam buckles, 4.013 E √(t²b⁶/36) / L² · (1 − t/(2L) √(E/(4G))).
fn buckling_load(height: f64, thickness: f64) -> f64 {
    let slender = 4.013 * YOUNG * height * thickness.powi(3) / 6.0 / (OVERHANG * OVERHANG);
    slender * (1.0 - height / (2.0 * OVERHANG) * (YOUNG / (4.0 * SHEAR)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    const THIN: [f64; 4] = [0.125, 0.1, 0.1, 0.125];
    const THICK: [f64; 4] = [5.0, 10.0, 10.0, 5.0];

    /// Cost, deflection, and the sum of what constraints lack.
    fn with_violation(x: &[f64]) -> [f64; 3] {
        let values = formula().evaluate(x);
        let lack = |(output, value): (&Output, &f64)| match output.role {
            unyoke::Role::AtMost(most) => (value - most).max(0.0),
            unyoke::Role::AtLeast(least) => (least - value).max(0.0),
            unyoke::Role::Objective(_) => 0.0,
        };
        [values[0], values[1], formula().outputs.iter().zip(&values).map(lack).sum()]
    }

    // Computed with RE32 of jMetalPy 1.9.0.
    #[test]
    fn values_agree_with_another_implementation() {
        for (inputs, expected) in [
            ([2.5625, 5.05, 5.05, 2.5625], [48.492596554296874, 0.006651752562671657, 0.0]),
            (THIN, [0.010205496875, 17561.599999999995, 425062976.62751037]),
            (THICK, [333.9095, 0.00043904, 0.0]),
            ([0.792875, 8.2477, 2.9809, 3.142625], [15.754592153895855, 0.026371771970533905, 0.0]),
            (
                [3.737375, 0.6742, 8.8417, 1.81175],
                [21.712272771881004, 0.001752945841947009, 1.9256250000000001],
            ),
        ] {
            for (value, expected) in with_violation(&inputs).into_iter().zip(expected) {
                assert!((value - expected).abs() <= 1e-12 * expected.max(1e-3), "{inputs:?}");
            }
        }
    }

    #[test]
    fn extremes_are_those_published_with_the_suite() {
        // Ideal (0.010205496875, 0.00043904, 0), nadir (37.78, 17561.6, 425062976.628).
        let (thin, thick) = (with_violation(&THIN), with_violation(&THICK));
        assert!((thin[0] - 0.010205496875).abs() < 1e-12);
        assert!((thick[1] - 0.00043904).abs() < 1e-12);
        assert!((thin[1] - 17561.6).abs() < 1e-8);
        assert!((thin[2] - 425062976.628).abs() < 1e-3);
    }

    #[test]
    fn a_published_beam_costs_what_is_published_and_holds() {
        // Deb (2000): 2.38113 at (0.2444, 6.2187, 8.2915, 0.2444), with twice the stress by torsion.
        let values = formula().evaluate(&[0.24437, 6.2187, 8.2915, 0.2444]);
        assert!((values[0] - 2.381).abs() < 0.002, "{values:?}");
        assert!(formula().violation(&values) < 1e-3, "{values:?}");
    }
}
