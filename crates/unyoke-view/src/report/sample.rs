//! Which of many measured designs are drawn: all of the measured front, and others far from each other, so
//! that they show where designs lie in as few marks as can be.

use std::collections::HashSet;

use super::StudyReport;
use super::marks::design_key;
use crate::front::FrontView;

/// Marks of measured designs in all pictures of a figure.
const MARKS: usize = 1000;

/// As many are drawn in a picture, however many pictures there are.
const FEWEST: usize = 200;

/// A measured design that is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Drawn {
    /// Its place among the measured designs.
    pub(super) place: usize,
    /// Whether it is on the measured front.
    pub(super) is_best: bool,
}

impl StudyReport {
    /// The measured designs that are drawn, in their order.
    pub(super) fn drawn(&self) -> Vec<Drawn> {
        let front = self.measured_front.iter().flat_map(|front| &front.points);
        let best: HashSet<String> = front.map(|point| design_key(&point.design)).collect();
        let is_best = |one: &super::MeasuredDesign| best.contains(&design_key(&one.design));
        let is_best: Vec<bool> = self.measured.iter().map(is_best).collect();
        let places = match self.measured.len() <= self.most_drawn() {
            true => (0..self.measured.len()).collect(),
            false => spread(&self.positions(), &is_best, self.most_drawn()),
        };
        places.into_iter().map(|place| Drawn { place, is_best: is_best[place] }).collect()
    }

    /// What a caption says where not all measured designs are drawn.
    pub fn drawn_note(&self) -> Option<String> {
        let best = self.measured_front.as_ref().map_or(0, |front| front.points.len());
        let others = self.measured.len().saturating_sub(best);
        let drawn = self.most_drawn().saturating_sub(best);
        (drawn < others).then(|| {
            format!(
                "The measured front is drawn whole; of the {others} other measured designs, {drawn} that lie as far \
                 from each other as possible."
            )
        })
    }

    fn most_drawn(&self) -> usize {
        let objectives = self.front.as_ref().map_or(0, |front| front.objectives().count());
        let pairs = (objectives * objectives.saturating_sub(1) / 2).max(1);
        (MARKS / pairs).max(FEWEST)
    }

    /// Where each measured design lies between the lowest and the highest value of each objective.
    fn positions(&self) -> Vec<Vec<f64>> {
        let objectives = self.front.iter().flat_map(FrontView::objectives);
        let is_log: Vec<bool> = objectives.map(|output| self.is_log(&output.name)).collect();
        let scaled = |one: &super::MeasuredDesign| -> Vec<f64> {
            let values = one.values.iter().zip(&is_log);
            values.map(|(value, is_log)| if *is_log { value.ln() } else { *value }).collect()
        };
        let mut rows: Vec<Vec<f64>> = self.measured.iter().map(scaled).collect();
        for k in 0..is_log.len() {
            let finite = rows.iter().map(|row| row[k]).filter(|value| value.is_finite());
            let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
                (low.min(v), high.max(v))
            });
            for row in &mut rows {
                // Where there is no range, or no number, the other objectives decide.
                let share = (row[k] - low) / (high - low);
                row[k] = if share.is_finite() { share } else { 0.0 };
            }
        }
        rows
    }
}

/// The places of `most` points, in order: all that are `wanted`, then again and again the one that is
/// farthest from all that were chosen (Gonzalez, 1985); of equals, the first.
fn spread(points: &[Vec<f64>], wanted: &[bool], most: usize) -> Vec<usize> {
    let distance =
        |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum() };
    let mut chosen: Vec<usize> = (0..points.len()).filter(|&i| wanted[i]).collect();
    // How far each point is from those chosen; chosen ones are no candidates.
    let mut gaps = vec![f64::INFINITY; points.len()];
    let take = |gaps: &mut [f64], taken: usize| {
        for (gap, point) in gaps.iter_mut().zip(points) {
            *gap = gap.min(distance(point, &points[taken]));
        }
        gaps[taken] = f64::NEG_INFINITY;
    };
    for &i in &chosen {
        take(&mut gaps, i);
    }
    while chosen.len() < most.min(points.len()) {
        let farthest =
            (1..points.len()).fold(0, |best, i| if gaps[i] > gaps[best] { i } else { best });
        chosen.push(farthest);
        take(&mut gaps, farthest);
    }
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_all_that_is_wanted_and_reaches_everywhere() {
        // A dense cluster and a thin line: strides through the list would hardly see the line.
        let cluster = (0..900).map(|i| vec![0.001 * f64::from(i % 30), 0.001 * f64::from(i / 30)]);
        let line = (0..100).map(|i| vec![0.01 * f64::from(i), 1.0]);
        let points: Vec<Vec<f64>> = cluster.chain(line).collect();
        let wanted: Vec<bool> = (0..1000).map(|i| i == 7 || i == 450).collect();
        let chosen = spread(&points, &wanted, 40);
        assert_eq!(chosen.len(), 40);
        assert!(chosen.contains(&7) && chosen.contains(&450));
        assert!(chosen.windows(2).all(|pair| pair[0] < pair[1]));
        let far = |point: &Vec<f64>| {
            let gap = |&i: &usize| (points[i][0] - point[0]).hypot(points[i][1] - point[1]);
            chosen.iter().map(gap).fold(f64::INFINITY, f64::min)
        };
        let farthest = points.iter().map(far).fold(0.0, f64::max);
        assert!(farthest < 0.03, "{farthest}");
        assert_eq!(chosen, spread(&points, &wanted, 40));
    }

    #[test]
    fn odd_samples_are_fine() {
        let points = vec![vec![0.5]; 5];
        assert_eq!(spread(&points, &[false; 5], 3).len(), 3, "equal points");
        assert_eq!(spread(&points, &[true; 5], 3), [0, 1, 2, 3, 4], "more are wanted than fit");
        assert_eq!(spread(&points, &[false; 5], 9), [0, 1, 2, 3, 4]);
        assert!(spread(&[], &[], 9).is_empty());
    }
}
