//! Values that are separated from all others, what their neighbours say to them, and what they count
//! as. No model is asked here; that is in `outliers`.

use super::Row;
use super::subset::squared_distance;
use super::tails::Tail;
use std::f64::consts::PI;

/// A value is suspect from so many spreads on, and clipped from so many.
const SUSPECT: f64 = 2.0;
const CLIPPED: f64 = 30.0;

/// At most one value in so many is wrong; one always may be.
const ONE_IN: usize = 8;

/// So many nearest rows must be free of suspicion for neighbours to contradict a value.
const NEIGHBOURS: usize = 2;

/// Neighbours can contradict a value if a ball around it that reaches the nearest fills at most this
/// part of the unit cube: a feature that fits into it is hit about as rarely as values are wrong. Where
/// a value that is set aside wrongly will be found to be right soon, it may be more.
const RARE: f64 = 0.01;
const RARE_AND_BAD: f64 = 0.05;

/// No neighbour is near that is farther away: with many inputs, balls that fill little are large.
const NEAR: f64 = 0.2;

/// Neighbours contradict a value that is so many standard deviations away from what they make one
/// expect.
const IMPOSSIBLE: f64 = 6.0;

/// What an output's rows say before a model is asked.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Suspects {
    /// For each row its side, if it is suspect.
    sides: Vec<Option<Side>>,
}

/// What an output is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Objective,
    Constraint,
}

/// Which end of the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Low,
    High,
}

/// A value that counts as another one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Clipped {
    pub(crate) evaluation: u64,
    pub(crate) value: f64,
    pub(crate) counts_as: f64,
}

impl Suspects {
    pub(super) fn of(rows: &[Row<'_>]) -> Self {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by(|i, j| rows[*i].value.total_cmp(&rows[*j].value));
        let values: Vec<f64> = order.iter().map(|i| rows[*i].value).collect();
        let mut sides = vec![None; rows.len()];
        let most = most_wrong(rows.len());
        let low = Tail::low(&values, most, SUSPECT).map_or(0, |tail| tail.count);
        let high = Tail::low(&mirrored(&values), most, SUSPECT).map_or(0, |tail| tail.count);
        order.iter().take(low).for_each(|i| sides[*i] = Some(Side::Low));
        order.iter().rev().take(high).for_each(|i| sides[*i] = Some(Side::High));
        Self { sides }
    }

    /// The rows without suspicion.
    pub(super) fn ordinary<'a>(&self, rows: &[Row<'a>]) -> Vec<Row<'a>> {
        let rows = rows.iter().zip(&self.sides);
        rows.filter(|(_, side)| side.is_none()).map(|(row, _)| *row).collect()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.sides.iter().flatten().count()
    }

    /// The numbers of those that neighbours may contradict: some are near, and none confirms them.
    /// `parameters` is the number of inputs that count.
    pub(super) fn lonely(&self, rows: &[Row<'_>], parameters: usize, role: Role) -> Vec<usize> {
        let is_lonely = |&row: &usize| {
            let Some(side) = self.sides[row] else { return false };
            let others = (0..rows.len()).filter(|other| *other != row);
            let distance = |other: usize| (squared_distance(rows[row].x, rows[other].x), other);
            let mut others: Vec<(f64, usize)> = others.map(distance).collect();
            others.sort_by(|a, b| a.0.total_cmp(&b.0));
            let is_ordinary = |(_, other): &&(f64, usize)| self.sides[*other].is_none();
            let Some((nearest, _)) = others.iter().find(is_ordinary) else { return false };
            let rare = match (role, side) {
                (Role::Objective, Side::Low) => RARE_AND_BAD,
                _ => RARE,
            };
            let confirms = |(_, other): &(f64, usize)| self.sides[*other] == Some(side);
            let is_confirmed = others.iter().take(NEIGHBOURS).any(confirms);
            // Another value of the very same design says more than all neighbours.
            *nearest == 0.0 || (!is_confirmed && nearest.sqrt() <= radius(rare, parameters))
        };
        (0..rows.len()).filter(is_lonely).collect()
    }
}

/// Whether an error with this variance rules out a value.
pub(super) fn is_impossible(error: f64, variance: f64) -> bool {
    error.abs() >= IMPOSSIBLE * variance.sqrt()
}

