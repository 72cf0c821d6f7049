//! Crowding: how much room each member of a front has, and thinning a front by it.

use super::OBJECTIVES;
use super::order::ascending;
use crate::{Error, Points, Result};

/// The crowding distance of each member of `front`, in its order (Deb et al. 2002, §III-B):
/// Σₘ (yₘ of the next member − yₘ of the previous one) ∕ (range of yₘ over the front).
///
/// The two ends of each objective are infinitely far from the rest; of several members tied at an
/// end, the first in `front` is the end. An objective without range adds nothing, and in a front of
/// one or two all are ends.
pub fn crowding_distances(points: &Points, front: &[usize]) -> Result<Vec<f64>> {
    check(points, front)?;
    Ok(crowding_of(points, front))
}

/// As [`crowding_distances`], for finite values and indices known to exist.
pub(crate) fn crowding_of(points: &Points, front: &[usize]) -> Vec<f64> {
    let neighbours = Neighbours::new(points, front);
    (0..front.len()).map(|k| neighbours.distance(k)).collect()
}

/// The members of `front` that stay, ascending, when again and again the one with the smallest
/// crowding distance among those left is dropped until `keep` are left (Kukkonen & Deb 2006);
/// of several smallest the highest index goes first.
pub fn thin(points: &Points, front: &[usize], keep: usize) -> Result<Vec<usize>> {
    check(points, front)?;
    let mut front = front.to_vec();
    front.sort_unstable();
    let mut neighbours = Neighbours::new(points, &front);
    let mut left: Vec<usize> = (0..front.len()).collect();
    let mut distances: Vec<f64> = left.iter().map(|&k| neighbours.distance(k)).collect();
    while left.len() > keep {
        let dropped = left.remove(most_crowded(&left, &distances));
        match neighbours.remove(dropped) {
            Removal::Inside => {
                for k in neighbours.beside(dropped) {
                    distances[k] = neighbours.distance(k);
                }
            }
            // Distances are relative to the range, and below three members all are ends.
            Removal::RangeChanged => {
                for &k in &left {
                    distances[k] = neighbours.distance(k);
                }
            }
        }
    }
    Ok(left.into_iter().map(|k| front[k]).collect())
}

/// Fails unless all values are finite and all of `front` are points.
fn check(points: &Points, front: &[usize]) -> Result<()> {
    points.check_finite(OBJECTIVES)?;
    match front.iter().find(|&&i| i >= points.len()) {
        None => Ok(()),
        Some(&i) => Err(Error::OutOfRange {
            what: "index of a front member",
            value: i as f64,
            must: "less than the number of points",
        }),
    }
}

/// The place in `left` of the last of the smallest distances.
fn most_crowded(left: &[usize], distances: &[f64]) -> usize {
    let mut place = 0;
    for (candidate, &k) in left.iter().enumerate() {
        if distances[k] <= distances[left[place]] {
            place = candidate;
        }
    }
    place
}

/// No member on that side.
const NONE: usize = usize::MAX;

/// What taking out a member changed.
enum Removal {
    /// Only the distances of its neighbours.
    Inside,
    /// The range of an objective, and so possibly all distances.
    RangeChanged,
}

/// The members of a front, by position in it, as one sorted list per objective.
struct Neighbours {
    lists: Vec<List>,
    len: usize,
}

/// The members sorted by one objective, linked so that one can be taken out at once.
struct List {
    values: Vec<f64>,
    previous: Vec<usize>,
    next: Vec<usize>,
    lowest: f64,
    highest: f64,
}

impl Neighbours {
    /// Sorts `front` by each objective.
    fn new(points: &Points, front: &[usize]) -> Self {
        let lists = (0..points.dim()).map(|m| List::new(points, front, m)).collect();
        Self { lists, len: front.len() }
    }

    /// Crowding distance of member `k` among those left.
    fn distance(&self, k: usize) -> f64 {
        if self.len <= 2 {
            return f64::INFINITY;
        }
        self.lists.iter().fold(0.0, |sum, list| sum + list.gap(k))
    }

    /// Takes member `k` out of all lists.
    fn remove(&mut self, k: usize) -> Removal {
        self.len -= 1;
        let mut removal = if self.len <= 2 { Removal::RangeChanged } else { Removal::Inside };
        for list in &mut self.lists {
            if list.remove(k) {
                removal = Removal::RangeChanged;
            }
        }
        removal
    }

    /// The members that stood beside `k` when it was taken out.
    fn beside(&self, k: usize) -> impl Iterator<Item = usize> {
        self.lists.iter().flat_map(move |l| [l.previous[k], l.next[k]]).filter(|&k| k != NONE)
    }
}

impl List {
    /// Sorts `front` by objective `m`, ties by place in it.
    fn new(points: &Points, front: &[usize], m: usize) -> Self {
        let values: Vec<f64> = front.iter().map(|&i| points.row(i)[m]).collect();
        let order = ascending(&values);
        let mut previous = vec![NONE; front.len()];
        let mut next = vec![NONE; front.len()];
        for pair in order.windows(2) {
            previous[pair[1]] = pair[0];
            next[pair[0]] = pair[1];
        }
        let lowest = order.first().map_or(0.0, |&k| values[k]);
        let highest = order.last().map_or(0.0, |&k| values[k]);
        Self { values, previous, next, lowest, highest }
    }

