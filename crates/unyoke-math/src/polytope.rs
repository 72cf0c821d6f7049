//! The part of the simplex that some half-spaces leave: its corners, and points spread over it.
//!
//! Points of the simplex have coordinates that are not negative and sum to 1, so each half-space
//! n · p + c ≥ 0 is the homogeneous (n + c) · p ≥ 0. Cutting with one keeps the corners inside and adds
//! those where edges leave (Motzkin et al. 1953).

use crate::error::{Error, Result, check_finite, check_shape};
use crate::points::Points;
use crate::random::{Rng, seed_for};
use crate::sobol;

/// The points p with normal · p + offset ≥ 0.
#[derive(Debug, Clone, PartialEq)]
pub struct HalfSpace {
    /// Points to the inside.
    pub normal: Vec<f64>,
    /// How far the origin is inside.
    pub offset: f64,
}

/// What is closer to a half-space's boundary, relative to the half-space's coefficients, is on it.
const ON: f64 = 1e-10;

/// Draws for each point that is wanted, and a few more, before the part counts as too thin for
/// rejection.
const DRAWS: usize = 64;
const FIRST_DRAWS: usize = 1024;

/// A part of the simplex.
///
/// ```
/// use unyoke_math::polytope::{HalfSpace, SimplexPart};
///
/// // The first coordinate at least twice the second.
/// let twice = HalfSpace { normal: vec![1.0, -2.0, 0.0], offset: 0.0 };
/// let part = SimplexPart::new(3, &[twice])?;
/// assert_eq!(part.corners().len(), 3);
/// assert!(part.points(16, 7)?.rows().all(|p| p[0] >= 2.0 * p[1]));
/// # Ok::<(), unyoke_math::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SimplexPart {
    dim: usize,
    /// Normals of homogeneous half-spaces, the largest coefficient ±1.
    cuts: Vec<Vec<f64>>,
    corners: Points,
}

impl SimplexPart {
    /// The points of the simplex with `dim` coordinates that are in all of `halves`.
    pub fn new(dim: usize, halves: &[HalfSpace]) -> Result<Self> {
        let unit = |k: usize| (0..dim).map(move |j| f64::from(u8::from(j == k)));
        let corners = (0..dim).map(|k| unit(k).collect::<Vec<_>>());
        let corners = Points::from_rows(dim, corners)?;
        let mut part = Self { dim, cuts: vec![], corners };
        for half in halves {
            check_shape("normal of a half-space", dim, half.normal.len())?;
            check_finite("half-space", &half.normal)?;
            check_finite("half-space", &[half.offset])?;
            part.cut(half)?;
        }
        Ok(part)
    }

    fn cut(&mut self, half: &HalfSpace) -> Result<()> {
        let normal: Vec<f64> = half.normal.iter().map(|n| n + half.offset).collect();
        let size = normal.iter().fold(0.0, |most: f64, n| most.max(n.abs()));
        if size == 0.0 {
            // Every point is on the boundary.
            return Ok(());
        }
        let normal: Vec<f64> = normal.iter().map(|n| n / size).collect();
        let heights: Vec<f64> = self.corners.rows().map(|p| dot(&normal, p)).collect();
        self.cuts.push(normal);
        let mut corners = Points::new(self.dim);
        for (p, height) in self.corners.rows().zip(&heights) {
            if *height >= -ON {
                corners.push(p)?;
            }
        }
        let inside = (0..heights.len()).filter(|i| heights[*i] > ON);
        for i in inside {
            for j in (0..heights.len()).filter(|j| heights[*j] < -ON) {
                let p = meeting(self.corners.row(i), self.corners.row(j), heights[i], heights[j]);
                let is_other = |q: &[f64]| q.iter().zip(&p).any(|(a, b)| (a - b).abs() > ON);
                if self.is_corner(&p) && corners.rows().all(is_other) {
                    corners.push(&p)?;
                }
            }
        }
        self.corners = corners;
        Ok(())
    }

    /// Whether the boundaries on which `p` lies meet in it alone.
    fn is_corner(&self, p: &[f64]) -> bool {
        let axes = (0..self.dim).filter(|k| p[*k] <= ON);
        let axis = |k: usize| (0..self.dim).map(|j| f64::from(u8::from(j == k))).collect();
        let cuts = self.cuts.iter().filter(|cut| dot(cut, p).abs() <= ON);
        let rows: Vec<Vec<f64>> = axes.map(axis).chain(cuts.cloned()).collect();
        rows.len() + 1 >= self.dim && rank(rows) + 1 >= self.dim
    }

    /// The corners of the part; none if it is empty.
    pub fn corners(&self) -> &Points {
        &self.corners
    }

