//! Against the naive sum over cells, meshes of outcomes, finite differences and closed forms.

use super::*;
use crate::envelope::{Envelope, SlopeOrder};
use crate::normal;
use crate::pareto::hypervolume;
use crate::random::Rng;
use proptest::prelude::*;

/// Everything that a gain depends on; the candidate is the last row and slope.
#[derive(Debug, Clone)]
struct Problem {
    objectives: usize,
    moving: usize,
    reference: Vec<f64>,
    rows: Vec<Vec<f64>>,
    slopes: Vec<f64>,
}

impl Problem {
    fn means(&self) -> Points {
        Points::from_rows(self.objectives, &self.rows[..self.rows.len() - 1]).unwrap()
    }

    fn set(&self) -> HypervolumeGain {
        HypervolumeGain::new(&self.means(), self.moving, &self.reference).unwrap()
    }

    fn own(&self) -> &[f64] {
        self.rows.last().unwrap()
    }

    fn gain_in(&self, work: &mut Work) -> Gain {
        self.set().gain(&self.slopes, self.own(), work).unwrap()
    }

    fn gain(&self) -> Gain {
        self.gain_in(&mut Work::default())
    }

    fn fixed(&self) -> Vec<usize> {
        (0..self.objectives).filter(|k| *k != self.moving).collect()
    }

    /// The cells of the grid that the values of objective `k` make above the reference: the upper
    /// end of each and its width.
    fn cells(&self, k: usize) -> Vec<(f64, f64)> {
        let reference = self.reference[k];
        let mut ends: Vec<f64> = self.rows.iter().map(|row| row[k]).collect();
        ends.retain(|end| *end > reference);
        ends.push(reference);
        ends.sort_by(f64::total_cmp);
        ends.windows(2).map(|pair| (pair[1], pair[1] - pair[0])).collect()
    }

    /// Logarithm of the sum over all cells of size times gain of the lines that reach the cell.
    fn naive_log(&self) -> f64 {
        let fixed = self.fixed();
        let second = fixed.get(1).map_or(vec![(f64::NEG_INFINITY, 1.0)], |k| self.cells(*k));
        let mut logs = vec![];
        for (level, height) in self.cells(fixed[0]) {
            for (edge, width) in &second {
                let reaches = |j: &usize| {
                    let row = &self.rows[*j];
                    row[fixed[0]] >= level && fixed.get(1).is_none_or(|k| row[*k] >= *edge)
                };
                let reaching: Vec<usize> = (0..self.rows.len()).filter(reaches).collect();
                let a = reaching.iter().map(|j| self.rows[*j][self.moving]);
                let a: Vec<f64> = a.chain([self.reference[self.moving]]).collect();
                let b: Vec<f64> = reaching.iter().map(|j| self.slopes[*j]).chain([0.0]).collect();
                let order = SlopeOrder::new(&b).unwrap();
                let gain = order.gain(&a, 1.0, &mut Envelope::default()).unwrap();
                if height * width > 0.0 && gain.scaled > 0.0 {
                    logs.push(gain.log() + height.ln() + width.ln());
                }
            }
        }
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match most == f64::NEG_INFINITY {
            true => most,
            false => most + logs.iter().map(|log| (log - most).exp()).sum::<f64>().ln(),
        }
    }

    /// E[hypervolume] less the hypervolume now, on a mesh of outcomes.
    fn on_a_mesh(&self) -> f64 {
        let volume = |z: f64| {
            let moved = self.rows.iter().zip(&self.slopes).map(|(row, slope)| {
                let mut row = row.clone();
                row[self.moving] += slope * z;
                row
            });
            let points = Points::from_rows(self.objectives, moved).unwrap();
            hypervolume(&points, &self.reference).unwrap()
        };
        let (n, far) = (4000, 9.0);
        let step = 2.0 * far / f64::from(n);
        let nodes = (0..=n).map(|i| -far + step * f64::from(i));
        nodes.map(|z| step * normal::pdf(z) * volume(z)).sum::<f64>() - volume(0.0)
    }

    /// The problem with variable `i` moved by `h`: slopes first, then the candidate's means.
    fn moved(&self, i: usize, h: f64) -> Self {
        let mut problem = self.clone();
        match i.checked_sub(self.slopes.len()) {
            None => problem.slopes[i] += h,
            Some(k) => problem.rows.last_mut().unwrap()[k] += h,
        }
        problem
    }
}

/// A set of `n` designs and a candidate in general position, with slopes up to `size`.
fn random(rng: &mut Rng, objectives: usize, n: usize, size: f64) -> Problem {
    let rows = (0..=n).map(|_| (0..objectives).map(|_| rng.uniform()).collect()).collect();
    Problem {
        objectives,
        moving: rng.below(objectives),
        reference: (0..objectives).map(|_| 0.3 * rng.uniform()).collect(),
        rows,
        slopes: (0..=n).map(|_| size * (2.0 * rng.uniform() - 1.0)).collect(),
    }
}

