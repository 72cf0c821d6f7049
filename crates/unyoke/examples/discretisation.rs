//! Which designs the knowledge gradient should compare: regret of studies that differ in nothing
//! but that set, on random functions of 2, 6 or 10 inputs.
//!
//! `cargo run --release -p unyoke --example discretisation -- 6 10 150` runs 10 problems of 6
//! inputs until 150 is spent beyond the initial designs; a fourth argument keeps only the sets with
//! that text in their name. Tables go to standard output, progress to standard error.
//! `docs/discretisation.md` has the results.
#![allow(clippy::print_stdout)]

use rayon::prelude::*;
use std::error::Error;
use std::time::Instant;
use unyoke::{Config, Design, Discretisation, Origin, Problem, Study, Units};
use unyoke_math::data::Data;
use unyoke_math::gp::Gp;
use unyoke_math::kernel::{Family, Kernel};
use unyoke_math::nsga2::Nsga2;
use unyoke_math::optimize::{Bounds, Stopping, largest, maximize};
use unyoke_math::path::Path;
use unyoke_math::random::{Rng, seed_for};
use unyoke_math::{Points, sobol};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Objectives in the order of their costs: cheap and rough, expensive and smooth.
const NAMES: [&str; 2] = ["cheap", "expensive"];
const COSTS: [f64; 2] = [1.0, 10.0];
const WAVES: usize = 1024;

/// Decision makers over whom regret is averaged.
const WEIGHTS: usize = 256;

/// Regret is measured after these parts of the budget.
const PARTS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// Evaluations nearer than this to an earlier one of the same objective are counted.
const CLOSE: f64 = 0.02;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, otherwise: &str| {
        arguments.get(i).map_or(otherwise, String::as_str).parse::<usize>()
    };
    let (inputs, problems) = (number(0, "2")?, number(1, "20")?);
    let budget = number(2, "64")? as f64;
    let wanted = arguments.get(3).map_or("", String::as_str);
    let sets: Vec<Set> = sets(inputs).into_iter().filter(|set| set.name.contains(wanted)).collect();
    let begun = Instant::now();
    let outcomes: Result<Vec<Vec<Outcome>>> = (0..problems as u64)
        .into_par_iter()
        .map(|seed| {
            let outcomes = compare(&Truth::draw(inputs, seed)?, &sets, budget, seed)?;
            let ends = outcomes.iter().map(|o| format!("{:.4}", o.regrets[PARTS.len() - 1]));
            let ends: Vec<String> = ends.collect();
            eprintln!("{:>5} s  problem {seed}: {}", begun.elapsed().as_secs(), ends.join(" "));
            Ok(outcomes)
        })
        .collect();
    let outcomes = outcomes?;
    println!("{inputs} inputs, {problems} problems, {budget} spent beyond the initial designs\n");
    print_regrets(&sets, &outcomes, budget);
    print_differences(&sets, &outcomes, budget);
    print_evaluations(&sets, &outcomes);
    eprintln!("{} s", begun.elapsed().as_secs());
    Ok(())
}

/// A set to compare; the first of a list is the one that the others are held against.
struct Set {
    name: &'static str,
    kind: Discretisation,
}

fn sets(inputs: usize) -> Vec<Set> {
    let set = |name, kind| Set { name, kind };
    let adaptive = |points| Discretisation::Adaptive { points };
    if inputs <= 2 {
        vec![
            set("grid", Discretisation::Grid { per_input: 11 }),
            set("auto", Discretisation::Auto),
            set("adaptive 128", adaptive(128)),
            set("Sobol' 121", Discretisation::Sobol { points: 121 }),
        ]
    } else {
        vec![
            set("Sobol' 128", Discretisation::Sobol { points: 128 }),
            set("adaptive 64", adaptive(64)),
            set("adaptive 128", adaptive(128)),
            set("adaptive 256", adaptive(256)),
        ]
    }
}

/// The functions to be found out about, both to be maximised.
struct Truth {
    paths: [Path; 2],
    inputs: usize,
}

