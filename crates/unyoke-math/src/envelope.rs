//! The expected maximum of lines under a standard normal, the heart of the knowledge gradient.
//!
//! For lines a_j + b_j Z, Z ~ N(0, 1), the gain h = E[max_j (a_j + b_j Z)] − max_j a_j is
//!
//! h = Σ_k (b_{k+1} − b_k) f(−|c_k|),  f(z) = φ(z) + z Φ(z),
//!
//! over the break points c_k between neighbouring lines of the upper envelope (Frazier et al.
//! 2009, in the form without cancellation: every term is ≥ 0). By the envelope theorem
//! ∂h/∂a_j = P(line j is the maximum) − [j = argmax a] and ∂h/∂b_j = φ(c_j) − φ(c_{j+1}).
//!
//! Gains shrink like φ(c), far below the smallest double when a study nears its end. So all is
//! computed in units of e^(log_scale), where −2 log_scale is the smallest c² of the envelope: the
//! scaled gain and gradient are ordinary numbers, and the logarithm of the gain is exact.
//!
//! Source: Eq. (10)-(11).

use crate::error::{Error, Result, check_finite, check_shape};
use crate::normal;
use crate::simd::{exp, vectorised};
use std::ops::Range;

/// The order of lines by slope, which many vectors of intercepts can share.
///
/// Slopes may be multiplied by any factor ≥ 0 without sorting again.
#[derive(Debug, Clone, Default)]
pub struct SlopeOrder {
    /// Lines by increasing slope.
    order: Vec<usize>,
    /// Their slopes in that order.
    slopes: Vec<f64>,
    /// A power of two that brings the slopes to order one.
    scale: f64,
}

/// The expected maximum less the best intercept, in units of e^(log_scale).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gain {
    /// The gain divided by e^(log_scale); never negative.
    pub scaled: f64,
    /// Logarithm of the unit.
    pub log_scale: f64,
}

impl Gain {
    /// The gain itself, which may underflow to 0.
    pub fn value(&self) -> f64 {
        self.scaled * self.log_scale.exp()
    }

    /// Its logarithm: −∞ exactly when one line is never beaten.
    pub fn log(&self) -> f64 {
        self.scaled.ln() + self.log_scale
    }
}

/// Derivatives of a gain in one line, in units of the gain's e^(log_scale).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LineGradient {
    /// Which line; those not listed have gradient zero.
    pub line: usize,
    /// In its intercept.
    pub intercept: f64,
    /// In its slope.
    pub slope: f64,
}

/// Buffers of an envelope computation, to be reused.
#[derive(Debug, Clone, Default)]
pub struct Envelope {
    /// Intercepts by increasing slope.
    heights: Vec<f64>,
    /// Lines worth a closer look, by increasing slope.
    promising: Vec<Line>,
    /// Those of them that are steeper than the highest, and those that are less steep.
    stairs: [Vec<Line>; 2],
    /// Lines on the envelope.
    kept: Vec<Line>,
    /// The same lines by their numbers.
    lines: Vec<usize>,
    /// Break points: `breaks[k]` lies between `lines[k]` and `lines[k + 1]`.
    breaks: Vec<f64>,
    /// φ(c)/e^(log_scale) at each break point.
    densities: Vec<f64>,
}

/// The line height + slope · Z.
#[derive(Debug, Clone, Copy)]
struct Line {
    number: usize,
    height: f64,
    slope: f64,
}

impl Line {
    /// Whether it comes after another one by slope, ties by number.
    #[inline(always)]
    fn is_after(&self, other: &Self) -> bool {
        self.slope > other.slope || (self.slope == other.slope && self.ties_after(other))
    }

    #[cold]
    fn ties_after(&self, other: &Self) -> bool {
        self.slope.total_cmp(&other.slope).then(self.number.cmp(&other.number)).is_gt()
    }
}

/// The order by intercept of lines that stay where they are, which many vectors of slopes can share.
/// One more line, the last, comes with each of them.
///
/// Lines that matter are found in one pass from the highest down, without sorting by slope; see
/// [`Envelopes`].
#[derive(Debug, Clone, Default)]
pub struct HeightOrder {
    /// Numbers of the lines, highest first.
    numbers: Vec<u32>,
    /// Their intercepts in that order.
    heights: Vec<f64>,
    /// Magnitude of the intercepts.
    size: u64,
    /// Number of the last line.
    own: usize,
}

/// Slopes of lines, found to be finite.
#[derive(Debug, Clone, Copy)]
pub struct Slopes<'a> {
    values: &'a [f64],
    scale: f64,
    least: f64,
    most: f64,
}

impl<'a> Slopes<'a> {
    /// Fails unless all of them are finite.
    pub fn new(values: &'a [f64]) -> Result<Self> {
        let Extremes { least, most, is_finite } = extremes(values);
        if !is_finite {
            check_finite("slopes of the lines", values)?;
        }
        let size = if values.is_empty() { 0 } else { magnitude(&[least, most]) };
        Ok(Self { values, scale: unit_scale(size), least, most })
    }
}

/// The least and the largest of some numbers, and whether all are numbers.
struct Extremes {
    least: f64,
    most: f64,
    is_finite: bool,
}

fn extremes(values: &[f64]) -> Extremes {
    const LANES: usize = 8;
    vectorised(
        #[inline(always)]
        || {
            let (mut least, mut most) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
            let mut nothing = [0.0; LANES];
            let mut take = |i: usize, v: f64| {
                least[i] = if v < least[i] { v } else { least[i] };
                most[i] = if v > most[i] { v } else { most[i] };
                nothing[i] += 0.0 * v;
            };
            let chunks = values.chunks_exact(LANES);
            chunks.remainder().iter().enumerate().for_each(|(i, v)| take(i, *v));
            for chunk in chunks {
                (0..LANES).for_each(|i| take(i, chunk[i]));
            }
            Extremes {
                least: least.iter().fold(f64::INFINITY, |a, b| a.min(*b)),
                most: most.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b)),
                is_finite: nothing.iter().sum::<f64>() == 0.0,
            }
        },
    )
}