fn assert_same_log(found: f64, expected: f64, tolerance: f64, problem: &Problem) {
    let error = (found - expected).abs();
    assert!(found == expected || error <= tolerance, "{found}, not {expected}: {problem:?}");
}

#[test]
fn gains_are_the_sum_over_all_cells_however_small_they_are() {
    let mut rng = Rng::new(1, 0);
    for round in 0..400 {
        let n = [0, 1, 2, 5, 30][rng.below(5)];
        let size = [1.0, 0.1, 1e-2, 1e-4][round % 4];
        let problem = random(&mut rng, 2 + round % 2, n, size);
        let expected = problem.naive_log();
        // What rounding makes of c moves c²/2 by that much.
        let tolerance = 1e-11 + 1e-13 * expected.abs();
        assert_same_log(problem.gain().log(), expected, tolerance, &problem);
    }
}

#[test]
fn gains_of_many_designs_are_the_sum_over_all_cells() {
    let mut rng = Rng::new(13, 0);
    for size in [0.5, 0.02] {
        let mut problem = random(&mut rng, 3, 120, size);
        for row in &mut problem.rows {
            // Near a front, where most designs count, and with ties.
            let length = row.iter().map(|y| y * y).sum::<f64>().sqrt();
            row.iter_mut().for_each(|y| *y /= length);
            row[problem.moving.min(1)] = (20.0 * row[problem.moving.min(1)]).round() / 20.0;
        }
        let expected = problem.naive_log();
        assert_same_log(problem.gain().log(), expected, 1e-11, &problem);
    }
}

#[test]
fn buffers_can_be_reused_for_any_set() {
    let (mut rng, mut work) = (Rng::new(2, 0), Work::default());
    for round in 0..50 {
        let (n, objectives) = (rng.below(20), 2 + round % 2);
        let problem = random(&mut rng, objectives, n, 0.3);
        let mut fresh = Work::default();
        assert_eq!(problem.gain_in(&mut work), problem.gain_in(&mut fresh));
        assert_eq!(work.slopes(), fresh.slopes());
        assert_eq!(work.means(), fresh.means());
    }
}

#[test]
fn gains_are_what_a_mesh_of_outcomes_gives() {
    let mut rng = Rng::new(3, 0);
    for round in 0..12 {
        let mut problem = random(&mut rng, 2 + round % 2, 15, 0.5);
        if round % 3 == 0 {
            // All below the reference: only outcomes lift them above it.
            problem.reference[problem.moving] = 1.1;
        }
        let (found, expected) = (problem.gain().value(), problem.on_a_mesh());
        assert!(expected > 1e-4 && (found - expected).abs() < 1e-6, "{found}, not {expected}");
    }
}

/// Relative to the largest of its kind, against central differences of the logarithm.
fn check_derivatives(problem: &Problem, steps: &[f64], tolerance: f64) {
    let mut work = Work::default();
    let gain = problem.gain_in(&mut work);
    assert!(gain.scaled > 0.0 && gain.scaled.is_finite());
    let found: Vec<f64> =
        work.slopes().iter().chain(work.means()).map(|g| g / gain.scaled).collect();
    let difference = |i: usize| {
        let h = steps[i];
        (problem.moved(i, h).gain().log() - problem.moved(i, -h).gain().log()) / (2.0 * h)
    };
    let expected: Vec<f64> = (0..found.len()).map(difference).collect();
    let largest = |of: &[f64]| of.iter().fold(0.0f64, |m, g| m.max(g.abs()));
    let slopes = problem.slopes.len();
    for (i, (found, expected_one)) in found.iter().zip(&expected).enumerate() {
        let size = if i < slopes { largest(&expected[..slopes]) } else { expected_one.abs() };
        let error = (found - expected_one).abs();
        let allowed = tolerance * size.max(1.0);
        assert!(error <= allowed, "variable {i}: {found}, not {expected_one}: {problem:?}");
    }
}

#[test]
fn derivatives_match_finite_differences() {
    let mut rng = Rng::new(4, 0);
    for round in 0..60 {
        let n = [0, 1, 4, 25][round / 2 % 4];
        let problem = random(&mut rng, 2 + round % 2, n, 0.5);
        if problem.gain().scaled > 0.0 {
            check_derivatives(&problem, &vec![1e-6; n + 1 + problem.objectives], 1e-6);
        }
    }
}

