//! Gains against sums over a fine mesh of outcomes, derivatives against finite differences.

use super::minimum::{Minimum, Nodes};
use super::*;
use crate::random::Rng;

/// A few curves with ceilings, the candidate last.
#[derive(Clone)]
struct Case {
    curves: Vec<Curve>,
    ceilings: Vec<Vec<Ceiling>>,
    slopes: Vec<f64>,
}

fn case(seed: u64, ceilings: usize, spread: f64) -> Case {
    let mut rng = Rng::new(seed, 0);
    let mut case = Case { curves: vec![], ceilings: vec![], slopes: vec![] };
    for _ in 0..7 {
        let deviation = 0.05 + rng.uniform();
        case.curves.push(Curve {
            level: 0.3 * rng.normal(),
            free: 0.05,
            mean: spread * rng.normal(),
            variance: deviation * deviation,
        });
        let ceiling = |_| Ceiling {
            weight: 1.0 / ceilings as f64,
            mean: rng.normal(),
            variance: if rng.uniform() < 0.3 { 0.0 } else { rng.uniform() },
        };
        case.ceilings.push((0..ceilings).map(ceiling).collect());
        case.slopes.push(deviation * (2.0 * rng.uniform() - 1.0));
    }
    case
}

impl Case {
    fn gain(&self, work: &mut Work) -> Gain {
        let mut curves = Curves::default();
        let own = self.curves.len() - 1;
        for j in 0..own {
            curves.push(self.curves[j], &self.ceilings[j]).unwrap();
        }
        curves.gain(Some((self.curves[own], &self.ceilings[own])), &self.slopes, work).unwrap()
    }

    /// By the rule of rectangles.
    fn mesh(&self) -> f64 {
        const STEPS: usize = 48_000;
        let at = |j: usize, z: f64| {
            let capped = Capped { curve: self.curves[j], ceilings: &self.ceilings[j] };
            capped.at(self.slopes[j], z)
        };
        let now = |j: usize| worth(self.curves[j], &self.ceilings[j]);
        let all = 0..self.curves.len();
        let best = all.clone().reduce(|a, b| if now(b) > now(a) { b } else { a }).unwrap();
        let rise = |z: f64| {
            let most = all.clone().map(|j| at(j, z)).fold(f64::NEG_INFINITY, f64::max);
            normal::pdf(z) * (most - at(best, z))
        };
        let width = 24.0 / STEPS as f64;
        (0..STEPS).map(|i| width * rise((i as f64 + 0.5) * width - 12.0)).sum()
    }
}

#[test]
fn gains_are_those_of_a_fine_mesh_of_outcomes() {
    for seed in 0..20 {
        for ceilings in [1, 2, 9] {
            let case = case(seed, ceilings, 1.0);
            let (found, expected) = (case.gain(&mut Work::default()).value(), case.mesh());
            let error = (found - expected).abs();
            assert!(error < 1e-6 * expected + 1e-9, "{seed}, {ceilings}: {found}, {expected}");
        }
    }
}

#[test]
fn values_are_martingales() {
    for seed in 0..20 {
        let case = case(seed, 2, 1.0);
        for (j, (curve, ceilings)) in case.curves.iter().zip(&case.ceilings).enumerate() {
            let capped = Capped { curve: *curve, ceilings };
            let width = 1e-3;
            let at = |i: i32| f64::from(i) * width;
            let mean: f64 = (-9000..=9000)
                .map(|i| width * normal::pdf(at(i)) * capped.at(case.slopes[j], at(i)))
                .sum();
            assert!((mean - worth(*curve, ceilings)).abs() < 1e-9, "{seed}, {j}");
        }
    }
}

/// Derivative of the logarithm of the gain when `change` is applied to the case.
fn difference(case: &Case, change: impl Fn(&mut Case, f64)) -> f64 {
    let log = |step: f64| {
        let mut moved = case.clone();
        change(&mut moved, step);
        moved.gain(&mut Work::default()).log()
    };
    let step = 1e-5;
    (8.0 * (log(step) - log(-step)) - (log(2.0 * step) - log(-2.0 * step))) / (12.0 * step)
}

fn assert_slope(found: f64, expected: f64, what: &str) {
    let error = (found - expected).abs();
    assert!(error < 1e-6 * (1.0 + expected.abs()), "{what}: {found}, by differences {expected}");
}

