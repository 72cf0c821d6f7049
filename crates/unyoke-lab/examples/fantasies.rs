//! How many fantasies are enough: what is lost by choosing with few of them, as many see it. The trials
//! behind a table of `docs/parallel.md`.
//!
//! ```text
//! RAYON_NUM_THREADS=1 cargo run --release -p unyoke-lab --example fantasies -- branin-currin 8 7
//! ```
//!
//! The arguments are a problem, the number of instances, and of evaluations under way. A study is played
//! one evaluation after the other; at some of its steps that many are asked for and left under way, and
//! the next choice is made by each number of fantasies. The gain per cost of what was chosen is then
//! averaged over many fantasies, and compared with the best of these choices.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::time::Instant;
use unyoke::{Config, Event, Journal, MemoryJournal, Pending, Record, Study, Suggestion};
use unyoke_lab::{Instance, Settings};
use unyoke_math::random::{Rng, seed_for};

/// What is compared, and what judges.
const KINDS: [Pending; 6] = [
    Pending::Expected,
    Pending::Fantasies(2),
    Pending::Fantasies(4),
    Pending::Fantasies(8),
    Pending::Fantasies(16),
    Pending::Fantasies(32),
];
const JUDGE: Pending = Pending::Fantasies(256);

/// Searches after which choices are compared.
const STEPS: [usize; 3] = [4, 10, 18];

/// What each kind chose at one step: its share of the best gain per cost, and the seconds it took.
type Compared = Vec<[f64; 2]>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |otherwise: &str| arguments.next().unwrap_or_else(|| otherwise.to_owned());
    let family = next("lengthscales");
    let (count, under_way): (u32, usize) = (next("8").parse()?, next("7").parse()?);
    let settings = Settings::usual(&family)?;
    let mut all = vec![];
    for instance in settings.instances(&(0..count).collect::<Vec<u32>>())? {
        all.extend(play(&instance, &settings, under_way)?);
    }
    println!("{family}, {count} instances, {under_way} under way, {} choices", all.len());
    for (i, kind) in KINDS.iter().enumerate() {
        let mean = |j: usize| all.iter().map(|row| row[i][j]).sum::<f64>() / all.len() as f64;
        let mut shares: Vec<f64> = all.iter().map(|row| row[i][0]).collect();
        shares.sort_by(f64::total_cmp);
        let (worst, seconds) = (shares[shares.len() / 10], mean(1));
        println!("| {kind:?} | {:.3} | {worst:.3} | {seconds:.3} s |", mean(0));
    }
    Ok(())
}

/// Plays one study, and compares at some of its steps.
fn play(
    instance: &Instance,
    settings: &Settings,
    under_way: usize,
) -> Result<Vec<Compared>, Box<dyn Error>> {
    let mut config = Config { pending: Pending::Expected, ..Config::default() };
    config.initial.designs = Some(2 * (instance.problem.parameters.len() + 1));
    let seed = seed_for(settings.seed, u64::from(instance.id));
    let journal = MemoryJournal::default();
    let mut study = Study::create(instance.problem.clone(), config, seed, journal.clone())?;
    let (mut compared, mut searches) = (vec![], 0);
    while compared.len() < STEPS.len() {
        let next = study.ask()?;
        searches += usize::from(next.is_searched());
        let m = instance.problem.output_index(&next.measurement)?;
        let noise = Rng::new(seed_for(seed, m as u64), next.evaluation).normal();
        let value = instance.value(&next.design, m)? + instance.noise[m] * noise;
        study.tell(next.evaluation, value)?;
        if searches == STEPS[compared.len()] {
            compared.push(compare(&journal, under_way)?);
        }
    }
    Ok(compared)
}

/// Lets each kind choose with so many evaluations under way, and judges their choices.
fn compare(journal: &MemoryJournal, under_way: usize) -> Result<Compared, Box<dyn Error>> {
    // What is under way is the same for all kinds.
    let copy = with_pending(&journal.read(0)?, Pending::Fantasies(4))?;
    let mut asking = Study::open(copy.clone())?;
    for _ in 0..under_way {
        asking.ask()?;
    }
    let records = copy.read(0)?;
    let mut chosen: Vec<(Suggestion, f64)> = vec![];
    for kind in KINDS {
        let study = Study::open(with_pending(&records, kind)?)?;
        let begun = Instant::now();
        chosen.push((study.suggest()?, begun.elapsed().as_secs_f64()));
    }
    let judge = Study::open(with_pending(&records, JUDGE)?)?;
    let designs: Vec<_> = chosen.iter().map(|(one, _)| one.design.clone()).collect();
    let mut values = vec![];
    for ((one, _), rows) in chosen.iter().zip(judge.score(&designs)?) {
        let row = rows.iter().find(|row| row.measurements.contains(&one.measurement));
        values.push(row.map_or(f64::NEG_INFINITY, |row| row.log_gain - row.cost.ln()));
    }
    let best = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let row = |(value, (_, seconds)): (&f64, &(Suggestion, f64))| [(value - best).exp(), *seconds];
    Ok(values.iter().zip(&chosen).map(row).collect())
}

/// A journal with the same records in which what is under way counts as `pending`.
fn with_pending(records: &[Record], pending: Pending) -> Result<MemoryJournal, Box<dyn Error>> {
    let mut records = records.to_vec();
    for record in &mut records {
        if let Event::Created { config, .. } = &mut record.event {
            config.pending = pending;
        }
    }
    let mut journal = MemoryJournal::default();
    journal.append(0, &records)?;
    Ok(journal)
}