#[test]
fn derivatives_match_finite_differences_where_gains_are_tiny() {
    let mut rng = Rng::new(5, 0);
    let mut least = 0.0f64;
    for round in 0..60 {
        let mut problem = random(&mut rng, 2 + round % 2, 12, 3e-3);
        // A candidate that counts.
        problem.rows.last_mut().unwrap().iter_mut().for_each(|y| *y = 0.5 + 0.5 * *y);
        let gain = problem.gain().log();
        if gain > f64::NEG_INFINITY {
            least = least.min(gain);
            let steps: Vec<f64> = [vec![1e-9; 13], vec![1e-8; problem.objectives]].concat();
            check_derivatives(&problem, &steps, 1e-4);
        }
    }
    assert!(least < -1000.0, "{least}");
}

/// One design that reaches 2 beyond the reference and a candidate with the same line, 2 × 3 beyond
/// it in three objectives.
fn lone_candidate(objectives: usize, height: f64, slope: f64) -> Problem {
    let rows =
        vec![vec![-9.0; 3][..objectives].to_vec(), [height, 2.0, 3.0][..objectives].to_vec()];
    let reference = vec![0.0; objectives];
    Problem { objectives, moving: 0, reference, rows, slopes: vec![0.0, slope] }
}

#[test]
fn a_lone_candidate_gains_its_expected_excess_however_far_it_is_below_the_reference() {
    // E max(0, a + b Z) = b f(a/b).
    for (z, log_excess, ratio) in FAR_BELOW {
        for objectives in [2, 3] {
            let slope = 0.125;
            let problem = lone_candidate(objectives, slope * z, slope);
            let area: f64 = if objectives == 2 { 2.0 } else { 6.0 };
            let mut work = Work::default();
            let gain = problem.gain_in(&mut work);
            let expected = log_excess + (area * slope).ln();
            assert!((gain.log() - expected).abs() <= 1e-14 * expected.abs().max(10.0));
            let close = |found: f64, expected: f64| {
                let error = (found / gain.scaled / expected - 1.0).abs();
                assert!(error < 1e-9, "{z}: {found} off by {error:e}");
            };
            close(work.means()[0], ratio / slope);
            // ∂/∂b of ln b f(a/b) = 1/b − (a/b²) Φ/f.
            close(work.slopes()[1], (1.0 - z * ratio) / slope);
            close(work.means()[1], 0.5);
            if objectives == 3 {
                close(work.means()[2], 1.0 / 3.0);
            }
            assert_eq!(work.slopes()[0], 0.0);
        }
    }
}

/// z, ln f(z), Φ(z)/f(z), computed with mpmath at 80 digits.
const FAR_BELOW: [(f64, f64, f64); 3] = [
    (-1.0, -2.4851210257126413, 1.9042712333296918),
    (-141.5, -10021.948687774498, 141.51413215857312),
    (-1414.25, -1000066.9588993016, 1414.2514141750046),
];

#[test]
fn a_candidate_that_is_a_design_of_the_set_adds_nothing_of_its_own() {
    let mut rng = Rng::new(6, 0);
    for round in 0..60 {
        let mut problem = random(&mut rng, 2 + round % 2, 12, 0.5);
        let alone = Problem {
            // The twin is taken away: a candidate that does not reach the reference.
            rows: {
                let mut rows = problem.rows.clone();
                *rows.last_mut().unwrap() = vec![-1.0; problem.objectives];
                rows
            },
            ..problem.clone()
        };
        let twin = rng.below(12);
        *problem.rows.last_mut().unwrap() = problem.rows[twin].clone();
        *problem.slopes.last_mut().unwrap() = problem.slopes[twin];
        let mut work = Work::default();
        let gain = problem.gain_in(&mut work);
        assert_same_log(gain.log(), alone.gain().log(), 1e-14, &problem);
        assert!(work.means().iter().all(|g| *g == 0.0));
        assert_eq!(work.slopes().last(), Some(&0.0));
    }
}

#[test]
fn a_candidate_below_the_reference_still_moves_the_designs() {
    let mut problem = lone_candidate(2, 0.1, 0.7);
    problem.rows.swap(0, 1);
    problem.slopes.swap(0, 1);
    let mut work = Work::default();
    let gain = problem.gain_in(&mut work);
    let expected = 2.0 * (0.7 * normal::expected_excess(0.1 / 0.7) - 0.1);
    assert!((gain.value() - expected).abs() < 1e-15);
    assert_eq!(work.means(), [0.0, 0.0]);
    assert!(work.slopes()[0] > 0.0 && work.slopes()[1] == 0.0);
    // Nor does it count when it is only as good as the reference.
    problem.rows[1] = vec![5.0, 0.0];
    problem.slopes[1] = 3.0;
    assert_eq!(problem.gain(), gain);
}

