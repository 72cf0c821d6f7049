//! Some of many designs: which a model keeps where there are too many, and which are different.
//!
//! Those near the front decide what is suggested and recommended; the rest say what lies between.
//! How old a design is does not matter.

use crate::space::key;
use unyoke_math::pareto::{non_dominated_ranks, thin};
use unyoke_math::{Points, Result};

/// Designs an objective was observed at, and what is known of them.
pub(crate) struct Candidates<'a> {
    /// Encoded designs, all different; their order decides between equals only.
    pub(crate) points: &'a Points,
    /// What is expected of every objective at each of them, to be maximised.
    pub(crate) expected: &'a Points,
    /// The same designs in units of length scales, in which distances are taken.
    pub(crate) scaled: &'a Points,
}

impl Candidates<'_> {
    /// The numbers of `count` designs, ascending: half of them near the front, the others each as
    /// far as possible from those chosen before it.
    ///
    /// Given its nearest neighbour alone, the farthest design is the one of the largest variance.
    /// Designs outside the unit cube stand back until all inside it are chosen.
    pub(crate) fn choose(&self, count: usize) -> Result<Vec<usize>> {
        let inside: Vec<usize> = (0..self.points.len()).filter(|&i| self.is_inside(i)).collect();
        let (mut chosen, others) = if inside.len() <= count {
            (inside, (0..self.points.len()).collect())
        } else {
            (self.near_front(&inside, count.div_ceil(2))?, inside)
        };
        add_farthest(self.scaled, &mut chosen, &others, count);
        chosen.sort_unstable();
        Ok(chosen)
    }

    fn is_inside(&self, i: usize) -> bool {
        self.points.row(i).iter().all(|v| (0.0..=1.0).contains(v))
    }

    /// Of the designs `among`, `count` that few others are expected to dominate: front after front,
    /// the last one thinned.
    fn near_front(&self, among: &[usize], count: usize) -> Result<Vec<usize>> {
        let expected = self.expected.select(among);
        let ranks = non_dominated_ranks(&expected)?;
        let mut near = Vec::with_capacity(count);
        for rank in 0.. {
            let front: Vec<usize> = (0..among.len()).filter(|&i| ranks[i] == rank).collect();
            let room = count - near.len();
            if front.is_empty() || room == 0 {
                break;
            }
            let kept = if front.len() > room { thin(&expected, &front, room)? } else { front };
            near.extend(kept.iter().map(|&i| among[i]));
        }
        Ok(near)
    }
}

/// Adds points of `among` to `chosen` until there are `count`, each the farthest from all that were
/// chosen before it; of several farthest the first. Copies of chosen points are never added.
pub(crate) fn add_farthest(
    points: &Points,
    chosen: &mut Vec<usize>,
    among: &[usize],
    count: usize,
) {
    if chosen.len() >= count {
        return;
    }
    let mut left = Left::new(points, among);
    for &next in chosen.iter() {
        left.narrow(points.row(next));
    }
    while chosen.len() < count {
        let Some(farthest) = left.farthest() else { break };
        chosen.push(farthest);
        left.narrow(points.row(farthest));
    }
}

/// Points that may still be chosen, a column per coordinate: gaps to them are narrowed again and again.
struct Left {
    places: Vec<usize>,
    columns: Vec<Vec<f64>>,
    /// Squared distances to the nearest point that was chosen.
    gaps: Vec<f64>,
    distances: Vec<f64>,
}

impl Left {
    fn new(points: &Points, among: &[usize]) -> Self {
        let column = |d: usize| among.iter().map(|&i| points.row(i)[d]).collect();
        Self {
            places: among.to_vec(),
            columns: (0..points.dim()).map(column).collect(),
            gaps: vec![f64::INFINITY; among.len()],
            distances: vec![0.0; among.len()],
        }
    }

    /// Takes note that `chosen` is a point that was chosen.
    fn narrow(&mut self, chosen: &[f64]) {
        self.distances.fill(0.0);
        for (column, c) in self.columns.iter().zip(chosen) {
            for (distance, v) in self.distances.iter_mut().zip(column) {
                *distance += (v - c) * (v - c);
            }
        }
        for (gap, distance) in self.gaps.iter_mut().zip(&self.distances) {
            *gap = gap.min(*distance);
        }
    }

    /// The first of those with the largest gap; none if all are copies of what was chosen.
    fn farthest(&self) -> Option<usize> {
        let widest = self.gaps.iter().fold(0.0, |widest: f64, gap| widest.max(*gap));
        let place = self.gaps.iter().position(|gap| *gap == widest);
        place.filter(|_| widest > 0.0).map(|place| self.places[place])
    }
}

/// Indices of the points that no earlier one equals.
pub(crate) fn distinct(points: &Points) -> Vec<usize> {
    let mut seen = std::collections::HashSet::new();
    (0..points.len()).filter(|&i| seen.insert(key(points.row(i)))).collect()
}

pub(super) fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unyoke_math::sobol;

    #[test]
    fn the_front_is_kept_and_the_rest_covers_the_space() {
        let points = sobol::cube(2, 1000, 1).unwrap();
        let objectives = |x: &[f64]| [-(x[0] - 0.3).powi(2) - x[1], -(x[0] - 0.5).powi(2) - x[1]];
        let expected = Points::from_rows(2, points.rows().map(objectives)).unwrap();
        let candidates = Candidates { points: &points, expected: &expected, scaled: &points };
        let chosen = candidates.choose(100).unwrap();
        assert_eq!(chosen.len(), 100);
        let front = unyoke_math::pareto::non_dominated(&expected).unwrap();
        assert!(front.len() < 50 && front.iter().all(|i| chosen.contains(i)), "{front:?}");
        // Half of a hundred designs spread over the square leave no hole wider than this.
        for i in 0..points.len() {
            let gaps = chosen.iter().map(|&j| squared_distance(points.row(i), points.row(j)));
            assert!(gaps.fold(f64::INFINITY, f64::min).sqrt() < 0.2);
        }
    }

    #[test]
    fn a_front_larger_than_the_room_for_it_is_thinned_and_keeps_its_ends() {
        let points = Points::from_rows(1, (0..1000).map(|i| [i as f64 / 999.0])).unwrap();
        let expected = Points::from_rows(2, points.rows().map(|x| [x[0], -x[0]])).unwrap();
        let candidates = Candidates { points: &points, expected: &expected, scaled: &points };
        let chosen = candidates.choose(20).unwrap();
        assert_eq!((chosen.len(), chosen[0], chosen[19]), (20, 0, 999));
        assert!(chosen.windows(2).all(|pair| pair[1] - pair[0] < 120), "{chosen:?}");
    }

    #[test]
    fn designs_outside_the_bounds_stand_back() {
        let points = Points::from_rows(1, (0..300).map(|i| [i as f64 / 99.0])).unwrap();
        let expected = points.clone();
        let candidates = Candidates { points: &points, expected: &expected, scaled: &points };
        assert!(candidates.choose(50).unwrap().iter().all(|&i| i < 100));
        let more = candidates.choose(150).unwrap();
        assert_eq!(more.len(), 150);
        assert!((0..100).all(|i| more.contains(&i)));
    }
}
