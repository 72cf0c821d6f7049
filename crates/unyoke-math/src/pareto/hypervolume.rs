//! The hypervolume of a set of points: the volume they dominate above a reference point.
//!
//! A sweep down one objective adds up slabs: each point brings the part of its cross-section that
//! no earlier point covers, times its height. Those parts are also the derivatives with respect
//! to that objective; see `hypervolume_gradient`.

use super::OBJECTIVES;
use super::order::descending_by;
use super::sort::distinct_non_dominated;
use super::staircase::Staircase;
use crate::error::{check_finite, check_shape};
use crate::{Points, Result};

/// The volume of the region dominated by `points` and above `reference` (Zitzler & Thiele 1998):
/// λ(⋃ᵢ {y : r < y ≤ yᵢ}).
///
/// Points that are not better than the reference in every objective add nothing. Exact for any
/// number of objectives: up to three by a sweep in O(n log n), more by the exclusive volumes of
/// While, Bradstreet & Barone (2012), whose time grows steeply with the number of objectives.
/// Without objectives the hypervolume is 0.
pub fn hypervolume(points: &Points, reference: &[f64]) -> Result<f64> {
    check(points, reference)?;
    let inside: Vec<usize> = inside(points, reference).collect();
    Ok(volume(&relative_to(reference, points, &inside)))
}

/// Fails unless `points` and `reference` fit together and are finite.
pub(super) fn check(points: &Points, reference: &[f64]) -> Result<()> {
    check_shape("coordinates of the reference point", points.dim(), reference.len())?;
    points.check_finite(OBJECTIVES)?;
    check_finite("reference point", reference)
}

/// The points better than the reference in every objective.
pub(super) fn inside(points: &Points, reference: &[f64]) -> impl Iterator<Item = usize> {
    let better = move |row: &[f64]| row.iter().zip(reference).all(|(y, r)| y > r);
    (0..points.len()).filter(move |&i| better(points.row(i)))
}

/// The points named by `indices` as seen from the reference, which becomes the origin.
pub(super) fn relative_to(reference: &[f64], points: &Points, indices: &[usize]) -> Points {
    let mut relative = Points::zeros(points.dim(), indices.len());
    for (k, &i) in indices.iter().enumerate() {
        for (m, value) in relative.row_mut(k).iter_mut().enumerate() {
            *value = points.row(i)[m] - reference[m];
        }
    }
    relative
}

/// Volume of the region that positive `points` dominate above the origin.
fn volume(points: &Points) -> f64 {
    match points.dim() {
        0 => 0.0,
        1 => points.as_flat().iter().copied().fold(0.0, f64::max),
        2 => area(points),
        3 => sum_of_slabs(points),
        // Few of the points cut down to one box survive this, which is what makes it fast.
        _ => sum_of_slabs(&points.select(&distinct_non_dominated(points))),
    }
}

/// Area of the region that positive `points` of two objectives dominate above the origin.
fn area(points: &Points) -> f64 {
    let (mut area, mut top) = (0.0, 0.0);
    for i in descending_by(points, 0) {
        let [x, y] = [points.row(i)[0], points.row(i)[1]];
        if y > top {
            area += x * (y - top);
            top = y;
        }
    }
    area
}

/// The volume as one slab per point, along the last objective.
fn sum_of_slabs(points: &Points) -> f64 {
    let last = points.dim() - 1;
    total(&facets(points, last), points, last)
}

/// Σᵢ facetᵢ · yᵢₘ.
pub(super) fn total(facets: &[f64], points: &Points, m: usize) -> f64 {
    facets.iter().zip(points.rows()).fold(0.0, |sum, (facet, row)| sum + facet * row[m])
}

/// For each point the part of its cross-section along objective `m` that no point higher in `m`
/// covers; of points equally high the lower index counts as higher.
///
/// For three or more objectives; from four on no point may dominate or equal another.
pub(super) fn facets(points: &Points, m: usize) -> Vec<f64> {
    let order = descending_by(points, m);
    match points.dim() {
        3 => facets_by_staircase(points, m, &order),
        _ => facets_by_exclusion(points, m, &order),
    }
}

/// [`facets`] of three objectives, in O(n log n) plus the moves within one array.
fn facets_by_staircase(points: &Points, m: usize, order: &[usize]) -> Vec<f64> {
    let (a, b) = ((m + 1) % 3, (m + 2) % 3);
    let mut stairs = Staircase::default();
    let mut facets = vec![0.0; points.len()];
    for &i in order {
        let row = points.row(i);
        facets[i] = stairs.insert_for_area([row[a], row[b]]);
    }
    facets
}

/// [`facets`] of more objectives: ∏ pᵢ − (volume of what the earlier points cover of it).
fn facets_by_exclusion(points: &Points, m: usize, order: &[usize]) -> Vec<f64> {
    let sections = without_objective(points, m, order);
    let mut facets = vec![0.0; points.len()];
    for (k, &i) in order.iter().enumerate() {
        let whole: f64 = sections.row(k).iter().product();
        // Rounding must not make an almost empty facet negative.
        facets[i] = (whole - volume(&limited(&sections, k))).max(0.0);
    }
    facets
}

