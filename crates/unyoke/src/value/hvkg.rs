//! Hypervolume knowledge gradient, decoupled and coupled.
//!
//! An evaluation is worth what it is expected to add to the hypervolume of the best P designs:
//!
//! α(x) = E_y[max_{|S| ≤ P} HV(μ_{N+}(S))] − max_{|S| ≤ P} HV(μ_N(S)).
//!
//! The expectation is a mean over F fixed outcomes ("fantasies"). One-shot search: x and the
//! designs of every fantasy's set are climbed together, so nothing is nested.
//! Source: Daulton, Balandat and Bakshy, "Hypervolume knowledge gradient" (ICML 2023).
//!
//! Outcomes are scrambled Sobol' normals less their mean. For one objective the hypervolume of a
//! set is a convex function of the outcome, so with outcomes of mean zero no evaluation is worth
//! less than nothing, and to first order none is worth more than it should be.
//!
//! Hypervolumes are in standardised units, a constant factor away from any others.

mod imagined;
mod sets;

use super::{Acquisition, Evaluator};
use crate::discretise::held_bounds;
use crate::error::Result;
use crate::model::Model;
use crate::space::Space;
use imagined::{Imagined, OneShot, Work};
use rayon::prelude::*;
use unyoke_math::lookahead::View;
use unyoke_math::optimize::{Bounds, Optimum, Stopping, largest, maximize};
use unyoke_math::pareto::{non_dominated, thin};
use unyoke_math::random::{Rng, seed_for};
use unyoke_math::{Points, sobol};

pub(crate) use imagined::Observed;

/// Imagined outcomes of an evaluation, F, and designs in each set, P.
const FANTASIES: usize = 32;
const DESIGNS: usize = 10;

/// Iterations of a climb.
const ITERATIONS: usize = 200;

/// Outcomes in the first look at a design.
const FIRST_LOOK: usize = 8;

/// How many designs are looked at a second time, and how many are climbed from.
const SECOND_LOOK: usize = 5;
const CLIMBS: usize = 2;

/// Climbs for the best set as things are.
const CURRENT_STARTS: usize = 12;

/// Designs off the predicted front among those that sets are chosen from.
const FILLING: usize = 192;

/// Designs that the first look compares: hypervolumes of many objectives are expensive.
const COMPARED: usize = 64;
const COMPARED_MANY_OBJECTIVES: usize = 16;

/// Beyond this many standard deviations a reference point is as good as infinitely far away.
const FARTHEST_REFERENCE: f64 = 1e6;

/// What the hypervolume knowledge gradient depends on.
pub(crate) struct Setting<'a> {
    pub(crate) space: &'a Space,
    pub(crate) model: &'a Model,
    /// The predicted Pareto set, encoded.
    pub(crate) front: Points,
    /// Standardised reference point; derived from the front where there is none.
    pub(crate) reference: Option<Vec<f64>>,
    pub(crate) seed: u64,
}

/// The hypervolume knowledge gradient of a step.
pub(crate) struct Hvkg<'a> {
    space: &'a Space,
    model: &'a Model,
    options: Vec<Observed>,
    reference: Vec<f64>,
    /// Base samples, a row per fantasy, a column per objective: for all looks but the first.
    base: Points,
    first_base: Points,
    /// Designs from which sets are chosen, the predicted front first.
    pool: Points,
    /// The pool as the models see it.
    pool_views: Vec<View>,
    /// The best set as things are, and its hypervolume.
    current: Optimum,
    seed: u64,
}

impl<'a> Hvkg<'a> {
    /// One objective at a time.
    pub(crate) fn decoupled(setting: Setting<'a>) -> Result<Self> {
        let options = (0..setting.model.objectives.len()).map(Observed::One).collect();
        Self::new(setting, options)
    }

    /// All objectives at once.
    pub(crate) fn coupled(setting: Setting<'a>) -> Result<Self> {
        Self::new(setting, vec![Observed::All])
    }

    fn new(setting: Setting<'a>, options: Vec<Observed>) -> Result<Self> {
        let Setting { space, model, front, reference, seed } = setting;
        let objectives = model.objectives.len();
        let independent = if options == [Observed::All] { objectives } else { 1 };
        let base =
            |count, purpose| base_samples(objectives, independent, count, seed_for(seed, purpose));
        let reference = match reference {
            Some(given) => given.into_iter().map(reachable).collect(),
            None => derived_reference(&model.means(&front)?),
        };
        let mut hvkg = Self {
            space,
            model,
            options,
            reference,
            base: base(FANTASIES, 0)?,
            first_base: base(FIRST_LOOK, 1)?,
            pool: pool(space, front, seed_for(seed, 2))?,
            pool_views: vec![],
            current: Optimum { x: vec![], value: 0.0, evaluations: 0 },
            seed,
        };
        hvkg.pool_views = Imagined::now(model, &hvkg.reference).views(hvkg.pool.as_flat())?;
        hvkg.current = hvkg.best_current_set()?;
        Ok(hvkg)
    }

