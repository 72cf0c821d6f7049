//! The derivatives of the hypervolume with respect to the points.
//!
//! Raising yᵢₘ pushes the upper m-face of the region that only point i dominates, so the
//! derivative is the volume of that face (Emmerich & Deutz 2014).
//!
//! Where the hypervolume has a kink, the gradient given is that of a neighbouring set of points
//! without ties: of exact copies the lowest index takes the whole derivative and the others none,
//! and of non-dominated points equal in one objective the lower index counts as higher in it.
//! A step that moves copies together thus sees the right slope.

use super::hypervolume::{check, facets, inside, relative_to, total};
use super::order::descending;
use super::sort::distinct_non_dominated;
use crate::error::check_shape;
use crate::{Points, Result};

/// ∂HV ∕ ∂yᵢₘ for every point, 0 for dominated points and those not above the reference.
pub fn hypervolume_gradient(points: &Points, reference: &[f64]) -> Result<Points> {
    let mut gradient = Points::zeros(points.dim(), points.len());
    hypervolume_with_gradient(points, reference, &mut gradient)?;
    Ok(gradient)
}

/// The hypervolume; its gradient replaces the contents of `gradient`, shaped as `points`.
pub fn hypervolume_with_gradient(
    points: &Points,
    reference: &[f64],
    gradient: &mut Points,
) -> Result<f64> {
    check(points, reference)?;
    check_shape("coordinates of the gradient", points.dim(), gradient.dim())?;
    check_shape("rows of the gradient", points.len(), gradient.len())?;
    gradient.as_flat_mut().fill(0.0);
    Ok(match points.dim() {
        0 => 0.0,
        1 => lead(points, reference[0], gradient),
        2 => sweep(points, [reference[0], reference[1]], gradient),
        _ => sum_of_slabs(points, reference, gradient),
    })
}

/// One objective: only the first of the highest points counts.
fn lead(points: &Points, reference: f64, gradient: &mut Points) -> f64 {
    let mut best = reference;
    let mut leader = None;
    for (i, &y) in points.as_flat().iter().enumerate() {
        if y > best {
            (best, leader) = (y, Some(i));
        }
    }
    if let Some(i) = leader {
        gradient.row_mut(i)[0] = 1.0;
    }
    best - reference
}

/// A point of two objectives as seen from the reference.
struct Corner {
    x: f64,
    y: f64,
    index: usize,
}

/// Two objectives: the faces of a corner end at its neighbours on the staircase.
fn sweep(points: &Points, reference: [f64; 2], gradient: &mut Points) -> f64 {
    let corner = |index| {
        let row = points.row(index);
        Corner { x: row[0] - reference[0], y: row[1] - reference[1], index }
    };
    let mut corners: Vec<Corner> = inside(points, &reference).map(corner).collect();
    corners.sort_unstable_by(|a, b| {
        descending(a.x, b.x).then(descending(a.y, b.y)).then(a.index.cmp(&b.index))
    });
    let mut volume = 0.0;
    let mut right: Option<&Corner> = None;
    for corner in &corners {
        let floor = right.map_or(0.0, |right| right.y);
        if corner.y <= floor {
            continue;
        }
        volume += corner.x * (corner.y - floor);
        gradient.row_mut(corner.index)[0] = corner.y - floor;
        if let Some(right) = right {
            gradient.row_mut(right.index)[1] = right.x - corner.x;
        }
        right = Some(corner);
    }
    if let Some(leftmost) = right {
        gradient.row_mut(leftmost.index)[1] = leftmost.x;
    }
    volume
}

/// Three or more objectives: one sweep per objective gives its column, the last one the volume.
fn sum_of_slabs(points: &Points, reference: &[f64], gradient: &mut Points) -> f64 {
    let inside: Vec<usize> = inside(points, reference).collect();
    let inner = relative_to(reference, points, &inside);
    let mut best = distinct_non_dominated(&inner);
    // Ties within a sweep go by index, so the points must stand in the order they were given.
    best.sort_unstable();
    let front = inner.select(&best);
    let mut volume = 0.0;
    for m in 0..points.dim() {
        let facets = facets(&front, m);
        volume = total(&facets, &front, m);
        for (facet, &k) in facets.iter().zip(&best) {
            gradient.row_mut(inside[k])[m] = *facet;
        }
    }
    volume
}

