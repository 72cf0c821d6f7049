//! Step functions: a value holds from its place to the next. Lines and bands follow the steps.

use std::ops::Range;

/// A point in the coordinates of the data.
pub type Point = [f64; 2];

/// The longest stretches of `0..count` on which `usable` holds.
pub fn runs(count: usize, usable: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = None;
    for i in 0..=count {
        match (start, i < count && usable(i)) {
            (None, true) => start = Some(i),
            (Some(first), false) => {
                found.push(first..i);
                start = None;
            }
            _ => {}
        }
    }
    found
}

/// The corners of the stairs through `(x, y)`: across, then up or down.
pub fn stairs(x: &[f64], y: &[f64]) -> Vec<Point> {
    let mut corners = Vec::with_capacity(2 * x.len());
    for (i, (&x, &value)) in x.iter().zip(y).enumerate() {
        if i > 0 && y[i - 1] != value {
            corners.push([x, y[i - 1]]);
        }
        corners.push([x, value]);
    }
    corners
}

/// Two step functions on the same places.
#[derive(Debug, Clone, Copy)]
pub struct Band<'a> {
    /// Where each step begins.
    pub x: &'a [f64],
    /// The lower edge of each step.
    pub lower: &'a [f64],
    /// The upper edge of each step.
    pub upper: &'a [f64],
}

/// The outline of a band: along the upper stairs and back along the lower.
pub fn band(band: Band<'_>) -> Vec<Point> {
    let mut outline = stairs(band.x, band.upper);
    outline.extend(stairs(band.x, band.lower).into_iter().rev());
    outline
}

/// The value of the step function at `at`; none before its first place or after its last.
pub fn value_at(x: &[f64], y: &[f64], at: f64) -> Option<f64> {
    let last = *x.last()?;
    let after = x.partition_point(|&place| place <= at);
    if after == 0 || at > last {
        return None;
    }
    y.get(after - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stairs_go_across_and_then_down() {
        let corners = stairs(&[1.0, 2.0, 4.0], &[9.0, 5.0, 5.0]);
        assert_eq!(corners, [[1.0, 9.0], [2.0, 9.0], [2.0, 5.0], [4.0, 5.0]]);
    }

    #[test]
    fn a_band_follows_the_steps_of_both_edges() {
        let x = [0.0, 1.0];
        let outline = band(Band { x: &x, lower: &[1.0, 0.0], upper: &[3.0, 2.0] });
        let expected = [[0.0, 3.0], [1.0, 3.0], [1.0, 2.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        assert_eq!(outline, expected);
    }

    #[test]
    fn a_value_holds_until_the_next() {
        let (x, y) = ([1.0, 2.0], [5.0, 3.0]);
        assert_eq!(value_at(&x, &y, 0.5), None);
        assert_eq!(value_at(&x, &y, 1.0), Some(5.0));
        assert_eq!(value_at(&x, &y, 1.99), Some(5.0));
        assert_eq!(value_at(&x, &y, 2.0), Some(3.0));
        assert_eq!(value_at(&x, &y, 2.1), None);
        assert_eq!(value_at(&[], &[], 1.0), None);
    }

    #[test]
    fn runs_leave_out_what_cannot_be_drawn() {
        let y = [1.0, f64::NAN, 2.0, 3.0];
        assert_eq!(runs(4, |i| y[i].is_finite()), [0..1, 2..4]);
        assert!(runs(0, |_| true).is_empty());
    }
}