    /// max_{|S| ≤ P} HV(μ_N(S)): climbs from sets chosen from the pool, from random parts of it,
    /// and from a thinned front.
    fn best_current_set(&self) -> Result<Optimum> {
        let imagined = Imagined::now(self.model, &self.reference);
        let none = vec![0.0; self.reference.len()];
        let mut work = Work::default();
        imagined.look_again(&self.pool_views, self.pool.len(), &[], &mut work)?;
        imagined.imagine(&none, &mut work);
        let values = work.values();
        let thinned = thin(values, &non_dominated(values)?, DESIGNS)?;
        let start = |i: usize| -> Result<Optimum> {
            let mut rng = Rng::new(self.seed, i as u64);
            let chosen = match i {
                0 => sets::greedy(values, &self.reference, DESIGNS)?,
                1 => thinned.clone(),
                _ => {
                    let some: Vec<usize> =
                        (0..values.len()).filter(|_| rng.uniform() < 0.5).collect();
                    let among = sets::greedy(&values.select(&some), &self.reference, DESIGNS)?;
                    among.into_iter().map(|j| some[j]).collect()
                }
            };
            let set = self.filled(self.pool.select(&chosen), &self.pool, &mut rng)?;
            Ok(sets::climb(&imagined, &none, &set, &self.bounds(&set)?, ITERATIONS)?)
        };
        let found: Result<Vec<Optimum>> = (0..CURRENT_STARTS).into_par_iter().map(start).collect();
        let best = unyoke_math::optimize::best(found?);
        Ok(best.unwrap_or_else(|| self.current.clone()))
    }

    /// A full set: the designs given, then designs near them or, without any, of `others`.
    fn filled(&self, mut set: Points, others: &Points, rng: &mut Rng) -> Result<Vec<f64>> {
        const NEAR: f64 = 0.02;
        let given = set.len();
        while set.len() < DESIGNS {
            let x = match given {
                0 => others.row(rng.below(others.len())).to_vec(),
                _ => self.near(set.row(set.len() % given), NEAR, rng),
            };
            set.push(&x)?;
        }
        Ok(set.as_flat().to_vec())
    }

    /// A valid design about this far from `centre` in each input.
    fn near(&self, centre: &[f64], distance: f64, rng: &mut Rng) -> Vec<f64> {
        let mut x: Vec<f64> = centre.iter().map(|v| v + distance * rng.normal()).collect();
        self.space.snap(&mut x);
        x
    }

    /// The cube for any number of designs, discrete inputs held.
    fn bounds(&self, designs: &[f64]) -> Result<Bounds> {
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        for x in designs.chunks_exact(self.space.dim().max(1)) {
            let held = held_bounds(self.space, x)?;
            lower.extend_from_slice(held.lower());
            upper.extend_from_slice(held.upper());
        }
        Ok(Bounds::new(lower, upper)?)
    }

