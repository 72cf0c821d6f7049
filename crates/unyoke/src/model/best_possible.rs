//! Outputs that cannot get better than their best values so far.
//!
//! An error of 0, a yield of 100 %, a penalty of 0 where all is well: an output with a best possible
//! value often has it at many designs, while hardly any others have a value in common. A Gaussian
//! process knows of no such bound: it goes on with the slopes that lead there, and expects better
//! values further on, which are then measured again and again. So where the values show a bound, no
//! more counts than it allows (`unyoke_math::censored`). Figures are in docs/best-possible.md.

use super::{Observed, Row};
use crate::config::{BestPossible, Config};
use crate::problem::Noise;
use unyoke_math::data::Standardizer;

/// So many designs with the best value show a bound.
const SHOWN: usize = 3;

/// They are so far apart in at least one input: neighbours may have nearly the same value anyway.
const APART: f64 = 0.2;

/// Values are the same if they differ by no more than this share of the range.
const SAME: f64 = 1e-6;

/// Where more than one of so many other values is shared by designs, values come in steps: the best so
/// far is then one of them, and not a bound.
const STEPS: usize = 5;

/// A value that designs apart from each other have in common, and none exceeds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Best {
    pub(super) value: f64,
    /// The same standardised.
    pub(super) bound: f64,
    pub(super) designs: usize,
}

/// The best possible value of an objective; nothing where the values show none. `rows` are those that
/// count.
pub(super) fn best_possible(
    observed: &Observed<'_>,
    rows: &[Row<'_>],
    map: &Standardizer,
    config: &Config,
) -> Option<Best> {
    let is_exact = observed.output.noise == Noise::Deterministic;
    let is_objective = observed.limit.is_none() && observed.known.is_none();
    let learned = config.best_possible == BestPossible::Learned;
    if !learned || !is_objective || !is_exact || rows.iter().any(|row| row.sd.is_some()) {
        return None;
    }
    let mut sorted: Vec<&Row<'_>> = rows.iter().collect();
    sorted.sort_by(|a, b| a.value.total_cmp(&b.value));
    let (worst, best) = (sorted.first()?.value, sorted.last()?.value);
    // Halves of differences cannot overflow.
    let same = SAME * (0.5 * best - 0.5 * worst);
    let mut shared = sorted.chunk_by(|a, b| 0.5 * b.value - 0.5 * a.value <= same).rev();
    let at_best = apart(shared.next()?);
    let (mut others, mut in_steps) = (0, 0);
    for rows in shared {
        others += rows.len();
        let is_step = rows.iter().any(|row| row.x != rows[0].x);
        in_steps += if is_step { rows.len() } else { 0 };
    }
    let is_bound = others > 0 && at_best >= SHOWN && in_steps * STEPS <= others;
    is_bound.then(|| Best { value: best, bound: map.standardize(best), designs: at_best })
}

/// How many of the designs are apart from each other.
fn apart(rows: &[&Row<'_>]) -> usize {
    let mut found: Vec<&[f64]> = vec![];
    for row in rows {
        let is_far = |other: &&[f64]| row.x.iter().zip(*other).any(|(a, b)| (a - b).abs() > APART);
        if found.iter().all(is_far) {
            found.push(row.x);
        }
    }
    found.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Output;
    use unyoke_math::Points;

    /// What is found for these values at designs along a line.
    fn found(values: &[f64], change: impl Fn(&mut Output, &mut Vec<Row<'_>>)) -> Option<f64> {
        let places: Vec<[f64; 1]> =
            (0..values.len()).map(|i| [i as f64 / (values.len() - 1) as f64]).collect();
        let row = |(i, value): (usize, &f64)| Row {
            evaluation: i as u64,
            x: &places[i],
            value: *value,
            sd: None,
            searched: false,
        };
        let mut rows: Vec<Row<'_>> = values.iter().enumerate().map(row).collect();
        let mut output = Output::maximise("f");
        change(&mut output, &mut rows);
        let observed = Observed {
            output: &output,
            limit: None,
            sign: 1.0,
            dim: 1,
            parameters: 1,
            groups: vec![0],
            rows: rows.clone(),
            expected: Points::new(1),
            pending: 0,
            known: None,
        };
        let map = Standardizer::new(values).unwrap();
        let best = best_possible(&observed, &rows, &map, &Config::default())?;
        assert_eq!(best.bound, map.standardize(best.value));
        Some(best.value)
    }

    /// Rises to 1, which it has at the last `count` of 21 designs.
    fn saturating(count: usize) -> Vec<f64> {
        (0..21).map(|i| 1.0 - (20.0 - i as f64 - (count as f64 - 1.0)).max(0.0).sqrt()).collect()
    }

    #[test]
    fn a_best_value_at_designs_far_apart_is_a_bound() {
        // Designs are 0.05 apart: of 9 there are two pairs that are further than 0.2 from each other.
        for (count, is_shown) in [(1, false), (5, false), (10, false), (11, true), (15, true)] {
            let best = found(&saturating(count), |_, _| ());
            assert_eq!(best.is_some(), is_shown, "{count}");
            assert!(best.is_none_or(|best| best == 1.0), "{best:?}");
        }
    }

    #[test]
    fn values_in_steps_show_none() {
        let steps: Vec<f64> = saturating(11).iter().map(|v| v.floor()).collect();
        assert_eq!(found(&steps, |_, _| ()), None);
        assert_eq!(found(&[3.0; 21], |_, _| ()), None);
        assert_eq!(found(&[1.0, 1.0], |_, _| ()), None);
    }

    #[test]
    fn noise_and_standard_errors_show_none() {
        let noisy = |output: &mut Output, _: &mut Vec<Row<'_>>| output.noise = Noise::Noisy;
        assert_eq!(found(&saturating(15), noisy), None);
        let measured = |_: &mut Output, rows: &mut Vec<Row<'_>>| rows[0].sd = Some(0.1);
        assert_eq!(found(&saturating(15), measured), None);
    }

    #[test]
    fn values_of_any_size_are_compared() {
        for scale in [1e-300, 1.0, 1e300] {
            let values: Vec<f64> = saturating(15).iter().map(|v| v * scale).collect();
            assert!(found(&values, |_, _| ()).is_some(), "{scale}");
        }
        let huge = [vec![-f64::MAX], vec![f64::MAX; 20]].concat();
        assert!(found(&huge, |_, _| ()).is_some());
    }
}