    /// The room of `k` in this objective, relative to the range.
    fn gap(&self, k: usize) -> f64 {
        let range = self.highest - self.lowest;
        if range <= 0.0 {
            return 0.0;
        }
        let (value, previous) = (self.values[k], self.previous[k]);
        if previous == NONE || (value == self.highest && self.values[previous] < value) {
            return f64::INFINITY;
        }
        // The last of several tied at the upper end has nobody above it.
        let above = if self.next[k] == NONE { value } else { self.values[self.next[k]] };
        // Halved, a difference of finite numbers cannot overflow.
        (0.5 * above - 0.5 * self.values[previous]) / (0.5 * self.highest - 0.5 * self.lowest)
    }

    /// Takes `k` out, keeping its own links, and says whether the range changed.
    fn remove(&mut self, k: usize) -> bool {
        let (previous, next) = (self.previous[k], self.next[k]);
        let before = (self.lowest, self.highest);
        if previous != NONE {
            self.next[previous] = next;
        } else if next != NONE {
            self.lowest = self.values[next];
        }
        if next != NONE {
            self.previous[next] = previous;
        } else if previous != NONE {
            self.highest = self.values[previous];
        }
        before != (self.lowest, self.highest)
    }
}

#[cfg(test)]
mod tests {
    use super::super::cases;
    use super::*;
    use proptest::prelude::*;

    /// The definition of [`thin`], all distances computed afresh after each drop.
    fn thin_slowly(points: &Points, front: &[usize], keep: usize) -> Vec<usize> {
        let mut left = front.to_vec();
        while left.len() > keep {
            let distances = crowding_distances(points, &left).unwrap();
            let smallest = distances.iter().copied().fold(f64::INFINITY, f64::min);
            let place = distances.iter().rposition(|&d| d == smallest).unwrap();
            left.remove(place);
        }
        left
    }

    fn all(points: &Points) -> Vec<usize> {
        (0..points.len()).collect()
    }

    proptest! {
        #[test]
        fn distances_are_never_nan_and_never_negative(points in cases::any(0..=4, 0..30)) {
            let distances = crowding_distances(&points, &all(&points)).unwrap();
            prop_assert!(distances.iter().all(|&d| d >= 0.0));
        }

        #[test]
        fn thinning_equals_dropping_with_all_distances_computed_afresh(
            points in cases::any(0..=3, 0..25),
            keep in 0..12_usize,
        ) {
            let thinned = thin(&points, &all(&points), keep).unwrap();
            prop_assert_eq!(thinned, thin_slowly(&points, &all(&points), keep));
        }
    }

    #[test]
    fn distances_add_the_relative_gaps_of_both_objectives() {
        let rows = [[0.0, 4.0], [9.0, 9.0], [1.0, 3.0], [2.0, 1.0], [4.0, 0.0]];
        let points = Points::from_rows(2, rows).unwrap();
        let distances = crowding_distances(&points, &[4, 0, 2, 3]).unwrap();
        let infinity = f64::INFINITY;
        assert_eq!(distances, [infinity, infinity, 0.5 + 0.75, 0.75 + 0.75]);
    }

    #[test]
    fn copies_of_an_end_are_dropped_before_anything_between_the_ends() {
        let rows = [[0.0, 4.0], [0.0, 4.0], [2.0, 2.0], [4.0, 0.0], [4.0, 0.0]];
        let points = Points::from_rows(2, rows).unwrap();
        assert_eq!(thin(&points, &all(&points), 3).unwrap(), [0, 2, 3]);
    }

    #[test]
    fn an_even_line_stays_even_when_halved() {
        let rows: Vec<_> = (0..9).map(f64::from).map(|x| [x, 8.0 - x]).collect();
        let points = Points::from_rows(2, rows).unwrap();
        let kept = thin(&points, &[8, 7, 6, 5, 4, 3, 2, 1, 0], 5).unwrap();
        assert_eq!(kept.first(), Some(&0));
        assert_eq!(kept.last(), Some(&8));
        assert!(kept.windows(2).all(|pair| pair[1] - pair[0] <= 3));
    }

    #[test]
    fn keeping_more_than_there_are_keeps_all_and_keeping_none_keeps_none() {
        let points = Points::from_rows(2, [[0.0, 1.0], [1.0, 0.0]]).unwrap();
        assert_eq!(thin(&points, &[1, 0], 5).unwrap(), [0, 1]);
        assert!(thin(&points, &[1, 0], 0).unwrap().is_empty());
    }

    #[test]
    fn extreme_values_do_not_overflow() {
        let rows = [[-f64::MAX, f64::MAX], [0.0, 0.0], [f64::MAX, -f64::MAX]];
        let points = Points::from_rows(2, rows).unwrap();
        assert_eq!(crowding_distances(&points, &[0, 1, 2]).unwrap()[1], 2.0);
    }

    #[test]
    fn an_index_that_is_no_point_is_refused() {
        assert!(crowding_distances(&Points::zeros(2, 3), &[0, 3]).is_err());
        assert!(thin(&Points::zeros(2, 3), &[7], 1).is_err());
    }
}