impl HeightOrder {
    /// Sorts all lines but the last by their intercepts, which must be finite.
    pub fn new(intercepts: &[f64]) -> Result<Self> {
        check_finite("intercepts of the lines", intercepts)?;
        let mut lines: Vec<(u32, f64)> = (0..).zip(intercepts.iter().copied()).collect();
        lines.sort_by(|a, b| b.1.total_cmp(&a.1));
        let (numbers, heights) = lines.into_iter().unzip();
        Ok(Self { numbers, heights, size: magnitude(intercepts), own: intercepts.len() })
    }

    /// Without the lines that lie below another one wherever |Z| ≤ `reach`, whatever the slopes are:
    /// `gap` bounds the difference of the slopes of two lines, squared, factor included.
    ///
    /// What a line that is left out would have added to the gain is less than its gap times
    /// f(−`reach`). The last line stays in any case.
    pub fn within_reach(&self, reach: f64, gap: impl Fn(usize, usize) -> f64) -> Self {
        let mut kept: Vec<usize> = vec![];
        for (place, (&number, height)) in self.numbers.iter().zip(&self.heights).enumerate() {
            let hides = |other: &usize| {
                let lead = (self.heights[*other] - height) / reach;
                lead * lead > gap(self.numbers[*other] as usize, number as usize)
            };
            if !kept.iter().any(hides) {
                kept.push(place);
            }
        }
        Self {
            numbers: kept.iter().map(|place| self.numbers[*place]).collect(),
            heights: kept.iter().map(|place| self.heights[*place]).collect(),
            size: self.size,
            own: self.own,
        }
    }

    /// The highest intercept; −∞ of none.
    pub fn highest(&self) -> f64 {
        self.heights.first().copied().unwrap_or(f64::NEG_INFINITY)
    }

    fn line(&self, place: usize, slopes: &[f64]) -> Line {
        let number = self.numbers[place] as usize;
        Line { number, height: self.heights[place], slope: slopes[number] }
    }
}

/// Envelopes of several families of lines, and the sum of their gains. Buffers are reused.
///
/// Break points of all families are valued in one vector loop, in units of e^(log_scale) with the
/// smallest c² of them all: what a family adds that is too small for that is too small for the sum.
///
/// ```
/// use unyoke_math::envelope::{Envelopes, HeightOrder, Slopes};
///
/// // max(0, Z) has expectation φ(0).
/// let order = HeightOrder::new(&[0.0])?;
/// let mut envelopes = Envelopes::default();
/// envelopes.add(&order, 0.0, Slopes::new(&[0.0, 1.0])?, 1.0)?;
/// assert!((envelopes.gain().value() - 0.398_942_280_401_432_7).abs() < 1e-15);
/// # Ok::<(), unyoke_math::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Envelopes {
    envelope: Envelope,
    reach: f64,
    /// For each family, where its lines begin, and the number of its last line.
    families: Vec<(usize, usize)>,
    /// Lines on the envelopes, family after family, by increasing slope.
    lines: Vec<usize>,
    /// Break points after each line; after the last of a family none, at infinity.
    breaks: Vec<f64>,
    /// Half of by how much the slope rises there.
    rises: Vec<f64>,
    /// φ(c)/e^(log_scale) there.
    densities: Vec<f64>,
    /// What each adds to the sum.
    excesses: Vec<f64>,
}

/// The derivative of a sum of gains in one line of one family, in units of its e^(log_scale).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FamilyGradient {
    /// Which family, in the order in which they were added.
    pub family: usize,
    /// Which line of it.
    pub line: usize,
    /// In its slope, after multiplication by the factor.
    pub slope: f64,
    /// In its intercept, if it is the last line of the family; no other one can move.
    pub own_intercept: f64,
}

impl Default for Envelopes {
    fn default() -> Self {
        Self {
            envelope: Envelope::default(),
            reach: f64::INFINITY,
            families: vec![],
            lines: vec![],
            breaks: vec![],
            rises: vec![],
            densities: vec![],
            excesses: vec![],
        }
    }
}

impl Envelopes {
    /// Forgets all families. In those that follow, lines need not be found that are below the highest
    /// one wherever |Z| ≤ `reach`: each of them would add less to the gain than the difference of the
    /// slopes times f(−`reach`).
    pub fn start(&mut self, reach: f64) {
        self.reach = reach;
        self.families.clear();
        self.lines.clear();
        self.breaks.clear();
        self.rises.clear();
    }

    /// Adds the sorted lines and a last one with intercept `own`, slopes times `factor` ≥ 0.
    pub fn add(
        &mut self,
        order: &HeightOrder,
        own: f64,
        slopes: Slopes<'_>,
        factor: f64,
    ) -> Result<()> {
        check_shape("slopes of the lines", order.own + 1, slopes.values.len())?;
        check_finite("intercepts of the lines", &[own])?;
        check_factor(factor)?;
        let reach = if self.reach.is_finite() { self.reach * factor } else { f64::INFINITY };
        self.envelope.climb_stairs(order, own, slopes, reach);
        let scale = unit_scale(order.size.max(magnitude(&[own])));
        self.envelope.build(slopes.scale, scale);
        self.families.push((self.lines.len(), order.own));
        let kept = &self.envelope.kept;
        for pair in kept.windows(2) {
            self.lines.push(pair[0].number);
            let rise = half_rise(pair, factor);
            self.rises.push(rise);
            self.breaks.push(crossing(pair, rise));
        }
        self.lines.extend(kept.last().map(|line| line.number));
        self.rises.push(0.0);
        self.breaks.push(f64::INFINITY);
        Ok(())
    }

