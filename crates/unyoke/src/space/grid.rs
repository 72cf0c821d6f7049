//! Numbers in steps: low, low + step, low + 2·step, as far as high.
//!
//! People write steps as decimals, and no sum of 0.1 and 0.2 is the double called 0.3. So the values
//! are counted in units of the last decimal, in integers, and divided at the end: the quotient of
//! two integers is the double nearest to the decimal.

use super::interval::Interval;
use crate::problem::Scale;

/// Integers beyond are not all doubles.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Powers of ten beyond are not doubles.
const MOST_DECIMALS: usize = 22;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Grid {
    /// From the first value to the last.
    pub(super) interval: Interval,
    /// The bound given, which may lie beyond the last value.
    pub(super) high: f64,
    pub(super) step: f64,
    pub(super) levels: u64,
    /// Low and step in units of the last decimal, if they are decimals.
    decimal: Option<Decimal>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Decimal {
    low: f64,
    step: f64,
    units_per_one: f64,
}

impl Grid {
    /// The grid of a parameter that passed its check, with low < high.
    pub(super) fn new(low: f64, high: f64, step: f64, scale: Scale) -> Self {
        let decimal = Decimal::new(low, high, step);
        let last = match decimal {
            Some(Decimal { low, step, units_per_one }) => (high * units_per_one - low) / step,
            None => (high - low) / step,
        };
        let levels = rounded_down(last) as u64 + 1;
        let interval = Interval::new(low, high, scale);
        let mut grid = Self { interval, high, step, levels, decimal };
        grid.interval = Interval::new(low, grid.value(levels - 1), scale);
        grid
    }

    /// Value number `level`.
    pub(super) fn value(&self, level: u64) -> f64 {
        let value = match self.decimal {
            Some(Decimal { low, step, units_per_one }) => {
                (low + level as f64 * step) / units_per_one
            }
            None => self.interval.low + level as f64 * self.step,
        };
        value.min(self.high)
    }

    /// The value nearest to that at `u`.
    pub(super) fn nearest(&self, u: f64) -> u64 {
        let level = (self.interval.at(u) - self.interval.low) / self.step;
        (level.round() as u64).min(self.levels - 1)
    }
}

impl Decimal {
    /// `None` if the numbers have too many digits to be counted.
    fn new(low: f64, high: f64, step: f64) -> Option<Self> {
        let places = decimals(low).max(decimals(step));
        if places > MOST_DECIMALS {
            return None;
        }
        // Read rather than computed, so that it is exact.
        let units_per_one: f64 = format!("1e{places}").parse().ok()?;
        let exact = |v: f64| (v * units_per_one).abs() < EXACT;
        let integer = |v: f64| (v * units_per_one).round();
        let all = exact(low) && exact(high) && exact(step) && exact(high - low);
        all.then(|| Self { low: integer(low), step: integer(step), units_per_one })
    }
}

/// Digits after the point in the shortest text that is this double.
fn decimals(v: f64) -> usize {
    let text = v.to_string();
    text.split_once('.').map_or(0, |(_, decimals)| decimals.len())
}

/// The integer below, unless the number is an integer up to rounding errors.
fn rounded_down(v: f64) -> f64 {
    let nearest = v.round();
    if (v - nearest).abs() <= 1e-9 * nearest.max(1.0) { nearest } else { v.floor() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(low: f64, high: f64, step: f64) -> Vec<f64> {
        let grid = Grid::new(low, high, step, Scale::Linear);
        (0..grid.levels).map(|level| grid.value(level)).collect()
    }

    #[test]
    fn decimals_come_out_as_they_are_written() {
        assert_eq!(values(0.1, 0.5, 0.1), [0.1, 0.2, 0.3, 0.4, 0.5]);
        assert_eq!(values(0.1, 0.3, 0.1), [0.1, 0.2, 0.3]);
        assert_eq!(values(-0.3, 0.3, 0.15), [-0.3, -0.15, 0.0, 0.15, 0.3]);
        assert_eq!(values(1e-7, 4e-7, 1e-7), [1e-7, 2e-7, 3e-7, 4e-7]);
        assert_eq!(values(150.0, 250.0, 25.0), [150.0, 175.0, 200.0, 225.0, 250.0]);
        let thousandths = values(0.0, 1.0, 0.001);
        assert_eq!(thousandths.len(), 1001);
        for (k, value) in thousandths.into_iter().enumerate().take(1000) {
            assert_eq!(value, format!("0.{k:03}").parse::<f64>().unwrap());
        }
    }

    #[test]
    fn the_last_value_is_not_beyond_the_bound() {
        assert_eq!(values(0.0, 1.0, 0.3), [0.0, 0.3, 0.6, 0.9]);
        assert_eq!(values(0.1, 0.1 + 0.2, 0.1), [0.1, 0.2, 0.3]);
        assert_eq!(values(0.1, 1.0 / 3.0, 0.1), [0.1, 0.2, 0.3]);
    }

    #[test]
    fn steps_without_a_short_decimal_work_all_the_same() {
        let third = 1.0 / 3.0;
        assert_eq!(values(0.0, 1.0, third), [0.0, third, 2.0 * third, 1.0]);
        assert_eq!(values(1e300, 3e300, 1e300), [1e300, 2e300, 3e300]);
        assert_eq!(values(1e-300, 3e-300, 1e-300).len(), 3);
    }
}
