//! The numbers between two bounds as numbers between 0 and 1.

use crate::problem::Scale;

/// `u` moved into \[0, 1\]; what is not a number becomes 0.
pub(super) fn clamp(u: f64) -> f64 {
    if u > 0.0 { u.min(1.0) } else { 0.0 }
}

/// The numbers between two bounds, on their scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) scale: Scale,
    /// From low to high, in differences or logarithms of ratios. For a constant, the unit in
    /// which imported values differ from it.
    length: f64,
}

impl Interval {
    pub(super) fn new(low: f64, high: f64, scale: Scale) -> Self {
        let length = match scale {
            _ if low < high => distance(scale, low, high),
            Scale::Linear if low != 0.0 => low.abs(),
            Scale::Linear | Scale::Log => 1.0,
        };
        Self { low, high, scale, length }
    }

    pub(super) fn is_constant(&self) -> bool {
        self.low == self.high
    }

    pub(super) fn to_unit(self, v: f64) -> f64 {
        let start = if self.is_constant() { 0.5 } else { 0.0 };
        start + distance(self.scale, self.low, v) / self.length
    }

    /// The number at `u`, always within the bounds and equal to them at 0 and 1.
    pub(super) fn at(self, u: f64) -> f64 {
        if self.is_constant() {
            return self.low;
        }
        let u = clamp(u);
        // Measured from the nearer end, so that both ends are exact; 1 − u is exact beyond 1/2.
        let (end, way) = if u <= 0.5 {
            (self.low, u * self.length)
        } else {
            (self.high, (u - 1.0) * self.length)
        };
        let v = match self.scale {
            Scale::Linear => end + way,
            // In two halves: the whole factor may overflow where the product does not.
            Scale::Log => end * libm::exp(0.5 * way) * libm::exp(0.5 * way),
        };
        v.max(self.low).min(self.high)
    }

    /// d(number at u)/du, given the number.
    pub(super) fn slope(self, v: f64) -> f64 {
        match self.scale {
            _ if self.is_constant() => 0.0,
            Scale::Linear => self.length,
            Scale::Log => self.length * v,
        }
    }

    /// The whole number nearest to that at `u`.
    pub(super) fn nearest_whole(self, u: f64) -> f64 {
        self.at(u).round()
    }
}

/// How far `v` is above `low`.
fn distance(scale: Scale, low: f64, v: f64) -> f64 {
    match scale {
        Scale::Linear => v - low,
        Scale::Log => log_ratio(v, low),
    }
}

/// ln (a/b) for positive numbers, without cancellation where they are close and without overflow
/// where they are far apart. From `libm`, so that every machine has the same cube.
pub(super) fn log_ratio(a: f64, b: f64) -> f64 {
    let ratio = a / b;
    if (0.5..=2.0).contains(&ratio) {
        libm::log1p((a - b) / b)
    } else if ratio.is_normal() {
        libm::log(ratio)
    } else {
        libm::log(a) - libm::log(b)
    }
}