    /// The sum of the gains.
    pub fn gain(&mut self) -> Gain {
        let Self { breaks, rises, densities, excesses, .. } = self;
        densities.clear();
        let nearest = breaks.iter().fold(f64::INFINITY, |least, c| least.min(c.abs()));
        if nearest > FARTHEST {
            return Gain { scaled: 0.0, log_scale: 0.0 };
        }
        densities.resize(breaks.len(), 0.0);
        excesses.resize(breaks.len(), 0.0);
        vectorised(
            #[inline(always)]
            || {
                let terms =
                    densities.iter_mut().zip(excesses.iter_mut()).zip(&*breaks).zip(&*rises);
                for (((density, excess), c), rise) in terms {
                    let c = c.abs().min(FARTHEST);
                    // (c² − nearest²)/2 without cancellation.
                    let exponent = 0.5 * (c - nearest) * (c + nearest);
                    *density = FRAC_1_SQRT_TAU * exp(-exponent);
                    *excess = 2.0 * (rise * (*density * normal::tail_excess_ratio_of_positive(c)));
                }
            },
        );
        Gain { scaled: excesses.iter().sum(), log_scale: -0.5 * nearest * nearest }
    }

    /// Derivatives of the last gain in the lines of all families.
    pub fn gradient(&self) -> impl Iterator<Item = FamilyGradient> + '_ {
        // Without break points that matter there is no gain and no gradient.
        let families = if self.densities.is_empty() { &[][..] } else { &self.families };
        families.iter().enumerate().flat_map(move |(family, &(start, own))| {
            let end = self.families.get(family + 1).map_or(self.lines.len(), |next| next.0);
            (start..end).map(move |i| {
                let left = (i > start).then(|| i - 1);
                let density = |at: usize| self.densities[at];
                let line = self.lines[i];
                FamilyGradient {
                    family,
                    line,
                    slope: left.map_or(0.0, density) - density(i),
                    own_intercept: match line == own {
                        true => self.beyond(i) - left.map_or(0.0, |left| self.beyond(left)),
                        false => 0.0,
                    },
                }
            })
        })
    }

    /// What a break point contributes to the derivatives in the intercepts beside it.
    fn beyond(&self, at: usize) -> f64 {
        Side::new(self.breaks[at], self.densities[at]).beyond
    }
}

/// Half of by how much the slope rises from one line to the next.
#[inline(always)]
fn half_rise(pair: &[Line], factor: f64) -> f64 {
    // Halves of differences cannot overflow.
    factor * (0.5 * pair[1].slope - 0.5 * pair[0].slope)
}

/// Where two lines cross.
#[inline(always)]
fn crossing(pair: &[Line], half_rise: f64) -> f64 {
    match half_rise > 0.0 {
        true => (0.5 * pair[0].height - 0.5 * pair[1].height) / half_rise,
        false => f64::INFINITY,
    }
}

fn check_factor(factor: f64) -> Result<()> {
    if factor.is_finite() && factor >= 0.0 {
        return Ok(());
    }
    let must = "finite and not negative";
    Err(Error::OutOfRange { what: "factor of the slopes", value: factor, must })
}

impl SlopeOrder {
    /// Sorts the lines by slope; all slopes must be finite.
    pub fn new(slopes: &[f64]) -> Result<Self> {
        let mut order = Self::default();
        order.sort(slopes)?;
        Ok(order)
    }

    /// As [`SlopeOrder::new`], reusing the buffers.
    pub fn sort(&mut self, slopes: &[f64]) -> Result<()> {
        check_finite("slopes of the lines", slopes)?;
        self.order.clear();
        self.order.extend(0..slopes.len());
        // Ties by index: the same envelope whatever the sorting algorithm.
        self.order.sort_unstable_by(|&i, &j| slopes[i].total_cmp(&slopes[j]).then(i.cmp(&j)));
        self.slopes.clear();
        self.slopes.extend(self.order.iter().map(|&j| slopes[j]));
        self.scale = unit_scale(magnitude(slopes));
        Ok(())
    }

    /// As [`SlopeOrder::sort`], faster where the order is nearly that of the last slopes.
    pub fn sort_again(&mut self, slopes: &[f64]) -> Result<()> {
        if self.order.len() != slopes.len() {
            return self.sort(slopes);
        }
        check_finite("slopes of the lines", slopes)?;
        self.slopes.clear();
        self.slopes.extend(self.order.iter().map(|&j| slopes[j]));
        // A sort from scratch takes about so many moves of a line by one place.
        let mut moves = 8 * slopes.len();
        for i in 1..slopes.len() {
            let (slope, line) = (self.slopes[i], self.order[i]);
            let mut place = i;
            while place > 0
                && self.slopes[place - 1]
                    .total_cmp(&slope)
                    .then(self.order[place - 1].cmp(&line))
                    .is_gt()
            {
                self.slopes[place] = self.slopes[place - 1];
                self.order[place] = self.order[place - 1];
                place -= 1;
            }
            (self.slopes[place], self.order[place]) = (slope, line);
            match moves.checked_sub(i - place) {
                Some(rest) => moves = rest,
                None => return self.sort(slopes),
            }
        }
        self.scale = unit_scale(magnitude(slopes));
        Ok(())
    }

    /// Number of lines.
    pub fn len(&self) -> usize {
        self.slopes.len()
    }

