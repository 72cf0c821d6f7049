//! Dominance, the non-dominated points and the non-dominated fronts.
//!
//! All sweeps here visit the points in descending lexicographic order. A point can then only be
//! dominated by one visited before it, and the first objective needs no further comparison.

use super::OBJECTIVES;
use super::order::descending_order;
use super::staircase::Staircase;
use crate::{Points, Result};

/// Whether `a` is at least as good as `b` in every objective and better in one.
///
/// Vectors of different length do not dominate each other.
pub fn dominates(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && covers(a, b) && a.iter().zip(b).any(|(a, b)| a > b)
}

/// The points that no other dominates, ascending; of equal points all or none are among them.
pub fn non_dominated(points: &Points) -> Result<Vec<usize>> {
    points.check_finite(OBJECTIVES)?;
    let mut is_best = vec![false; points.len()];
    for (i, standing) in standings(points) {
        is_best[i] = standing != Standing::Dominated;
    }
    Ok((0..points.len()).filter(|&i| is_best[i]).collect())
}

/// The number of each point's front: 0 for those that no other dominates, 1 for those that only
/// the first front dominates, and so on (Goldberg 1989); equal points share a front.
///
/// Sorts first and then finds each point's front by bisection, as in Zhang, Tian, Cheng & Jin
/// (2015), with a front summary that answers in O(log n) for up to three objectives.
pub fn non_dominated_ranks(points: &Points) -> Result<Vec<usize>> {
    points.check_finite(OBJECTIVES)?;
    Ok(ranks_along(points, &descending_order(points)))
}

/// As [`non_dominated_ranks`], for finite values whose descending order is known.
pub(crate) fn ranks_along(points: &Points, order: &[usize]) -> Vec<usize> {
    match points.dim() {
        0 | 1 => ranks_with::<Single>(points, order),
        2 => ranks_with::<Highest>(points, order),
        3 => ranks_with::<Staircase>(points, order),
        _ => ranks_with::<Members>(points, order),
    }
}

/// The points that no other dominates, the lowest index of equal ones only, in descending order.
pub(super) fn distinct_non_dominated(points: &Points) -> Vec<usize> {
    let standings = standings(points).into_iter();
    standings.filter(|(_, s)| *s == Standing::Best).map(|(i, _)| i).collect()
}

/// Whether `a` is at least as good as `b` in every objective.
fn covers(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a >= b)
}

/// How a point stands among all others.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Standing {
    /// Non-dominated, and the lowest index among its equals.
    Best,
    /// Equal to such a point.
    CopyOfBest,
    /// Dominated by some point.
    Dominated,
}

/// The points in descending order, each with its standing.
fn standings(points: &Points) -> Vec<(usize, Standing)> {
    match points.dim() {
        0 | 1 => standings_with::<Single>(points),
        2 => standings_with::<Highest>(points),
        3 => standings_with::<Staircase>(points),
        _ => standings_with::<Members>(points),
    }
}

/// [`standings`] with the first front kept as an `F`.
fn standings_with<F: Front>(points: &Points) -> Vec<(usize, Standing)> {
    let mut front: Option<F> = None;
    let mut previous: Option<(usize, Standing)> = None;
    let mut standings = Vec::with_capacity(points.len());
    for i in descending_order(points) {
        let standing = match (previous, &front) {
            (Some((p, s)), _) if points.row(p) == points.row(i) => match s {
                Standing::Dominated => s,
                _ => Standing::CopyOfBest,
            },
            (_, Some(front)) if front.covers(rest(points, i)) => Standing::Dominated,
            _ => Standing::Best,
        };
        if standing == Standing::Best {
            front.get_or_insert_default().add(rest(points, i));
        }
        previous = Some((i, standing));
        standings.push((i, standing));
    }
    standings
}

/// [`ranks_along`] with each front kept as an `F`.
///
/// Bisection is right because a front that covers a point is itself covered by the front before.
fn ranks_with<F: Front>(points: &Points, order: &[usize]) -> Vec<usize> {
    let mut fronts: Vec<F> = Vec::new();
    let mut ranks = vec![0; points.len()];
    let mut previous = None;
    for &i in order {
        match previous {
            Some(p) if points.row(p) == points.row(i) => ranks[i] = ranks[p],
            _ => {
                let rank = fronts.partition_point(|front| front.covers(rest(points, i)));
                if rank == fronts.len() {
                    fronts.push(F::default());
                }
                fronts[rank].add(rest(points, i));
                ranks[i] = rank;
            }
        }
        previous = Some(i);
    }
    ranks
}

/// The objectives of point `i` after the first.
fn rest(points: &Points, i: usize) -> &[f64] {
    points.row(i).get(1..).unwrap_or_default()
}

