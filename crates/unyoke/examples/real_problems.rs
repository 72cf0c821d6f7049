//! What is gained by knowing of failures, constraints and costs: studies that know of them against
//! studies that do not, on random problems.
//!
//! `cargo run --release --example real_problems -- failures|line|constraints|costs [PROBLEMS] [FIRST]`
//!
//! Objectives are random smooth functions on a square. Regret is the utility that decision makers
//! lose who build the recommended design for their weights, averaged over weights; what is
//! infeasible is worth the worst value.

#![allow(clippy::print_stdout)]

use unyoke::{
    Config, Cost, Design, Failures, FrontPoint, FrontSearch, Initial, Outcome, Output, Permission,
    Problem, Result, Study, Suggestion, Units,
};
use unyoke_math::random::Rng;

/// A sum of waves in two inputs, about −1 to 1.
struct Waves(Vec<[f64; 4]>);

impl Waves {
    fn draw(rng: &mut Rng, roughness: f64) -> Self {
        let wave = |rng: &mut Rng| {
            let [a, b] = [rng.normal(), rng.normal()].map(|v| roughness * v);
            [a, b, std::f64::consts::TAU * rng.uniform(), 0.25 * (1.0 + rng.uniform())]
        };
        Self((0..4).map(|_| wave(rng)).collect())
    }

    fn at(&self, [x, y]: [f64; 2]) -> f64 {
        self.0.iter().map(|[a, b, shift, size]| size * (a * x + b * y + shift).sin()).sum()
    }
}

/// A problem whose truth is known.
struct Truth {
    objectives: [Waves; 2],
    boundary: Waves,
    /// Feasible where the boundary is below.
    level: f64,
    cost: Waves,
}

const GRID: usize = 101;

fn grid() -> impl Iterator<Item = [f64; 2]> {
    let at = |i: usize| i as f64 / (GRID - 1) as f64;
    (0..GRID * GRID).map(move |i| [at(i / GRID), at(i % GRID)])
}

impl Truth {
    /// Half of the square is feasible.
    fn draw(seed: u64) -> Self {
        let mut rng = Rng::new(seed, 77);
        let objectives = [Waves::draw(&mut rng, 3.0), Waves::draw(&mut rng, 3.0)];
        let boundary = Waves::draw(&mut rng, 2.0);
        let mut values: Vec<f64> = grid().map(|x| boundary.at(x)).collect();
        values.sort_by(f64::total_cmp);
        let level = values[values.len() / 2];
        Self { objectives, boundary, level, cost: Waves::draw(&mut rng, 2.0) }
    }

    fn is_feasible(&self, x: [f64; 2]) -> bool {
        self.boundary.at(x) <= self.level
    }

    /// From about 1 to 10.
    fn price(&self, x: [f64; 2]) -> f64 {
        (1.15 * (1.0 + self.cost.at(x))).exp().clamp(0.5, 20.0)
    }

    fn utility(&self, weight: f64, x: [f64; 2]) -> f64 {
        weight * self.objectives[0].at(x) + (1.0 - weight) * self.objectives[1].at(x)
    }

    /// Average loss of decision makers who build what is recommended.
    fn regret(&self, study: &Study, constrained: bool) -> Result<f64> {
        let weights: Vec<f64> = (0..9).map(|i| (i as f64 + 0.5) / 9.0).collect();
        let mut total = 0.0;
        for weight in &weights {
            let feasible = |x: &[f64; 2]| !constrained || self.is_feasible(*x);
            let utilities = || grid().filter(feasible).map(|x| self.utility(*weight, x));
            let best = utilities().fold(f64::MIN, f64::max);
            let worst = utilities().fold(f64::MAX, f64::min);
            let FrontPoint { design, .. } = study.best_for(&[*weight, 1.0 - weight])?;
            let x = point(&design);
            let value = if feasible(&x) { self.utility(*weight, x) } else { worst };
            total += (best - value).max(0.0) / (best - worst);
        }
        Ok(total / weights.len() as f64)
    }
}

fn point(design: &Design) -> [f64; 2] {
    ["x", "y"].map(|name| design.real(name).unwrap_or_default())
}

fn config() -> Config {
    let front = FrontSearch { population: 60, generations: 40 };
    let initial = Initial { designs: Some(6), ..Initial::default() };
    Config { units: Units::Raw, initial, front, ..Config::default() }
}

fn square() -> unyoke::ProblemBuilder {
    Problem::builder().continuous("x", 0.0, 1.0).continuous("y", 0.0, 1.0)
}

/// Runs until `budget` is spent; what each evaluation really costs is what `price` says.
fn run(
    mut study: Study,
    budget: f64,
    tell: &dyn Fn(&Suggestion) -> (Outcome, f64),
) -> Result<(Study, usize)> {
    let (mut spent, mut failed) = (0.0, 0);
    while spent < budget {
        let Some(asked) = study.ask_where(|_, _| Permission::Granted)? else { break };
        let (outcome, paid) = tell(&asked);
        spent += paid;
        failed += usize::from(outcome == failure());
        study.tell(asked.evaluation, outcome)?;
    }
    Ok((study, failed))
}

fn failure() -> Outcome {
    Outcome::default().missing("failed")
}