    /// Whether there are no lines.
    pub fn is_empty(&self) -> bool {
        self.slopes.is_empty()
    }

    /// The gain of lines with these intercepts and the sorted slopes times `factor` ≥ 0.
    ///
    /// ```
    /// use unyoke_math::envelope::{Envelope, SlopeOrder};
    ///
    /// // max(0, Z) has expectation φ(0).
    /// let order = SlopeOrder::new(&[0.0, 1.0])?;
    /// let gain = order.gain(&[0.0, 0.0], 1.0, &mut Envelope::default())?;
    /// assert!((gain.value() - 0.398_942_280_401_432_7).abs() < 1e-15);
    /// # Ok::<(), unyoke_math::Error>(())
    /// ```
    pub fn gain(&self, intercepts: &[f64], factor: f64, envelope: &mut Envelope) -> Result<Gain> {
        check_shape("intercepts of the lines", self.len(), intercepts.len())?;
        let size = magnitude(intercepts);
        if size >= f64::INFINITY.to_bits() {
            check_finite("intercepts of the lines", intercepts)?;
        }
        check_factor(factor)?;
        envelope.preselect(self, intercepts);
        envelope.build(self.scale, unit_scale(size));
        Ok(envelope.gain(factor))
    }
}

impl Envelope {
    /// Lines on the envelope of the last gain, by increasing slope.
    pub fn lines(&self) -> &[usize] {
        &self.lines
    }

    /// Keeps those of the promising lines that are the maximum somewhere, by increasing slope.
    ///
    /// Whether a line stays depends on the order of two crossings, (a₀ − a₁)/(b₁ − b₀) and
    /// (a₁ − a₂)/(b₂ − b₁), which is decided without dividing. Multiplying all slopes by a positive
    /// factor changes nothing here.
    fn build(&mut self, slope_scale: f64, scale: f64) {
        // Where no product can over- or underflow, powers of two change nothing.
        const ORDINARY: std::ops::RangeInclusive<f64> = 1e-60..=1e60;
        match ORDINARY.contains(&slope_scale) && ORDINARY.contains(&scale) {
            true => self.build_from(|line| (line.height, line.slope)),
            false => self.build_from(|line| (scale * line.height, slope_scale * line.slope)),
        }
        self.lines.clear();
        self.lines.extend(self.kept.iter().map(|line| line.number));
    }

    #[inline(always)]
    fn build_from(&mut self, scaled: impl Fn(&Line) -> (f64, f64)) {
        self.kept.clear();
        for line in &self.promising {
            let (a2, b2) = scaled(line);
            if let Some(top) = self.kept.last()
                && scaled(top).1 == b2
            {
                // Parallel: the higher one stays, the first of equals.
                if scaled(top).0 >= a2 {
                    continue;
                }
                self.kept.pop();
            }
            while let [.., below, top] = &self.kept[..] {
                let ((a0, b0), (a1, b1)) = (scaled(below), scaled(top));
                if (a0 - a1) * (b2 - b1) < (a1 - a2) * (b1 - b0) {
                    break;
                }
                self.kept.pop();
            }
            self.kept.push(*line);
        }
    }

    /// Passes over most lines cheaply: where Z > 0 the maximum is the highest line or a steeper
    /// one, and none of these can be it while a still steeper one is as high; likewise for Z < 0.
    fn preselect(&mut self, order: &SlopeOrder, intercepts: &[f64]) {
        self.heights.clear();
        self.heights.extend(order.order.iter().map(|&j| intercepts[j]));
        self.promising.clear();
        let Some(&first) = self.heights.first() else { return };
        let (mut highest, mut best) = (0, first);
        for (i, &height) in self.heights.iter().enumerate() {
            if height > best {
                (highest, best) = (i, height);
            }
        }
        let line =
            |i: usize, height: f64| Line { number: order.order[i], height, slope: order.slopes[i] };
        let mut record = f64::NEG_INFINITY;
        for (i, &height) in self.heights[..highest].iter().enumerate() {
            if height > record {
                record = height;
                self.promising.push(line(i, height));
            }
        }
        self.promising.push(line(highest, best));
        let steeper = self.promising.len();
        record = f64::NEG_INFINITY;
        for (i, &height) in self.heights.iter().enumerate().skip(highest + 1).rev() {
            if height > record {
                record = height;
                self.promising.push(line(i, height));
            }
        }
        self.promising[steeper..].reverse();
    }

    /// Finds the same lines without sorting by slope. From the highest line down, a line matters
    /// where Z > 0 if it is steeper than all before it, and where Z < 0 if it is less steep; of lines
    /// equally high, only the last or the first by slope does.
    ///
    /// Nor does a line matter that is below the highest by more than `reach` times the difference of
    /// their slopes.
    fn climb_stairs(&mut self, order: &HeightOrder, own: f64, slopes: Slopes<'_>, reach: f64) {
        let own = Line { number: order.own, height: own, slope: slopes.values[order.own] };
        let split = order.heights.partition_point(|height| *height >= own.height);
        let top = if split > 0 { order.line(0, slopes.values) } else { own };
        let [steeper, flatter] = &mut self.stairs;
        steeper.clear();
        flatter.clear();
        let mut stairs = Stairs {
            steeper,
            flatter,
            top,
            last: top,
            first: top,
            bottom: f64::NEG_INFINITY,
            per_height: reach.recip(),
            most_rise: (slopes.most - top.slope).max(top.slope - slopes.least),
        };
        if split > 0 {
            stairs.descend(order, 1..split, &slopes);
            stairs.take(own, &slopes);
        }
        stairs.descend(order, split..order.heights.len(), &slopes);
        let top = stairs.top;
        self.promising.clear();
        self.promising.extend(flatter.iter().rev());
        self.promising.push(top);
        self.promising.extend_from_slice(steeper);
    }