    /// Whether no point is left.
    pub fn is_empty(&self) -> bool {
        self.corners.is_empty()
    }

    /// Whether a point of the simplex is in the part.
    pub fn contains(&self, p: &[f64]) -> bool {
        self.cuts.iter().all(|cut| dot(cut, p) >= -ON)
    }

    /// The first `n` points of a scrambled Sobol' sequence that fills the part evenly.
    pub fn points(&self, n: usize, seed: u64) -> Result<Points> {
        self.points_from(0, n, seed)
    }

    /// The `n` points of that sequence from the point `start` on.
    ///
    /// Points are drawn from the smallest simplex with the same directions that holds the part, and
    /// those outside are skipped. If the part is so thin that few are left, they are random mixtures of
    /// its corners instead.
    pub fn points_from(&self, start: usize, n: usize, seed: u64) -> Result<Points> {
        if self.is_empty() {
            return Err(Error::Shape {
                what: "corners of a part of the simplex",
                expected: 1,
                found: 0,
            });
        }
        let lowest = |k: usize| self.corners.rows().map(|p| p[k]).fold(f64::INFINITY, f64::min);
        let lowest: Vec<f64> = (0..self.dim).map(lowest).collect();
        let room = (1.0 - lowest.iter().sum::<f64>()).max(0.0);
        let sequence = sobol::Sobol::new(self.dim.saturating_sub(1).max(1), seed)?;
        let mut u = vec![0.0; sequence.dim()];
        let (mut points, mut accepted) = (Points::new(self.dim), 0);
        for index in 0..DRAWS * (start + n) + FIRST_DRAWS {
            if points.len() == n {
                return Ok(points);
            }
            sequence.point(index as u32, &mut u);
            let shares = if self.dim > 1 { sobol::to_simplex(&u) } else { vec![1.0] };
            let p: Vec<f64> = lowest.iter().zip(shares).map(|(low, s)| low + room * s).collect();
            if self.contains(&p) {
                if accepted >= start {
                    points.push(&p)?;
                }
                accepted += 1;
            }
        }
        let mixtures = (start..start + n).map(|index| self.mixture(seed_for(seed, index as u64)));
        Points::from_rows(self.dim, mixtures)
    }

    /// A random mixture of as many corners as there are coordinates.
    fn mixture(&self, seed: u64) -> Vec<f64> {
        let mut rng = Rng::new(seed, 0);
        let mut left: Vec<usize> = (0..self.corners.len()).collect();
        let mut p = vec![0.0; self.dim];
        let mut total = 0.0;
        for _ in 0..self.dim.min(left.len()) {
            let place = (rng.uniform() * left.len() as f64) as usize;
            let corner = self.corners.row(left.swap_remove(place.min(left.len() - 1)));
            // Exponential shares are uniform on the simplex once they sum to 1.
            let share = -rng.open_uniform().ln();
            total += share;
            p.iter_mut().zip(corner).for_each(|(p, c)| *p += share * c);
        }
        p.iter_mut().for_each(|p| *p /= total);
        p
    }
}

