//! Sets of designs of a large hypervolume: chosen from candidates, then climbed.

use super::imagined::{Imagined, Work};
use unyoke_math::optimize::{Bounds, Optimum, Stopping, maximize};
use unyoke_math::pareto::{hypervolume, non_dominated};
use unyoke_math::{Points, Result};

/// Rows of `values`, at most `count`, chosen one at a time for what each adds to the hypervolume.
///
/// What a row adds only shrinks as the set grows, so that rows whose earlier figure is below the
/// best of now need no second look. Greedy sets have at least 1 − 1/e of the best hypervolume
/// (Nemhauser et al. 1978), mostly nearly all of it.
pub(super) fn greedy(values: &Points, reference: &[f64], count: usize) -> Result<Vec<usize>> {
    let front = non_dominated(values)?;
    let mut bounds = vec![f64::INFINITY; front.len()];
    let mut chosen: Vec<usize> = Vec::new();
    let mut covered = Covered::new(reference);
    while chosen.len() < count {
        let mut order: Vec<usize> = (0..front.len()).filter(|&i| bounds[i] > 0.0).collect();
        order.sort_by(|&i, &j| bounds[j].total_cmp(&bounds[i]));
        let mut best: Option<usize> = None;
        for i in order {
            let most = best.map_or(0.0, |best| bounds[best]);
            if bounds[i] <= most {
                break;
            }
            bounds[i] = covered.added(values.row(front[i]))?;
            if bounds[i] > most {
                best = Some(i);
            }
        }
        let Some(best) = best else { break };
        chosen.push(front[best]);
        covered.add(values.row(front[best]), bounds[best])?;
        bounds[best] = 0.0;
    }
    Ok(chosen)
}

/// What the designs chosen so far dominate.
struct Covered<'a> {
    reference: &'a [f64],
    /// Of two objectives, the corners of what is dominated as seen from the reference, by decreasing
    /// first and increasing second coordinate; else all values.
    rows: Points,
    volume: f64,
}

impl<'a> Covered<'a> {
    fn new(reference: &'a [f64]) -> Self {
        Self { reference, rows: Points::new(reference.len()), volume: 0.0 }
    }

    /// What values add to the hypervolume.
    fn added(&mut self, values: &[f64]) -> Result<f64> {
        if let ([x, y], [at, floor]) = (values, self.reference) {
            return Ok(self.added_area(x - at, y - floor));
        }
        let mut rows = self.rows.clone();
        rows.push(values)?;
        Ok(hypervolume(&rows, self.reference)? - self.volume)
    }

    /// Of two objectives: strips of the rectangle of (x, y), each from one corner up to the next.
    fn added_area(&self, x: f64, y: f64) -> f64 {
        if x <= 0.0 || y <= 0.0 {
            return 0.0;
        }
        let (mut floor, mut area) = (0.0, 0.0);
        for corner in self.rows.rows() {
            if floor >= y {
                return area;
            }
            if corner[0] < x {
                area += (x - corner[0]) * (y.min(corner[1]) - floor);
            }
            floor = corner[1];
        }
        if floor < y { area + x * (y - floor) } else { area }
    }

    /// Chooses values that add so much.
    fn add(&mut self, values: &[f64], added: f64) -> Result<()> {
        if added <= 0.0 {
            return Ok(());
        }
        self.volume += added;
        let ([x, y], [at, floor]) = (values, self.reference) else {
            return self.rows.push(values);
        };
        let (x, y) = (x - at, y - floor);
        let mut rows: Vec<[f64; 2]> = self.rows.rows().map(|row| [row[0], row[1]]).collect();
        rows.retain(|row| row[0] > x || row[1] > y);
        let place = rows.partition_point(|row| row[0] > x);
        rows.insert(place, [x, y]);
        self.rows = Points::from_rows(2, rows)?;
        Ok(())
    }
}

/// Climbs HV(μ_{N+}(S)) in the designs of one fantasy's set.
pub(super) fn climb(
    imagined: &Imagined<'_>,
    z: &[f64],
    start: &[f64],
    bounds: &Bounds,
    iterations: usize,
) -> Result<Optimum> {
    let mut work = Work::default();
    let volume = |set: &[f64], gradient: &mut [f64]| {
        work.clear();
        imagined.hypervolume_with_gradient(set, z, &mut work, gradient).unwrap_or(f64::NAN)
    };
    maximize(volume, start, bounds, &Stopping { iterations, gradient: 1e-9, gain: 1e-12 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use unyoke_math::random::Rng;

    #[test]
    fn what_values_add_is_a_difference_of_hypervolumes() {
        let mut rng = Rng::new(1, 0);
        for objectives in [2, 3, 4] {
            let reference = vec![0.2; objectives];
            let mut covered = Covered::new(&reference);
            let mut rows = Points::new(objectives);
            for round in 0..40 {
                // Some values are there twice, some tie in one objective.
                let mut row: Vec<f64> = (0..objectives).map(|_| rng.uniform()).collect();
                if round % 5 == 4 {
                    row[round % objectives] = rows.row(round / 2)[round % objectives];
                }
                if round % 7 == 6 {
                    row = rows.row(round / 3).to_vec();
                }
                let before = hypervolume(&rows, &reference).unwrap();
                rows.push(&row).unwrap();
                let expected = hypervolume(&rows, &reference).unwrap() - before;
                let added = covered.added(&row).unwrap();
                assert!((added - expected).abs() < 1e-12, "{objectives}: {added} {expected}");
                covered.add(&row, added).unwrap();
            }
        }
    }
}