    fn gain(&mut self, factor: f64) -> Gain {
        self.breaks.clear();
        self.densities.clear();
        let rise = |pair: &[Line]| half_rise(pair, factor);
        self.breaks.extend(self.kept.windows(2).map(|pair| crossing(pair, rise(pair))));
        let nearest = self.breaks.iter().fold(f64::INFINITY, |least, c| least.min(c.abs()));
        if nearest > FARTHEST {
            return Gain { scaled: 0.0, log_scale: 0.0 };
        }
        let density = |c: &f64| {
            // (c² − nearest²)/2 without cancellation.
            let exponent = 0.5 * (c.abs() - nearest) * (c.abs() + nearest);
            if exponent > NEGLIGIBLE { 0.0 } else { FRAC_1_SQRT_TAU * (-exponent).exp() }
        };
        self.densities.extend(self.breaks.iter().map(density));
        let term = |((pair, c), density): ((&[Line], &f64), &f64)| match *density {
            0.0 => 0.0,
            density => 2.0 * (rise(pair) * (density * normal::tail_excess_ratio(c.abs()))),
        };
        let pairs = self.kept.windows(2).zip(&self.breaks).zip(&self.densities);
        let scaled = pairs.map(term).sum();
        Gain { scaled, log_scale: -0.5 * nearest * nearest }
    }

    /// Derivatives of the last gain in the lines of the envelope, in units of its e^(log_scale).
    ///
    /// The slope's derivative is in the slope after multiplication by the factor.
    pub fn gradient(&self) -> impl Iterator<Item = LineGradient> + '_ {
        let mut left = Side::default();
        // Without break points that matter there is no gain and no gradient.
        let count = if self.densities.is_empty() { 0 } else { self.lines.len() };
        self.lines[..count].iter().enumerate().map(move |(k, &line)| {
            let right = match (self.breaks.get(k), self.densities.get(k)) {
                (Some(&c), Some(&density)) => Side::new(c, density),
                _ => Side::default(),
            };
            let gradient = LineGradient {
                line,
                intercept: right.beyond - left.beyond,
                slope: left.density - right.density,
            };
            left = right;
            gradient
        })
    }
}

/// The lines found to matter on the way from the highest line down.
struct Stairs<'a> {
    steeper: &'a mut Vec<Line>,
    flatter: &'a mut Vec<Line>,
    top: Line,
    /// The last and the first by slope so far.
    last: Line,
    first: Line,
    /// Below this no line matters: the steepest and the least steep are found.
    bottom: f64,
    /// By how much the slope of a line must differ from that of the highest one to matter, over how far
    /// it is below it; and by how much any of them does.
    per_height: f64,
    most_rise: f64,
}

impl Stairs<'_> {
    /// Passes the lines at these places of the order. Most do not matter: several at a time are found
    /// to be neither steeper nor less steep.
    fn descend(&mut self, order: &HeightOrder, places: Range<usize>, slopes: &Slopes<'_>) {
        const TOGETHER: usize = 8;
        let values = slopes.values;
        for start in places.clone().step_by(TOGETHER) {
            let rise = self.rise_at(order.heights[start]);
            if order.heights[start] < self.bottom || rise > self.most_rise {
                return;
            }
            let end = (start + TOGETHER).min(places.end);
            let first = self.first.slope.min(self.top.slope - rise);
            let last = self.last.slope.max(self.top.slope + rise);
            let mut matters = false;
            for &number in &order.numbers[start..end] {
                let slope = values[number as usize];
                matters |= (slope >= last) | (slope <= first);
            }
            if matters {
                (start..end).for_each(|place| self.take(order.line(place, values), slopes));
            }
        }
    }

    /// By how much the slope of a line of this height must differ from that of the highest one.
    #[inline(always)]
    fn rise_at(&self, height: f64) -> f64 {
        let drop = self.top.height - height;
        // With slopes times zero, no line matters that is lower at all.
        if drop > 0.0 { drop * self.per_height } else { 0.0 }
    }

    /// Takes the next line.
    #[inline(always)]
    fn take(&mut self, line: Line, slopes: &Slopes<'_>) {
        let is_within_reach = (line.slope - self.top.slope).abs() >= self.rise_at(line.height);
        if line.height < self.bottom || !is_within_reach {
            return;
        }
        if line.is_after(&self.last) {
            if self.steeper.last().is_some_and(|end| end.height == line.height) {
                self.steeper.pop();
            }
            self.steeper.push(line);
            self.last = line;
        } else if self.first.is_after(&line) {
            if line.height == self.top.height {
                // The first by slope of the highest ones is the top.
                if self.steeper.is_empty() {
                    self.steeper.push(self.top);
                }
                self.top = line;
            } else {
                if self.flatter.last().is_some_and(|end| end.height == line.height) {
                    self.flatter.pop();
                }
                self.flatter.push(line);
            }
            self.first = line;
        } else {
            return;
        }
        if self.last.slope >= slopes.most && self.first.slope <= slopes.least {
            self.bottom = line.height;
        }
    }
}

/// What a break point c contributes to the derivatives of the lines beside it.
#[derive(Debug, Clone, Copy, Default)]
struct Side {
    /// φ(c), scaled.
    density: f64,
    /// Φ(−|c|), scaled, with the sign of −c.
    ///
    /// The mass of an interval is the difference of these at its ends, plus 1 if it holds 0. With
    /// the 1 taken off, which is the derivative of max a, nothing is left to cancel.
    beyond: f64,
}