/// The points in `order`, without objective `m`.
fn without_objective(points: &Points, m: usize, order: &[usize]) -> Points {
    let mut sections = Points::zeros(points.dim() - 1, points.len());
    for (k, &i) in order.iter().enumerate() {
        let row = points.row(i);
        let (before, after) = sections.row_mut(k).split_at_mut(m);
        before.copy_from_slice(&row[..m]);
        after.copy_from_slice(&row[m + 1..]);
    }
    sections
}

/// The points before number `k`, cut down to the box of point `k`: min(pⱼ, pₖ).
fn limited(points: &Points, k: usize) -> Points {
    let mut limited = Points::zeros(points.dim(), k);
    for j in 0..k {
        for (m, value) in limited.row_mut(j).iter_mut().enumerate() {
            *value = points.row(j)[m].min(points.row(k)[m]);
        }
    }
    limited
}

#[cfg(test)]
mod tests {
    use super::super::cases;
    use super::*;
    use crate::Error;
    use proptest::prelude::*;

    /// Inclusion–exclusion over all subsets: Σ (−1)^(|S|+1) ∏ₘ (min over S of yₘ − rₘ)⁺.
    fn brute(points: &Points, reference: &[f64]) -> f64 {
        let mut total = 0.0;
        for subset in 1_u32..1 << points.len() {
            let members: Vec<_> = (0..points.len()).filter(|i| subset >> i & 1 == 1).collect();
            let side = |m: usize| {
                let least = members.iter().map(|&i| points.row(i)[m]).fold(f64::MAX, f64::min);
                (least - reference[m]).max(0.0)
            };
            let volume: f64 = (0..points.dim()).map(side).product();
            total += if members.len() % 2 == 1 { volume } else { -volume };
        }
        total
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * (1.0 + a.abs().max(b.abs()))
    }

    /// A reference that cuts off some points and lies below others.
    fn reference(points: &Points) -> Vec<f64> {
        (0..points.dim()).map(|m| 0.3 - 0.25 * m as f64).collect()
    }

    proptest! {
        #[test]
        fn it_equals_inclusion_and_exclusion(points in cases::any(1..=5, 0..7)) {
            let reference = reference(&points);
            let found = hypervolume(&points, &reference).unwrap();
            let expected = brute(&points, &reference);
            prop_assert!((found - expected).abs() <= 1e-11 * (1.0 + expected), "{found} {expected}");
        }

        #[test]
        fn order_and_copies_do_not_matter(points in cases::any(1..=5, 1..15), turn in 0..15_usize) {
            let reference = reference(&points);
            let mut indices: Vec<usize> = (0..points.len()).rev().collect();
            indices.rotate_left(turn % points.len());
            indices.push(turn % points.len());
            let found = hypervolume(&points.select(&indices), &reference).unwrap();
            prop_assert!(close(found, hypervolume(&points, &reference).unwrap()));
        }

        #[test]
        fn another_point_never_makes_it_smaller(points in cases::any(1..=5, 1..15)) {
            let reference = reference(&points);
            let fewer: Vec<usize> = (1..points.len()).collect();
            let before = hypervolume(&points.select(&fewer), &reference).unwrap();
            let after = hypervolume(&points, &reference).unwrap();
            prop_assert!(after >= before || close(after, before));
        }
    }

    #[test]
    fn points_on_or_below_the_reference_add_nothing() {
        let points = Points::from_rows(2, [[1.0, 0.0], [2.0, -1.0], [0.5, 0.5]]).unwrap();
        assert_eq!(hypervolume(&points, &[0.0, 0.0]).unwrap(), 0.25);
        assert_eq!(hypervolume(&points, &[5.0, 5.0]).unwrap(), 0.0);
    }

    #[test]
    fn one_objective_gives_the_lead_over_the_reference() {
        let points = Points::from_rows(1, [[1.0], [3.0], [2.0]]).unwrap();
        assert_eq!(hypervolume(&points, &[-1.0]).unwrap(), 4.0);
    }

    #[test]
    fn no_points_and_no_objectives_give_zero() {
        assert_eq!(hypervolume(&Points::new(4), &[0.0; 4]).unwrap(), 0.0);
        assert_eq!(hypervolume(&Points::zeros(0, 2), &[]).unwrap(), 0.0);
    }

    #[test]
    fn a_reference_of_the_wrong_length_or_not_finite_is_refused() {
        let points = Points::zeros(2, 1);
        assert!(matches!(hypervolume(&points, &[0.0]), Err(Error::Shape { .. })));
        assert_eq!(
            hypervolume(&points, &[0.0, f64::NEG_INFINITY]).unwrap_err(),
            Error::NotFinite { what: "reference point", index: 1, value: f64::NEG_INFINITY }
        );
    }
}