/// What a sweep must remember of a front to tell whether it dominates a later point.
///
/// Points come in descending order, none of them twice, without their first objective.
trait Front: Default {
    /// Whether a member covers `rest`.
    fn covers(&self, rest: &[f64]) -> bool;
    /// Takes in a member.
    fn add(&mut self, rest: &[f64]);
}

/// A front of one objective: its only member covers all that follow.
#[derive(Default)]
struct Single;

impl Front for Single {
    fn covers(&self, _: &[f64]) -> bool {
        true
    }

    fn add(&mut self, _: &[f64]) {}
}

/// A front of two objectives: its latest member has the highest second objective.
#[derive(Default)]
struct Highest(f64);

impl Front for Highest {
    fn covers(&self, rest: &[f64]) -> bool {
        self.0 >= rest[0]
    }

    fn add(&mut self, rest: &[f64]) {
        self.0 = rest[0];
    }
}

impl Front for Staircase {
    fn covers(&self, rest: &[f64]) -> bool {
        self.covers([rest[0], rest[1]])
    }

    fn add(&mut self, rest: &[f64]) {
        self.insert([rest[0], rest[1]]);
    }
}

/// A front of four or more objectives: all its members, one after another.
#[derive(Default)]
struct Members(Vec<f64>);

impl Front for Members {
    fn covers(&self, rest: &[f64]) -> bool {
        // The latest members are the nearest in the first objective, so the likeliest to cover.
        self.0.chunks_exact(rest.len()).rev().any(|member| covers(member, rest))
    }

    fn add(&mut self, rest: &[f64]) {
        self.0.extend_from_slice(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::super::cases;
    use super::*;
    use crate::Error;
    use proptest::prelude::*;

    /// Peels off the non-dominated points again and again.
    fn brute_ranks(points: &Points) -> Vec<usize> {
        let mut ranks = vec![usize::MAX; points.len()];
        let mut rank = 0;
        while ranks.contains(&usize::MAX) {
            let left: Vec<_> = (0..points.len()).filter(|&i| ranks[i] == usize::MAX).collect();
            for &i in &left {
                if !left.iter().any(|&j| dominates(points.row(j), points.row(i))) {
                    ranks[i] = rank;
                }
            }
            rank += 1;
        }
        ranks
    }

    proptest! {
        #[test]
        fn ranks_are_those_of_peeling_off_front_by_front(points in cases::any(1..=5, 0..40)) {
            prop_assert_eq!(non_dominated_ranks(&points).unwrap(), brute_ranks(&points));
        }

        #[test]
        fn the_non_dominated_points_are_those_of_rank_zero(points in cases::any(1..=5, 0..60)) {
            let ranks = non_dominated_ranks(&points).unwrap();
            let best: Vec<_> = (0..points.len()).filter(|&i| ranks[i] == 0).collect();
            prop_assert_eq!(non_dominated(&points).unwrap(), best);
        }

        #[test]
        fn of_equal_points_only_the_lowest_index_is_distinct(points in cases::grid(1..=5, 0..60)) {
            let best = non_dominated(&points).unwrap();
            let first = |&&i: &&usize| !(0..i).any(|j| points.row(j) == points.row(i));
            let mut distinct = distinct_non_dominated(&points);
            distinct.sort_unstable();
            prop_assert_eq!(distinct, best.iter().filter(first).copied().collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_point_does_not_dominate_its_equal() {
        assert!(!dominates(&[1.0, 2.0], &[1.0, 2.0]));
        assert!(dominates(&[1.0, 2.0], &[1.0, 1.0]));
        assert!(!dominates(&[1.0, 2.0], &[2.0, 1.0]));
        assert!(!dominates(&[], &[]));
        assert!(!dominates(&[1.0, 2.0], &[0.0]));
    }

    #[test]
    fn no_points_and_no_objectives_are_possible() {
        assert!(non_dominated(&Points::new(3)).unwrap().is_empty());
        assert!(non_dominated_ranks(&Points::new(2)).unwrap().is_empty());
        assert_eq!(non_dominated(&Points::zeros(0, 3)).unwrap(), [0, 1, 2]);
        assert_eq!(non_dominated_ranks(&Points::zeros(0, 3)).unwrap(), [0, 0, 0]);
    }

    #[test]
    fn the_sign_of_zero_does_not_matter() {
        let points = Points::from_rows(2, [[0.0, 1.0], [-0.0, 2.0], [-0.0, 1.0]]).unwrap();
        assert_eq!(non_dominated_ranks(&points).unwrap(), [1, 0, 1]);
    }

    #[test]
    fn values_that_are_not_finite_are_refused() {
        let points = Points::from_rows(2, [[0.0, 1.0], [f64::INFINITY, 2.0]]).unwrap();
        let error = Error::NotFinite { what: OBJECTIVES, index: 2, value: f64::INFINITY };
        assert_eq!(non_dominated(&points).unwrap_err(), error);
        assert_eq!(non_dominated_ranks(&points).unwrap_err(), error);
    }
}
