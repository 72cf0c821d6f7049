//! The sum over break points, in units in which it does not underflow, and its derivatives.
//!
//! A break point at c between lines l and r counts A (b_r − b_l) f(−|c|). Its derivatives are
//! A φ(c) in b_r and the opposite in b_l; A Φ(−|c|) with the sign of c in a_r and the opposite in
//! a_l; and those of A in the candidate's fixed objectives times the rest.
//!
//! All are divided by φ at the crossing c* of the term that is about the largest, which makes them
//! ordinary numbers.

use crate::envelope::{FARTHEST, FRAC_1_SQRT_TAU, Gain, NEGLIGIBLE};
use crate::normal;
use std::f64::consts::LN_2;

/// The line height + slope · Z.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    pub(super) number: u32,
    pub(super) height: f64,
    pub(super) slope: f64,
}

/// Powers of two that bring everything to order one, so that products neither over- nor underflow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Units {
    pub(super) height: f64,
    pub(super) slope: f64,
    pub(super) level: f64,
    pub(super) edge: f64,
}

/// Where two lines cross that are neighbours on an envelope.
#[derive(Debug, Clone, Copy)]
pub(super) struct BreakPoint {
    /// Numbers of the lines of lower and higher slope.
    pub(super) left: u32,
    pub(super) right: u32,
    /// a_l − a_r and b_r − b_l.
    drop: f64,
    rise: f64,
    /// For how much of the fixed objectives they are neighbours.
    pub(super) area: f64,
    crossing: f64,
    /// φ at the crossing over φ(c*).
    density: f64,
    /// (b_r − b_l) f(−|c|), scaled likewise.
    excess: f64,
}

/// How the area of a break point depends on a design: derivatives in its fixed objectives, of
/// which there may be several for the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) break_point: usize,
    pub(super) design: u32,
    pub(super) by_level: f64,
    pub(super) by_edge: f64,
}

/// What a sweep finds.
#[derive(Debug)]
pub(super) struct Outcome<'a> {
    pub(super) break_points: &'a mut [BreakPoint],
    pub(super) moments: &'a [Moment],
}

/// The sum, and what its derivatives need.
#[derive(Debug)]
pub(super) struct Sum<'a> {
    pub(super) gain: Gain,
    break_points: &'a [BreakPoint],
    moments: &'a [Moment],
    units: Units,
    /// Number of the candidate's line.
    own: u32,
}

/// Derivatives in the fixed objectives of a design.
#[derive(Debug, Clone, Copy)]
pub(super) struct FixedSlope {
    pub(super) design: u32,
    pub(super) level: f64,
    pub(super) edge: f64,
}

impl Line {
    /// Whether this line is above the point where two others of lower and higher slope cross.
    pub(super) fn is_above_crossing(&self, left: Self, right: Self) -> bool {
        (left.height - self.height) * (right.slope - self.slope)
            < (self.height - right.height) * (self.slope - left.slope)
    }
}

impl BreakPoint {
    pub(super) fn new(left: Line, right: Line) -> Self {
        Self {
            left: left.number,
            right: right.number,
            drop: left.height - right.height,
            rise: right.slope - left.slope,
            area: 0.0,
            crossing: f64::INFINITY,
            density: 0.0,
            excess: 0.0,
        }
    }

    /// About the logarithm of its term: only the binary exponent of the factors counts.
    fn log_size(&self) -> f64 {
        let size = self.area * self.rise;
        let exponent = (size.to_bits() >> 52) as f64 - 1023.0;
        if size > 0.0 { LN_2 * exponent - 0.5 * self.crossing * self.crossing } else { f64::NAN }
    }
}

impl<'a> Sum<'a> {
    /// Adds up the terms; `None` if their sum is 0, even as a logarithm.
    pub(super) fn new(outcome: Outcome<'a>, units: Units, own: u32) -> Option<Self> {
        let Outcome { break_points: points, moments } = outcome;
        let stretch = power_of_two(exponent(units.slope) - exponent(units.height));
        let mut largest = (f64::NEG_INFINITY, f64::INFINITY);
        for point in points.iter_mut() {
            point.crossing = (point.drop / point.rise) * stretch;
            let size = point.log_size();
            if size > largest.0 {
                largest = (size, point.crossing.abs());
            }
        }
        let (_, peak) = largest;
        if peak > FARTHEST {
            return None;
        }
        let mut scaled = 0.0;
        for point in points.iter_mut() {
            let c = point.crossing.abs();
            // (c² − c*²)/2 without cancellation.
            let exponent = 0.5 * (c - peak) * (c + peak);
            if exponent > NEGLIGIBLE {
                continue;
            }
            // A term of no size may have a larger density, which only derivatives see.
            point.density = FRAC_1_SQRT_TAU * (-exponent.max(-LARGEST)).exp();
            point.excess = point.rise * (point.density * normal::tail_excess_ratio(c));
            scaled += point.area * point.excess;
        }
        let binary = exponent(units.slope) + exponent(units.level) + exponent(units.edge);
        let log_scale = -0.5 * peak * peak - LN_2 * f64::from(binary);
        Some(Self { gain: Gain { scaled, log_scale }, break_points: points, moments, units, own })
    }

    /// Adds `factor` times the derivatives in the lines' slopes to `slopes` and returns that in the
    /// height of the candidate, likewise; in units of e^(log_scale).
    pub(super) fn add_slopes(&self, factor: f64, slopes: &mut [f64]) -> f64 {
        let factor = factor * self.units.slope;
        let mut height = 0.0;
        for point in self.break_points.iter().filter(|point| point.density > 0.0) {
            let by_slope = factor * (point.area * point.density);
            for (line, change) in [(point.left, -by_slope), (point.right, by_slope)] {
                // The reference is not among them.
                if let Some(slope) = slopes.get_mut(line as usize) {
                    *slope += change;
                }
            }
            if point.left == self.own || point.right == self.own {
                let tail = factor * (point.area * point.tail());
                let outward = (point.right == self.own) == (point.crossing >= 0.0);
                height += if outward { tail } else { -tail };
            }
        }
        height
    }

    /// Derivatives in the fixed objectives of designs, times `factor`; to be summed per design.
    pub(super) fn fixed_slopes(&self, factor: f64) -> impl Iterator<Item = FixedSlope> + '_ {
        self.moments.iter().map(move |moment| {
            let excess = factor * self.break_points[moment.break_point].excess;
            FixedSlope {
                design: moment.design,
                level: self.units.level * (moment.by_level * excess),
                edge: self.units.edge * (moment.by_edge * excess),
            }
        })
    }
}

impl BreakPoint {
    /// Φ(−|c|), scaled.
    fn tail(&self) -> f64 {
        self.density * normal::mills(self.crossing.abs())
    }
}

/// e to this power is a number still.
const LARGEST: f64 = 700.0;

/// e of the power of two 2^e.
fn exponent(power: f64) -> i32 {
    (power.to_bits() >> 52) as i32 - 1023
}

/// 2^e, or the nearest to it that is a normal number.
fn power_of_two(e: i32) -> f64 {
    f64::from_bits(((e.clamp(-1022, 1023) + 1023) as u64) << 52)
}