#[cfg(test)]
mod tests {
    use super::super::{cases, hypervolume, non_dominated};
    use super::*;
    use proptest::prelude::*;

    fn slope(points: &Points, reference: &[f64], flat: usize, steps: [f64; 2]) -> f64 {
        let at = |step: f64| {
            let mut moved = points.clone();
            moved.as_flat_mut()[flat] += step;
            hypervolume(&moved, reference).unwrap()
        };
        (at(steps[1]) - at(steps[0])) / (steps[1] - steps[0])
    }

    /// Whether no two points, and no point and the reference, nearly tie in an objective.
    fn in_general_position(points: &Points, reference: &[f64]) -> bool {
        (0..points.dim()).all(|m| {
            let mut column: Vec<f64> = points.rows().map(|row| row[m]).collect();
            column.push(reference[m]);
            column.sort_by(f64::total_cmp);
            column.windows(2).all(|pair| pair[1] - pair[0] > 1e-5)
        })
    }

    proptest! {
        #[test]
        fn it_equals_central_differences(points in cases::spread(1..=5, 1..9)) {
            let reference = vec![0.2; points.dim()];
            prop_assume!(in_general_position(&points, &reference));
            let gradient = hypervolume_gradient(&points, &reference).unwrap();
            for (k, found) in gradient.as_flat().iter().enumerate() {
                // The hypervolume is linear in each coordinate until it ties with another.
                let expected = slope(&points, &reference, k, [-4e-6, 4e-6]);
                prop_assert!((found - expected).abs() < 1e-8, "{found} {expected}");
            }
        }

        #[test]
        fn the_volume_with_it_is_the_hypervolume(points in cases::any(0..=5, 0..15)) {
            let reference = vec![0.2; points.dim()];
            let mut gradient = Points::zeros(points.dim(), points.len());
            gradient.as_flat_mut().fill(7.0);
            let with = hypervolume_with_gradient(&points, &reference, &mut gradient).unwrap();
            let without = hypervolume(&points, &reference).unwrap();
            prop_assert!((with - without).abs() <= 1e-12 * (1.0 + without));
        }

        #[test]
        fn points_that_dominate_nothing_new_have_none(points in cases::grid(2..=5, 1..15)) {
            let reference = vec![0.5; points.dim()];
            let gradient = hypervolume_gradient(&points, &reference).unwrap();
            let best = non_dominated(&points).unwrap();
            for i in 0..points.len() {
                let counts = best.contains(&i) && points.row(i).iter().all(|&y| y > 0.5);
                let copy = (0..i).any(|j| points.row(j) == points.row(i));
                if !counts || copy {
                    prop_assert!(gradient.row(i).iter().all(|&g| g == 0.0));
                }
            }
        }

        #[test]
        fn moving_all_points_together_has_the_slope_of_the_sum(
            points in cases::grid(1..=4, 1..10),
        ) {
            let reference = vec![-0.5; points.dim()];
            let gradient = hypervolume_gradient(&points, &reference).unwrap();
            for m in 0..points.dim() {
                let total: f64 = gradient.rows().map(|row| row[m]).sum();
                let mut lowered = reference.clone();
                lowered[m] -= 0.125;
                let raised = hypervolume(&points, &lowered).unwrap();
                let expected = (raised - hypervolume(&points, &reference).unwrap()) / 0.125;
                prop_assert!((total - expected).abs() < 1e-9 * (1.0 + expected));
            }
        }
    }

    #[test]
    fn the_first_of_two_copies_has_the_slope_of_raising_it() {
        let points = Points::from_rows(2, [[1.0, 2.0], [2.0, 1.0], [2.0, 1.0]]).unwrap();
        let gradient = hypervolume_gradient(&points, &[0.0, 0.0]).unwrap();
        assert_eq!(gradient.row(1), [1.0, 1.0]);
        assert_eq!(gradient.row(2), [0.0, 0.0]);
        assert_eq!(slope(&points, &[0.0, 0.0], 2, [0.0, 0.5]), 1.0);
        assert_eq!(slope(&points, &[0.0, 0.0], 4, [-0.5, 0.0]), 0.0);
    }

    #[test]
    fn a_gradient_of_another_shape_is_refused() {
        let points = Points::zeros(2, 3);
        for mut gradient in [Points::zeros(3, 3), Points::zeros(2, 2)] {
            assert!(hypervolume_with_gradient(&points, &[0.0; 2], &mut gradient).is_err());
        }
    }
}
