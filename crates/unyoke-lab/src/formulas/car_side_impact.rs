//! Car side impact: how thick the side of a car should be to protect in a crash.
//!
//! Source: Jain and Deb (2014); as RE4-7-1 of Tanabe and Ishibuchi (2020), where the sum of
//! violations is the fourth objective.

use super::{Formula, excess, inputs, minimise, of_arrays};

/// The problem with thicknesses in mm.
pub(super) fn formula() -> Formula {
    Formula {
        name: "car-side-impact",
        source: "Jain, Deb, IEEE Trans. Evol. Comput. 18 (2014), as RE4-7-1 of Tanabe, \
                 Ishibuchi (2020); reference: BoTorch",
        inputs: inputs([
            ("pillar_inner", 0.5, 1.5),
            ("pillar_reinforcement", 0.45, 1.35),
            ("floor_side_inner", 0.5, 1.5),
            ("cross_members", 0.5, 1.5),
            ("door_beam", 0.875, 2.625),
            ("door_beltline", 0.4, 1.2),
            ("roof_rail", 0.4, 1.2),
        ]),
        outputs: minimise(["mass", "pubic_force", "pillar_velocity", "violation"]),
        reference: Some(vec![45.4872, 4.5114, 13.3394, 10.3942]),
        evaluate: of_arrays(evaluate),
    }
}

fn evaluate(x: [f64; 7]) -> [f64; 4] {
    let force = pubic_force(x);
    let (middle, front) = (middle_velocity(x), front_velocity(x));
    let viscous = viscous_criteria(x).map(|value| (value, 0.32));
    let ribs = rib_deflections(x).map(|value| (value, 32.0));
    let others = [(abdomen_load(x), 1.0), (force, 4.0), (middle, 9.9), (front, 15.7)];
    let violation = excess(&viscous) + excess(&ribs) + excess(&others);
    [mass(x), force, 0.5 * (middle + front), violation]
}

fn mass([x1, x2, x3, x4, x5, x6, x7]: [f64; 7]) -> f64 {
    1.98 + 4.9 * x1 + 6.67 * x2 + 6.98 * x3 + 4.01 * x4 + 1.78 * x5 + 1e-5 * x6 + 2.73 * x7
}

/// The force on the pubic bone in kN, at most 4.
fn pubic_force([_, x2, x3, x4, ..]: [f64; 7]) -> f64 {
    4.72 - 0.5 * x4 - 0.19 * x2 * x3
}

/// The velocity of the pillar at its middle, at most 9.9.
fn middle_velocity([x1, x2, ..]: [f64; 7]) -> f64 {
    10.58 - 0.674 * x1 * x2 - 0.67275 * x2
}

/// The velocity of the front door at the pillar, at most 15.7.
fn front_velocity([_, _, x3, _, x5, x6, x7]: [f64; 7]) -> f64 {
    16.45 - 0.489 * x3 * x7 - 0.843 * x5 * x6
}

/// The load on the abdomen in kN, at most 1.
fn abdomen_load([_, x2, x3, x4, ..]: [f64; 7]) -> f64 {
    1.16 - 0.3717 * x2 * x4 - 0.0092928 * x3
}

/// The viscous criteria at the upper, middle and lower chest, each at most 0.32.
fn viscous_criteria([x1, x2, x3, _, x5, x6, x7]: [f64; 7]) -> [f64; 3] {
    let upper = 0.261 - 0.0159 * x1 * x2 - 0.06486 * x1 - 0.019 * x2 * x7
        + 0.0144 * x3 * x5
        + 0.0154464 * x6;
    let middle = 0.214 + 0.00817 * x5 - (0.045195 + 0.0135168) * x1 + 0.03099 * x2 * x6
        - 0.018 * x2 * x7
        + (0.007176 + 0.023232) * x3
        - 0.00364 * x5 * x6
        - 0.018 * x2 * x2;
    let lower = 0.74 - 0.61 * x2 - 0.031296 * x3 - 0.031872 * x7 + 0.227 * x2 * x2;
    [upper, middle, lower]
}

/// The deflections of the upper, middle and lower rib in mm, each at most 32.
fn rib_deflections([x1, x2, x3, _, _, x6, x7]: [f64; 7]) -> [f64; 3] {
    let upper = 28.98 + 3.818 * x3 - 4.2 * x1 * x2 + 1.27296 * x6 - 2.68065 * x7;
    let middle = 33.86 + 2.95 * x3 - 5.057 * x1 * x2 - 3.795 * x2 - 3.4431 * x7 + 1.45728;
    let lower = 46.36 - 9.9 * x2 - 4.4505 * x1;
    [upper, middle, lower]
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_values;
    use super::*;

    const THIN: [f64; 7] = [0.5, 0.45, 0.5, 0.5, 0.875, 0.4, 0.4];
    const THICK: [f64; 7] = [1.5, 1.35, 1.5, 1.5, 2.625, 1.2, 1.2];

    // Computed with BoTorch 0.18.1.
    #[test]
    fn values_agree_with_another_implementation() {
        assert_values(
            &formula(),
            &[
                (
                    &[1.0, 0.9, 1.0, 1.0, 1.75, 0.8, 0.8],
                    &[29.172008, 4.0489999999999995, 12.1232625, 1.0484999999999989],
                ),
                (&THIN, &[15.576004000000003, 4.42725, 13.091381250000001, 9.4940193]),
                (&THICK, &[42.768012, 3.58525, 10.61064375, 0.0]),
                (
                    &[0.637, 1.1907, 0.791, 1.119, 1.666, 1.1744, 0.4592],
                    &[27.270746744, 3.9815496969999997, 11.9453768652, 0.0],
                ),
                (
                    &[1.241, 0.5022, 1.383, 0.846, 1.79725, 0.5672, 0.924],
                    &[30.178004672, 4.165036906, 12.393922119299999, 4.12836280868],
                ),
            ],
        );
    }

    #[test]
    fn extremes_are_those_published_with_the_suite() {
        // Ideal (15.576004, 3.58525, 10.61064375, 0), nadir (_, 4.42725, 13.09138125, 9.494019).
        let (thin, thick) = (formula().evaluate(&THIN), formula().evaluate(&THICK));
        let close = |value: f64, published: f64| (value - published).abs() < 1e-6;
        assert!(close(thin[0], 15.576004) && close(thick[1], 3.58525));
        assert!(close(thick[2], 10.61064375) && thick[3] == 0.0);
        assert!(close(thin[1], 4.42725) && close(thin[2], 13.09138125));
        assert!(close(thin[3], 9.49401929991));
    }
}