    fn imagined(&self, option: usize, x: &[f64]) -> Result<Imagined<'_>> {
        Ok(Imagined::after(self.model, &self.reference, self.options[option], x)?)
    }

    /// A first look at x: the gain among the pool and x, in few outcomes, with no limit to P.
    fn first_look(&self, option: usize, x: &[f64], work: &mut Work) -> Result<f64> {
        let imagined = self.imagined(option, x)?;
        let many = self.reference.len() > 3;
        let compared = if many { COMPARED_MANY_OBJECTIVES } else { COMPARED };
        imagined.look_again(&self.pool_views, compared, x, work)?;
        let none = vec![0.0; self.reference.len()];
        let before = imagined.imagined_hypervolume(&none, work)?;
        let mut sum = 0.0;
        for z in self.first_base.rows() {
            sum += imagined.imagined_hypervolume(z, work)?;
        }
        Ok(sum / self.first_base.len() as f64 - before)
    }

    /// For each fantasy of evaluating at x, a set chosen from the pool, x and its surroundings.
    fn chosen_sets(&self, imagined: &Imagined<'_>, x: &[f64]) -> Result<Vec<f64>> {
        const AROUND: [f64; 8] = [0.01, 0.03, 0.05, 0.1, 0.1, 0.2, 0.2, 0.3];
        let mut rng = Rng::new(self.seed, 100);
        let mut others = Points::from_flat(x.len(), self.current.x.clone())?;
        others.push(x)?;
        for distance in AROUND {
            others.push(&self.near(x, distance, &mut rng))?;
        }
        let mut all = self.chosen_from(imagined, &others)?;
        self.keep_current_where_better(imagined, &mut all)?;
        Ok(all)
    }

    /// Replaces sets that are worse than the best set of now.
    fn keep_current_where_better(&self, imagined: &Imagined<'_>, all: &mut [f64]) -> Result<()> {
        let (mut work, mut kept) = (Work::default(), Work::default());
        imagined.look(&self.current.x, &mut kept)?;
        let size = self.current.x.len().max(1);
        for (set, z) in all.chunks_exact_mut(size).zip(self.base.rows()) {
            imagined.look(set, &mut work)?;
            let volume = imagined.imagined_hypervolume(z, &mut work)?;
            if imagined.imagined_hypervolume(z, &mut kept)? > volume {
                set.copy_from_slice(&self.current.x);
            }
        }
        Ok(())
    }

    /// Climbs every fantasy's set for a fixed x, then again from sets chosen among the pool and the
    /// designs that all fantasies ended at: what one has found, others need not miss.
    fn climbed_sets(&self, imagined: &Imagined<'_>, sets: &[f64]) -> Result<Vec<f64>> {
        let own = self.climb_each(imagined, sets)?;
        let found = own.iter().flat_map(|top| top.x.iter().copied()).collect();
        let found = Points::from_flat(self.space.dim(), found)?;
        let shared = self.climb_each(imagined, &self.chosen_from(imagined, &found)?)?;
        let better = |(own, shared): (Optimum, Optimum)| {
            if shared.value > own.value { shared.x } else { own.x }
        };
        Ok(own.into_iter().zip(shared).flat_map(better).collect())
    }

    fn climb_each(&self, imagined: &Imagined<'_>, sets: &[f64]) -> Result<Vec<Optimum>> {
        let size = self.current.x.len().max(1);
        let climb = |f: usize| -> Result<Optimum> {
            let set = &sets[f * size..(f + 1) * size];
            let (z, bounds) = (self.base.row(f), self.bounds(set)?);
            Ok(sets::climb(imagined, z, set, &bounds, ITERATIONS)?)
        };
        (0..self.base.len()).into_par_iter().map(climb).collect()
    }

    /// For each fantasy, a set chosen from the pool and `others`.
    fn chosen_from(&self, imagined: &Imagined<'_>, others: &Points) -> Result<Vec<f64>> {
        let mut rng = Rng::new(self.seed, 200);
        let mut work = Work::default();
        imagined.look_again(&self.pool_views, self.pool.len(), others.as_flat(), &mut work)?;
        let mut candidates = self.pool.clone();
        others.rows().try_for_each(|x| candidates.push(x))?;
        let mut all = Vec::new();
        for z in self.base.rows() {
            imagined.imagine(z, &mut work);
            let chosen = sets::greedy(work.values(), &self.reference, DESIGNS)?;
            all.extend(self.filled(candidates.select(&chosen), &candidates, &mut rng)?);
        }
        Ok(all)
    }

    /// Mean hypervolume of the fantasies' sets, or of the one to be kept where that is better.
    fn mean_volume(&self, imagined: &Imagined<'_>, sets: &[f64], kept: &[f64]) -> Result<f64> {
        let (mut work, mut kept_work) = (Work::default(), Work::default());
        imagined.look(kept, &mut kept_work)?;
        let mut sum = 0.0;
        for (set, z) in sets.chunks_exact(kept.len().max(1)).zip(self.base.rows()) {
            imagined.look(set, &mut work)?;
            let volume = imagined.imagined_hypervolume(z, &mut work)?;
            sum += volume.max(imagined.imagined_hypervolume(z, &mut kept_work)?);
        }
        Ok(sum / self.base.len() as f64)
    }

    /// The gain with these sets. Where one of them beats the best set of now as things are, its
    /// hypervolume is what is gained upon: finding it needs no evaluation.
    fn gain(&self, imagined: &Imagined<'_>, sets: &[f64]) -> Result<f64> {
        let now = Imagined::now(self.model, &self.reference);
        let none = vec![0.0; self.reference.len()];
        let mut work = Work::default();
        let (mut kept, mut before) = (&self.current.x[..], self.current.value);
        for set in sets.chunks_exact(kept.len().max(1)) {
            now.look(set, &mut work)?;
            let volume = now.imagined_hypervolume(&none, &mut work)?;
            if volume > before {
                (kept, before) = (set, volume);
            }
        }
        Ok((self.mean_volume(imagined, sets, kept)? - before).max(0.0))
    }

    fn one_shot(&self, option: usize) -> OneShot<'_> {
        OneShot {
            model: self.model,
            reference: &self.reference,
            observed: self.options[option],
            base: &self.base,
            work: Work::default(),
        }
    }

    /// Log of the gain at x, every set climbed; writes its gradient where one is wanted.
    fn evaluate(&self, option: usize, x: &[f64], gradient: Option<&mut [f64]>) -> Result<f64> {
        let imagined = self.imagined(option, x)?;
        let sets = self.climbed_sets(&imagined, &self.chosen_sets(&imagined, x)?)?;
        let gain = self.gain(&imagined, &sets)?;
        if let Some(gradient) = gradient {
            // At the best sets the value's gradient in them is zero, so that in x remains.
            let all = [x, &sets].concat();
            let mut in_all = vec![0.0; all.len()];
            self.one_shot(option).evaluate(&all, &mut in_all)?;
            gradient.iter_mut().zip(&in_all).for_each(|(g, d)| *g = d / gain);
        }
        Ok(gain.ln())
    }

    /// Climbs in x and all sets at once, then in the sets alone.
    fn climb(&self, option: usize, start: &Start) -> Result<Optimum> {
        self.climb_sets(option, &self.climb_together(option, start)?)
    }

    /// Climbs in x and all sets at once.
    fn climb_together(&self, option: usize, start: &Start) -> Result<Optimum> {
        let all = [&start.x[..], &start.sets].concat();
        let mut one_shot = self.one_shot(option);
        let value = |all: &[f64], gradient: &mut [f64]| {
            one_shot.evaluate(all, gradient).unwrap_or(f64::NAN)
        };
        let stopping = Stopping { iterations: ITERATIONS, gradient: 1e-9, gain: 1e-10 };
        Ok(maximize(value, &all, &self.bounds(&all)?, &stopping)?)
    }

    /// Climbs in the sets alone, from where a climb in x and all sets has ended.
    fn climb_sets(&self, option: usize, top: &Optimum) -> Result<Optimum> {
        let (x, sets) = top.x.split_at(self.space.dim());
        let imagined = self.imagined(option, x)?;
        let gain = self.gain(&imagined, &self.climbed_sets(&imagined, sets)?)?;
        Ok(Optimum { x: x.to_vec(), value: gain.ln(), evaluations: top.evaluations })
    }

    /// Second look at x: every fantasy has a set of its own.
    fn start(&self, option: usize, x: &[f64]) -> Result<Start> {
        let imagined = self.imagined(option, x)?;
        let sets = self.chosen_sets(&imagined, x)?;
        let value = self.mean_volume(&imagined, &sets, &self.current.x)?;
        Ok(Start { x: x.to_vec(), value, sets })
    }

    /// First looks at all of `raw`.
    fn first_looks(&self, option: usize, raw: &Points) -> Result<Vec<f64>> {
        let rows: Vec<&[f64]> = raw.rows().collect();
        let looks = rows.par_chunks(32).map(|rows| {
            let mut work = Work::default();
            rows.iter().map(|x| self.first_look(option, x, &mut work)).collect::<Result<Vec<_>>>()
        });
        Ok(looks.collect::<Result<Vec<_>>>()?.concat())
    }

    /// Looks at all of `raw`, looks again at the most promising, climbs from the best of those.
    fn search(&self, option: usize, raw: &Points) -> Result<Vec<Optimum>> {
        let values = self.first_looks(option, raw)?;
        let promising = apart(raw, &values, SECOND_LOOK);
        let starts: Result<Vec<Start>> =
            promising.par_iter().map(|&i| self.start(option, raw.row(i))).collect();
        let starts = starts?;
        let values: Vec<f64> = starts.iter().map(|start| start.value).collect();
        let climb = |&i: &usize| self.climb_together(option, &starts[i]);
        let tops: Result<Vec<Optimum>> = largest(&values, CLIMBS).par_iter().map(climb).collect();
        // Climbing in the sets alone takes as long again, and rarely changes which top is the best.
        let Some(best) = unyoke_math::optimize::best(tops?) else { return Ok(vec![]) };
        let mut found = vec![self.improved(option, self.climb_sets(option, &best)?)?];
        // Designs that were not climbed from stand in where all climbs end at designs taken.
        found.extend(starts.into_iter().map(|Start { x, value, .. }| {
            let value = (value - self.current.value).max(0.0).ln();
            Optimum { x, value, evaluations: 1 }
        }));
        Ok(found)
    }

    /// Moves on to better neighbours in one discrete parameter at a time.
    fn improved(&self, option: usize, mut optimum: Optimum) -> Result<Optimum> {
        const ROUNDS: usize = 4;
        for _ in 0..ROUNDS {
            let neighbours = self.space.neighbours(&optimum.x);
            let neighbours = Points::from_rows(self.space.dim(), neighbours)?;
            let values = self.first_looks(option, &neighbours)?;
            let Some(&best) = largest(&values, 1).first() else { break };
            let next = self.climb(option, &self.start(option, neighbours.row(best))?)?;
            if next.value <= optimum.value {
                break;
            }
            optimum = next;
        }
        Ok(optimum)
    }
}