#[test]
fn nothing_is_gained_where_nothing_can_rise_above_the_reference() {
    for objectives in [2, 3] {
        let mut problem = lone_candidate(objectives, -1.0, 0.0);
        let mut work = Work::default();
        assert_eq!(problem.gain_in(&mut work).log(), f64::NEG_INFINITY);
        problem.slopes[1] = 1.0;
        problem.rows[1][1] = -0.1;
        assert_eq!(problem.gain_in(&mut work).log(), f64::NEG_INFINITY);
        assert!(work.slopes().iter().chain(work.means()).all(|g| *g == 0.0));
        // No designs at all, and a candidate.
        problem.rows = vec![vec![1.0; objectives]];
        problem.slopes = vec![0.5];
        assert!(problem.gain().value() > 0.0);
    }
}

#[test]
fn a_tied_candidate_has_the_derivative_towards_lower_values() {
    let mut rng = Rng::new(7, 0);
    let mut tied = 0;
    for round in 0..80 {
        let mut problem = random(&mut rng, 2 + round % 2, 10, 0.5);
        let fixed = problem.fixed();
        let k = fixed[rng.below(fixed.len())];
        // A tie with several designs.
        for j in 0..4 {
            problem.rows[j][k] = 0.8;
        }
        // A candidate that counts.
        problem.rows.last_mut().unwrap().iter_mut().for_each(|y| *y = 0.5 + 0.5 * *y);
        problem.rows.last_mut().unwrap()[k] = 0.8;
        let mut work = Work::default();
        let gain = problem.gain_in(&mut work);
        let h = 1e-7;
        let below = problem.moved(problem.slopes.len() + k, -h).gain().log();
        let (found, expected) = (work.means()[k] / gain.scaled, (gain.log() - below) / h);
        assert!((found - expected).abs() < 1e-5 * expected.abs().max(1.0), "{found} {expected}");
        tied += usize::from(expected.abs() > 1e-3);
    }
    assert!(tied > 40);
}

#[test]
fn gains_are_the_same_in_any_units() {
    let mut rng = Rng::new(8, 0);
    for round in 0..60 {
        let problem = random(&mut rng, 2 + round % 2, 12, 0.3);
        let (mut work, mut other_work) = (Work::default(), Work::default());
        let gain = problem.gain_in(&mut work);
        for powers in [[-300, 500, -200], [900, 900, 900], [-1000, -1000, -1000], [3, 700, -700]] {
            let unit = |k: usize| 2.0f64.powi(powers[k]);
            let mut other = problem.clone();
            for row in other.rows.iter_mut().chain([&mut other.reference]) {
                row.iter_mut().enumerate().for_each(|(k, y)| *y *= unit(k));
            }
            other.slopes.iter_mut().for_each(|b| *b *= unit(problem.moving));
            let found = other.gain_in(&mut other_work);
            let shift: i32 = powers[..problem.objectives].iter().sum();
            let expected = gain.log() + std::f64::consts::LN_2 * f64::from(shift);
            assert_same_log(found.log(), expected, 1e-12 * expected.abs().max(1.0), &problem);
            for k in 0..problem.objectives {
                let [there, here] = [(&other_work, found), (&work, gain)]
                    .map(|(work, gain)| work.means()[k] / gain.scaled);
                assert!((there * unit(k) - here).abs() <= 1e-12 * here.abs());
            }
        }
    }
}

#[test]
fn the_origin_of_an_objective_does_not_matter() {
    let mut rng = Rng::new(9, 0);
    for round in 0..40 {
        let problem = random(&mut rng, 2 + round % 2, 12, 0.3);
        let mut other = problem.clone();
        for row in other.rows.iter_mut().chain([&mut other.reference]) {
            row.iter_mut().zip([-7.0, 3.0, 11.0]).for_each(|(y, shift)| *y += shift);
        }
        let (found, expected) = (other.gain().log(), problem.gain().log());
        assert_same_log(found, expected, 1e-12 * (1.0 + expected * expected), &problem);
    }
}

#[test]
fn which_fixed_objective_comes_first_does_not_matter() {
    let mut rng = Rng::new(10, 0);
    for _ in 0..60 {
        let mut problem = random(&mut rng, 3, 25, 0.3);
        problem.moving = 0;
        let mut other = problem.clone();
        other.rows.iter_mut().chain([&mut other.reference]).for_each(|row| row.swap(1, 2));
        let (mut work, mut swapped) = (Work::default(), Work::default());
        let (gain, found) = (problem.gain_in(&mut work), other.gain_in(&mut swapped));
        assert_same_log(found.log(), gain.log(), 1e-12 * gain.log().abs().max(1.0), &problem);
        let derivatives = |work: &Work, gain: Gain, order: [usize; 3]| {
            let means = order.map(|k| work.means()[k]);
            let all = work.slopes().iter().chain(&means);
            all.map(|g| g / gain.scaled).collect::<Vec<_>>()
        };
        let expected = derivatives(&work, gain, [0, 1, 2]);
        for (a, b) in derivatives(&swapped, found, [0, 2, 1]).iter().zip(expected) {
            assert!((a - b).abs() <= 1e-11 * b.abs().max(1.0), "{a} {b}");
        }
    }
}