impl Truth {
    fn draw(inputs: usize, seed: u64) -> Result<Self> {
        let spread = (inputs as f64 / 2.0).sqrt();
        let lengthscales = if inputs <= 2 { [0.2, 0.8] } else { [0.8 * spread, 1.6 * spread] };
        let path = |k: usize| -> Result<Path> {
            let kernel = Kernel::new(Family::Matern52, inputs, &[lengthscales[k]], 1.0)?;
            let prior = Gp::new(kernel, 0.0, 0.0, &Data::empty(inputs))?;
            Ok(Path::draw(&prior, WAVES, &mut Rng::new(seed, k as u64)))
        };
        Ok(Self { paths: [path(0)?, path(1)?], inputs })
    }

    /// Utility λ · f at many points, a row of `utilities` per weight vector.
    fn utilities(&self, weights: &Points, points: &Points) -> Result<Points> {
        let values = [self.paths[0].values(points)?, self.paths[1].values(points)?];
        let row = |lambda: &[f64]| -> Vec<f64> {
            (0..points.len()).map(|i| lambda[0] * values[0][i] + lambda[1] * values[1][i]).collect()
        };
        Ok(Points::from_rows(points.len(), weights.rows().map(row))?)
    }

    /// The best utility for each weight vector: climbs from space-filling designs, from a Pareto set
    /// and from `seen` ones, each end tried for all weight vectors.
    fn best_utilities(&self, weights: &Points, seen: &Points) -> Result<Vec<f64>> {
        const STARTS: usize = 6;
        let starts = [self.many_points()?, self.pareto_set()?, seen.clone()];
        let mut best = vec![f64::NEG_INFINITY; weights.len()];
        for group in &starts {
            let utilities = self.utilities(weights, group)?;
            let climb = |q: usize| -> Result<Vec<Vec<f64>>> {
                let climb = |start: usize| self.climb(weights.row(q), group.row(start));
                largest(utilities.row(q), STARTS).into_iter().map(climb).collect()
            };
            // A quarter of the weight vectors do: neighbours have nearly the same best designs.
            let ends: Result<Vec<Vec<Vec<f64>>>> =
                (0..weights.len()).into_par_iter().step_by(4).map(climb).collect();
            let ends = Points::from_rows(self.inputs, ends?.into_iter().flatten())?;
            let at_ends = self.utilities(weights, &ends)?;
            for (b, (here, there)) in best.iter_mut().zip(utilities.rows().zip(at_ends.rows())) {
                *b = b.max(highest(here)).max(highest(there));
            }
        }
        Ok(best)
    }

    fn pareto_set(&self) -> Result<Points> {
        let search =
            Nsga2 { population: 200, generations: 200, offspring: 200, ..Nsga2::default() };
        let values = |points: &Points| -> Result<Points> {
            let values = [self.paths[0].values(points)?, self.paths[1].values(points)?];
            Ok(Points::from_rows(2, (0..points.len()).map(|i| [values[0][i], values[1][i]]))?)
        };
        // A wrong shape makes the search end with its error.
        let values = |points: &Points| values(points).unwrap_or_else(|_| Points::new(2));
        Ok(search.run(self.inputs, &Points::new(self.inputs), 1, values)?.designs)
    }

    fn many_points(&self) -> Result<Points> {
        const SIDE: usize = 101;
        if self.inputs > 2 {
            return Ok(sobol::cube(self.inputs, 1 << 14, 1)?);
        }
        let at = |i: usize| i as f64 / (SIDE - 1) as f64;
        let node = |i: usize| [at(i / SIDE), at(i % SIDE)];
        Ok(Points::from_rows(2, (0..SIDE * SIDE).map(node))?)
    }

    fn climb(&self, lambda: &[f64], start: &[f64]) -> Result<Vec<f64>> {
        let utility = |x: &[f64], gradient: &mut [f64]| {
            let (mut sum, mut slope) = (0.0, vec![0.0; x.len()]);
            gradient.fill(0.0);
            for (path, weight) in self.paths.iter().zip(lambda) {
                sum += weight * path.value_and_gradient(x, &mut slope).unwrap_or(f64::NAN);
                gradient.iter_mut().zip(&slope).for_each(|(g, s)| *g += weight * s);
            }
            sum
        };
        let stopping = Stopping { iterations: 60, gradient: 1e-5, gain: 1e-9 };
        Ok(maximize(utility, start, &Bounds::unit_cube(self.inputs), &stopping)?.x)
    }
}

