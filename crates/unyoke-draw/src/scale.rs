//! Scales: where a value stands along an axis, and which values get a tick.

/// How values are spaced along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Equal differences are equally far apart.
    Linear,
    /// Equal ratios are equally far apart.
    Log,
}

/// A stretch of values, spaced in one way. Its ends are finite and differ; on a log scale both
/// are positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    kind: Kind,
    low: f64,
    high: f64,
}

/// A value with a name on an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// The value.
    pub at: f64,
    /// What is written there; may be empty.
    pub label: String,
}

/// Beyond these, differences and ratios of `f64` overflow.
const HUGE: f64 = 1e150;
const TINY: f64 = 1e-150;

impl Scale {
    /// A scale from `low` to `high`; ends that make no sense are moved.
    pub fn new(kind: Kind, low: f64, high: f64) -> Self {
        match kind {
            Kind::Linear => Self::linear(low, high),
            Kind::Log => Self::log(low, high),
        }
    }

    fn linear(low: f64, high: f64) -> Self {
        if !low.is_finite() || !high.is_finite() {
            return Self { kind: Kind::Linear, low: 0.0, high: 1.0 };
        }
        let (low, high) = (low.min(high).clamp(-HUGE, HUGE), low.max(high).clamp(-HUGE, HUGE));
        let size = low.abs().max(high.abs());
        if high - low > 1e-9 * size && high - low > TINY {
            return Self { kind: Kind::Linear, low, high };
        }
        let room = if size > TINY { 0.5 * size } else { 0.5 };
        Self { kind: Kind::Linear, low: low - room, high: high + room }
    }

    fn log(low: f64, high: f64) -> Self {
        if !(low > 0.0 && high > 0.0 && low.is_finite() && high.is_finite()) {
            return Self { kind: Kind::Log, low: 0.1, high: 1.0 };
        }
        let (low, high) = (low.min(high).clamp(TINY, HUGE), low.max(high).clamp(TINY, HUGE));
        if high / low > 1.0 + 1e-6 {
            return Self { kind: Kind::Log, low, high };
        }
        Self { kind: Kind::Log, low: low / 2.0, high: high * 2.0 }
    }

    /// The scale that holds all finite `values` (on a log scale, all positive ones), with a little
    /// room at both ends.
    pub fn around(kind: Kind, values: impl IntoIterator<Item = f64>) -> Self {
        let fits = |v: &f64| v.is_finite() && (kind == Kind::Linear || *v > 0.0);
        let (low, high) = values
            .into_iter()
            .filter(fits)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        Self::new(kind, low, high).padded(0.04)
    }

    /// The same scale with `share` of its length more at both ends.
    pub fn padded(self, share: f64) -> Self {
        Self::new(self.kind, self.value(-share), self.value(1.0 + share))
    }

    /// The same scale with another lower end.
    pub fn from(self, low: f64) -> Self {
        Self::new(self.kind, low, self.high)
    }

    /// The lower end.
    pub fn low(&self) -> f64 {
        self.low
    }

    /// The upper end.
    pub fn high(&self) -> f64 {
        self.high
    }

    /// Where `value` stands, from 0 at the lower end to 1 at the upper.
    ///
    /// On a log scale, what is not positive stands at the lower end: it is below everything the
    /// scale shows.
    pub fn place(&self, value: f64) -> f64 {
        match self.kind {
            Kind::Linear => (value - self.low) / (self.high - self.low),
            Kind::Log if value <= 0.0 => 0.0,
            Kind::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        }
    }

    /// The value at `place`; the inverse of [`Scale::place`].
    pub fn value(&self, place: f64) -> f64 {
        match self.kind {
            Kind::Linear => self.low + place * (self.high - self.low),
            Kind::Log => self.low * (place * (self.high / self.low).ln()).exp(),
        }
    }

    /// About `wanted` round values with their names.
    pub fn ticks(&self, wanted: usize) -> Vec<Tick> {
        match self.kind {
            Kind::Linear => linear_ticks(self.low, self.high, wanted),
            Kind::Log => self.log_ticks(wanted),
        }
    }

