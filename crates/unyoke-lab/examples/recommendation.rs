//! What confirming recommended designs gives, and how honest predicted intervals are: the trials behind
//! `docs/recommendation.md`.
//!
//! ```text
//! cargo run --release -p unyoke-lab --example recommendation -- 3 branin-currin disc-brake
//! ```
//!
//! plays three studies on each problem until as much is spent again as on the initial designs, then
//! confirms six recommended designs, and says of each study how many of the measured values were
//! inside their predicted 90 % intervals, whether the true ones were, and whether the designs measured
//! before are still matched.

#![allow(clippy::print_stdout)]

use std::error::Error;
use unyoke::{
    Algorithm, Config, FrontSearch, MeasuredFront, MeasuredPoint, Permission, Search, Study,
    Suggestion,
};
use unyoke_lab::{Instance, Settings};
use unyoke_math::random::{Rng, seed_for};

/// Recommended designs that are confirmed.
const POINTS: usize = 6;
/// What is spent before, in costs of the initial designs.
const SPENT: f64 = 2.0;
/// Other widths of the intervals, as parts of the real ones.
const WIDTHS: [f64; 4] = [0.5, 0.75, 1.25, 1.5];

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    studies: usize,
    /// Measured values at recommended designs, and how many were inside.
    values: usize,
    measured_inside: usize,
    truth_inside: usize,
    /// The same if intervals had other widths.
    truth_inside_of: [usize; 4],
    /// Designs of measured fronts before, and how many are matched after.
    before: usize,
    matched: usize,
    /// Designs of measured fronts after.
    after: usize,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.studies += other.studies;
        self.values += other.values;
        self.measured_inside += other.measured_inside;
        self.truth_inside += other.truth_inside;
        let widths = self.truth_inside_of.iter_mut().zip(other.truth_inside_of);
        widths.for_each(|(own, other)| *own += other);
        self.before += other.before;
        self.matched += other.matched;
        self.after += other.after;
    }

    fn line(&self, what: &str) -> String {
        let percent = |part: usize| 100.0 * part as f64 / self.values.max(1) as f64;
        let widths = self.truth_inside_of.map(|part| format!("{:.0}", percent(part))).join(", ");
        format!(
            "| {what} | {} | {} | {:.0} % | {:.0} % | {} | {} | {} | {widths} |",
            self.studies,
            self.values,
            percent(self.measured_inside),
            percent(self.truth_inside),
            self.before,
            self.matched,
            self.after
        )
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let studies: u32 = arguments.next().map_or(Ok(3), |text| text.parse())?;
    println!(
        "| problem | studies | values | inside | truth inside | before | matched | after | widths {WIDTHS:?} |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut total = Tally::default();
    for family in arguments {
        let settings = Settings::usual(&family)?;
        let ids: Vec<u32> = (0..studies).collect();
        let mut tally = Tally::default();
        for instance in settings.instances(&ids)? {
            tally.add(play(&settings, &instance)?);
        }
        println!("{}", tally.line(&family));
        total.add(tally);
    }
    println!("{}", total.line("all"));
    Ok(())
}

fn play(settings: &Settings, instance: &Instance) -> Result<Tally, Box<dyn Error>> {
    // Less effort than usual, so that it takes minutes.
    let mut config = Config {
        algorithm: Algorithm::CMokg,
        search: Search { raw: 64, restarts: 4, iterations: 30 },
        front: FrontSearch { population: 100, generations: 60 },
        ..Config::default()
    };
    let designs = 2 * (instance.problem.parameters.len() + 1);
    config.initial.designs = Some(designs);
    let seed = seed_for(settings.seed, u64::from(instance.id));
    let mut study = Study::with_config(instance.problem.clone(), config, seed)?;
    let most = SPENT * designs as f64 * instance.full_cost();
    let affordable = |study: &Study, which: &[usize]| {
        let price: f64 = which.iter().map(|m| instance.cost(*m)).sum();
        if study.committed() + price <= most { Permission::Granted } else { Permission::Never }
    };
    while let Some(next) = study.ask_where(affordable)? {
        measure(&mut study, instance, seed, &next)?;
    }
    let (before, mut round) = (study.measured_front()?, None);
    let predicted = study.clone();
    let all = |_: &Study, _: &[usize]| Permission::Granted;
    while let Some(next) = study.ask_confirmation(POINTS, round, all)? {
        round = next.confirms;
        measure(&mut study, instance, seed, &next)?;
    }
    let after = study.measured_front()?;
    let mut tally = Tally { studies: 1, ..Tally::default() };
    (tally.before, tally.after) = (before.points.len(), after.points.len());
    tally.matched = matched(instance, &before, &after);
    let Some(confirmation) = study.confirmation()? else { return Ok(tally) };
    (tally.values, tally.measured_inside) = (confirmation.values.len(), confirmation.inside());
    let front = predicted.front(POINTS)?;
    for value in &confirmation.values {
        let m = instance.problem.output_index(&value.output)?;
        let point = front.points.iter().find(|point| point.design == value.design);
        let forecast = &point.ok_or("a design that was not recommended")?.outputs[m];
        let ([low, high], mean) = (forecast.interval, forecast.mean);
        let truth = instance.value(&value.design, m)?;
        tally.truth_inside += usize::from((low..=high).contains(&truth));
        for (width, inside) in WIDTHS.iter().zip(&mut tally.truth_inside_of) {
            let ends = [mean + width * (low - mean), mean + width * (high - mean)];
            *inside += usize::from((ends[0]..=ends[1]).contains(&truth));
        }
    }
    Ok(tally)
}

/// Records what a simulator would give.
fn measure(
    study: &mut Study,
    instance: &Instance,
    seed: u64,
    next: &Suggestion,
) -> Result<(), Box<dyn Error>> {
    let m = instance.problem.output_index(&next.measurement)?;
    let noise = Rng::new(seed_for(seed, m as u64), next.evaluation).normal();
    let value = instance.value(&next.design, m)? + instance.noise[m] * noise;
    Ok(study.tell(next.evaluation, value)?)
}

/// How many of the designs measured before are there after, or one that is nowhere worse.
fn matched(instance: &Instance, before: &MeasuredFront, after: &MeasuredFront) -> usize {
    let is_matched = |old: &&MeasuredPoint| {
        after.points.iter().any(|new| {
            let gain = |k: usize| instance.sign(k) * (new.outputs[k].value - old.outputs[k].value);
            (0..instance.objectives()).all(|k| gain(k) >= 0.0)
        })
    };
    before.points.iter().filter(is_matched).count()
}