/// Where the segment between a point inside and one outside meets the boundary.
fn meeting(inside: &[f64], outside: &[f64], above: f64, below: f64) -> Vec<f64> {
    let share = above / (above - below);
    inside.iter().zip(outside).map(|(a, b)| a + share * (b - a)).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The rank of a list of rows of moderate size, by elimination.
fn rank(mut rows: Vec<Vec<f64>>) -> usize {
    const NOTHING: f64 = 1e-9;
    let (mut rank, columns) = (0, rows.first().map_or(0, Vec::len));
    for column in 0..columns {
        let size = |i: &usize| rows[*i][column].abs();
        let Some(pivot) = (rank..rows.len()).max_by(|a, b| size(a).total_cmp(&size(b))) else {
            break;
        };
        if size(&pivot) <= NOTHING {
            continue;
        }
        rows.swap(rank, pivot);
        let lead = rows[rank].clone();
        for row in rows.iter_mut().skip(rank + 1) {
            let factor = row[column] / lead[column];
            row.iter_mut().zip(&lead).for_each(|(entry, lead)| *entry -= factor * lead);
        }
        rank += 1;
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(normal: &[f64], offset: f64) -> HalfSpace {
        HalfSpace { normal: normal.to_vec(), offset }
    }

    fn sorted(points: &Points) -> Vec<Vec<f64>> {
        let mut rows: Vec<Vec<f64>> = points.rows().map(<[f64]>::to_vec).collect();
        rows.sort_by(|a, b| a.partial_cmp(b).unwrap());
        rows
    }

    #[test]
    fn an_interval_of_two_weights_has_its_ends_and_is_filled_evenly() {
        let between = [half(&[1.0, 0.0], -0.2), half(&[-1.0, 0.0], 0.5)];
        let part = SimplexPart::new(2, &between).unwrap();
        let ends = sorted(part.corners());
        for (end, expected) in ends.iter().zip([0.2, 0.5]) {
            assert!((end[0] - expected).abs() < 1e-12, "{ends:?}");
        }
        let points = part.points(64, 3).unwrap();
        let mut first: Vec<f64> = points.rows().map(|p| p[0]).collect();
        first.sort_by(f64::total_cmp);
        for (i, w) in first.iter().enumerate() {
            let middle = 0.2 + 0.3 * (i as f64 + 0.5) / 64.0;
            assert!((w - middle).abs() <= 0.3 / 64.0, "{i}: {w}");
        }
    }

    #[test]
    fn points_of_a_part_are_those_of_the_simplex_inside_it_on_average() {
        let cuts = [half(&[1.0, -2.0, 0.0], 0.0), half(&[0.0, 1.0, 1.0], -0.3)];
        let part = SimplexPart::new(3, &cuts).unwrap();
        let all = sobol::simplex(3, 1 << 14, 1).unwrap();
        let inside: Vec<&[f64]> = all.rows().filter(|p| part.contains(p)).collect();
        let points = part.points(1024, 5).unwrap();
        for k in 0..3 {
            let expected = inside.iter().map(|p| p[k]).sum::<f64>() / inside.len() as f64;
            let mean = points.rows().map(|p| p[k]).sum::<f64>() / 1024.0;
            assert!((mean - expected).abs() < 3e-3, "{k}: {mean}, {expected}");
        }
        for p in points.rows() {
            assert!(part.contains(p) && (p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn corners_of_a_cut_simplex_are_all_found_and_nothing_else() {
        // Each of four weights at most 0.4: an octahedron's worth of corners, 12 of them.
        let most = |k: usize| {
            let normal: Vec<f64> = (0..4).map(|j| if j == k { -1.0 } else { 0.0 }).collect();
            half(&normal, 0.4)
        };
        let part = SimplexPart::new(4, &(0..4).map(most).collect::<Vec<_>>()).unwrap();
        assert_eq!(part.corners().len(), 12);
        for p in part.corners().rows() {
            let count = |value: f64| p.iter().filter(|w| (*w - value).abs() < 1e-9).count();
            assert_eq!([count(0.4), count(0.2), count(0.0)], [2, 1, 1], "{p:?}");
        }
    }

    #[test]
    fn contradictions_leave_nothing_and_equalities_a_face() {
        let contradiction = [half(&[1.0, 0.0, 0.0], -0.6), half(&[0.0, 1.0, 0.0], -0.5)];
        assert!(SimplexPart::new(3, &contradiction).unwrap().is_empty());
        assert!(SimplexPart::new(3, &contradiction).unwrap().points(1, 0).is_err());
        let equal = [half(&[1.0, -2.0, 0.0], 0.0), half(&[-1.0, 2.0, 0.0], 0.0)];
        let part = SimplexPart::new(3, &equal).unwrap();
        assert_eq!(part.corners().len(), 2);
        let points = part.points(40, 9).unwrap();
        assert!(points.rows().all(|p| (p[0] - 2.0 * p[1]).abs() < 1e-9));
        let spread = points.rows().map(|p| p[2]).fold(0.0, f64::max);
        assert!(spread > 0.8, "{spread}");
    }

    #[test]
    fn narrow_ranges_of_many_weights_are_met() {
        // Six weights between 0.15 and 0.19 each.
        let mut cuts = vec![];
        for k in 0..6 {
            let normal: Vec<f64> = (0..6).map(|j| f64::from(u8::from(j == k))).collect();
            cuts.push(half(&normal, -0.15));
            cuts.push(half(&normal.iter().map(|n| -n).collect::<Vec<_>>(), 0.19));
        }
        let part = SimplexPart::new(6, &cuts).unwrap();
        let points = part.points(32, 2).unwrap();
        assert_eq!(points.len(), 32);
        for p in points.rows() {
            assert!(p.iter().all(|w| (0.15 - 1e-9..=0.19 + 1e-9).contains(w)), "{p:?}");
        }
    }

    #[test]
    fn later_points_continue_the_sequence() {
        let part = SimplexPart::new(3, &[half(&[1.0, -2.0, 0.0], 0.0)]).unwrap();
        let all = part.points(12, 4).unwrap();
        for i in 0..12 {
            assert_eq!(part.points_from(i, 1, 4).unwrap().row(0), all.row(i));
        }
    }
}