#[test]
fn a_sweep_of_three_objectives_is_one_of_two_where_the_third_is_equal() {
    let mut rng = Rng::new(11, 0);
    for _ in 0..30 {
        let two = random(&mut rng, 2, 15, 0.3);
        let mut three = Problem { objectives: 3, ..two.clone() };
        three.reference.push(1.0);
        three.rows.iter_mut().for_each(|row| row.push(3.0));
        let expected = two.gain().log() + 2.0f64.ln();
        assert_same_log(three.gain().log(), expected, 1e-12 * expected.abs().max(1.0), &two);
    }
}

#[test]
fn what_is_not_finite_or_does_not_fit_is_refused() {
    let designs = Points::from_rows(2, [[0.0, 1.0], [1.0, 0.0]]).unwrap();
    let set = |reference: &[f64]| HypervolumeGain::new(&designs, 0, reference);
    let infinite = set(&[f64::NEG_INFINITY, 0.0]).unwrap_err();
    assert!(matches!(infinite, Error::NotFinite { what: "reference point", index: 0, .. }));
    assert!(matches!(set(&[0.0]), Err(Error::Shape { .. })));
    assert!(HypervolumeGain::new(&designs, 2, &[0.0, 0.0]).is_err());
    assert!(HypervolumeGain::new(&Points::zeros(1, 3), 0, &[0.0]).is_err());
    let broken = Points::from_rows(2, [[0.0, f64::NAN]]).unwrap();
    assert!(HypervolumeGain::new(&broken, 0, &[0.0, 0.0]).is_err());
    let (set, mut work) = (set(&[0.0, 0.0]).unwrap(), Work::default());
    assert!(set.gain(&[0.1; 2], &[0.5; 2], &mut work).is_err());
    assert!(set.gain(&[0.1; 3], &[0.5; 3], &mut work).is_err());
    assert!(set.gain(&[0.1, f64::NAN, 0.1], &[0.5; 2], &mut work).is_err());
    assert!(set.gain(&[0.1; 3], &[0.5, f64::INFINITY], &mut work).is_err());
    assert!(set.gain(&[0.1; 3], &[0.5; 2], &mut work).is_ok());
    let no_rays = Points::from_rows(1, [[0.0]]).unwrap();
    assert!(HypervolumeGain::along(&no_rays, &designs, 0, &[0.0; 2]).is_err());
    let misfit = directions(2, 4, 0).unwrap();
    assert!(HypervolumeGain::along(&misfit, &designs, 0, &[0.0; 2]).is_err());
}

#[test]
fn along_directions_the_gain_of_a_lone_candidate_is_a_box_times_its_expected_excess() {
    for objectives in [4, 5, 6] {
        let box_of = [1.5, 0.7, 2.0, 0.4, 3.0];
        let mut own = vec![-0.1];
        own.extend_from_slice(&box_of[..objectives - 1]);
        // A design that never counts says in which units the objectives are.
        let mut hopeless = own.clone();
        hopeless[0] = -1000.0;
        let designs = Points::from_rows(objectives, [hopeless]).unwrap();
        let rays = directions(objectives - 1, 4096, 3).unwrap();
        let set = HypervolumeGain::along(&rays, &designs, 0, &vec![0.0; objectives]).unwrap();
        let mut work = Work::default();
        let gain = set.gain(&[0.0, 0.5], &own, &mut work).unwrap();
        let volume: f64 = box_of[..objectives - 1].iter().product();
        let expected = volume * 0.5 * normal::expected_excess(-0.2);
        assert!((gain.value() / expected - 1.0).abs() < 0.02, "{objectives}: {}", gain.value());
        for (k, side) in box_of[..objectives - 1].iter().enumerate() {
            let found = work.means()[k + 1] / gain.scaled;
            assert!((found * side - 1.0).abs() < 0.05, "objective {k} of {objectives}: {found}");
        }
    }
}

#[test]
fn along_directions_derivatives_match_finite_differences() {
    let mut rng = Rng::new(12, 0);
    let rays = directions(3, 8, 5).unwrap();
    for _ in 0..20 {
        let mut problem = random(&mut rng, 4, 12, 0.4);
        problem.rows.last_mut().unwrap().iter_mut().for_each(|y| *y = 0.5 + 0.5 * *y);
        let means = problem.means();
        let set = HypervolumeGain::along(&rays, &means, problem.moving, &problem.reference);
        let (set, mut work) = (set.unwrap(), Work::default());
        let gain = set.gain(&problem.slopes, problem.own(), &mut work).unwrap();
        let found = work.slopes().iter().chain(work.means()).map(|g| g / gain.scaled);
        for (i, found) in found.enumerate() {
            let log = |h: f64| {
                let moved = problem.moved(i, h);
                set.gain(&moved.slopes, moved.own(), &mut Work::default()).unwrap().log()
            };
            let expected = (log(1e-6) - log(-1e-6)) / 2e-6;
            let error = (found - expected).abs();
            assert!(error < 1e-6 * expected.abs().max(1.0), "{i}: {found}, not {expected}");
        }
    }
}

