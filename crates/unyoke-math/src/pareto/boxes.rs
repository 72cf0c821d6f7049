//! Disjoint boxes that tile the region a front dominates, or the region it does not.
//!
//! Boxes are open below and closed above: (l, u] = {y : l < y ≤ u}. A value y counts as dominated
//! when some front point is at least as good in every objective.

use super::OBJECTIVES;
use super::order::descending;
use super::sort::distinct_non_dominated;
use crate::error::check_shape;
use crate::{Error, Points, Result};

/// Disjoint boxes (l, u].
#[derive(Debug, Clone, PartialEq)]
pub struct BoxSet {
    lower: Points,
    upper: Points,
}

impl BoxSet {
    /// No boxes yet, of dimension `dim`.
    fn new(dim: usize) -> Self {
        Self { lower: Points::new(dim), upper: Points::new(dim) }
    }

    /// The lower corners, one row per box; entries may be −∞.
    pub fn lower(&self) -> &Points {
        &self.lower
    }

    /// The upper corners, one row per box; entries may be +∞.
    pub fn upper(&self) -> &Points {
        &self.upper
    }

    /// Coordinates per corner.
    pub fn dim(&self) -> usize {
        self.lower.dim()
    }

    /// Number of boxes.
    pub fn len(&self) -> usize {
        self.lower.len()
    }

    /// Whether there are no boxes.
    pub fn is_empty(&self) -> bool {
        self.lower.is_empty()
    }
}

/// Disjoint boxes that tile the region dominated by `front` and above `lower`, whose entries may
/// be −∞; n boxes for two objectives, O(n) for three.
///
/// In descending order of the last objective, each point adds the cross-section that only it
/// covers, from `lower` up to its last objective (compare Lacour, Klamroth & Fonseca 2017).
pub fn dominated_boxes(front: &Points, lower: &[f64]) -> Result<BoxSet> {
    let corners = corners(front, lower)?;
    let mut tiling = Tiling::new(lower);
    let Some(last) = front.dim().checked_sub(1) else {
        return Ok(tiling.boxes);
    };
    for (k, &p) in corners.iter().enumerate() {
        tiling.upper.copy_from_slice(p);
        tiling.tile(last, p, &corners[..k])?;
    }
    Ok(tiling.boxes)
}

/// Disjoint boxes that tile {y > `lower` : no point of `front` is at least as good as y}, with
/// upper corners that may be +∞; n + 1 boxes for two objectives, O(n²) for three.
pub fn non_dominated_boxes(front: &Points, lower: &[f64]) -> Result<BoxSet> {
    let corners = corners(front, lower)?;
    let mut tiling = Tiling::new(lower);
    // What no point dominates is what only a point better than everything dominates.
    let infinity = vec![f64::INFINITY; front.dim()];
    tiling.upper.copy_from_slice(&infinity);
    tiling.tile(front.dim(), &infinity, &corners)?;
    Ok(tiling.boxes)
}

/// The distinct non-dominated points above `lower`, the last objective descending.
fn corners<'a>(front: &'a Points, lower: &[f64]) -> Result<Vec<&'a [f64]>> {
    front.check_finite(OBJECTIVES)?;
    check_shape("coordinates of the lower corner", front.dim(), lower.len())?;
    if let Some(index) = lower.iter().position(|l| l.is_nan() || *l == f64::INFINITY) {
        return Err(Error::NotFinite { what: "lower corner", index, value: lower[index] });
    }
    let best = distinct_non_dominated(front);
    let mut corners: Vec<&[f64]> = best.into_iter().map(|i| front.row(i)).collect();
    corners.retain(|row| row.iter().zip(lower).all(|(y, l)| y > l));
    corners.sort_by(|a, b| match (a.last(), b.last()) {
        (Some(a), Some(b)) => descending(*a, *b),
        _ => std::cmp::Ordering::Equal,
    });
    Ok(corners)
}

/// The boxes found so far and the corners of the one being cut out.
struct Tiling<'a> {
    floor: &'a [f64],
    lower: Vec<f64>,
    upper: Vec<f64>,
    boxes: BoxSet,
}