/// How many of so many values may be wrong.
fn most_wrong(count: usize) -> usize {
    (count / ONE_IN).max(1)
}

/// Clips values that are far out on the bad side, of a constraint on both sides.
pub(super) fn clip(rows: &mut [Row<'_>], limit: Option<f64>) -> Vec<Clipped> {
    let mut sorted: Vec<f64> = rows.iter().map(|row| row.value).collect();
    sorted.sort_by(f64::total_cmp);
    let low = far_tail(&sorted);
    // What is too high is too low once all is turned around.
    let high = limit.and_then(|_| far_tail(&mirrored(&sorted)));
    let counts_as = |value: f64| {
        let value = low.map_or(value, |tail| raised(value, &tail, limit));
        high.map_or(value, |tail| -raised(-value, &tail, limit.map(|limit| -limit)))
    };
    let mut clipped = vec![];
    for row in rows {
        let (value, counts_as) = (row.value, counts_as(row.value));
        if counts_as != value {
            clipped.push(Clipped { evaluation: row.evaluation, value, counts_as });
            row.value = counts_as;
        }
    }
    clipped.sort_by_key(|one| one.evaluation);
    clipped
}

/// The low values that are too far away from all others to count as they are.
fn far_tail(sorted: &[f64]) -> Option<Tail> {
    let tail = Tail::low(sorted, most_wrong(sorted.len()), CLIPPED);
    // What programs return where they fail is always the same, and may be returned often.
    tail.or_else(|| Tail::low_plateau(sorted, CLIPPED))
}

/// The value, or if it is lower a value one spread below all others, on the same side of the limit.
fn raised(value: f64, tail: &Tail, limit: Option<f64>) -> f64 {
    let fence = match limit.filter(|limit| value < *limit) {
        Some(limit) => tail.fence().min(tail.below(limit)),
        None => tail.fence(),
    };
    value.max(fence)
}

/// Ascending values turned around.
fn mirrored(sorted: &[f64]) -> Vec<f64> {
    sorted.iter().rev().map(|value| -value).collect()
}

/// How near neighbours have to be: the radius of a ball that fills this part of the unit cube.
fn radius(part: f64, parameters: usize) -> f64 {
    // V₀ = 1, V₁ = 2, Vₙ = 2π/n · Vₙ₋₂.
    let first = parameters % 2;
    let volume = (first + 2..=parameters).step_by(2).map(|n| 2.0 * PI / n as f64);
    let volume = volume.product::<f64>() * if first == 1 { 2.0 } else { 1.0 };
    (part / volume).powf(1.0 / parameters.max(1) as f64).min(NEAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row for each place and value, numbered.
    fn rows<'a>(places: &'a [[f64; 2]], values: &[f64]) -> Vec<Row<'a>> {
        let row = |(i, (x, value)): (usize, (&'a [f64; 2], &f64))| Row {
            evaluation: i as u64,
            x,
            value: *value,
            sd: None,
            searched: false,
        };
        places.iter().zip(values).enumerate().map(row).collect()
    }

    /// 25 places on a grid of distance 0.2, and some more.
    fn grid(more: &[[f64; 2]]) -> Vec<[f64; 2]> {
        let places = (0..25).map(|i| [0.1 + 0.2 * f64::from(i % 5), 0.1 + 0.2 * f64::from(i / 5)]);
        places.chain(more.iter().copied()).collect()
    }

    /// Values between 0 and 1 on the grid, and some more.
    fn smooth(more: &[f64]) -> Vec<f64> {
        (0..25).map(|i| f64::from(i) / 24.0).chain(more.iter().copied()).collect()
    }

    fn lonely(more: &[([f64; 2], f64)], role: Role) -> Vec<usize> {
        let (places, values): (Vec<[f64; 2]>, Vec<f64>) = more.iter().copied().unzip();
        let (places, values) = (grid(&places), smooth(&values));
        let rows = rows(&places, &values);
        Suspects::of(&rows).lonely(&rows, 2, role)
    }

    #[test]
    fn a_bad_value_is_alone_among_others_and_a_good_one_only_next_to_them() {
        // 0.1 and 0.05 away from the place in the middle of the grid.
        let (far, near) = ([0.5, 0.6], [0.5, 0.55]);
        assert_eq!(lonely(&[(far, -10.0)], Role::Objective), [25]);
        assert_eq!(lonely(&[(far, 10.0)], Role::Objective), [0; 0]);
        assert_eq!(lonely(&[(near, 10.0)], Role::Objective), [25]);
        // A constraint that seems to be broken may well be.
        assert_eq!(lonely(&[(far, -10.0)], Role::Constraint), [0; 0]);
        assert_eq!(lonely(&[(near, -10.0)], Role::Constraint), [25]);
        assert_eq!(lonely(&[(near, -1.0)], Role::Objective), [0; 0], "not far from all others");
    }

    #[test]
    fn values_that_are_neighbours_confirm_each_other() {
        let (here, beside) = ([0.5, 0.55], [0.51, 0.56]);
        assert_eq!(lonely(&[(here, 10.0), (beside, 7.0)], Role::Objective), [0; 0]);
        assert_eq!(lonely(&[(here, -10.0), (beside, -1e9)], Role::Objective), [0; 0]);
        // On different sides they do not.
        assert_eq!(lonely(&[(here, 10.0), (beside, -10.0)], Role::Objective), [25, 26]);
    }

    #[test]
    fn another_value_at_the_same_design_contradicts_whatever_neighbours_say() {
        let middle = grid(&[])[12];
        assert_eq!(lonely(&[(middle, 1e9), ([0.51, 0.5], 1e9)], Role::Objective), [25]);
    }

    #[test]
    fn what_is_far_out_counts_as_one_spread_worse_than_the_others() {
        // The median of the others is 0.5, their spread 0.5.
        let places = grid(&[[0.3, 0.3]]);
        for value in [-1e6, -1e300, -f64::MAX] {
            let mut rows = rows(&places, &smooth(&[value]));
            let clipped = clip(&mut rows, None);
            assert_eq!(clipped, [Clipped { evaluation: 25, value, counts_as: -0.5 }]);
            assert_eq!(rows[25].value, -0.5);
        }
        for value in [-10.0, 1e6, 1e300] {
            let mut rows = rows(&places, &smooth(&[value]));
            assert_eq!(clip(&mut rows, None), [], "{value}");
            assert_eq!(rows[25].value, value);
        }
    }

    #[test]
    fn a_clipped_value_of_a_constraint_stays_on_its_side_of_the_limit() {
        let places = grid(&[[0.3, 0.3]]);
        let counts_as = |value: f64, limit: f64| {
            let mut rows = rows(&places, &smooth(&[value]));
            clip(&mut rows, Some(limit));
            rows[25].value
        };
        assert_eq!(counts_as(-1e6, 0.5), -0.5);
        assert_eq!(counts_as(-1e6, -30.0), -30.5, "broken, though all others hold by far");
        assert_eq!(counts_as(1e6, 0.5), 1.5);
        assert_eq!(counts_as(1e6, 30.0), 30.5, "the only one that holds");
        assert_eq!(counts_as(-1e6, -1e7), -0.5, "it holds, and does so still");
        assert_eq!(counts_as(1e6, 1e7), 1.5, "it is broken, and is so still");
        assert_eq!(counts_as(-1e6, -1e6 + 0.1), -1e6, "there is no room");
    }

    #[test]
    fn penalties_are_clipped_however_many_and_other_values_only_if_they_are_few() {
        let places = grid(&[[0.3, 0.3]; 9]);
        let count = |values: [f64; 9]| clip(&mut rows(&places, &smooth(&values)), None).len();
        assert_eq!(count([-1e10; 9]), 9);
        assert_eq!(count([-1e3, -2e3, -3e3, -4e3, -5e3, -6e3, -7e3, -8e3, -9e3]), 0);
        assert_eq!(count([-1e3, -2e3, -3e3, -1e300, 0.1, 0.2, 0.3, 0.4, 0.5]), 4);
    }

    #[test]
    fn neighbours_are_near_within_balls_that_fill_little() {
        // A segment, a disc and a ball that fill 1 %.
        assert!((radius(0.01, 1) - 0.005).abs() < 1e-15);
        assert!((radius(0.01, 2) - (0.01 / PI).sqrt()).abs() < 1e-15);
        assert!((radius(0.01, 3) - (0.03 / (4.0 * PI)).cbrt()).abs() < 1e-15);
        assert_eq!((radius(0.01, 10), radius(0.01, 200)), (NEAR, NEAR));
    }
}