#[test]
fn derivatives_are_those_of_finite_differences() {
    let mut told = 0;
    for seed in 0..25 {
        let case = case(seed, 2, 1.0);
        let mut work = Work::default();
        let gain = case.gain(&mut work);
        if gain.log() < -30.0 {
            continue;
        }
        let own = case.curves.len() - 1;
        for j in 0..=own {
            let expected = difference(&case, |case, step| case.slopes[j] += step);
            assert_slope(work.slopes()[j] / gain.scaled, expected, "slope");
        }
        let slopes = work.candidate();
        let expected = difference(&case, |case, step| case.curves[own].level += step);
        assert_slope(slopes.level / gain.scaled, expected, "level");
        let expected = difference(&case, |case, step| case.curves[own].mean += step);
        assert_slope(slopes.mean / gain.scaled, expected, "mean");
        let expected = difference(&case, |case, step| case.curves[own].variance += step);
        assert_slope(slopes.variance / gain.scaled, expected, "variance");
        for i in 0..2 {
            let expected = difference(&case, |case, step| case.ceilings[own][i].mean += step);
            assert_slope(slopes.ceilings[i][0] / gain.scaled, expected, "mean of a ceiling");
            told += usize::from(expected.abs() > 1e-3);
            if case.ceilings[own][i].variance > 0.0 {
                let expected =
                    difference(&case, |case, step| case.ceilings[own][i].variance += step);
                assert_slope(slopes.ceilings[i][1] / gain.scaled, expected, "variance of one");
            }
        }
    }
    assert!(told >= 10, "{told} derivatives differ from zero");
}

/// A design that is expected to be k deviations above a ceiling at 0, and one that an observation leaves
/// this part of its variance: logarithm of the gain, and its derivatives in mean, variance and slope of
/// the latter and in the slope of the former. By quadrature and differences with 50 digits (mpmath).
#[test]
fn where_a_ceiling_is_nearly_reached_gains_and_derivatives_are_the_recorded_ones() {
    const RECORDED: [(f64, f64, f64, [f64; 5]); 5] = [
        (
            0.6,
            -0.4,
            0.707_106_427_633_068_5,
            [
                -12.170_176_160_277,
                2.813_052_512_193_1,
                -4_270.600_259_497_3,
                6_041.133_977_131_2,
                -38.519_801_473_674,
            ],
        ),
        (
            1.2,
            0.3,
            0.703_562_363_973_514_5,
            [
                -27.590_233_979_169,
                3.351_703_517_173_4,
                -151.547_477_579_7,
                213.919_509_697_68,
                -79.932_798_542_129,
            ],
        ),
        (
            1.2,
            0.3,
            0.707_106_427_633_068_5,
            [
                -26.341_667_828_773,
                2.455_751_204_317_7,
                -9_546.852_482_135,
                13_500.252_687_498,
                -57.335_756_219_532,
            ],
        ),
        (
            2.0,
            -0.4,
            0.707_071_424_963_560_6,
            [
                -64.871_126_357_418,
                5.244_037_525_859_7,
                -3_847.884_052_075,
                5_444.963_534_838_4,
                -204.739_834_484_93,
            ],
        ),
        (
            2.0,
            0.2,
            0.707_106_777_651_013_6,
            [
                -61.803_282_347_82,
                3.908_240_030_167_7,
                -267_315.752_672_36,
                378_040.461_161_24,
                -149.058_427_640_16,
            ],
        ),
    ];
    let ceiling = [Ceiling { weight: 1.0, mean: 0.0, variance: 0.0 }];
    let curve = |mean: f64, variance: f64| Curve { level: 0.0, free: 0.0, mean, variance };
    for (best, mean, slope, expected) in RECORDED {
        let mut curves = Curves::default();
        curves.push(curve(best, 0.04), &ceiling).unwrap();
        let mut work = Work::default();
        let own = (curve(mean, 0.5), &ceiling[..]);
        let gain = curves.gain(Some(own), &[0.05, slope], &mut work).unwrap();
        assert!((gain.log() - expected[0]).abs() < 1e-6, "{best}, {slope}: {}", gain.log());
        let (slopes, own) = (work.slopes(), work.candidate());
        let derivatives = [own.mean, own.variance, slopes[1], slopes[0]].map(|d| d / gain.scaled);
        for (found, expected) in derivatives.iter().zip(&expected[1..]) {
            let error = (found - expected).abs();
            assert!(error < 1e-6 * expected.abs(), "{best}, {slope}: {found}, {expected}");
        }
    }
}

#[test]
fn among_designs_that_all_reach_a_ceiling_the_best_is_the_one_that_lacks_least() {
    let ceiling = [Ceiling { weight: 1.0, mean: 1.0, variance: 0.0 }];
    let curve = |variance: f64| Curve { level: 0.0, free: 0.0, mean: 4.0, variance };
    // By 10 and by 20 deviations: both are worth 1 to the last digit.
    let mut curves = Curves::default();
    curves.push(curve(0.09), &ceiling).unwrap();
    curves.push(curve(0.0225), &ceiling).unwrap();
    assert_eq!(curves.worths().collect::<Vec<_>>(), [1.0, 1.0]);
    // What is learned about the worse one must first make it as good.
    let gain = curves.gain(None, &[0.03, 0.0], &mut Work::default()).unwrap();
    assert!(gain.log() < -200.0, "{}", gain.log());
}

