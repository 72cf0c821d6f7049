//! What parallel slots are worth, and what evaluations under way should count as: the trials behind
//! `docs/parallel.md`.
//!
//! ```text
//! RAYON_NUM_THREADS=1 cargo run --release -p unyoke-lab --example slots -- \
//!     branin-currin 8 200 1,2,4,8 expected,8
//! ```
//!
//! The arguments are a problem, the number of instances, the budget, numbers of slots, and what
//! evaluations under way count as: what is expected, or so many fantasies. A measurement takes as many
//! hours as it costs, times a random factor between ½ and 1½. A slot that becomes free asks for its next
//! evaluation at once, while those of the others are under way. Regrets are told of what is known
//! when a cost was spent on completed evaluations, and after so many hours; Bayesian ones in percent of
//! the range of utilities on the true front, those of hypervolume in percent of the front's volume.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::time::Instant;
use unyoke::{Config, Pending, Study};
use unyoke_lab::{Instance, Recommendation, Settings, Target, hypervolume_regret, regret};
use unyoke_math::random::{Rng, seed_for};

/// Where regrets are told: shares of what is left of the budget after the initial designs, and of the
/// hours that one slot needs for all of it.
const COSTS: [f64; 5] = [0.2, 0.4, 0.6, 0.8, 1.0];
const HOURS: [f64; 6] = [0.0625, 0.125, 0.25, 0.5, 0.75, 1.0];

const FRONT: usize = 200;

/// The stream of random numbers that durations come from.
const DURATIONS: u64 = 77;

/// Regret of decision makers and of the hypervolume, in percent.
type Regrets = [f64; 2];

/// What came out of one study.
struct Played {
    at_costs: Vec<Regrets>,
    at_hours: Vec<Regrets>,
    hours: f64,
    searches: usize,
    seconds: f64,
}

/// An evaluation under way.
struct Running {
    evaluation: u64,
    value: f64,
    cost: f64,
    ends: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |otherwise: &str| arguments.next().unwrap_or_else(|| otherwise.to_owned());
    let (family, count) = (next("lengthscales"), next("8").parse()?);
    let mut settings = Settings::usual(&family)?;
    settings.max_cost = next("160").parse()?;
    let slots = next("1,2,4,8").split(',').map(str::parse).collect::<Result<Vec<usize>, _>>()?;
    let kinds = next("expected,8").split(',').map(pending).collect::<Result<Vec<_>, _>>()?;
    let mut instances = vec![];
    for instance in settings.instances(&(0..count).collect::<Vec<u32>>())? {
        instances.push((Target::of(&instance)?, instance));
    }
    println!("{family}, {count} instances, budget {}", settings.max_cost);
    for slots in slots {
        let mut first: Option<Vec<Played>> = None;
        // With one slot nothing is under way.
        for &pending in kinds.iter().take(if slots == 1 { 1 } else { kinds.len() }) {
            let play = |(target, one): &(Target, Instance)| {
                Trial { instance: one, target, settings: &settings, slots, pending }.play()
            };
            let played = instances.iter().map(play).collect::<Result<Vec<_>, _>>()?;
            tell(slots, pending, &played);
            match &first {
                Some(first) => compare(&played, first),
                None => first = Some(played),
            }
        }
    }
    Ok(())
}

fn pending(name: &str) -> Result<Pending, std::num::ParseIntError> {
    match name {
        "expected" => Ok(Pending::Expected),
        draws => Ok(Pending::Fantasies(draws.parse()?)),
    }
}

/// One study to be played.
struct Trial<'a> {
    instance: &'a Instance,
    target: &'a Target,
    settings: &'a Settings,
    slots: usize,
    pending: Pending,
}

