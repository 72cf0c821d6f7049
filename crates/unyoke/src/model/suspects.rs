//! Values that are far from all others or from all their neighbours, and what they count as. No model is
//! asked here; that is in `outliers`.

use super::Row;
use super::subset::squared_distance;
use super::tails::Tail;
use std::f64::consts::PI;
use unyoke_math::optimize::largest;

/// A value is suspect from so many spreads on, and clipped whoever confirms it from so many.
const SUSPECT: f64 = 2.0;
const CLIPPED: f64 = 30.0;

/// At most one value in so many is wrong; one always may be.
const ONE_IN: usize = 8;

/// How many neighbours are asked about a value, and how many of these, the nearest, can confirm it.
const NEIGHBOURS: usize = 6;
const CONFIRMING: usize = 2;

/// Where so many neighbours are near, one that agrees does not stand against the others: it may be wrong
/// itself.
const CROWD: usize = 5;

/// Fewest values from which anything is concluded but that others are very far out.
const FEWEST: usize = 10;

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
    /// The standard error of that, where no neighbour confirms it.
    pub(crate) doubt: Option<f64>,
}

impl Suspects {
    /// `parameters` is the number of inputs that count.
    pub(super) fn of(rows: &[Row<'_>], parameters: usize, role: Role) -> Self {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by(|i, j| rows[*i].value.total_cmp(&rows[*j].value));
        let values: Vec<f64> = order.iter().map(|i| rows[*i].value).collect();
        let mut suspects = Self { sides: vec![None; rows.len()] };
        let most = most_wrong(rows.len());
        let low = Tail::low(&values, most, SUSPECT).map_or(0, |tail| tail.count);
        let high = Tail::low(&mirrored(&values), most, SUSPECT).map_or(0, |tail| tail.count);
        order.iter().take(low).for_each(|i| suspects.sides[*i] = Some(Side::Low));
        order.iter().rev().take(high).for_each(|i| suspects.sides[*i] = Some(Side::High));
        suspects.add_local(rows, &order, |side| near(parameters, role, side));
        suspects
    }

    /// Adds values that differ from all near neighbours by more than most values differ from each
    /// other. Only the tenth of the values at either end can.
    fn add_local(&mut self, rows: &[Row<'_>], order: &[usize], near: impl Fn(Side) -> f64) {
        let (count, tenth) = (order.len(), order.len() / 10);
        if count < FEWEST {
            return;
        }
        let at = |place: usize| rows[order[place]].value;
        let range = at(count - 1 - tenth) - at(tenth);
        let ends = [(Side::Low, &order[..tenth]), (Side::High, &order[count - tenth..])];
        for (side, ends) in ends {
            for &row in ends {
                let is_suspect = self.sides[row].is_some();
                if is_suspect || differs_from_all(rows, row, side, near(side), range) {
                    self.sides[row].get_or_insert(side);
                }
            }
        }
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

    /// The numbers of those that neighbours may contradict: some are near, and do not confirm them.
    /// `parameters` is the number of inputs that count.
    pub(super) fn lonely(&self, rows: &[Row<'_>], parameters: usize, role: Role) -> Vec<usize> {
        let is_lonely = |&row: &usize| {
            let Some(side) = self.sides[row] else { return false };
            let nearest = neighbours(rows, row, f64::INFINITY);
            let near = neighbours(rows, row, near(parameters, role, side));
            let is_ordinary = |other: &&usize| self.sides[**other].is_none();
            let confirms = |other: &&usize| self.sides[**other] == Some(side);
            let is_confirmed = nearest.iter().take(CONFIRMING).any(|other| confirms(&other));
            let is_outvoted = near.len() >= CROWD
                && near.iter().filter(confirms).count() <= tolerated(near.len());
            // Another value of the very same design says more than all neighbours.
            let is_repeated =
                near.iter().filter(is_ordinary).any(|other| rows[*other].x == rows[row].x);
            let has_ordinary = near.iter().any(|other| is_ordinary(&other));
            is_repeated || (has_ordinary && (!is_confirmed || is_outvoted))
        };
        (0..rows.len()).filter(is_lonely).collect()
    }
}

/// Whether a value at one end of all differs by more than `range` from all neighbours that are near,
/// of which there are some.
fn differs_from_all(rows: &[Row<'_>], row: usize, side: Side, near: f64, range: f64) -> bool {
    let near = neighbours(rows, row, near);
    let agrees = |other: &&usize| match side {
        Side::Low => rows[**other].value - rows[row].value <= range,
        Side::High => rows[row].value - rows[**other].value <= range,
    };
    near.len() >= CONFIRMING && near.iter().filter(agrees).count() <= tolerated(near.len())
}

/// The nearest other rows, at most [`NEIGHBOURS`], up to this distance.
fn neighbours(rows: &[Row<'_>], row: usize, distance: f64) -> Vec<usize> {
    let nearness = |other: &Row<'_>| -squared_distance(rows[row].x, other.x);
    let mut nearness: Vec<f64> = rows.iter().map(nearness).collect();
    nearness[row] = f64::NEG_INFINITY;
    let nearest = largest(&nearness, NEIGHBOURS.min(rows.len() - 1)).into_iter();
    nearest.filter(|other| -nearness[*other] <= distance * distance).collect()
}

/// Of so many near neighbours, how many may agree with a value that is wrong.
fn tolerated(near: usize) -> usize {
    usize::from(near >= CROWD)
}

/// How near neighbours have to be to contradict a value.
fn near(parameters: usize, role: Role, side: Side) -> f64 {
    match (role, side) {
        (Role::Objective, Side::Low) => radius(RARE_AND_BAD, parameters),
        _ => radius(RARE, parameters),
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
    let mut clipped = match limit {
        None => clipped_objective(rows, &sorted),
        Some(limit) => clipped_constraint(rows, &sorted, limit),
    };
    for one in &clipped {
        for row in rows.iter_mut().filter(|row| row.evaluation == one.evaluation) {
            row.value = one.counts_as;
            row.sd = one.doubt.map_or(row.sd, |doubt| Some(doubt.hypot(row.sd.unwrap_or(0.0))));
        }
    }
    clipped.sort_by_key(|one| one.evaluation);
    clipped
}

/// Low values that are far out. That they are bad is all that is known.
///
/// Those that no neighbour confirms have noise as large as the step by which they are worse than the
/// others, so that neighbours may say otherwise, and need not be as far out.
fn clipped_objective(rows: &[Row<'_>], sorted: &[f64]) -> Vec<Clipped> {
    let (far, most) = (far_tail(sorted), most_wrong(sorted.len()));
    let suspect = Tail::low(sorted, most, SUSPECT).filter(|_| sorted.len() >= FEWEST);
    let Some(suspect) = suspect.or(far) else { return vec![] };
    let is_out =
        |row: &Row<'_>| suspect.has(row.value) || far.is_some_and(|far| far.has(row.value));
    let clipped = |row: usize| {
        let Row { evaluation, value, .. } = rows[row];
        let mut nearest = neighbours(rows, row, f64::INFINITY).into_iter().take(CONFIRMING);
        let is_confirmed = nearest.any(|other| is_out(&rows[other]));
        let tail = if is_confirmed { far? } else { suspect };
        let doubt = (!is_confirmed).then_some(tail.spread());
        (value < tail.fence()).then_some(Clipped {
            evaluation,
            value,
            counts_as: tail.fence(),
            doubt,
        })
    };
    (0..rows.len()).filter(|row| is_out(&rows[*row])).filter_map(clipped).collect()
}

/// Values that are far out at either end, each on its side of the limit.
fn clipped_constraint(rows: &[Row<'_>], sorted: &[f64], limit: f64) -> Vec<Clipped> {
    // What is too high is too low once all is turned around.
    let (low, high) = (far_tail(sorted), far_tail(&mirrored(sorted)));
    let clipped = |&Row { evaluation, value, .. }: &Row<'_>| {
        let raised_value = low.map_or(value, |tail| raised(value, &tail, limit));
        let counts_as = high.map_or(raised_value, |tail| -raised(-raised_value, &tail, -limit));
        (counts_as != value).then_some(Clipped { evaluation, value, counts_as, doubt: None })
    };
    rows.iter().filter_map(clipped).collect()
}

/// The low values that are too far away from all others to count as they are.
fn far_tail(sorted: &[f64]) -> Option<Tail> {
    let tail = Tail::low(sorted, most_wrong(sorted.len()), CLIPPED);
    // What programs return where they fail is always the same, and may be returned often.
    tail.or_else(|| Tail::low_plateau(sorted, CLIPPED))
}

/// The value, or if it is lower a value one spread below all others, on the same side of the limit.
fn raised(value: f64, tail: &Tail, limit: f64) -> f64 {
    let fence = tail.fence();
    value.max(if value < limit { fence.min(tail.below(limit)) } else { fence })
}

/// Ascending values turned around.
fn mirrored(sorted: &[f64]) -> Vec<f64> {
    sorted.iter().rev().map(|value| -value).collect()
}

/// The radius of a ball that fills this part of the unit cube, at most [`NEAR`].
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
        Suspects::of(&rows, 2, role).lonely(&rows, 2, role)
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
    fn among_many_neighbours_two_wrong_values_do_not_confirm_each_other() {
        let crowd = (0..8).map(|i| 0.01 * f64::from(i)).map(|u| ([0.5 + u, 0.55 - u], 0.5));
        let mut more: Vec<([f64; 2], f64)> = crowd.collect();
        more.extend([([0.521, 0.531], 9.0), ([0.522, 0.53], 12.0)]);
        assert_eq!(lonely(&more, Role::Objective), [33, 34]);
    }

    #[test]
    fn a_value_unlike_all_near_neighbours_is_suspect_without_a_gap() {
        // Wrong values of all sizes, which leave no gap between them and the others.
        let mut more: Vec<([f64; 2], f64)> = vec![([0.5, 0.54], 0.5), ([0.5, 0.56], 0.52)];
        more.push(([0.51, 0.55], 1.7));
        assert_eq!(lonely(&more, Role::Objective), [27]);
        // A neighbour that agrees makes it a slope.
        more.push(([0.52, 0.55], 1.3));
        assert_eq!(lonely(&more, Role::Objective), [0; 0]);
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
            assert_eq!(
                clipped,
                [Clipped { evaluation: 25, value, counts_as: -0.5, doubt: Some(0.5) }]
            );
            assert_eq!((rows[25].value, rows[25].sd), (-0.5, Some(0.5)));
        }
        for value in [-1.0, 1e6, 1e300] {
            let mut rows = rows(&places, &smooth(&[value]));
            assert_eq!(clip(&mut rows, None), [], "{value}");
            assert_eq!((rows[25].value, rows[25].sd), (value, None));
        }
    }

    #[test]
    fn clipped_values_that_are_neighbours_are_not_doubted() {
        let places = grid(&[[0.31, 0.3], [0.3, 0.31], [0.9, 0.1]]);
        let mut far = rows(&places, &smooth(&[-1e6, -1e9, -1e7]));
        let doubts: Vec<Option<f64>> = clip(&mut far, None).iter().map(|one| one.doubt).collect();
        assert_eq!(doubts, [None, None, Some(0.5)]);
        assert_eq!(far[25..].iter().map(|row| row.sd).collect::<Vec<_>>(), doubts);
        // Not as far out, they are clipped only if they are doubted.
        let mut bad = rows(&places, &smooth(&[-5.0, -6.0, -7.0]));
        let numbers: Vec<u64> = clip(&mut bad, None).iter().map(|one| one.evaluation).collect();
        assert_eq!(numbers, [27]);
        assert_eq!((bad[26].value, bad[27].value), (-6.0, -0.5));
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
