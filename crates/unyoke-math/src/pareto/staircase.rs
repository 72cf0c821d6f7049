//! The upper envelope of boxes in the plane: the state of every sweep over three objectives.

use std::ops::Range;

/// Mutually non-dominated points of the plane, the first coordinate falling, the second rising.
#[derive(Debug, Default)]
pub(super) struct Staircase {
    steps: Vec<[f64; 2]>,
}

impl Staircase {
    /// Whether some step is at least as good as `point` in both coordinates.
    pub(super) fn covers(&self, point: [f64; 2]) -> bool {
        self.covered_by(point).is_none()
    }

    /// Makes `point` a step, dropping the steps it covers; does nothing if it is covered itself.
    pub(super) fn insert(&mut self, point: [f64; 2]) {
        if let Some(covered) = self.covered_by(point) {
            self.replace(covered, point);
        }
    }

    /// Inserts `point` and returns the area above the origin that only it covers.
    ///
    /// All coordinates must be positive for the area to mean anything.
    pub(super) fn insert_for_area(&mut self, point: [f64; 2]) -> f64 {
        let Some(covered) = self.covered_by(point) else {
            return 0.0;
        };
        let area = self.area_over(&covered, point);
        self.replace(covered, point);
        area
    }

    /// The steps that `point` covers, which stand side by side; `None` if it is covered itself.
    fn covered_by(&self, point: [f64; 2]) -> Option<Range<usize>> {
        let start = self.steps.partition_point(|step| step[0] > point[0]);
        if start > 0 && self.steps[start - 1][1] >= point[1] {
            return None;
        }
        if self.steps.get(start).is_some_and(|&[x, y]| x == point[0] && y >= point[1]) {
            return None;
        }
        let count = self.steps[start..].iter().take_while(|step| step[1] <= point[1]).count();
        Some(start..start + count)
    }

    /// Area between `point` and the steps it covers, one strip per step, from right to left.
    fn area_over(&self, covered: &Range<usize>, point: [f64; 2]) -> f64 {
        let mut right = point[0];
        let mut floor = if covered.start == 0 { 0.0 } else { self.steps[covered.start - 1][1] };
        let mut area = 0.0;
        for step in &self.steps[covered.clone()] {
            area += (right - step[0]) * (point[1] - floor);
            [right, floor] = *step;
        }
        let left = self.steps.get(covered.end).map_or(0.0, |step| step[0]);
        area + (right - left) * (point[1] - floor)
    }

    /// Puts `point` where the steps it covers were.
    fn replace(&mut self, covered: Range<usize>, point: [f64; 2]) {
        if covered.is_empty() {
            self.steps.insert(covered.start, point);
        } else {
            self.steps[covered.start] = point;
            // Most points cover one step only; closing the gap by hand spares them a drain.
            let surplus = covered.len() - 1;
            if surplus > 0 {
                self.steps.copy_within(covered.end.., covered.start + 1);
                self.steps.truncate(self.steps.len() - surplus);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_point_adds_only_the_area_that_no_step_covers() {
        let mut stairs = Staircase::default();
        assert_eq!(stairs.insert_for_area([3.0, 1.0]), 3.0);
        assert_eq!(stairs.insert_for_area([1.0, 3.0]), 2.0);
        assert_eq!(stairs.insert_for_area([2.0, 2.0]), 1.0);
        assert_eq!(stairs.insert_for_area([2.0, 2.0]), 0.0);
        assert_eq!(stairs.insert_for_area([4.0, 2.5]), 10.0 - 5.5);
        assert_eq!(stairs.steps, [[4.0, 2.5], [1.0, 3.0]]);
    }

    #[test]
    fn a_point_with_the_same_first_coordinate_and_a_better_second_takes_the_step() {
        let mut stairs = Staircase::default();
        stairs.insert([1.0, 1.0]);
        stairs.insert([1.0, 2.0]);
        assert_eq!(stairs.steps, [[1.0, 2.0]]);
        assert!(stairs.covers([1.0, 2.0]) && !stairs.covers([1.0, 2.1]));
    }
}