/// What a study came to.
struct Outcome {
    /// Mean over weight vectors, after each of [`PARTS`].
    regrets: Vec<f64>,
    /// Evaluations of each objective beyond the initial designs.
    counts: [usize; 2],
    /// How many of these lie within [`CLOSE`] of an earlier one.
    close: [usize; 2],
    /// Mean time of a suggestion.
    seconds: f64,
}

/// Runs one problem with every set; the best utility is looked for near their designs too.
fn compare(truth: &Truth, sets: &[Set], budget: f64, seed: u64) -> Result<Vec<Outcome>> {
    let weights = sobol::simplex(2, WEIGHTS, seed_for(seed, 7))?;
    let runs: Result<Vec<Run>> =
        sets.iter().map(|set| run(truth, set.kind, &weights, budget, seed)).collect();
    let runs = runs?;
    let mut seen = Points::new(truth.inputs);
    for x in runs.iter().flat_map(|run| run.seen.iter()) {
        seen.push(x)?;
    }
    let best = truth.best_utilities(&weights, &seen)?;
    let regret = |received: &Vec<f64>| {
        best.iter().zip(received).map(|(b, r)| b - r).sum::<f64>() / WEIGHTS as f64
    };
    Ok(runs
        .into_iter()
        .map(|run| Outcome {
            regrets: run.received.iter().map(regret).collect(),
            counts: run.counts,
            close: run.close,
            seconds: run.seconds / run.counts.iter().sum::<usize>() as f64,
        })
        .collect())
}

#[derive(Default)]
struct Run {
    /// True utility of each decision maker's design, after each of [`PARTS`].
    received: Vec<Vec<f64>>,
    /// Evaluated designs, and those of the last front.
    seen: Vec<Vec<f64>>,
    counts: [usize; 2],
    close: [usize; 2],
    seconds: f64,
}

fn run(
    truth: &Truth,
    kind: Discretisation,
    weights: &Points,
    budget: f64,
    seed: u64,
) -> Result<Run> {
    let config = Config { discretisation: kind, units: Units::Raw, ..Config::default() };
    let mut study = Study::with_config(problem(truth.inputs)?, config, seed)?;
    let (mut run, mut spent) = (Run::default(), 0.0);
    let mut earlier: [Vec<Vec<f64>>; 2] = Default::default();
    loop {
        let begun = Instant::now();
        let suggestion = study.ask()?;
        let seconds = begun.elapsed().as_secs_f64();
        let (x, k) = (coordinates(&suggestion.design), objective(&suggestion.measurement));
        if suggestion.origin != Origin::Initial {
            while run.received.len() < PARTS.len()
                && spent + suggestion.cost > PARTS[run.received.len()] * budget
            {
                run.received.push(received(truth, &study, weights)?);
            }
            if run.received.len() == PARTS.len() {
                let front = study.front(200)?.points;
                run.seen.extend(front.iter().map(|point| coordinates(&point.design)));
                return Ok(run);
            }
            run.seconds += seconds;
            spent += suggestion.cost;
            let close = earlier[k].iter().any(|other| distance(other, &x) < CLOSE);
            run.close[k] += usize::from(close);
            run.counts[k] += 1;
        }
        study.tell(suggestion.evaluation, truth.paths[k].value(&x)?)?;
        run.seen.push(x.clone());
        earlier[k].push(x);
    }
}

fn problem(inputs: usize) -> Result<Problem> {
    let mut builder = Problem::builder();
    for d in 0..inputs {
        builder = builder.continuous(format!("x{d:02}"), 0.0, 1.0);
    }
    Ok(builder.maximise(NAMES[0], COSTS[0]).maximise(NAMES[1], COSTS[1]).build()?)
}