impl<'a> Tiling<'a> {
    /// No boxes above `floor` yet.
    fn new(floor: &'a [f64]) -> Self {
        let dim = floor.len();
        Self { floor, lower: floor.to_vec(), upper: floor.to_vec(), boxes: BoxSet::new(dim) }
    }

    /// Adds boxes for what `p` covers in the first `dim` objectives and none of `others` does.
    ///
    /// The remaining objectives keep the bounds that the corners have now.
    fn tile(&mut self, dim: usize, p: &[f64], others: &[&[f64]]) -> Result<()> {
        match dim {
            0 if others.is_empty() => self.close(),
            0 => Ok(()),
            1 => {
                let covered = others.iter().map(|q| q[0]).fold(self.floor[0], f64::max);
                self.bound(0, [covered, p[0]]);
                if covered < p[0] { self.close() } else { Ok(()) }
            }
            _ => self.slice(p, &limited(&p[..dim], others)),
        }
    }

    /// [`Tiling::tile`] by slabs of the last objective: between two levels of `others` the
    /// cross-section stays the same.
    fn slice(&mut self, p: &[f64], others: &Points) -> Result<()> {
        let last = others.dim() - 1;
        let mut rows: Vec<&[f64]> = others.rows().collect();
        rows.sort_by(|a, b| descending(a[last], b[last]));
        let mut top = p[last];
        for k in 0..=rows.len() {
            let bottom = rows.get(k).map_or(self.floor[last], |row| row[last]);
            if bottom < top {
                self.bound(last, [bottom, top]);
                self.tile(last, p, &rows[..k])?;
            }
            top = bottom;
        }
        Ok(())
    }

    /// Sets the bounds of objective `m` for the boxes to come.
    fn bound(&mut self, m: usize, [lower, upper]: [f64; 2]) {
        self.lower[m] = lower;
        self.upper[m] = upper;
    }

    /// Adds the box between the two corners.
    fn close(&mut self) -> Result<()> {
        self.boxes.lower.push(&self.lower)?;
        self.boxes.upper.push(&self.upper)
    }
}

/// The non-dominated among `others` cut down to the box of `p`: min(q, p).
///
/// Dropping the dominated ones is what keeps the boxes few.
fn limited(p: &[f64], others: &[&[f64]]) -> Points {
    let mut limited = Points::zeros(p.len(), others.len());
    for (k, q) in others.iter().enumerate() {
        for (m, value) in limited.row_mut(k).iter_mut().enumerate() {
            *value = q[m].min(p[m]);
        }
    }
    limited.select(&distinct_non_dominated(&limited))
}

#[cfg(test)]
mod tests {
    use super::super::{cases, hypervolume};
    use super::*;
    use proptest::prelude::*;

    const BIG: f64 = 4.5;

    /// Volume of all boxes together, the upper corners cut off at `BIG`.
    fn volume(boxes: &BoxSet) -> f64 {
        let side = |(l, u): (&f64, &f64)| u.min(BIG) - l;
        let volume =
            |(l, u): (&[f64], &[f64])| -> f64 { l.iter().zip(u.iter()).map(side).product() };
        boxes.lower().rows().zip(boxes.upper().rows()).map(volume).sum()
    }

    /// How many boxes hold `y`.
    fn holding(boxes: &BoxSet, y: &[f64]) -> usize {
        let holds = |(l, u): (&[f64], &[f64])| {
            y.iter().zip(l).all(|(y, l)| y > l) && y.iter().zip(u).all(|(y, u)| y <= u)
        };
        boxes.lower().rows().zip(boxes.upper().rows()).filter(|&b| holds(b)).count()
    }

    fn disjoint(boxes: &BoxSet) -> bool {
        let apart = |i: usize, j: usize| {
            (0..boxes.dim()).any(|m| {
                boxes.upper().row(i)[m] <= boxes.lower().row(j)[m]
                    || boxes.upper().row(j)[m] <= boxes.lower().row(i)[m]
            })
        };
        (0..boxes.len()).all(|i| (0..i).all(|j| apart(i, j)))
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * a.abs().max(b.abs()).max(1.0)
    }

    /// Fronts of up to five objectives with points to probe them.
    fn fronts() -> impl Strategy<Value = Points> {
        cases::any(1..=5, 0..10)
    }