/// Without ceilings that matter the curves are lines, whose gain has a closed form.
#[test]
fn under_ceilings_out_of_reach_gains_are_those_of_lines_however_small() {
    let high = [Ceiling { weight: 1.0, mean: 1e6, variance: 0.0 }];
    for below in [0.1, 1.0, 3.0, 7.0, 12.0, 30.0, 200.0] {
        let curve = |mean: f64| Curve { level: 0.0, free: 0.0, mean, variance: 2.0 };
        let mut curves = Curves::default();
        curves.push(curve(0.0), &high).unwrap();
        curves.push(curve(-below), &high).unwrap();
        for slopes in [[0.0, 1.0], [0.4, -0.6]] {
            let mut work = Work::default();
            let gain = curves.gain(None, &slopes, &mut work).unwrap();
            let spread = (slopes[0] - slopes[1]).abs();
            let expected = normal::log_expected_excess(-below / spread) + spread.ln();
            assert!((gain.log() - expected).abs() < 1e-7, "{below}: {} {expected}", gain.log());
        }
    }
}

#[test]
fn a_design_that_cannot_reach_the_best_gains_nothing() {
    let cap = [Ceiling { weight: 1.0, mean: 0.5, variance: 0.0 }];
    let curve = |level: f64| Curve { level, free: 0.0, mean: 0.0, variance: 1.0 };
    let mut curves = Curves::default();
    // Known to be worth 2; the other at most 1 + 0.5.
    curves.push(Curve { mean: 0.5, variance: 0.0, ..curve(1.5) }, &cap).unwrap();
    curves.push(curve(1.0), &cap).unwrap();
    let gain = curves.gain(None, &[0.0, 0.9], &mut Work::default()).unwrap();
    assert_eq!(gain.log(), f64::NEG_INFINITY);
}

#[test]
fn designs_that_are_the_same_gain_nothing_over_each_other() {
    let cap = [Ceiling { weight: 1.0, mean: 0.1, variance: 0.3 }];
    let curve = Curve { level: 0.7, free: 0.05, mean: 0.2, variance: 0.4 };
    let mut curves = Curves::default();
    curves.push(curve, &cap).unwrap();
    let gain = curves.gain(Some((curve, &cap)), &[0.3, 0.3], &mut Work::default()).unwrap();
    assert_eq!(gain.log(), f64::NEG_INFINITY);
}

#[test]
fn gains_are_never_negative_nor_not_a_number() {
    for seed in 0..200 {
        for spread in [0.0, 1e-8, 1.0, 1e3] {
            let mut case = case(seed, 1 + seed as usize % 3, spread);
            let known = case.slopes.len() - 2;
            // Known exactly after the observation, and before.
            case.slopes[0] = case.curves[0].variance.sqrt();
            (case.curves[known].variance, case.slopes[known]) = (0.0, 0.0);
            let gain = case.gain(&mut Work::default());
            assert!(gain.scaled >= 0.0 && !gain.log().is_nan(), "{seed}, {spread}");
        }
    }
}

#[test]
fn the_least_of_two_normals_is_that_of_clark() {
    let nodes = Nodes::new(1, 401, 401).unwrap();
    let mut least = Minimum::default();
    least.compute(&nodes, &[0.3], &[0.8], f64::INFINITY).unwrap();
    let curve = Curve { level: 0.0, free: 0.0, mean: 0.1, variance: 0.25 };
    let by_nodes = worth(curve, least.ceilings());
    let normal = [Ceiling { weight: 1.0, mean: 0.3, variance: 0.64 }];
    assert!((by_nodes - worth(curve, &normal)).abs() < 1e-6);
}

#[test]
fn levels_of_a_minimum_have_its_mean_and_its_derivatives() {
    // No two of the nodes give the same value.
    let (means, deviations, cap) = ([0.2137, -0.1391], [0.7, 0.5], 0.4);
    let nodes = Nodes::new(2, 41, 30).unwrap();
    let mean = |means: &[f64], deviations: &[f64]| -> f64 {
        let mut least = Minimum::default();
        least.compute(&nodes, means, deviations, cap).unwrap();
        assert!(least.ceilings().len() <= 30);
        let total: f64 = least.ceilings().iter().map(|c| c.weight).sum();
        assert!((total - 1.0).abs() < 1e-12);
        least.ceilings().iter().map(|c| c.weight * c.mean).sum()
    };
    let mut least = Minimum::default();
    least.compute(&nodes, &means, &deviations, cap).unwrap();
    let weights: Vec<[f64; 2]> = least.ceilings().iter().map(|c| [c.weight, 0.0]).collect();
    let step = 1e-7;
    for (k, pulled) in least.pull_back(&weights).into_iter().enumerate() {
        let moved = |by: f64, which: usize| {
            let (mut means, mut deviations) = (means, deviations);
            if which == 0 {
                means[k] += by
            } else {
                deviations[k] += by
            }
            mean(&means, &deviations)
        };
        for (which, pulled) in pulled.into_iter().enumerate() {
            let expected = (moved(step, which) - moved(-step, which)) / (2.0 * step);
            assert!((pulled - expected).abs() < 1e-6, "{k}, {which}: {pulled}, {expected}");
        }
    }
}
