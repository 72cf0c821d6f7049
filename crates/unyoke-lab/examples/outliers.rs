//! What values that are wrong cost a study, and how often right ones are taken for wrong: the trials
//! behind `docs/outliers.md`.
//!
//! ```text
//! cargo run --release -p unyoke-lab --example outliers -- play branin-currin 8 180
//! cargo run --release -p unyoke-lab --example outliers -- unspoilt penicillin 8 180
//! cargo run --release -p unyoke-lab --example outliers -- clean branin-currin 200
//! ```
//!
//! `play` plays studies in which each value is replaced by garbage with probability 5 %, with outliers
//! kept and handled, and without garbage; `unspoilt` only those without garbage. `clean` counts how often one of the true values of an
//! objective at space-filling designs is clipped or set aside.

#![allow(clippy::print_stdout)]

use std::error::Error;
use unyoke::{
    Algorithm, Config, Correlations, Design, FrontSearch, Outliers, Parameter, Search, Study,
};
use unyoke_lab::{Instance, Recommendation, Settings, Target, hypervolume_regret, regret};
use unyoke_math::random::{Rng, seed_for};
use unyoke_math::sobol;

/// How many values are wrong.
const SHARE: f64 = 0.05;
const FRONT: usize = 200;
/// Of the budget, where regret is measured.
const MOMENTS: [f64; 2] = [0.75, 1.0];
const GARBAGE: u64 = 77;

/// What comes in place of a value; more is better here.
#[derive(Debug, Clone, Copy)]
enum Garbage {
    None,
    /// A million on the bad side.
    Huge,
    /// Twenty standard deviations on the bad side.
    Bad,
    /// Five to twenty standard deviations on either side.
    Either,
}

/// What comes in place of values, and what the study does about it.
type Kind = (Garbage, Outliers);

/// Mean regrets of a study over its moments, Bayesian and of hypervolume.
type Regrets = [f64; 2];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mode = arguments.next().unwrap_or_else(|| "play".to_owned());
    let family = arguments.next().unwrap_or_else(|| "branin-currin".to_owned());
    let count: u32 = arguments.next().map_or(Ok(8), |text| text.parse())?;
    let mut settings = Settings::usual(&family)?;
    if let Some(cost) = arguments.next() {
        settings.max_cost = cost.parse()?;
    }
    let (kept, handled) = (Outliers::Kept, Outliers::Handled);
    match mode.as_str() {
        "clean" => clean(&settings, count),
        "unspoilt" => compare(&settings, count, &[(Garbage::None, kept), (Garbage::None, handled)]),
        _ => {
            let both = |garbage: Garbage| [(garbage, kept), (garbage, handled)];
            let garbage = [Garbage::Huge, Garbage::Bad, Garbage::Either];
            let kinds: Vec<Kind> = garbage.into_iter().flat_map(both).collect();
            compare(&settings, count, &[&[(Garbage::None, kept)][..], &kinds].concat())
        }
    }
}

/// Plays studies of these kinds on `count` instances.
fn compare(settings: &Settings, count: u32, kinds: &[Kind]) -> Result<(), Box<dyn Error>> {
    let ids: Vec<u32> = (0..count).collect();
    let mut all: Vec<Vec<Regrets>> = vec![vec![]; kinds.len()];
    for instance in settings.instances(&ids)? {
        let target = Target::of(&instance)?;
        let deviations = deviations(&instance)?;
        for ((garbage, outliers), regrets) in kinds.iter().zip(&mut all) {
            let played =
                Played { instance: &instance, target: &target, settings, deviations: &deviations };
            let found = played.play(*garbage, *outliers)?;
            println!("{} {garbage:?} {outliers:?} {:.5} {:.5}", instance.id, found[0], found[1]);
            regrets.push(found);
        }
    }
    println!("{}, {count} instances, to cost {}", settings.family, settings.max_cost);
    println!("garbage outliers bayesian-regret standard-error hypervolume-regret standard-error");
    for ((garbage, outliers), regrets) in kinds.iter().zip(&all) {
        let [bayesian, volume] =
            [0, 1].map(|k| mean_and_error(&regrets.iter().map(|r| r[k]).collect::<Vec<_>>()));
        println!(
            "{garbage:?} {outliers:?} {:.5} {:.5} {:.5} {:.5}",
            bayesian[0], bayesian[1], volume[0], volume[1]
        );
    }
    Ok(())
}

fn mean_and_error(values: &[f64]) -> [f64; 2] {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let square: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    [mean, (square / (count - 1.0).max(1.0) / count).sqrt()]
}