    proptest! {
        #[test]
        fn the_volumes_of_dominated_boxes_sum_to_the_hypervolume(front in fronts()) {
            let lower = vec![0.25; front.dim()];
            let boxes = dominated_boxes(&front, &lower).unwrap();
            prop_assert!(close(volume(&boxes), hypervolume(&front, &lower).unwrap()));
        }

        #[test]
        fn the_volumes_of_non_dominated_boxes_sum_to_what_is_left(front in fronts()) {
            let lower = vec![0.25; front.dim()];
            let boxes = non_dominated_boxes(&front, &lower).unwrap();
            let total = (BIG - 0.25).powi(front.dim() as i32);
            let expected = total - hypervolume(&front, &lower).unwrap();
            prop_assert!((volume(&boxes) - expected).abs() <= 1e-12 * total);
        }

        #[test]
        fn boxes_are_not_empty_and_do_not_overlap(front in fronts()) {
            let lower = vec![f64::NEG_INFINITY; front.dim()];
            for boxes in [
                dominated_boxes(&front, &lower).unwrap(),
                non_dominated_boxes(&front, &lower).unwrap(),
            ] {
                prop_assert!(disjoint(&boxes));
                let corners = boxes.lower().as_flat().iter().zip(boxes.upper().as_flat());
                prop_assert!(corners.into_iter().all(|(l, u)| l < u));
            }
        }

        #[test]
        fn every_value_is_in_one_box_of_exactly_one_of_the_tilings(
            front in fronts(),
            probes in prop::collection::vec(prop_oneof![
                -0.5..4.5_f64, 0.0..1.0_f64, (0..5_i32).prop_map(f64::from)], 100),
        ) {
            let lower = vec![f64::NEG_INFINITY; front.dim()];
            let inner = dominated_boxes(&front, &lower).unwrap();
            let outer = non_dominated_boxes(&front, &lower).unwrap();
            for y in probes.chunks_exact(front.dim()) {
                let dominated = front.rows().any(|row| row.iter().zip(y).all(|(q, y)| q >= y));
                prop_assert_eq!(holding(&inner, y), usize::from(dominated));
                prop_assert_eq!(holding(&outer, y), usize::from(!dominated));
            }
        }

        #[test]
        fn the_number_of_boxes_is_linear_for_two_and_three_objectives(
            front in cases::spread(2..=3, 1..60),
        ) {
            let lower = vec![f64::NEG_INFINITY; front.dim()];
            let n = super::super::non_dominated(&front).unwrap().len();
            let most = if front.dim() == 2 { n } else { 2 * n + 1 };
            prop_assert!(dominated_boxes(&front, &lower).unwrap().len() <= most);
            let most = if front.dim() == 2 { n + 1 } else { (n + 1) * (n + 2) / 2 };
            prop_assert!(non_dominated_boxes(&front, &lower).unwrap().len() <= most);
        }
    }

    #[test]
    fn an_empty_front_dominates_nothing() {
        for dim in 0..4 {
            let lower = vec![-1.0; dim];
            assert!(dominated_boxes(&Points::new(dim), &lower).unwrap().is_empty());
            let boxes = non_dominated_boxes(&Points::new(dim), &lower).unwrap();
            assert_eq!(boxes.len(), 1);
            assert_eq!(boxes.lower().row(0), lower);
            assert_eq!(boxes.upper().row(0), vec![f64::INFINITY; dim]);
        }
    }

    #[test]
    fn points_not_above_the_lower_corner_are_left_out() {
        let front = Points::from_rows(2, [[1.0, -3.0], [-3.0, 1.0]]).unwrap();
        assert!(dominated_boxes(&front, &[0.0, 0.0]).unwrap().is_empty());
        assert_eq!(non_dominated_boxes(&front, &[0.0, 0.0]).unwrap().len(), 1);
    }

    #[test]
    fn a_lower_corner_of_nan_or_plus_infinity_is_refused() {
        let front = Points::zeros(2, 1);
        for bad in [f64::NAN, f64::INFINITY] {
            assert!(dominated_boxes(&front, &[0.0, bad]).is_err());
            assert!(non_dominated_boxes(&front, &[bad, 0.0]).is_err());
        }
        assert!(dominated_boxes(&front, &[0.0]).is_err());
    }
}
