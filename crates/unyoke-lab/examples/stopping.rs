//! When studies would stop for given worths, and what stopping there loses: the trials behind
//! `docs/stopping.md`.
//!
//! ```text
//! cargo run --release -p unyoke-lab --example stopping -- branin-currin 10 300
//! ```
//!
//! A worth is told as that of the whole range of the first objective on the true front, in units of
//! cost. Losses are told as improvements of that objective, in percent of that range.

#![allow(clippy::print_stdout)]

use std::error::Error;
use unyoke::{Config, Study, Suggestion};
use unyoke_lab::{Instance, Recommendation, Settings, Target, regret};
use unyoke_math::random::{Rng, seed_for};

const WORTHS: [f64; 4] = [300.0, 1_000.0, 3_000.0, 10_000.0];
const IN_A_ROW: [usize; 4] = [1, 3, 5, 8];
const FRONT: usize = 200;

/// A rule that has not stopped yet, or the moment when it did.
#[derive(Clone, Default)]
struct Rule {
    low: usize,
    stopped: Option<Moment>,
}

#[derive(Clone, Copy)]
struct Moment {
    spent: f64,
    /// What is lost by stopping here, in percent of the range.
    loss: f64,
    /// The most that could be gained, as the models have it.
    most: f64,
    is_final: bool,
}

struct Played {
    rules: Vec<Rule>,
    end: Moment,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let family = arguments.next().unwrap_or_else(|| "lengthscales".to_owned());
    let count: u32 = arguments.next().map_or(Ok(10), |text| text.parse())?;
    let mut settings = Settings::usual(&family)?;
    if let Some(cost) = arguments.next() {
        settings.max_cost = cost.parse()?;
    }
    let ids: Vec<u32> = (0..count).collect();
    let mut all = vec![];
    for instance in settings.instances(&ids)? {
        all.push(play(&instance, &settings)?);
    }
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len().max(1) as f64;
    println!("{family}, {count} instances, to cost {}", settings.max_cost);
    let ends = mean(all.iter().map(|played| played.end.loss).collect());
    println!("loss at the end {ends:.3} %");
    println!("worth in-a-row stopped final spent loss median worst model's-most saved-lost");
    for (w, worth) in WORTHS.iter().enumerate() {
        for (k, row) in IN_A_ROW.iter().enumerate() {
            let rule = |played: &Played| played.rules[w * IN_A_ROW.len() + k].stopped;
            let stops: Vec<(Moment, Moment)> =
                all.iter().filter_map(|one| Some((rule(one)?, one.end))).collect();
            let of = |f: &dyn Fn(&(Moment, Moment)) -> f64| mean(stops.iter().map(f).collect());
            let mut losses: Vec<f64> = stops.iter().map(|(at, _)| at.loss).collect();
            losses.sort_by(f64::total_cmp);
            println!(
                "{worth} {row} {} {} {:.0} {:.3} {:.3} {:.3} {:.3} {:.1}",
                stops.len(),
                stops.iter().filter(|(at, _)| at.is_final).count(),
                of(&|(at, _)| at.spent),
                of(&|(at, _)| at.loss),
                losses.get(losses.len() / 2).copied().unwrap_or(f64::NAN),
                losses.last().copied().unwrap_or(f64::NAN),
                of(&|(at, _)| at.most),
                // What was not spent, less what the rest would have gained.
                of(&|(at, end)| end.spent - at.spent - worth * 0.01 * (at.loss - end.loss)),
            );
        }
    }
    Ok(())
}

/// Plays one study to its end, whatever the rules say.
fn play(instance: &Instance, settings: &Settings) -> Result<Played, Box<dyn Error>> {
    let target = Target::of(instance)?;
    let mut config = Config::default();
    config.initial.designs = Some(2 * (instance.problem.parameters.len() + 1));
    let seed = seed_for(settings.seed, u64::from(instance.id));
    let mut study = Study::with_config(instance.problem.clone(), config, seed)?;
    let first = target.front.rows().map(|row| row[0]);
    let range = first.clone().fold(f64::MIN, f64::max) - first.fold(f64::MAX, f64::min);
    let mut rules = vec![Rule::default(); WORTHS.len() * IN_A_ROW.len()];
    loop {
        let next = study.ask()?;
        let spent = study.spent();
        if spent + next.cost > settings.max_cost {
            let loss = loss(instance, &target, &study, range)?;
            return Ok(Played { rules, end: Moment { spent, loss, most: 0.0, is_final: false } });
        }
        judge(&mut rules, &next, range, || {
            Ok((study.spent(), loss(instance, &target, &study, range)?))
        })?;
        let m = instance.problem.output_index(&next.measurement)?;
        let noise = Rng::new(seed_for(seed, m as u64), next.evaluation).normal();
        let value = instance.value(&next.design, m)? + instance.noise[m] * noise;
        study.tell(next.evaluation, value)?;
    }
}

fn judge(
    rules: &mut [Rule],
    next: &Suggestion,
    range: f64,
    moment: impl Fn() -> Result<(f64, f64), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let Some(prospect) = &next.prospect else { return Ok(()) };
    let percent = 100.0 * prospect.units[0].amount / range;
    let most = prospect.most.map_or(f64::INFINITY, |most| percent * most);
    let mut now = None;
    for (i, rule) in rules.iter_mut().enumerate().filter(|(_, rule)| rule.stopped.is_none()) {
        let (worth, row) = (0.01 * WORTHS[i / IN_A_ROW.len()], IN_A_ROW[i % IN_A_ROW.len()]);
        let is_low = worth * percent * prospect.gain < next.cost;
        rule.low = if is_low { rule.low + 1 } else { 0 };
        if rule.low == row {
            let (spent, loss) = match now {
                Some(known) => known,
                None => moment()?,
            };
            now = Some((spent, loss));
            let is_final = worth * most < prospect.cheapest;
            rule.stopped = Some(Moment { spent, loss, most, is_final });
        }
    }
    Ok(())
}

/// What decision makers lose, as an improvement of the first objective that would be as good, in
/// percent of its range on the front.
fn loss(
    instance: &Instance,
    target: &Target,
    study: &Study,
    range: f64,
) -> Result<f64, Box<dyn Error>> {
    let recommended = Recommendation::new(instance, target, &study.predicted_front(FRONT)?)?;
    let weight = 1.0 / instance.objectives() as f64;
    Ok(100.0 * regret(&recommended, target) * target.units[0] / (weight * range))
}
