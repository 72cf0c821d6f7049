//! Values that are separated from all others by a gap. Only values are looked at here; what their
//! neighbours say is in `outliers`.

/// Fewest values that others are compared with.
const FEWEST: usize = 5;

/// Values whose quartiles differ by less than this fraction of their size are equal up to rounding.
const CONSTANT: f64 = 1e-13;

/// The values at the low end that are separated from all others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tail {
    /// How many.
    pub(super) count: usize,
    /// The lowest of the others.
    edge: f64,
    /// Half of what the others spread over, as [`half_spread`] has it: the whole may overflow.
    half_spread: f64,
    /// By how many of their spreads the tail is away from the others, divided by 10^(5/number of
    /// others): gaps of clean values are then rare at every number, also of skewed ones.
    gap: f64,
}

impl Tail {
    /// The longest tail of ascending `values` of at most `most` that is at least `far` spreads away
    /// from the others.
    pub(super) fn low(values: &[f64], most: usize, far: f64) -> Option<Self> {
        let tail = |count: usize| Self::of(values, count).filter(|tail| tail.gap >= far);
        (1..=most).rev().find_map(tail)
    }

    /// The tail of all values that are equal to the lowest, if it is at least `far` spreads away from the
    /// others and these are the majority.
    pub(super) fn low_plateau(values: &[f64], far: f64) -> Option<Self> {
        let lowest = values.first()?;
        let count = values.iter().take_while(|value| *value == lowest).count();
        Self::of(values, count).filter(|tail| 2 * count < values.len() && tail.gap >= far)
    }

    /// The tail of `count` values; none where there is nothing to compare with.
    fn of(values: &[f64], count: usize) -> Option<Self> {
        let (tail, others) = values.split_at_checked(count)?;
        let (last, edge) = (*tail.last()?, *others.first()?);
        let half_spread = half_spread(others)?;
        let gap = (0.5 * edge - 0.5 * last) / half_spread;
        let gap = gap / 10f64.powf(5.0 / others.len() as f64);
        Some(Self { count, edge, half_spread, gap })
    }

    /// Whether a value belongs to it.
    pub(super) fn has(&self, value: f64) -> bool {
        value < self.edge
    }

    /// What the others spread over, or the largest number.
    pub(super) fn spread(&self) -> f64 {
        (2.0 * self.half_spread).min(f64::MAX)
    }

    /// A value clearly below all others, by one spread.
    pub(super) fn fence(&self) -> f64 {
        self.below(self.edge)
    }

    /// A value that is one spread of the others below another.
    pub(super) fn below(&self, value: f64) -> f64 {
        value - self.half_spread - self.half_spread
    }
}

/// Half of the distance from the median of ascending values to the lowest, or to the upper quartile if
/// that is farther. None where there are few values or most of them are equal.
fn half_spread(values: &[f64]) -> Option<f64> {
    let count = values.len();
    if count < FEWEST {
        return None;
    }
    let half = |i: usize| 0.5 * values[i];
    let (lower, upper) = (half(count / 4), half(count - 1 - count / 4));
    let median = 0.5 * half((count - 1) / 2) + 0.5 * half(count / 2);
    let largest = half(0).abs().max(half(count - 1).abs());
    let varies = upper - lower > CONSTANT * largest && upper - lower >= f64::MIN_POSITIVE;
    varies.then(|| (median - half(0)).max(upper - median))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0, 1, ..., 20: median 10, spread 10.
    fn with(low: &[f64]) -> Vec<f64> {
        let mut values: Vec<f64> = (0..21).map(f64::from).chain(low.iter().copied()).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    /// The tail of less than half of the values that is two spreads away.
    fn low(values: &[f64]) -> Option<Tail> {
        Tail::low(values, (values.len() - 1) / 2, 2.0)
    }

    #[test]
    fn a_tail_is_as_many_spreads_away_as_it_says() {
        let demanded = 10f64.powf(5.0 / 21.0);
        let tail = low(&with(&[-200.0])).unwrap();
        assert_eq!((tail.count, tail.edge, tail.fence()), (1, 0.0, -10.0));
        assert!((tail.gap - 20.0 / demanded).abs() < 1e-12, "{tail:?}");
        assert_eq!(low(&with(&[-19.0 * demanded])), None);
        assert!(low(&with(&[-21.0 * demanded])).is_some());
        assert_eq!(Tail::low(&with(&[]), 10, 0.2), None);
    }

    #[test]
    fn several_values_are_one_tail_however_far_apart_they_are() {
        let tail = low(&with(&[-1e10, -1e10, -1e3, -1e300])).unwrap();
        assert_eq!((tail.count, tail.fence()), (4, -10.0));
        // But not half of all values.
        let half: Vec<f64> = (0..21).map(|i| -1e6 - f64::from(i)).collect();
        assert_eq!(low(&with(&half)), None);
        assert_eq!(low(&with(&half[1..])).unwrap().count, 20);
    }

    #[test]
    fn many_equal_values_are_a_plateau_as_long_as_others_are_the_majority() {
        assert_eq!(Tail::low_plateau(&with(&[-1e10; 20]), 2.0).unwrap().fence(), -10.0);
        assert_eq!(Tail::low_plateau(&with(&[-1e10; 21]), 2.0), None);
        assert_eq!(Tail::low_plateau(&with(&[-1e10, -1.1e10, -2.0]), 2.0), None, "not alone");
        assert_eq!(Tail::low_plateau(&[], 2.0), None);
    }

    #[test]
    fn values_at_the_other_end_do_not_hide_a_tail() {
        let mut values = with(&[-1e6]);
        values.push(1e9);
        let tail = low(&values).unwrap();
        assert_eq!((tail.count, tail.edge), (1, 0.0));
        assert!((tail.fence() + 10.5).abs() < 1e-12);
    }

    #[test]
    fn nothing_is_far_from_few_values_or_from_equal_ones() {
        assert_eq!(low(&[-1e9, 1.0, 2.0, 3.0, 4.0]), None);
        assert!(low(&[-1e9, 1.0, 2.0, 3.0, 4.0, 5.0]).is_some());
        let mut equal = vec![3.0; 20];
        equal.insert(0, -1e6);
        assert_eq!(low(&equal), None);
        // Nor are rounding errors differences.
        let rounded: Vec<f64> = (0..20).map(|i| 3.0 + f64::from(i) * f64::EPSILON).collect();
        assert_eq!(low(&[&[-1e6], &rounded[..]].concat()), None);
    }

    #[test]
    fn any_magnitude_is_judged_alike() {
        let plain = low(&with(&[-1e6])).unwrap();
        for factor in [1e-300, 1e-9, 1e9, 1e301] {
            let values: Vec<f64> = with(&[-1e6]).iter().map(|v| v * factor).collect();
            let tail = low(&values).unwrap();
            assert_eq!(tail.count, plain.count);
            assert!((tail.fence() / factor / plain.fence() - 1.0).abs() < 1e-12);
            assert!((tail.gap / plain.gap - 1.0).abs() < 1e-12);
        }
        let widest = low(&with(&[-f64::MAX])).unwrap();
        assert_eq!(widest.fence(), -10.0);
    }
}