#[test]
fn along_directions_gains_are_the_same_in_any_units() {
    let mut rng = Rng::new(14, 0);
    let rays = directions(3, 8, 5).unwrap();
    for _ in 0..20 {
        let problem = random(&mut rng, 4, 12, 0.4);
        let evaluate = |problem: &Problem| {
            let (means, mut work) = (problem.means(), Work::default());
            let set = HypervolumeGain::along(&rays, &means, problem.moving, &problem.reference);
            let gain = set.unwrap().gain(&problem.slopes, problem.own(), &mut work).unwrap();
            (gain, work)
        };
        let (gain, work) = evaluate(&problem);
        for powers in [[-300, 500, -200, 100], [900, 900, 900, 900], [-900, -900, -900, -900]] {
            let unit = |k: usize| 2.0f64.powi(powers[k]);
            let mut other = problem.clone();
            for row in other.rows.iter_mut().chain([&mut other.reference]) {
                row.iter_mut().enumerate().for_each(|(k, y)| *y *= unit(k));
            }
            other.slopes.iter_mut().for_each(|b| *b *= unit(problem.moving));
            let (found, other_work) = evaluate(&other);
            let expected =
                gain.log() + std::f64::consts::LN_2 * f64::from(powers.iter().sum::<i32>());
            assert_same_log(found.log(), expected, 1e-12 * expected.abs().max(1.0), &problem);
            for (k, (there, here)) in other_work.means().iter().zip(work.means()).enumerate() {
                let (there, here) = (there / found.scaled * unit(k), here / gain.scaled);
                assert!((there - here).abs() <= 1e-11 * here.abs().max(1e-3), "{there} {here}");
            }
        }
    }
}