impl Trial<'_> {
    fn seed(&self) -> u64 {
        seed_for(self.settings.seed, u64::from(self.instance.id))
    }

    fn play(&self) -> Result<Played, Box<dyn Error>> {
        let designs = 2 * (self.instance.problem.parameters.len() + 1);
        let mut config = Config { pending: self.pending, ..Config::default() };
        config.initial.designs = Some(designs);
        let problem = self.instance.problem.clone();
        let mut study = Study::with_config(problem, config, self.seed())?;
        let (budget, initial) =
            (self.settings.max_cost, designs as f64 * self.instance.full_cost());
        let costs = COSTS.map(|share| initial + share * (budget - initial));
        let hours = HOURS.map(|share| share * budget);
        let mut played =
            Played { at_costs: vec![], at_hours: vec![], hours: 0.0, searches: 0, seconds: 0.0 };
        let mut running: Vec<Running> = vec![];
        let (mut now, mut spent, mut is_over) = (0.0, 0.0, false);
        loop {
            while running.len() < self.slots && !is_over {
                let under_way: f64 = running.iter().map(|one| one.cost).sum();
                match self.start(&mut study, &mut played, now)? {
                    next if spent + under_way + next.cost > budget => is_over = true,
                    next => running.push(next),
                }
            }
            let earliest =
                (0..running.len()).min_by(|a, b| running[*a].ends.total_cmp(&running[*b].ends));
            let next = earliest.map(|i| running.swap_remove(i));
            // What is known now is all that is known until then.
            let (cost, ends) =
                next.as_ref().map_or([f64::INFINITY; 2].into(), |n| (spent + n.cost, n.ends));
            let mut known = None;
            for (points, found, until) in
                [(&costs[..], &mut played.at_costs, cost), (&hours, &mut played.at_hours, ends)]
            {
                while points.get(found.len()).is_some_and(|point| *point < until) {
                    let regrets = match known {
                        Some(regrets) => regrets,
                        None => self.regrets(&study)?,
                    };
                    known = Some(regrets);
                    found.push(regrets);
                }
            }
            let Some(Running { evaluation, value, cost, ends }) = next else {
                played.hours = now;
                return Ok(played);
            };
            study.tell(evaluation, value)?;
            (now, spent) = (ends, spent + cost);
        }
    }

    /// Asks for the next evaluation.
    fn start(
        &self,
        study: &mut Study,
        played: &mut Played,
        now: f64,
    ) -> Result<Running, Box<dyn Error>> {
        let begun = Instant::now();
        let next = study.ask()?;
        if next.is_searched() {
            played.searches += 1;
            played.seconds += begun.elapsed().as_secs_f64();
        }
        let m = self.instance.problem.output_index(&next.measurement)?;
        let random = |purpose: u64| Rng::new(seed_for(self.seed(), purpose), next.evaluation);
        let noise = self.instance.noise[m] * random(m as u64).normal();
        let hours = next.cost * (0.5 + random(DURATIONS).uniform());
        Ok(Running {
            evaluation: next.evaluation,
            value: self.instance.value(&next.design, m)? + noise,
            cost: next.cost,
            ends: now + hours,
        })
    }

    fn regrets(&self, study: &Study) -> Result<Regrets, Box<dyn Error>> {
        let target = self.target;
        let front = match study.evaluations().iter().any(|e| e.status.word() == "completed") {
            true => study.predicted_front(FRONT)?,
            false => return Ok([f64::NAN; 2]),
        };
        let recommended = Recommendation::new(self.instance, target, &front)?;
        let of_volume = hypervolume_regret(&recommended, target)? / target.scale.hypervolume;
        Ok([100.0 * regret(&recommended, target) / target.scale.utility, 100.0 * of_volume])
    }
}

/// Means with standard errors, as rows of tables.
fn tell(slots: usize, pending: Pending, played: &[Played]) {
    let mean = |value: &dyn Fn(&Played) -> f64| {
        let values: Vec<f64> = played.iter().map(value).collect();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0);
        (mean, (variance / count).sqrt())
    };
    let name = match pending {
        Pending::Expected => "expected".to_owned(),
        Pending::Fantasies(draws) => format!("{draws} fantasies"),
    };
    let searches: usize = played.iter().map(|one| one.searches).sum();
    let seconds: f64 = played.iter().map(|one| one.seconds).sum();
    let hours = mean(&|one| one.hours).0;
    println!(
        "{slots} slots, {name}: {hours:.0} hours, {:.3} s a search",
        seconds / searches as f64
    );
    for (kind, of) in ["utility", "volume"].iter().enumerate() {
        let cells = |regrets: &dyn Fn(&Played) -> &[Regrets], count: usize| {
            let cell = |i: usize| {
                let (mean, error) = mean(&|one| regrets(one)[i][kind]);
                format!("{mean:.3} ± {error:.3}")
            };
            (0..count).map(cell).collect::<Vec<_>>().join(" | ")
        };
        println!("| {of} at costs | {} |", cells(&|one| &one.at_costs, COSTS.len()));
        println!("| {of} at hours | {} |", cells(&|one| &one.at_hours, HOURS.len()));
    }
}

/// Regrets against those of others on the same instances: geometric means of their ratios, and by what
/// factor these are uncertain.
fn compare(played: &[Played], others: &[Played]) {
    /// Percent: less is nothing.
    const LEAST: f64 = 1e-3;
    let cell = |regret: &dyn Fn(&Played) -> f64| {
        let log = |one| regret(one).max(LEAST).ln();
        let logs: Vec<f64> = played.iter().zip(others).map(|(a, b)| log(a) - log(b)).collect();
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let variance = logs.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0);
        format!("{:.2} ×/ {:.2}", mean.exp(), (variance / count).sqrt().exp())
    };
    for (kind, of) in ["utility", "volume"].iter().enumerate() {
        let cells = (0..COSTS.len()).map(|i| cell(&|one| one.at_costs[i][kind]));
        println!("| ratio of {of} at costs | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
}
