//! Vehicle safety: how thick the front members of a car should be for a frontal crash.
//!
//! Source: Liao et al. (2008); problem RE3-5-4 of Tanabe and Ishibuchi (2020).

use super::{Formula, Output, inputs, of_arrays};

/// The problem with thicknesses in mm.
pub(super) fn formula() -> Formula {
    Formula {
        name: "vehicle-safety",
        source: "Liao et al., Struct. Multidiscip. Optim. 35 (2008); reference: BoTorch",
        inputs: inputs([
            ("thickness_1", 1.0, 3.0),
            ("thickness_2", 1.0, 3.0),
            ("thickness_3", 1.0, 3.0),
            ("thickness_4", 1.0, 3.0),
            ("thickness_5", 1.0, 3.0),
        ]),
        outputs: vec![
            Output::minimised("mass", 1.0),
            Output::minimised("acceleration", 1.0),
            Output::minimised("intrusion", 10.0),
        ],
        reference: Some(vec![1864.72022, 11.81993945, 0.2903999384]),
        evaluate: of_arrays(|x| [mass(x), acceleration(x), intrusion(x)]),
    }
}

/// The mass of the car.
fn mass([x1, x2, x3, x4, x5]: [f64; 5]) -> f64 {
    1640.2823 + 2.3573285 * x1 + 2.3220035 * x2 + 4.5688768 * x3 + 7.7213633 * x4 + 4.4559504 * x5
}

/// The acceleration in the full frontal crash, which stands for injuries.
fn acceleration([x1, x2, x3, x4, x5]: [f64; 5]) -> f64 {
    let linear = 6.5856 + 1.15 * x1 - 1.0427 * x2 + 0.9738 * x3 + 0.8364 * x4;
    let mixed = -0.3695 * x1 * x4 + 0.0861 * x1 * x5 + 0.3628 * x2 * x4;
    let squares = -0.1106 * x1 * x1 - 0.3437 * x3 * x3 + 0.1764 * x4 * x4;
    linear + mixed + squares
}

/// How far the toe board is pushed in by the offset frontal crash.
fn intrusion([x1, x2, x3, x4, x5]: [f64; 5]) -> f64 {
    let linear = -0.0551 + 0.0181 * x1 + 0.1024 * x2 + 0.0421 * x3;
    let with_x2 = -0.0073 * x1 * x2 + 0.024 * x2 * x3 - 0.0118 * x2 * x4;
    let with_x3 = -0.0204 * x3 * x4 - 0.008 * x3 * x5;
    let squares = -0.0241 * x2 * x2 + 0.0109 * x4 * x4;
    linear + with_x2 + with_x3 + squares
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_values;
    use super::*;

    // Computed with BoTorch 0.18.1, and the same with RE34 of jMetalPy 1.9.0.
    #[test]
    fn values_agree_with_other_implementations() {
        assert_values(
            &formula(),
            &[
                (&[2.0; 5], &[1683.1333450000002, 9.626600000000002, 0.12329999999999995]),
                (&[1.0; 5], &[1661.7078224999998, 8.304599999999999, 0.0708]),
                (&[3.0; 5], &[1704.5588675, 10.551600000000002, 0.10239999999999988]),
                (
                    &[1.274, 2.646, 1.582, 2.238, 1.904],
                    &[1682.4220614946, 9.8516967232, 0.10102932600000003],
                ),
                (
                    &[2.482, 1.116, 2.766, 1.692, 2.054],
                    &[1683.5791272969998, 9.151352722399999, 0.1123991239999999],
                ),
            ],
        );
    }

    #[test]
    fn the_lightest_car_and_the_least_intrusion_are_the_published_ones() {
        // The ideal point of RE3-5-4 is (1661.7078225, 6.14280000608, 0.0394).
        assert!((formula().evaluate(&[1.0; 5])[0] - 1661.7078225).abs() < 1e-9);
        assert!((formula().evaluate(&[1.0, 1.0, 3.0, 3.0, 3.0])[2] - 0.0394).abs() < 1e-12);
    }
}