/// Each decision maker picks a design by predicted utility and receives the true one.
fn received(truth: &Truth, study: &Study, weights: &Points) -> Result<Vec<f64>> {
    let points = study.front(200)?.points;
    let designs = points.iter().map(|point| coordinates(&point.design));
    let designs = Points::from_rows(truth.inputs, designs)?;
    let utilities = truth.utilities(weights, &designs)?;
    let pick = |(lambda, utilities): (&[f64], &[f64])| {
        let predicted = points.iter().map(|point| {
            point.outputs.iter().zip(lambda).map(|(forecast, w)| w * forecast.mean).sum()
        });
        let predicted: Vec<f64> = predicted.collect();
        largest(&predicted, 1).first().map_or(f64::NAN, |&i| utilities[i])
    };
    Ok(weights.rows().zip(utilities.rows()).map(pick).collect())
}

fn coordinates(design: &Design) -> Vec<f64> {
    (0..).map_while(|d| design.real(&format!("x{d:02}"))).collect()
}

fn objective(name: &str) -> usize {
    usize::from(name != NAMES[0])
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
}

fn highest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// Mean ± standard error.
fn summary(values: &[f64]) -> String {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    format!("{mean:.4} ± {:.4}", (square / n).sqrt())
}

fn print_header(columns: &[String]) {
    println!("| {} |", columns.join(" | "));
    println!("|{}", "---|".repeat(columns.len()));
}

fn costs(budget: f64) -> Vec<String> {
    PARTS.iter().map(|part| format!("{:.0}", part * budget)).collect()
}

fn print_regrets(sets: &[Set], outcomes: &[Vec<Outcome>], budget: f64) {
    print_header(&[vec!["regret after".to_owned()], costs(budget)].concat());
    for (s, set) in sets.iter().enumerate() {
        let at = |t: usize| outcomes.iter().map(|o| o[s].regrets[t]).collect::<Vec<_>>();
        let cells: Vec<String> = (0..PARTS.len()).map(|t| summary(&at(t))).collect();
        println!("| {} | {} |", set.name, cells.join(" | "));
    }
    println!();
}

/// Differences on the same problem have far smaller errors than the regrets themselves.
fn print_differences(sets: &[Set], outcomes: &[Vec<Outcome>], budget: f64) {
    let Some(reference) = sets.first() else { return };
    let first = format!("regret less that of {}", reference.name);
    let last = "smaller in the end on".to_owned();
    print_header(&[vec![first], costs(budget).split_off(1), vec![last]].concat());
    for (s, set) in sets.iter().enumerate().skip(1) {
        let difference = |o: &Vec<Outcome>, t: usize| o[s].regrets[t] - o[0].regrets[t];
        let at = |t: usize| outcomes.iter().map(|o| difference(o, t)).collect::<Vec<_>>();
        let cells: Vec<String> = (1..PARTS.len()).map(|t| summary(&at(t))).collect();
        let smaller = at(PARTS.len() - 1).iter().filter(|d| **d < 0.0).count();
        let (cells, all) = (cells.join(" | "), outcomes.len());
        println!("| {} | {cells} | {smaller} of {all} problems |", set.name);
    }
    println!();
}

fn print_evaluations(sets: &[Set], outcomes: &[Vec<Outcome>]) {
    let columns = ["evaluations", "cheap", "close", "expensive", "close", "ms per suggestion"];
    print_header(&columns.map(str::to_owned));
    for (s, set) in sets.iter().enumerate() {
        let sum = |count: &dyn Fn(&Outcome) -> usize| -> usize {
            outcomes.iter().map(|o| count(&o[s])).sum()
        };
        let part = |k: usize| {
            let (all, close) = (sum(&|o| o.counts[k]), sum(&|o| o.close[k]));
            let mean = all as f64 / outcomes.len() as f64;
            format!("{mean:.1} | {:.1} %", 100.0 * close as f64 / all.max(1) as f64)
        };
        let seconds: f64 = outcomes.iter().map(|o| o[s].seconds).sum();
        let milliseconds = 1e3 * seconds / outcomes.len() as f64;
        println!("| {} | {} | {} | {milliseconds:.0} |", set.name, part(0), part(1));
    }
    println!();
}
