//! Designs that the limits allow, spread over all there are.
//!
//! Where limits leave a fair share of the designs, those of a Sobol' sequence that are allowed will
//! do. Where they leave next to none, a few designs are repaired (moved downhill on the violation,
//! towards a margin inside the limits, then step by step along discrete parameters), and random walks
//! that never leave the allowed designs start from these.

use super::Space;
use crate::error::Result;
use unyoke_math::Points;
use unyoke_math::optimize::{Bounds, Stopping, maximize};
use unyoke_math::random::{Rng, seed_for};
use unyoke_math::sobol::Sobol;

/// So many designs show what share is allowed.
const FIRST: usize = 4096;

/// A smaller share than one in this many is not worth waiting for.
const RARE: usize = 200;

/// How many designs are repaired to start walks from.
const ANCHORS: usize = 64;

/// So many parameters have all corners of their cube tried.
const CORNERED: usize = 8;

/// How far inside the limits repairs aim, relative to the usual size of a slack: far at first, as
/// rounding comes after; then nearer, as there may be no room.
const MARGINS: [f64; 5] = [0.1, 1e-2, 1e-3, 1e-5, 0.0];

/// How often continuous and discrete repairs take turns.
const TURNS: usize = 3;

/// Most steps along discrete parameters in one turn.
const MOVES: usize = 200;

/// How often the piece of a line on which a walk looks is shortened, at most.
const SHORTENINGS: usize = 60;

/// A walk makes this many steps per parameter between two designs, and not more than [`MOST_STEPS`].
const STEPS: usize = 4;
const MOST_STEPS: usize = 64;

/// No more corners are repaired.
const MOST_CORNERS: usize = 256;

/// Sets the random numbers of walks apart from those of the Sobol' sequence.
const WALKS: u64 = 0x57A1;

/// Allowed designs one by one; see [`Space::allowed_designs`].
pub(crate) struct AllowedDesigns<'a> {
    space: &'a Space,
    sobol: Sobol,
    rng: Rng,
    /// Points of the sequence that were looked at, and how many of them were allowed.
    tried: usize,
    found: usize,
    /// Designs given so far.
    count: usize,
    /// Where walks are, or will start.
    walks: Vec<Vec<f64>>,
    /// Whether so few points of the sequence are allowed that walks take over.
    is_rare: bool,
}

impl Iterator for AllowedDesigns<'_> {
    type Item = Vec<f64>;

    fn next(&mut self) -> Option<Vec<f64>> {
        let x = self.by_rejection().or_else(|| self.by_walking())?;
        self.count += 1;
        Some(x)
    }
}

impl AllowedDesigns<'_> {
    /// The next point of the sequence that is allowed, unless these are rare.
    fn by_rejection(&mut self) -> Option<Vec<f64>> {
        while !self.is_rare && (self.tried < FIRST || self.found * RARE >= self.tried) {
            let x = self.space.point_of(&self.sobol, self.tried);
            self.tried += 1;
            if self.space.allows(&x) {
                self.found += 1;
                if self.space.is_limited() {
                    self.walks.push(x.clone());
                }
                return Some(x);
            }
        }
        None
    }

    fn by_walking(&mut self) -> Option<Vec<f64>> {
        if !self.is_rare {
            self.is_rare = true;
            self.walks.extend(self.space.repaired(&self.sobol).take(ANCHORS));
        }
        let turn = self.count.checked_rem(self.walks.len())?;
        let x = self.space.walk(self.walks[turn].clone(), &self.walks, &mut self.rng);
        self.walks[turn] = x.clone();
        Some(x)
    }
}

impl Space {
    /// `count` valid designs that the limits allow, spread over all such; the same for the same seed.
    ///
    /// There are fewer only if no allowed design was found, and then there is none. With few
    /// possible values, designs may occur more than once.
    pub(crate) fn allowed_points(&self, count: usize, seed: u64) -> Result<Points> {
        Ok(Points::from_rows(self.dim(), self.allowed_designs(seed)?.take(count))?)
    }