/// Where a climb begins.
struct Start {
    x: Vec<f64>,
    sets: Vec<f64>,
    value: f64,
}

impl Acquisition for Hvkg<'_> {
    fn options(&self) -> usize {
        self.options.len()
    }

    fn evaluator(&self, option: usize) -> Evaluator<'_> {
        Box::new(move |x, gradient| self.evaluate(option, x, gradient).unwrap_or(f64::NEG_INFINITY))
    }

    fn maximise(
        &self,
        option: usize,
        raw: &Points,
        taken: &dyn Fn(&[f64]) -> bool,
    ) -> Option<Result<Vec<Optimum>>> {
        let free: Vec<usize> = (0..raw.len()).filter(|&i| !taken(raw.row(i))).collect();
        Some(self.search(option, &raw.select(&free)))
    }
}

/// Standard normals less their mean, a row per fantasy. Where only one objective moves, one number
/// a row serves whichever it is.
fn base_samples(objectives: usize, independent: usize, count: usize, seed: u64) -> Result<Points> {
    let mut normals = sobol::normals(independent, count, seed)?;
    for k in 0..independent {
        let mean = normals.rows().map(|z| z[k]).sum::<f64>() / count as f64;
        (0..count).for_each(|f| normals.row_mut(f)[k] -= mean);
    }
    let spread = |z: &[f64]| (0..objectives).map(|k| z[k.min(z.len() - 1)]).collect::<Vec<_>>();
    Ok(Points::from_rows(objectives, normals.rows().map(spread))?)
}