/// Regrets of knowing and of ignoring, and failures of both.
fn failures(truth: &Truth, seed: u64) -> Result<[f64; 4]> {
    let mut row = [0.0; 4];
    for (i, failures) in [Failures::Learned, Failures::Ignored].into_iter().enumerate() {
        let problem = square().maximise("f", 1.0).maximise("g", 3.0).build()?;
        let study = Study::with_config(problem, Config { failures, ..config() }, seed)?;
        let (study, failed) = run(study, 100.0, &|asked| {
            let x = point(&asked.design);
            let k = usize::from(asked.measurement == "g");
            let outcome =
                if truth.is_feasible(x) { truth.objectives[k].at(x).into() } else { failure() };
            (outcome, asked.cost)
        })?;
        row[i] = truth.regret(&study, true)?;
        row[2 + i] = failed as f64;
    }
    Ok(row)
}

fn constraints(truth: &Truth, seed: u64) -> Result<[f64; 4]> {
    let mut row = [0.0; 4];
    let know = square().maximise("f", 1.0).maximise("g", 3.0);
    let know = know.measured(Output::at_most("c", truth.level), 1.0);
    let ignore = square().maximise("f", 1.0).maximise("g", 3.0);
    for (i, problem) in [know, ignore].into_iter().enumerate() {
        let study = Study::with_config(problem.build()?, config(), seed)?;
        let (study, _) = run(study, 100.0, &|asked| {
            let x = point(&asked.design);
            let value = match asked.measurement.as_str() {
                "f" => truth.objectives[0].at(x),
                "g" => truth.objectives[1].at(x),
                _ => truth.boundary.at(x),
            };
            (value.into(), asked.cost)
        })?;
        row[i] = truth.regret(&study, true)?;
    }
    Ok(row)
}

/// Runs fail beyond a line, where objectives would be best: failures of 60 evaluations, and how many
/// of twelve front designs lie beyond.
fn line(seed: u64) -> Result<[f64; 4]> {
    let mut row = [0.0; 4];
    for (i, failures) in [Failures::Learned, Failures::Ignored].into_iter().enumerate() {
        let problem = square().maximise("f", 1.0).maximise("g", 3.0).build()?;
        let config = Config { failures, ..Config::default() };
        let mut study = Study::with_config(problem, config, seed)?;
        for _ in 0..60 {
            let asked = study.ask()?;
            let [a, b] = point(&asked.design);
            let outcome = match asked.measurement.as_str() {
                _ if a + b > 1.0 => failure(),
                "f" => (a + 0.3 * b).into(),
                _ => (b - 0.2 * a * a).into(),
            };
            row[2 + i] += f64::from(u8::from(outcome == failure()));
            study.tell(asked.evaluation, outcome)?;
        }
        let beyond = |p: &FrontPoint| point(&p.design).iter().sum::<f64>() > 1.0;
        row[i] = study.front(12)?.points.iter().filter(|p| beyond(p)).count() as f64;
    }
    Ok(row)
}

/// The price of one of two measurements depends on the design.
fn costs(truth: &Truth, seed: u64) -> Result<[f64; 4]> {
    let mut row = [0.0; 4];
    let mean = grid().map(|x| truth.price(x)).sum::<f64>() / (GRID * GRID) as f64;
    let waves = truth
        .cost
        .0
        .iter()
        .map(|[a, b, shift, size]| format!("{size} * sin({a} * x + ({b}) * y + {shift})"));
    let formula =
        format!("min(20, max(0.5, exp(1.15 * (1 + {}))))", waves.collect::<Vec<_>>().join(" + "));
    for (i, cost) in [Cost::formula(formula), Cost::Constant(mean)].into_iter().enumerate() {
        let problem = square().maximise("f", 1.0).maximise("g", cost).build()?;
        let study = Study::with_config(problem, config(), seed)?;
        let (study, _) = run(study, 90.0, &|asked| {
            let x = point(&asked.design);
            let k = usize::from(asked.measurement == "g");
            let paid = if k == 1 { truth.price(x) } else { 1.0 };
            (truth.objectives[k].at(x).into(), paid)
        })?;
        row[i] = truth.regret(&study, false)?;
    }
    Ok(row)
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, otherwise: u64| {
        arguments.get(i).and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    let kind = arguments.first().map_or("failures", String::as_str);
    let (count, first) = (number(1, 10), number(2, 0));
    println!("problem  knowing  ignoring  failed: knowing  ignoring");
    let (mut wins, mut sums) = (0, [0.0; 4]);
    for seed in first..first + count {
        let truth = Truth::draw(seed);
        let row = match kind {
            "constraints" => constraints(&truth, seed)?,
            "costs" => costs(&truth, seed)?,
            "line" => line(seed)?,
            _ => failures(&truth, seed)?,
        };
        wins += u64::from(row[0] <= row[1]);
        sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value / count as f64);
        println!("{seed:7}  {:7.4}  {:8.4}  {:15}  {:8}", row[0], row[1], row[2], row[3]);
    }
    println!("   mean  {:7.4}  {:8.4}  {:15.1}  {:8.1}", sums[0], sums[1], sums[2], sums[3]);
    println!("knowing is at least as good in {wins} of {count}");
    Ok(())
}
