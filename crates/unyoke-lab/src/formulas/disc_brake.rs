//! Disc brake: a light brake that stops quickly and does not overheat.
//!
//! Source: Ray and Liew (2002). RE3-4-3 of Tanabe and Ishibuchi (2020) is the same with the sum of
//! violations as a third objective; here constraints are constraints.

use super::{Formula, Output, inputs, minimise, of_arrays};

/// The papers have π rounded, which moves the limit on the pressure.
#[expect(clippy::approx_constant)]
const ROUNDED_PI: f64 = 3.14;

/// The problem with radii in mm and the force in N.
///
/// The bounds allow an inner radius above the outer one, but the limit on their distance does not.
/// Where the two are equal the pressure is infinite.
pub(super) fn formula() -> Formula {
    Formula {
        name: "disc-brake",
        source: "Ray, Liew, Eng. Optim. 34 (2002); reference: BoTorch",
        inputs: inputs([
            ("inner_radius", 55.0, 80.0),
            ("outer_radius", 75.0, 110.0),
            ("force", 1000.0, 3000.0),
            ("surfaces", 11.0, 20.0),
        ]),
        outputs: minimise(["mass", "stopping_time"]).into_iter().chain(constraints()).collect(),
        reference: Some(vec![5.7771, 3.9651]),
        evaluate: of_arrays(evaluate),
    }
}

/// What a brake must fulfil: the three that are measured, and the least distance of the radii.
fn constraints() -> [Output; 4] {
    [
        Output::at_most("pressure", 0.4, 1.0),
        Output::at_most("heat", 1.0, 1.0),
        Output::at_least("torque", 900.0, 1.0),
        Output::at_least("distance", 20.0, 0.0).stated_as("outer_radius - inner_radius >= 20"),
    ]
}

/// Mass, stopping time and constraints of r₁, r₂, F and n, with A = r₂² − r₁² and ρ below:
///
/// 4.9·10⁻⁵ A (n − 1), 9.82·10⁶/(F n ρ), then F/(3.14 A) ≤ 0.4, 2.22·10⁻³ F ρ/A ≤ 1,
/// 2.66·10⁻² F n ρ ≥ 900 and r₂ − r₁ ≥ 20.
///
/// The papers write ρ as (r₂³ − r₁³)/(r₂² − r₁²). Cancelled it is exact for nearly equal radii,
/// and finite for equal ones.
fn evaluate([inner, outer, force, surfaces]: [f64; 4]) -> [f64; 6] {
    let area = outer * outer - inner * inner;
    let rho = (outer * outer + outer * inner + inner * inner) / (outer + inner);
    let mass = 4.9e-5 * area * (surfaces - 1.0);
    let stopping_time = 9.82e6 / (force * surfaces * rho);
    let pressure = force / (ROUNDED_PI * area);
    let heat = 2.22e-3 * force * rho / area;
    let torque = 2.66e-2 * force * surfaces * rho;
    [mass, stopping_time, pressure, heat, torque, outer - inner]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mass, stopping time, and the sum of what constraints lack.
    fn with_violation(x: &[f64]) -> [f64; 3] {
        let values = formula().evaluate(x);
        let lack = |(output, value): (&Output, &f64)| match output.role {
            unyoke::Role::AtMost(most) => (value - most).max(0.0),
            unyoke::Role::AtLeast(least) => (least - value).max(0.0),
            unyoke::Role::Objective(_) => 0.0,
        };
        [values[0], values[1], formula().outputs.iter().zip(&values).map(lack).sum()]
    }

    // Computed with BoTorch 0.18.1, adding up what its constraints lack.
    #[test]
    fn values_agree_with_another_implementation() {
        for (inputs, expected) in [
            ([67.5, 92.5, 2000.0, 15.5], [2.842, 2.6184757361442395, 0.0]),
            ([55.0, 75.0, 1000.0, 11.0], [1.2739999999999998, 9.084504536559331, 0.0]),
            ([80.0, 110.0, 3000.0, 20.0], [5.3067, 1.139072039072039, 0.0]),
            ([58.425, 103.805, 1582.0, 16.571], [5.617049414254602, 3.00041740603499, 0.0]),
            (
                [73.525, 77.03, 2766.0, 14.114],
                [0.3390895959811495, 2.2272773435328967, 18.07850496907814],
            ),
        ] {
            for (value, expected) in with_violation(&inputs).into_iter().zip(expected) {
                assert!((value - expected).abs() <= 1e-12 * expected.max(1e-3), "{inputs:?}");
            }
        }
    }

    #[test]
    fn extremes_are_those_published_with_the_suite() {
        // Ideal (-0.721525, 1.13907203907, 0), nadir (5.3067, 3.12833430979, 25).
        let least_mass = with_violation(&[80.0, 75.0, 1000.0, 20.0]);
        assert!((least_mass[0] + 0.721525).abs() < 1e-12 && least_mass[2] == 25.0);
        let quickest = with_violation(&[80.0, 110.0, 3000.0, 20.0]);
        assert!((quickest[1] - 1.13907203907).abs() < 1e-11 && quickest[2] == 0.0);
        assert_eq!(formula().violation(&formula().evaluate(&[80.0, 110.0, 3000.0, 20.0])), 0.0);
    }

    #[test]
    fn a_violation_is_the_largest_in_units_of_its_limit() {
        // Radii 5 mm apart instead of 20, all else in order but for the heat.
        let values = formula().evaluate(&[75.0, 80.0, 1000.0, 15.0]);
        let heat = values[3] - 1.0;
        assert!(values[2] < 0.6 && values[4] > 900.0, "{values:?}");
        assert_eq!(formula().violation(&values), heat.max(0.75));
    }

    #[test]
    fn equal_radii_stop_like_nearly_equal_ones_under_infinite_pressure() {
        let equal = formula().evaluate(&[78.0, 78.0, 2000.0, 15.0]);
        let nearly = formula().evaluate(&[78.0, 78.0 + 1e-9, 2000.0, 15.0]);
        assert!((equal[1] - nearly[1]).abs() < 1e-9);
        assert_eq!(formula().violation(&equal), f64::INFINITY);
    }
}