/// A coordinate of a reference point with which hypervolumes can be computed.
fn reachable(coordinate: f64) -> f64 {
    if coordinate.is_nan() {
        return -FARTHEST_REFERENCE;
    }
    coordinate.clamp(-FARTHEST_REFERENCE, FARTHEST_REFERENCE)
}

/// A reference point for a predicted front: in each objective its worst value less a tenth of its
/// range, or less a tenth of a standard deviation where it has no range.
fn derived_reference(front: &Points) -> Vec<f64> {
    const MARGIN: f64 = 0.1;
    let column = |k: usize| front.rows().map(move |row| row[k]);
    let below = |k: usize| {
        let worst = column(k).fold(f64::INFINITY, f64::min);
        let range = column(k).fold(f64::NEG_INFINITY, f64::max) - worst;
        if !worst.is_finite() {
            return -1.0;
        }
        worst - MARGIN * if range > 1e-6 { range } else { 1.0 }
    };
    (0..front.dim()).map(below).collect()
}

/// The front, then space-filling designs.
fn pool(space: &Space, front: Points, seed: u64) -> Result<Points> {
    let mut pool = front;
    for u in sobol::cube(space.parameters(), FILLING, seed)?.rows() {
        pool.push(&space.from_cube(u))?;
    }
    Ok(pool)
}

/// Indices of the best values, best first, whose points are not next to each other.
fn apart(points: &Points, values: &[f64], count: usize) -> Vec<usize> {
    const APART: f64 = 0.05;
    let far = |i: usize, j: usize| {
        let mut gaps = points.row(i).iter().zip(points.row(j)).map(|(a, b)| (a - b).abs());
        gaps.any(|gap| gap > APART)
    };
    let mut chosen: Vec<usize> = Vec::new();
    for i in largest(values, values.len()) {
        if chosen.len() < count && chosen.iter().all(|&j| far(i, j)) {
            chosen.push(i);
        }
    }
    chosen
}

#[cfg(test)]
mod tests;