    /// These designs one by one, as many as wanted: each depends on the seed and its number alone.
    pub(crate) fn allowed_designs(&self, seed: u64) -> Result<AllowedDesigns<'_>> {
        Ok(AllowedDesigns {
            space: self,
            sobol: Sobol::new(self.parameters(), seed)?,
            rng: Rng::new(seed_for(seed, WALKS), 0),
            tried: 0,
            found: 0,
            count: 0,
            walks: vec![],
            is_rare: false,
        })
    }

    /// Whether an allowed design can be found.
    pub(crate) fn allows_something(&self) -> Result<bool> {
        let mut designs = self.allowed_designs(0)?;
        Ok(designs.by_rejection().is_some() || self.repaired(&designs.sobol).next().is_some())
    }

    /// Allowed designs at which a formula may be tried: spread over all, and corners.
    pub(crate) fn probes(&self, count: usize) -> Result<Vec<Vec<f64>>> {
        let corners = self.corners().filter(|x| self.allows(x));
        Ok(corners.chain(self.allowed_designs(0)?.take(count)).collect())
    }

    fn point_of(&self, sobol: &Sobol, index: usize) -> Vec<f64> {
        let mut u = vec![0.0; self.parameters()];
        sobol.point(index as u32, &mut u);
        self.from_cube(&u)
    }

    /// Allowed designs near points of the sequence and corners.
    fn repaired<'a>(&'a self, sobol: &'a Sobol) -> impl Iterator<Item = Vec<f64>> + 'a {
        let points = (0..ANCHORS).map(|i| self.point_of(sobol, i));
        points.chain(self.corners()).filter_map(|x| self.repair(x))
    }

    /// Designs with every parameter at one of its ends; of many parameters only the two where all
    /// are at the same end and those where one is not.
    fn corners(&self) -> impl Iterator<Item = Vec<f64>> + '_ {
        let count = self.parameters();
        let all =
            if count <= CORNERED { 1usize << count } else { 2 * (count + 1) }.min(MOST_CORNERS);
        (0..all).map(move |i| {
            let is_high = |p: usize| match count <= CORNERED {
                true => i >> p & 1 == 1,
                false => (i % 2 == 1) != (i / 2 == p + 1),
            };
            let u: Vec<f64> = (0..count).map(|p| if is_high(p) { 1.0 } else { 0.0 }).collect();
            self.from_cube(&u)
        })
    }

    /// An allowed design near `x`, if one is found.
    fn repair(&self, mut x: Vec<f64>) -> Option<Vec<f64>> {
        if self.allows(&x) {
            return Some(x);
        }
        let mut free = self.climbable();
        for _ in 0..TURNS {
            for margin in MARGINS {
                let moved = self.descend(&x, margin, free)?;
                let mut valid = moved.clone();
                self.snap(&mut valid);
                if self.allows(&valid) {
                    return Some(valid);
                }
                x = moved;
            }
            self.snap(&mut x);
            self.step_down(&mut x);
            if self.allows(&x) {
                return Some(x);
            }
            // What has steps stays where the steps led.
            free = self.continuous();
        }
        None
    }

    /// Moves the free inputs to where the slacks are nearest to having the margin.
    fn descend(&self, x: &[f64], margin: f64, free: &[bool]) -> Option<Vec<f64>> {
        let end = |free_end: f64| -> Vec<f64> {
            x.iter().zip(free).map(|(x, free)| if *free { free_end } else { *x }).collect()
        };
        let bounds = Bounds::new(end(0.0), end(1.0)).ok()?;
        let objective = |x: &[f64], gradient: &mut [f64]| {
            let short = self.shortfall(x, margin, gradient);
            gradient.iter_mut().for_each(|g| *g = -*g);
            -short
        };
        // Squares of small numbers are smaller still, so the climb must go on for long.
        let stopping = Stopping { iterations: 100, gradient: 1e-14, gain: 1e-18 };
        Some(maximize(objective, x, &bounds, &stopping).ok()?.x)
    }

    /// Changes one discrete parameter after the other as long as that helps.
    fn step_down(&self, x: &mut Vec<f64>) {
        let mut here = self.exact_violation(x);
        for _ in 0..MOVES {
            let neighbours = self.all_neighbours(x).into_iter();
            let judged = neighbours.map(|x| (self.exact_violation(&x), x));
            let best = judged.min_by(|a, b| a.0.total_cmp(&b.0));
            match best {
                Some((violation, neighbour)) if violation < here => {
                    (here, *x) = (violation, neighbour)
                }
                _ => return,
            }
        }
    }

    /// Moves an allowed design at random, to another that is allowed; `others` show the way.
    fn walk(&self, mut x: Vec<f64>, others: &[Vec<f64>], rng: &mut Rng) -> Vec<f64> {
        for _ in 0..(STEPS * self.parameters()).min(MOST_STEPS) {
            let any = self.climbable().iter().map(|free| if *free { rng.normal() } else { 0.0 });
            let any: Vec<f64> = any.collect();
            self.slide(&mut x, &any, rng);
            self.slide(&mut x, &self.between(others, rng), rng);
            self.switch(&mut x, rng);
        }
        x
    }

    /// The direction from one of the designs to another: where they lie in a thin band, along it.
    fn between(&self, designs: &[Vec<f64>], rng: &mut Rng) -> Vec<f64> {
        let [a, b] = [rng.below(designs.len()), rng.below(designs.len())];
        let difference = designs[a].iter().zip(&designs[b]).map(|(a, b)| a - b);
        difference.zip(self.climbable()).map(|(d, free)| if *free { d } else { 0.0 }).collect()
    }

    /// Moves to a random allowed point of the line in this direction (hit-and-run).
    fn slide(&self, x: &mut Vec<f64>, direction: &[f64], rng: &mut Rng) {
        let (mut low, mut high) = inside_cube(x, direction);
        for _ in 0..SHORTENINGS {
            let t = low + rng.uniform() * (high - low);
            let mut point: Vec<f64> = x.iter().zip(direction).map(|(x, d)| x + t * d).collect();
            self.snap(&mut point);
            if self.allows(&point) {
                *x = point;
                return;
            }
            // The piece always holds where we are, so in the end something is allowed.
            if t < 0.0 { low = t } else { high = t }
        }
    }

    /// Gives one parameter with few values another one, if that is allowed.
    fn switch(&self, x: &mut [f64], rng: &mut Rng) {
        let column = &self.columns[rng.below(self.columns.len())];
        let levels = column.levels().filter(|_| !column.axis.is_climbable());
        let Some(levels) = levels else { return };
        let mut point = x.to_vec();
        column.put(rng.below(levels as usize) as u64, &mut point[column.inputs.clone()]);
        if self.allows(&point) {
            x.copy_from_slice(&point);
        }
    }
}

/// The numbers t for which x + t·direction is in the cube.
fn inside_cube(x: &[f64], direction: &[f64]) -> (f64, f64) {
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    for (x, d) in x.iter().zip(direction).filter(|(_, d)| **d != 0.0) {
        let (a, b) = (-x / d, (1.0 - x) / d);
        low = low.max(a.min(b));
        high = high.min(a.max(b));
    }
    if low.is_finite() && high.is_finite() { (low.min(0.0), high.max(0.0)) } else { (0.0, 0.0) }
}