    fn log_ticks(&self, wanted: usize) -> Vec<Tick> {
        let decades = (self.high / self.low).log10();
        let every = (decades / wanted.max(2) as f64).ceil().max(1.0) as i32;
        if every > 1 {
            // Every so many powers of ten, counted from where most of them are on the scale.
            let from = |phase: i32| self.multiples(&[1.0], |k| k.rem_euclid(every) == phase);
            let most = |a: Vec<f64>, b: Vec<f64>| if b.len() > a.len() { b } else { a };
            return named(&(0..every).map(from).fold(vec![], most));
        }
        let sets: [&[f64]; 3] = [&[1.0], &[1.0, 3.0], &[1.0, 2.0, 5.0]];
        for mantissas in sets {
            let values = self.multiples(mantissas, |_| true);
            if values.len() >= 3 {
                return named(&values);
            }
        }
        linear_ticks(self.low, self.high, wanted)
    }

    /// Values between the powers of ten of a log scale, for small ticks without names.
    pub fn small_ticks(&self) -> Vec<f64> {
        match self.kind {
            Kind::Log if (self.high / self.low).log10() < 7.0 => {
                self.multiples(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], |_| true)
            }
            _ => Vec::new(),
        }
    }

    /// All m·10ᵏ on the scale with m among `mantissas` and k as wanted.
    fn multiples(&self, mantissas: &[f64], is_wanted: impl Fn(i32) -> bool) -> Vec<f64> {
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        let within = |v: &f64| *v >= self.low * (1.0 - 1e-9) && *v <= self.high * (1.0 + 1e-9);
        (first..=last)
            .filter(|k| is_wanted(*k))
            .flat_map(|k| mantissas.iter().map(move |m| times_ten_to(*m, k)))
            .filter(within)
            .collect()
    }
}

/// About `wanted` multiples of 1, 2 or 5 times a power of ten, from `low` to `high`.
fn linear_ticks(low: f64, high: f64, wanted: usize) -> Vec<Tick> {
    let (mantissa, exponent) = round_step((high - low) / wanted.max(1) as f64);
    let step = times_ten_to(mantissa, exponent);
    let first = (low / step - 1e-9).ceil();
    let count = ((high / step + 1e-9).floor() - first).clamp(0.0, 100.0) as usize;
    (0..=count)
        .map(|i| first + i as f64)
        .map(|multiple| Tick {
            at: multiple * step,
            label: name(multiple * step, exponent, low.abs().max(high.abs())),
        })
        .collect()
}

/// That of 1, 2, 5 times a power of ten which is nearest to `rough` as a ratio.
fn round_step(rough: f64) -> (f64, i32) {
    let exponent = rough.log10().floor() as i32;
    let mantissa = rough / times_ten_to(1.0, exponent);
    match mantissa {
        m if m < 2f64.sqrt() => (1.0, exponent),
        m if m < 10f64.sqrt() => (2.0, exponent),
        m if m < 50f64.sqrt() => (5.0, exponent),
        _ => (1.0, exponent + 1),
    }
}

/// m·10ᵏ, rounded once where that is possible.
fn times_ten_to(mantissa: f64, exponent: i32) -> f64 {
    if exponent < 0 { mantissa / 10f64.powi(-exponent) } else { mantissa * 10f64.powi(exponent) }
}

/// The name of a multiple of 10ᵏ on an axis whose values reach `size`.
fn name(value: f64, exponent: i32, size: f64) -> String {
    if !(1e-3..1e6).contains(&size) {
        // Enough digits to tell it from its neighbours.
        let digits = (size.log10().floor() as i32 - exponent).clamp(2, 15);
        return scientific_to(value, digits as usize);
    }
    let decimals = (-exponent).max(0) as usize;
    with_minus(format!("{value:.decimals$}"))
}

/// Names for values on a log scale: plain numbers, or powers of ten if some would be long.
fn named(values: &[f64]) -> Vec<Tick> {
    let plain = values.iter().all(|v| (0.99e-3..1.01e5).contains(v));
    let label = |v: f64| if plain { with_minus(format!("{}", shortest(v))) } else { scientific(v) };
    values.iter().map(|&at| Tick { at, label: label(at) }).collect()
}

