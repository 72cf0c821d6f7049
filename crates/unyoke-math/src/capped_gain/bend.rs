//! Bends of curves where they reach a ceiling, and how close nodes have to be around them.
//!
//! At k deviations from a ceiling a curve lacks θ f(−|k|) of what it would be if everything were known. With
//! k = (z − z₀)/w that falls by a factor of e over about w/|k|. An observation that leaves little unknown
//! makes w small, and where the ceiling is all but reached the lead of one curve over another is of the size
//! of such tails: it then rises from nothing to all within a fraction of w.

use super::{CERTAIN, Capped, Ceiling, FALL, Family};

/// Where a curve bends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bend {
    /// Its centre, z₀.
    pub(super) z: f64,
    /// Its width, w.
    pub(super) width: f64,
    /// What the tails count: the weight of the ceiling times θ.
    size: f64,
}

/// Curves with more ceilings bend anywhere: their bends are not looked at one by one.
pub(super) const MOST_CEILINGS: usize = 4;

/// No bend is taken to be narrower: between numbers around z there must be room for nodes.
const NARROWEST: f64 = 1e-9;

/// All bends of a curve whose mean an observation moves by `slope` Z.
pub(super) fn of_curve(capped: &Capped<'_>, slope: f64) -> impl Iterator<Item = Bend> {
    let (rest, from) = (capped.rest(slope), capped.curve.mean);
    let ceilings = if slope == 0.0 { &[] } else { capped.ceilings };
    ceilings.iter().map(move |Ceiling { weight, mean, variance }| {
        let deviation = (rest + variance).sqrt();
        let width = (deviation / slope.abs()).max(NARROWEST);
        Bend { z: (mean - from) / slope, width, size: weight * deviation }
    })
}

impl Bend {
    /// The distance from z over which the tail falls by a factor of e; none where there is none.
    pub(super) fn grain(&self, z: f64) -> f64 {
        let k = (z - self.z).abs() / self.width;
        if k < CERTAIN { self.width / (1.0 + k) } else { f64::INFINITY }
    }
}

/// A bend as an integral over a piece sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Obstacle {
    bend: Bend,
    detail: Detail,
}

/// What of a bend matters.
#[derive(Debug, Clone, Copy)]
enum Detail {
    /// That the curve is another one behind it: panels end at it.
    Turn,
    /// Also its tails.
    Tails {
        /// The eighth root of how many times larger the integrand is than the tails.
        ease: f64,
        /// From so many widths on the tails are nothing beside the integrand.
        reach: f64,
    },
}

/// What is nothing beside an integrand.
const NEGLIGIBLE: f64 = 1e-12;

/// So many widths to either side, a bend is over but for its tails.
const TURN: f64 = 3.0;

/// No panel is so narrow, in widths of a bend.
const ROUNDING: f64 = 1e-3;

/// An interval, and how wide panels on it may be where nothing bends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) panel: f64,
}

impl Extent {
    /// Whether panels may have to be narrower because of a bend.
    fn is_disturbed_by(&self, bend: &Bend) -> bool {
        let ends = [self.from, self.to].map(|z| (z - bend.z) / bend.width);
        let is_near = ends[0] < CERTAIN && ends[1] > -CERTAIN;
        let farthest = ends[0].abs().max(ends[1].abs()).min(CERTAIN);
        is_near && bend.width * FALL / (FALL + farthest) < self.panel
    }
}

/// The bends of some curves that matter on an interval; `lead` is the size of the integrand.
///
/// Curves with many ceilings have as many small bends: unless the integrand is yet smaller, it is enough
/// that panels end there.
pub(super) fn obstacles(
    family: &Family<'_>,
    curves: [usize; 2],
    extent: Extent,
    lead: impl Fn() -> f64,
) -> Vec<Obstacle> {
    let (mut found, mut size) = (vec![], None);
    for j in curves {
        let capped = family.capped(j);
        let has_many = capped.ceilings.len() > MOST_CEILINGS;
        for bend in of_curve(&capped, family.slopes[j]).filter(|bend| extent.is_disturbed_by(bend))
        {
            let ratio = *size.get_or_insert_with(&lead) / bend.size;
            if ratio.is_nan() || ratio <= 0.0 {
                // There is nothing to integrate.
                continue;
            }
            let detail = match has_many && ratio > 1.0 {
                true => Detail::Turn,
                false => Detail::tails(ratio),
            };
            found.push(Obstacle { bend, detail });
        }
    }
    found
}

impl Detail {
    /// For an integrand that is so many times larger than the tails.
    fn tails(ratio: f64) -> Self {
        let reach = (-2.0 * (NEGLIGIBLE * ratio).ln()).max(0.0).sqrt().min(CERTAIN);
        Self::Tails { ease: ratio.sqrt().sqrt().sqrt(), reach }
    }
}

impl Obstacle {
    /// How wide a panel may be that begins at z and goes on in the direction of `sign`, at most `width`.
    pub(super) fn room(&self, z: f64, sign: f64, width: f64) -> f64 {
        let unit = self.bend.width;
        let ahead = sign * (self.bend.z - z) / unit;
        match self.detail {
            Detail::Turn => {
                let stops = [-TURN, 0.0, TURN].map(|stop| ahead + stop);
                let next = stops.into_iter().find(|stop| *stop > ROUNDING);
                next.map_or(width, |next| width.min(unit * next))
            }
            Detail::Tails { reach, .. } if ahead > reach + ROUNDING => {
                width.min(unit * (ahead - reach))
            }
            Detail::Tails { reach, .. } if ahead < -reach => width,
            Detail::Tails { ease, .. } => self.room_in_tails(ahead, ease, width),
        }
    }

    /// The same so many widths before the centre, or behind it.
    ///
    /// Four nodes integrate e^(−a t) over \[0, 1\] about a⁸ times as badly as e^(−t): the smaller a tail is
    /// beside the integrand, the more it may fall over a panel.
    fn room_in_tails(&self, ahead: f64, ease: f64, width: f64) -> f64 {
        let unit = self.bend.width;
        let least = unit * FALL / (FALL + ahead.abs());
        let is_fine = |panel: f64| {
            // Where on the panel the tail is the largest.
            let nearest = if ahead > 0.0 { (ahead - panel / unit).max(0.0) } else { ahead };
            panel <= least * ease * (nearest * nearest / 16.0).exp()
        };
        let mut panel = width;
        while panel > least && !is_fine(panel) {
            panel *= 0.5;
        }
        panel
    }
}