#[test]
fn directions_are_unit_vectors_spread_evenly() {
    for dim in [1, 2, 3, 5] {
        let rays = directions(dim, 1024, 1).unwrap();
        for ray in rays.rows() {
            assert!((ray.iter().map(|v| v * v).sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(ray.iter().all(|v| *v > 0.0));
        }
        for k in 0..dim {
            let square = rays.rows().map(|ray| ray[k] * ray[k]).sum::<f64>() / 1024.0;
            assert!((square * dim as f64 - 1.0).abs() < 0.02, "{dim}: {square}");
        }
    }
}

/// Slopes of further objectives for a problem, row by row after its own.
fn joint_slopes(problem: &Problem, rng: &mut Rng, moving: usize) -> Points {
    let lines = problem.slopes.len();
    let size = problem.slopes.iter().fold(0.0f64, |m, b| m.max(b.abs()));
    let more =
        (1..moving).map(|_| (0..lines).map(|_| size * (2.0 * rng.uniform() - 1.0)).collect());
    Points::from_rows(lines, [problem.slopes.clone()].into_iter().chain(more)).unwrap()
}

/// A problem of which the moving objectives come first, in a random order.
fn joint_problem(rng: &mut Rng, round: usize, size: f64) -> (Problem, Vec<usize>, Points) {
    let mut problem = random(rng, 2 + round % 2, 8, size);
    problem.rows.last_mut().unwrap().iter_mut().for_each(|y| *y = 0.5 + 0.5 * *y);
    let mut moving: Vec<usize> = (0..problem.objectives).collect();
    rng.shuffle(&mut moving);
    moving.truncate(2 + round / 2 % (problem.objectives - 1));
    problem.moving = moving[0];
    let slopes = joint_slopes(&problem, rng, moving.len());
    (problem, moving, slopes)
}

fn joint_set(problem: &Problem, moving: &[usize], nodes: &Points) -> JointHypervolumeGain {
    JointHypervolumeGain::new(&problem.means(), moving, &problem.reference, nodes).unwrap()
}

#[test]
fn one_objective_observed_jointly_is_one_objective() {
    let mut rng = Rng::new(20, 0);
    for round in 0..20 {
        let problem = random(&mut rng, 2 + round % 2, 15, 0.4);
        let (mut work, mut joint_work) = (Work::default(), JointWork::default());
        let gain = problem.gain_in(&mut work);
        let set = joint_set(&problem, &[problem.moving], &Points::new(0));
        let slopes = Points::from_rows(16, [&problem.slopes]).unwrap();
        assert_eq!(set.gain(&slopes, problem.own(), &mut joint_work).unwrap(), gain);
        assert_eq!(work.slopes(), joint_work.slopes());
        assert_eq!(work.means(), joint_work.means());
    }
}

#[test]
fn joint_gains_are_what_random_outcomes_give() {
    let mut rng = Rng::new(21, 0);
    for round in 0..8 {
        let (problem, moving, slopes) = joint_problem(&mut rng, round, 0.4);
        let volume = |z: &[f64]| {
            let moved = problem.rows.iter().enumerate().map(|(j, row)| {
                let mut row = row.clone();
                for (l, k) in moving.iter().enumerate() {
                    row[*k] += slopes.row(l)[j] * z[l];
                }
                row
            });
            let points = Points::from_rows(problem.objectives, moved).unwrap();
            hypervolume(&points, &problem.reference).unwrap()
        };
        let outcomes = crate::sobol::normals(moving.len(), 1 << 15, 5).unwrap();
        let mean = outcomes.rows().map(volume).sum::<f64>() / outcomes.len() as f64;
        let expected = mean - volume(&vec![0.0; moving.len()]);
        let nodes = crate::sobol::normals(moving.len() - 1, 1024, 6).unwrap();
        let set = joint_set(&problem, &moving, &nodes);
        let found = set.gain(&slopes, problem.own(), &mut JointWork::default()).unwrap().value();
        assert!((found / expected - 1.0).abs() < 0.01, "{found}, not {expected}");
    }
}

fn check_joint_derivatives(size: f64, step: f64, tolerance: f64) -> f64 {
    let (mut rng, mut least) = (Rng::new(22, 0), 0.0f64);
    for round in 0..24 {
        let (problem, moving, slopes) = joint_problem(&mut rng, round, size);
        let nodes = crate::sobol::normals(moving.len() - 1, 4, 6).unwrap();
        let set = joint_set(&problem, &moving, &nodes);
        let mut work = JointWork::default();
        let gain = set.gain(&slopes, problem.own(), &mut work).unwrap();
        least = least.min(gain.log());
        let all: Vec<f64> = slopes.as_flat().iter().chain(problem.own()).copied().collect();
        let log = |i: usize, h: f64| {
            let mut moved = all.clone();
            moved[i] += h;
            let own = moved.split_off(slopes.as_flat().len());
            let slopes = Points::from_flat(slopes.dim(), moved).unwrap();
            set.gain(&slopes, &own, &mut JointWork::default()).unwrap().log()
        };
        let found: Vec<f64> = work.slopes().iter().chain(work.means()).copied().collect();
        let expected: Vec<f64> =
            (0..all.len()).map(|i| (log(i, step) - log(i, -step)) / (2.0 * step)).collect();
        let largest = expected.iter().fold(1.0f64, |m, g| m.max(g.abs()));
        for (found, expected) in found.iter().map(|g| g / gain.scaled).zip(expected) {
            let error = (found - expected).abs();
            assert!(error < tolerance * largest, "{found}, not {expected}: {problem:?}");
        }
    }
    least
}

#[test]
fn joint_derivatives_match_finite_differences() {
    check_joint_derivatives(0.4, 1e-6, 1e-6);
    let least = check_joint_derivatives(0.005, 1e-9, 1e-4);
    assert!(least < -100.0, "{least}");
}

#[test]
fn joint_gains_need_distinct_objectives_and_nodes_that_fit() {
    let means = Points::zeros(2, 3);
    let new = |moving: &[usize], nodes: &Points| {
        JointHypervolumeGain::new(&means, moving, &[0.0; 2], nodes)
    };
    let node = Points::zeros(1, 1);
    assert!(new(&[0, 1], &node).is_ok());
    assert!(new(&[0, 0], &node).is_err());
    assert!(new(&[0, 2], &node).is_err());
    assert!(new(&[], &Points::new(0)).is_err());
    assert!(new(&[0, 1], &Points::new(1)).is_err());
    assert!(new(&[0, 1], &Points::zeros(2, 1)).is_err());
    let four = Points::zeros(4, 1);
    assert!(JointHypervolumeGain::new(&four, &[0, 1], &[0.0; 4], &node).is_err());
    let (set, mut work) = (new(&[0, 1], &node).unwrap(), JointWork::default());
    assert!(set.gain(&Points::zeros(4, 1), &[0.0; 2], &mut work).is_err());
    assert!(set.gain(&Points::zeros(3, 2), &[0.0; 2], &mut work).is_err());
    assert!(set.gain(&Points::zeros(4, 2), &[0.0; 3], &mut work).is_err());
    assert!(set.gain(&Points::zeros(4, 2), &[f64::NAN; 2], &mut work).is_err());
    assert!(set.gain(&Points::zeros(4, 2), &[0.0; 2], &mut work).is_ok());
}

/// Problems of which many values are equal if `value` has few.
fn problems(value: impl Strategy<Value = f64> + Clone) -> impl Strategy<Value = Problem> {
    (2..=3usize, 0..25usize).prop_flat_map(move |(objectives, n)| {
        let row = prop::collection::vec(value.clone(), objectives);
        let rows = prop::collection::vec(row.clone(), n + 1);
        let slopes = prop::collection::vec(value.clone(), n + 1);
        (0..objectives, row, rows, slopes).prop_map(move |(moving, reference, rows, slopes)| {
            Problem { objectives, moving, reference, rows, slopes }
        })
    })
}

fn any_problem() -> impl Strategy<Value = Problem> {
    let extreme = prop_oneof![
        Just(0.0),
        Just(1e300),
        Just(-1e300),
        Just(1e-300),
        Just(f64::MAX),
        Just(f64::MIN_POSITIVE),
        -1.0..1.0f64,
    ];
    prop_oneof![problems(-1.0..1.0f64), problems((-2..3i32).prop_map(f64::from)), problems(extreme)]
}

#[test]
fn a_value_alone_has_the_bits_of_the_value_with_derivatives() {
    let mut rng = Rng::new(12, 0);
    for round in 0..200 {
        let (objectives, n) = (2 + round % 4, 1 + rng.below(60));
        let draw = |rng: &mut Rng, count: usize| (0..count).map(|_| rng.normal()).collect();
        let rows: Vec<Vec<f64>> = (0..n).map(|_| draw(&mut rng, objectives)).collect();
        let means = Points::from_rows(objectives, rows).unwrap();
        let (slopes, own): (Vec<f64>, Vec<f64>) =
            (draw(&mut rng, n + 1), draw(&mut rng, objectives));
        let (reference, moving) = (vec![-1.5; objectives], rng.below(objectives));
        let set = match objectives {
            2 | 3 => HypervolumeGain::new(&means, moving, &reference),
            _ => {
                let rays = directions(objectives - 1, 6, round as u64).unwrap();
                HypervolumeGain::along(&rays, &means, moving, &reference)
            }
        };
        let (set, mut work) = (set.unwrap(), Work::default());
        let gain = set.gain(&slopes, &own, &mut work).unwrap();
        assert_eq!(work.slopes().len(), n + 1);
        assert_eq!(set.value(&slopes, &own, &mut work).unwrap(), gain);
        assert!(work.slopes().is_empty() && work.means().is_empty());
    }
}

proptest! {
    #[test]
    fn ties_and_parallel_lines_match_the_sum_over_cells(
        problem in problems((-2..3i32).prop_map(f64::from)),
    ) {
        assert_same_log(problem.gain().log(), problem.naive_log(), 1e-11, &problem);
    }

    #[test]
    fn the_order_of_designs_does_not_matter(
        problem in prop_oneof![problems(-1.0..1.0f64), problems((-2..3i32).prop_map(f64::from))],
        turn in 0..25usize,
    ) {
        let mut other = problem.clone();
        let n = problem.rows.len() - 1;
        if n > 0 {
            other.rows[..n].rotate_left(turn % n);
            other.slopes[..n].rotate_left(turn % n);
            let (found, expected) = (other.gain().log(), problem.gain().log());
            assert_same_log(found, expected, 1e-11 * (1.0 + expected.abs()), &problem);
        }
    }

    #[test]
    fn gains_and_derivatives_are_numbers_whatever_the_problem(problem in any_problem()) {
        let mut work = Work::default();
        let gain = problem.gain_in(&mut work);
        prop_assert!(gain.scaled >= 0.0 && !gain.log().is_nan() && gain.scaled < f64::INFINITY);
        let mut all = work.slopes().iter().chain(work.means());
        prop_assert!(all.all(|g| !g.is_nan()), "{:?}", work);
    }

    #[test]
    fn a_lower_reference_in_a_fixed_objective_never_gains_less(
        problem in prop_oneof![problems(-1.0..1.0f64), problems((-2..3i32).prop_map(f64::from))],
        step in 0.0..1.0f64,
    ) {
        let mut other = problem.clone();
        let k = problem.fixed()[0];
        other.reference[k] -= step;
        let (lower, higher) = (other.gain().log(), problem.gain().log());
        prop_assert!(lower >= higher - 1e-12 * (1.0 + higher.abs()), "{lower} {higher}");
    }

    #[test]
    fn along_directions_gains_and_derivatives_are_numbers(problem in any_problem()) {
        let rays = directions(problem.objectives - 1, 5, 1).unwrap();
        let set = HypervolumeGain::along(&rays, &problem.means(), problem.moving, &problem.reference);
        let mut work = Work::default();
        let gain = set.unwrap().gain(&problem.slopes, problem.own(), &mut work).unwrap();
        prop_assert!(gain.scaled >= 0.0 && !gain.log().is_nan() && gain.scaled < f64::INFINITY);
        let mut all = work.slopes().iter().chain(work.means());
        prop_assert!(all.all(|g| !g.is_nan()), "{:?}", work);
    }
}