impl Side {
    fn new(c: f64, density: f64) -> Self {
        if density == 0.0 {
            return Self::default();
        }
        let probability = density * normal::mills(c.abs());
        Self { density, beyond: if c < 0.0 { probability } else { -probability } }
    }
}

/// The bits of the largest absolute value: without their sign, the bits of doubles are ordered as
/// their sizes are, infinities and NaN above all.
pub(crate) fn magnitude(values: &[f64]) -> u64 {
    values.iter().fold(0, |most, v| most.max(v.abs().to_bits()))
}

/// The power of two that brings a number of this magnitude to order one, if there is one.
pub(crate) fn unit_scale(magnitude: u64) -> f64 {
    if f64::from_bits(magnitude) < f64::MIN_POSITIVE {
        return 1.0;
    }
    // 2^-e for a number of exponent e; the cut keeps it from being subnormal.
    let exponent = ((magnitude >> 52) as i64 - 1023).min(1021);
    f64::from_bits(((1023 - exponent) as u64) << 52)
}

/// A break point this far out, or none at all: the gain is 0 even as a logarithm.
pub(crate) const FARTHEST: f64 = 1e150;

/// Beyond this e⁻ˣ is 0.
pub(crate) const NEGLIGIBLE: f64 = 745.0;

/// 1/√2π.
pub(crate) const FRAC_1_SQRT_TAU: f64 = 0.398_942_280_401_432_7;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn gain(a: &[f64], b: &[f64]) -> Gain {
        SlopeOrder::new(b).unwrap().gain(a, 1.0, &mut Envelope::default()).unwrap()
    }

    /// The same by the order of the intercepts, with the last line apart.
    fn assert_same_by_height(lines: &[(f64, f64)], factor: f64) {
        let (a, b): (Vec<f64>, Vec<f64>) = lines.iter().copied().unzip();
        let Some((own, fixed)) = a.split_last() else { return };
        let mut by_slope = Envelope::default();
        let expected = SlopeOrder::new(&b).unwrap().gain(&a, factor, &mut by_slope).unwrap();
        let mut by_height = Envelopes::default();
        let (order, slopes) = (HeightOrder::new(fixed).unwrap(), Slopes::new(&b).unwrap());
        by_height.add(&order, *own, slopes, factor).unwrap();
        let found = by_height.gain();
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-14 * (1.0 + a.abs().max(b.abs()));
        assert_eq!(found.log_scale, expected.log_scale, "{lines:?}");
        assert!(close(found.scaled, expected.scaled), "{found:?} {expected:?} {lines:?}");
        assert_eq!(by_height.lines, by_slope.lines(), "{lines:?}");
        let gradients: Vec<FamilyGradient> = by_height.gradient().collect();
        assert_eq!(gradients.len(), by_slope.gradient().count());
        for (found, expected) in gradients.iter().zip(by_slope.gradient()) {
            assert_eq!((found.family, found.line), (0, expected.line));
            assert!(close(found.slope, expected.slope), "{found:?} {expected:?} {lines:?}");
            let own = if found.line == fixed.len() { expected.intercept } else { 0.0 };
            assert!(close(found.own_intercept, own), "{found:?} {expected:?} {lines:?}");
        }
    }

    #[test]
    fn lines_out_of_reach_are_left_out_and_change_nothing() {
        let mut rng = crate::random::Rng::new(7, 0);
        for round in 0..300 {
            let n = 1 + rng.below(60);
            let spread = [0.02, 0.2, 2.0][round % 3];
            let heights: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
            let slopes: Vec<f64> = (0..=n).map(|_| spread * rng.normal()).collect();
            let (own, factor) = (heights[0] + 0.1 * rng.normal(), 0.1 + rng.uniform());
            let order = HeightOrder::new(&heights).unwrap();
            // The very slopes: no bound on their differences is tighter.
            let gap = |i: usize, j: usize| (factor * (slopes[i] - slopes[j])).powi(2) + 1e-20;
            let near = order.within_reach(12.0, gap);
            let families = |order: &HeightOrder, reach: f64| {
                let mut envelopes = Envelopes::default();
                envelopes.start(reach);
                for own in [own, own + 0.3] {
                    let slopes = Slopes::new(&slopes).unwrap();
                    envelopes.add(order, own, slopes, factor).unwrap();
                }
                let gain = envelopes.gain();
                let mut by_slopes = vec![0.0; n + 1];
                let mut by_own = 0.0;
                for line in envelopes.gradient() {
                    by_slopes[line.line] += line.slope * gain.log_scale.exp();
                    by_own += line.own_intercept * gain.log_scale.exp();
                }
                (gain, by_slopes, by_own)
            };
            let (gain, by_slopes, by_own) = families(&order, f64::INFINITY);
            assert!(near.heights.len() < n || spread > 0.02 || n < 9);
            for (found, found_slopes, found_own) in [families(&order, 12.0), families(&near, 12.0)]
            {
                if gain.log() > -30.0 {
                    assert!((found.log() - gain.log()).abs() < 1e-12, "{found:?} {gain:?}");
                }
                let close = |a: f64, b: f64| (a - b).abs() <= 1e-13 * (a.abs() + b.abs()) + 1e-29;
                assert!(close(found_own, by_own), "{found_own:e} {by_own:e}");
                let pairs = found_slopes.iter().zip(&by_slopes);
                assert!(
                    pairs.clone().all(|(a, b)| close(*a, *b)),
                    "{found_slopes:?} {by_slopes:?}"
                );
            }
        }
    }

    fn largest(a: &[f64]) -> f64 {
        a.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// E[max] by cutting the axis at every crossing of two lines and integrating the line that is
    /// highest in the middle of each piece.
    fn brute_force(a: &[f64], b: &[f64]) -> f64 {
        let mut cuts = vec![-40.0, 40.0];
        for i in 0..a.len() {
            for j in 0..i {
                let c = (a[i] - a[j]) / (b[j] - b[i]);
                if c.is_finite() && c.abs() < 40.0 {
                    cuts.push(c);
                }
            }
        }
        cuts.sort_by(f64::total_cmp);
        let piece = |pair: &[f64]| {
            let middle = 0.5 * (pair[0] + pair[1]);
            let height = |j: &usize| a[*j] + b[*j] * middle;
            let top = (0..a.len()).max_by(|i, j| height(i).total_cmp(&height(j))).unwrap();
            // Mass on the side where it is small, for accuracy in the tails.
            let mass = if pair[0] > 0.0 {
                normal::cdf(-pair[0]) - normal::cdf(-pair[1])
            } else {
                normal::cdf(pair[1]) - normal::cdf(pair[0])
            };
            a[top] * mass + b[top] * (normal::pdf(pair[0]) - normal::pdf(pair[1]))
        };
        cuts.windows(2).map(piece).sum()
    }

    fn lines(value: impl Strategy<Value = f64> + Clone) -> impl Strategy<Value = Vec<(f64, f64)>> {
        prop::collection::vec((value.clone(), value), 1..40)
    }

    fn check_against_brute_force(lines: &[(f64, f64)], scale: f64) {
        let (a, b): (Vec<f64>, Vec<f64>) = lines.iter().copied().unzip();
        let found = gain(&a, &b);
        assert!(found.scaled >= 0.0);
        let expected = brute_force(&a, &b) - largest(&a);
        let error = (found.value() - expected).abs();
        assert!(error <= 1e-12 * scale, "{} is {error:e} off {expected}", found.value());
    }

    proptest! {
        #[test]
        fn orders_by_height_and_by_slope_give_the_same_bits(
            lines in prop_oneof![
                lines(-3.0..3.0f64),
                lines((-2..3i32).prop_map(f64::from)),
                lines(prop_oneof![Just(0.0), Just(-0.0), Just(1e100), Just(1e-100), -1.0..1.0f64]),
            ],
            factor in 0.0..2.0f64,
        ) {
            assert_same_by_height(&lines, factor);
        }
    }

    #[test]
    fn a_line_that_is_there_twice_is_taken_alike_by_both_orders() {
        let mut rng = crate::random::Rng::new(8, 0);
        for _ in 0..500 {
            let mut lines: Vec<(f64, f64)> =
                (0..20).map(|_| (rng.normal(), rng.normal())).collect();
            lines.push(lines[rng.below(20)]);
            assert_same_by_height(&lines, 1.0);
        }
    }

    #[test]
    fn misshapen_lines_are_refused_by_the_order_of_heights_too() {
        let order = HeightOrder::new(&[0.0, 1.0]).unwrap();
        let gain = |own: f64, slopes: &[f64], factor: f64| {
            Envelopes::default().add(&order, own, Slopes::new(slopes)?, factor)
        };
        assert!(gain(0.5, &[1.0, 2.0, 3.0], 1.0).is_ok());
        assert!(gain(0.5, &[1.0, 2.0], 1.0).is_err());
        assert!(gain(f64::NAN, &[1.0, 2.0, 3.0], 1.0).is_err());
        assert!(gain(0.5, &[1.0, f64::INFINITY, 3.0], 1.0).is_err());
        assert!(gain(0.5, &[1.0, 2.0, 3.0], -1.0).is_err());
        assert!(HeightOrder::new(&[f64::NAN]).is_err());
    }

    proptest! {
        #[test]
        fn random_lines_match_brute_force(lines in lines(-3.0..3.0f64)) {
            check_against_brute_force(&lines, 3.0);
        }

        #[test]
        fn tied_and_parallel_lines_match_brute_force(lines in lines((-3..3i32).prop_map(f64::from))) {
            check_against_brute_force(&lines, 3.0);
        }

        #[test]
        fn sorting_again_finds_the_order_whatever_it_was_before(
            before in prop::collection::vec((-9..9i32).prop_map(f64::from), 1..200),
            changes in prop::collection::vec((any::<prop::sample::Index>(), -9.0..9.0f64), 0..40),
        ) {
            let mut order = SlopeOrder::new(&before).unwrap();
            let mut slopes = before;
            for (place, slope) in changes {
                *place.get_mut(&mut slopes) = slope;
            }
            order.sort_again(&slopes).unwrap();
            let fresh = SlopeOrder::new(&slopes).unwrap();
            prop_assert_eq!((&order.order, &order.slopes), (&fresh.order, &fresh.slopes));
            // All the other way round, and another number of lines.
            let turned: Vec<f64> = slopes.iter().map(|slope| -slope).chain([0.5]).collect();
            order.sort_again(&turned[..slopes.len()]).unwrap();
            order.sort_again(&turned).unwrap();
            let fresh = SlopeOrder::new(&turned).unwrap();
            prop_assert_eq!((&order.order, &order.slopes), (&fresh.order, &fresh.slopes));
            prop_assert_eq!(order.scale, fresh.scale);
        }

        #[test]
        fn nearly_parallel_lines_match_brute_force(
            lines in lines((-3..3i32, -4..4i32).prop_map(|(k, e)| f64::from(k) + 1e-14 * f64::from(e))),
        ) {
            check_against_brute_force(&lines, 3.0);
        }

        #[test]
        fn huge_lines_match_scaled_ones(lines in lines(-3.0..3.0f64)) {
            let (a, b): (Vec<f64>, Vec<f64>) = lines.into_iter().unzip();
            let times = |v: &[f64], s: f64| v.iter().map(|x| x * s).collect::<Vec<_>>();
            let plain = gain(&a, &b).log();
            // Powers of two leave every digit as it is, so that gains of any size must agree.
            for power in [-900, 660, 1022] {
                let scale = 2f64.powi(power);
                let scaled = gain(&times(&a, scale), &times(&b, scale)).log() - scale.ln();
                let error = (scaled - plain).abs();
                let size = plain.abs().max(scale.ln().abs());
                prop_assert!(scaled == plain || error <= 1e-14 * size, "{scaled} {plain}");
            }
        }

        #[test]
        fn gradients_match_finite_differences(lines in lines(-3.0..3.0f64), pick in 0usize..40) {
            let (a, b): (Vec<f64>, Vec<f64>) = lines.into_iter().unzip();
            let (pick, h) = (pick % a.len(), 1e-6);
            let mut envelope = Envelope::default();
            let found = SlopeOrder::new(&b).unwrap().gain(&a, 1.0, &mut envelope).unwrap();
            let unit = found.log_scale.exp();
            let gradient = envelope.gradient().find(|g| g.line == pick);
            let value = |da: f64, db: f64| {
                let (mut a, mut b) = (a.clone(), b.clone());
                a[pick] += da;
                b[pick] += db;
                gain(&a, &b).value()
            };
            let (in_a, in_b) = ((value(h, 0.0) - value(-h, 0.0)) / (2.0 * h),
                                (value(0.0, h) - value(0.0, -h)) / (2.0 * h));
            let (ga, gb) = gradient.map_or((0.0, 0.0), |g| (g.intercept * unit, g.slope * unit));
            // A second line within h of the best intercept makes max a kinked there.
            let mut sorted = a.clone();
            sorted.sort_by(|x, y| y.total_cmp(x));
            prop_assume!(sorted.len() < 2 || sorted[0] - sorted[1] > 3.0 * h);
            prop_assert!((ga - in_a).abs() < 1e-5, "{ga} {in_a}");
            prop_assert!((gb - in_b).abs() < 1e-5, "{gb} {in_b}");
        }

        #[test]
        fn one_sort_serves_scaled_slopes(lines in lines(-3.0..3.0f64), factor in 0.0..2.0f64) {
            let (a, b): (Vec<f64>, Vec<f64>) = lines.into_iter().unzip();
            let shared = SlopeOrder::new(&b).unwrap();
            let found = shared.gain(&a, factor, &mut Envelope::default()).unwrap().log();
            let own = gain(&a, &b.iter().map(|s| s * factor).collect::<Vec<_>>()).log();
            let error = (found - own).abs();
            prop_assert!(found == own || error <= 1e-9 * own.abs().max(1.0), "{found} {own}");
        }
    }

    #[test]
    fn the_logarithm_is_right_where_the_gain_underflows() {
        // Two lines: gain = f(−c), so its logarithm is that of the expected excess.
        for c in [0.0, 1.0, 10.0, 37.0, 40.0, 1e3, 1e6] {
            let found = gain(&[0.0, -c], &[0.0, 1.0]);
            let expected = normal::log_expected_excess(-c);
            assert!((found.log() - expected).abs() <= 1e-14 * expected.abs().max(1.0), "{c}");
        }
        assert_eq!(gain(&[0.0, -1e6], &[0.0, 1.0]).value(), 0.0);
    }

    #[test]
    fn the_gradient_of_the_logarithm_is_right_where_the_gain_underflows() {
        let (a, b, h) = ([0.0, -40.0, -40.41], [0.0, 1.0, -1.01], 1e-6);
        let mut envelope = Envelope::default();
        let found = SlopeOrder::new(&b).unwrap().gain(&a, 1.0, &mut envelope).unwrap();
        let shifted = |line: usize, da: f64, db: f64| {
            let (mut a, mut b) = (a, b);
            a[line] += da;
            b[line] += db;
            gain(&a, &b).log()
        };
        let mut seen = 0;
        for g in envelope.gradient() {
            let in_a = (shifted(g.line, h, 0.0) - shifted(g.line, -h, 0.0)) / (2.0 * h);
            let in_b = (shifted(g.line, 0.0, h) - shifted(g.line, 0.0, -h)) / (2.0 * h);
            assert!((g.intercept / found.scaled / in_a - 1.0).abs() < 1e-6);
            assert!((g.slope / found.scaled / in_b - 1.0).abs() < 1e-6);
            seen += 1;
        }
        assert_eq!(seen, 3);
    }

    #[test]
    fn degenerate_lines_have_no_gain_and_bad_ones_are_refused() {
        for (a, b) in [
            (vec![], vec![]),
            (vec![1.0], vec![2.0]),
            (vec![1.0; 5], vec![0.5; 5]),
            (vec![3.0, 1.0, 3.0], vec![0.0; 3]),
            (vec![1e300, -1e300], vec![5e-324, 0.0]),
            (vec![f64::MAX, f64::MIN], vec![0.0, f64::MIN_POSITIVE]),
        ] {
            let found = gain(&a, &b);
            assert_eq!((found.value(), found.log()), (0.0, f64::NEG_INFINITY), "{a:?} {b:?}");
        }
        let order = SlopeOrder::new(&[0.0, 1.0]).unwrap();
        let mut envelope = Envelope::default();
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(SlopeOrder::new(&[0.0, bad]).is_err());
            assert!(order.gain(&[0.0, bad], 1.0, &mut envelope).is_err());
            assert!(order.gain(&[0.0, 0.0], bad, &mut envelope).is_err());
        }
        assert!(order.gain(&[0.0, 0.0], -1.0, &mut envelope).is_err());
        assert!(order.gain(&[0.0], 1.0, &mut envelope).is_err());
    }
}