/// The value without the dirt of its last bits.
fn shortest(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// A number as m×10ᵏ with the power above the line.
fn scientific(value: f64) -> String {
    scientific_to(value, 2)
}

/// The same with so many digits after the point.
fn scientific_to(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    match (mantissa, exponent) {
        ("0" | "-0", _) => "0".into(),
        (m, "0") => with_minus(m.into()),
        ("1", k) => format!("10{}", raised(k)),
        (m, k) => format!("{}×10{}", with_minus(m.into()), raised(k)),
    }
}

fn raised(digits: &str) -> String {
    let high = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let one = |c: char| match c.to_digit(10) {
        Some(digit) => high[digit as usize],
        None => '⁻',
    };
    digits.chars().map(one).collect()
}

/// The number with a true minus sign, and without one before zero.
fn with_minus(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| matches!(c, '0' | '.')) => rest.into(),
        Some(rest) => format!("−{rest}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_that_differ_little_have_different_names() {
        let names = labels(Scale::new(Kind::Linear, 1.614e8, 1.614e8 + 40.0), 4);
        assert!(names.len() >= 3, "{names:?}");
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        assert_eq!(labels(Scale::new(Kind::Linear, 0.0, 4e8), 2), ["0", "2×10⁸", "4×10⁸"]);
    }

    fn labels(scale: Scale, wanted: usize) -> Vec<String> {
        scale.ticks(wanted).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn linear_ticks_are_round_and_share_their_decimals() {
        assert_eq!(
            labels(Scale::new(Kind::Linear, 0.0, 1.0), 5),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert_eq!(labels(Scale::new(Kind::Linear, 66.0, 818.0), 5), ["200", "400", "600", "800"]);
        assert_eq!(
            labels(Scale::new(Kind::Linear, -1.3, 1.2), 5),
            ["−1.0", "−0.5", "0.0", "0.5", "1.0"]
        );
    }

    #[test]
    fn ticks_are_exact_multiples() {
        let at: Vec<f64> =
            Scale::new(Kind::Linear, 0.0, 0.31).ticks(4).iter().map(|t| t.at).collect();
        assert_eq!(at, [0.0, 0.1, 0.2, 0.1 * 3.0]);
    }

    #[test]
    fn log_ticks_are_powers_of_ten_or_finer_where_these_are_rare() {
        assert_eq!(labels(Scale::new(Kind::Log, 0.002, 1.4), 5), ["0.01", "0.1", "1"]);
        assert_eq!(
            labels(Scale::new(Kind::Log, 0.0025, 0.8), 5),
            ["0.003", "0.01", "0.03", "0.1", "0.3"]
        );
        assert_eq!(labels(Scale::new(Kind::Log, 0.2, 1.4), 5), ["0.2", "0.5", "1"]);
        assert_eq!(labels(Scale::new(Kind::Log, 0.45, 0.62), 4), ["0.45", "0.50", "0.55", "0.60"]);
        assert_eq!(labels(Scale::new(Kind::Log, 1e-6, 0.1), 3), ["10⁻⁶", "10⁻⁴", "10⁻²"]);
        assert_eq!(labels(Scale::new(Kind::Log, 1e-5, 0.1), 3), ["10⁻⁵", "10⁻³", "10⁻¹"]);
        assert_eq!(labels(Scale::new(Kind::Log, 8e-4, 1.2), 3), ["0.01", "1"]);
    }

    #[test]
    fn large_and_small_numbers_are_named_by_powers() {
        assert_eq!(scientific(2.5e-7), "2.5×10⁻⁷");
        assert_eq!(scientific(-1e12), "−1×10¹²");
        assert_eq!(scientific(0.0), "0");
    }

    #[test]
    fn a_log_scale_puts_what_is_not_positive_at_its_lower_end() {
        let scale = Scale::around(Kind::Log, [0.0, -1.0, 0.01, 1.0, f64::NAN]);
        assert!(scale.low() > 0.005 && scale.low() < 0.01);
        assert_eq!(scale.place(0.0), 0.0);
        assert_eq!(scale.place(-5.0), 0.0);
        assert!((scale.place(scale.high()) - 1.0).abs() < 1e-12);
        assert!((scale.value(scale.place(0.3)) - 0.3).abs() < 1e-12);
    }

    #[test]
    fn strange_values_give_a_usable_scale() {
        let odd: [&[f64]; 7] = [
            &[],
            &[f64::NAN],
            &[f64::INFINITY, 1.0],
            &[0.0, 0.0],
            &[3.0],
            &[1e308, -1e308],
            &[1e-300, 2e-300],
        ];
        for values in odd {
            for kind in [Kind::Linear, Kind::Log] {
                let scale = Scale::around(kind, values.iter().copied());
                assert!(scale.low() < scale.high(), "{values:?}");
                assert!(scale.place(0.5 * scale.low() + 0.5 * scale.high()).is_finite());
                let ticks = scale.ticks(5);
                assert!(!ticks.is_empty() && ticks.len() < 20, "{values:?}: {}", ticks.len());
                assert!(scale.small_ticks().len() < 100);
            }
        }
    }
}