/// The standard deviation of each output over the space.
fn deviations(instance: &Instance) -> Result<Vec<f64>, Box<dyn Error>> {
    let points = sobol::cube(instance.problem.parameters.len(), 256, 9)?;
    let designs: Vec<Design> = points.rows().map(|unit| design(instance, unit)).collect();
    let mut deviations = vec![];
    for m in 0..instance.problem.outputs.len() {
        let values: Vec<f64> =
            designs.iter().map(|design| instance.value(design, m)).collect::<Result<_, _>>()?;
        let [_, error] = mean_and_error(&values);
        deviations.push(error * (values.len() as f64).sqrt());
    }
    Ok(deviations)
}

/// The design at a point of the unit cube.
fn design(instance: &Instance, unit: &[f64]) -> Design {
    let parameters = instance.problem.parameters.iter().zip(unit);
    parameters.fold(Design::new(), |design, (parameter, u)| match parameter {
        Parameter::Continuous { name, low, high, .. } => {
            design.with(name.clone(), low + u * (high - low))
        }
        // Test problems have no other parameters.
        _ => design,
    })
}

struct Played<'a> {
    instance: &'a Instance,
    target: &'a Target,
    settings: &'a Settings,
    deviations: &'a [f64],
}

impl Played<'_> {
    fn play(&self, garbage: Garbage, outliers: Outliers) -> Result<Regrets, Box<dyn Error>> {
        let instance = self.instance;
        // Less effort than usual: it is the same with and without garbage.
        let mut config = Config {
            outliers,
            algorithm: Algorithm::CMokg,
            correlations: Correlations::Ignored,
            search: Search { raw: 128, restarts: 6, iterations: 40 },
            front: FrontSearch { population: 100, generations: 60 },
            ..Config::default()
        };
        config.initial.designs = Some(2 * (instance.problem.parameters.len() + 1));
        let seed = seed_for(self.settings.seed, u64::from(instance.id));
        let mut study = Study::with_config(instance.problem.clone(), config, seed)?;
        let mut sums = [0.0; 2];
        let mut moments = MOMENTS.iter().map(|part| part * self.settings.max_cost).peekable();
        while let Some(moment) = moments.peek() {
            let next = study.ask()?;
            if study.spent() + next.cost > *moment {
                moments.next();
                let front = study.predicted_front(FRONT)?;
                let recommended = Recommendation::new(instance, self.target, &front)?;
                sums[0] += regret(&recommended, self.target);
                sums[1] += hypervolume_regret(&recommended, self.target)?;
                // It is asked for again, at the next moment.
                study.withdraw(next.evaluation)?;
                continue;
            }
            let m = instance.problem.output_index(&next.measurement)?;
            let noise = Rng::new(seed_for(seed, m as u64), next.evaluation).normal();
            let value = instance.value(&next.design, m)? + instance.noise[m] * noise;
            let value = self.garbled(garbage, m, seed_for(seed, next.evaluation), value);
            study.tell(next.evaluation, value)?;
        }
        Ok(sums.map(|sum| sum / MOMENTS.len() as f64))
    }

    /// The value, or what comes in its place.
    fn garbled(&self, garbage: Garbage, m: usize, seed: u64, value: f64) -> f64 {
        let mut rng = Rng::new(seed, GARBAGE);
        let (is_wrong, side, far) = (rng.uniform() < SHARE, rng.uniform(), rng.uniform());
        let (good, sd) = (self.instance.sign(m), self.deviations[m]);
        let side = if side < 0.5 { -1.0 } else { 1.0 };
        match garbage {
            _ if !is_wrong => value,
            Garbage::None => value,
            Garbage::Huge => -good * 1e6,
            Garbage::Bad => value - good * 20.0 * sd,
            Garbage::Either => value + side * (5.0 + 15.0 * far) * sd,
        }
    }
}

/// Counts how often true values are taken for wrong.
fn clean(settings: &Settings, draws: u32) -> Result<(), Box<dyn Error>> {
    println!("{}, {draws} draws: designs, objectives judged, clipped, set aside", settings.family);
    for designs in [6, 12, 24, 48] {
        let (mut judged, mut clipped, mut set_aside) = (0, 0, 0);
        for draw in 0..draws {
            let instance = settings.instances(&[draw])?.remove(0);
            let mut study = Study::new(instance.problem.clone())?;
            let points = sobol::cube(instance.problem.parameters.len(), designs, u64::from(draw))?;
            let mut rng = Rng::new(u64::from(draw), GARBAGE);
            for unit in points.rows() {
                let design = design(&instance, unit);
                for (m, output) in instance.problem.outputs.iter().enumerate() {
                    let value = instance.value(&design, m)? + instance.noise[m] * rng.normal();
                    study.tell_result(design.clone(), &output.name, value)?;
                }
            }
            for check in study.model_checks()? {
                judged += 1;
                clipped += usize::from(check.left_out.iter().any(|v| v.counts_as.is_some()));
                set_aside += usize::from(!check.set_aside.is_empty());
            }
        }
        println!("{designs} {judged} {clipped} {set_aside}");
    }
    Ok(())
}
