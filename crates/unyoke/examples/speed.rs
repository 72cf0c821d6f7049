//! Processor time of suggestions, and what was suggested, for comparing two builds in one run.
//!
//! ```text
//! cargo run --release -p unyoke --example speed -- [FILTER] [REPEATS]
//! ```
//!
//! Prints a row per case whose name contains the filter: least and median processor time over the
//! repeats, all threads together (Linux only), the least time by the clock, the most memory that the process had so
//! far, then the measurement and the gain. The cases called `growth` show how times grow with the number of values. Two builds that search alike
//! print the same gains; build both, then run them in turns.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::time::Instant;
use unyoke::{
    Algorithm, Config, Correlations, Design, Discretisation, Measurement, Output, Problem, Study,
};
use unyoke_math::sobol;

/// Seconds of processor time that all threads of this process have used.
fn processor_seconds() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let nanoseconds = |task: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(task.unwrap().path().join("schedstat")).unwrap();
        text.split_whitespace().next().unwrap().parse::<f64>().unwrap()
    };
    1e-9 * tasks.map(nanoseconds).sum::<f64>()
}

/// The most memory that this process has had, in megabytes.
fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1e3
}

fn problem(dim: usize, objectives: usize) -> Problem {
    let parameters = (0..dim)
        .fold(Problem::builder(), |builder, d| builder.continuous(format!("x{d}"), 0.0, 1.0));
    (0..objectives)
        .fold(parameters, |builder, m| builder.maximise(format!("f{m}"), 10f64.powi(m as i32 % 2)))
        .build()
        .unwrap()
}

/// A smooth function for each output.
fn value(m: usize, x: &[f64]) -> f64 {
    let frequency = 9.0 / (1.0 + 3.0 * m as f64);
    x.iter().enumerate().map(|(d, v)| (frequency * v + d as f64).sin()).sum()
}

/// A study with so many values of each output at Sobol' designs.
fn study(problem: Problem, counts: &[usize], config: Config) -> Study {
    let (dim, names) = (problem.parameters.len(), problem.outputs.clone());
    let mut study = Study::with_config(problem, config, 1).unwrap();
    for (m, &count) in counts.iter().enumerate() {
        for x in sobol::cube(dim, count, m as u64).unwrap().rows() {
            let design: Design = (0..dim).map(|d| (format!("x{d}"), x[d].into())).collect();
            study.tell_result(design, &names[m].name, value(m, x)).unwrap();
        }
    }
    study
}

/// Two objectives and two constraints, each measured by itself.
fn constrained() -> Problem {
    let builder =
        (0..4).fold(Problem::builder(), |builder, d| builder.continuous(format!("x{d}"), 0.0, 1.0));
    let builder = builder.maximise("f0", 1.0).maximise("f1", 10.0);
    builder
        .output(Output::at_most("c0", 1.0))
        .output(Output::at_least("c1", -0.5))
        .measurement(Measurement::new("c0", ["c0"], 1.0))
        .measurement(Measurement::new("c1", ["c1"], 5.0))
        .build()
        .unwrap()
}

struct Case {
    name: String,
    make: Box<dyn Fn() -> Study>,
}

fn case(name: impl Into<String>, make: impl Fn() -> Study + 'static) -> Case {
    Case { name: name.into(), make: Box::new(make) }
}

fn with(algorithm: Algorithm) -> Config {
    Config { algorithm, ..Config::default() }
}

fn cases() -> Vec<Case> {
    let paper = || Config {
        algorithm: Algorithm::CMokg,
        discretisation: Discretisation::Grid { per_input: 11 },
        ..Config::paper()
    };
    vec![
        case("c-mokg paper D2 60+20", move || study(problem(2, 2), &[60, 20], paper())),
        case("default D2 60+20", || study(problem(2, 2), &[60, 20], Config::default())),
        case("default D2 40+14", || study(problem(2, 2), &[40, 14], Config::default())),
        case("default D6 3x100", || study(problem(6, 3), &[100; 3], Config::default())),
        case("c-mokg alone D6 3x100", || {
            let alone = Correlations::Ignored;
            let config = Config { correlations: alone, ..with(Algorithm::CMokg) };
            study(problem(6, 3), &[100; 3], config)
        }),
        case("default alone D6 3x100", || {
            let config = Config { correlations: Correlations::Ignored, ..Config::default() };
            study(problem(6, 3), &[100; 3], config)
        }),
        case("default D6 54+3x14", || study(problem(6, 4), &[54, 14, 14, 14], Config::default())),
        case("default D6 100+3x30", || study(problem(6, 4), &[100, 30, 30, 30], Config::default())),
        case("default D30 62+62", || study(problem(30, 2), &[62, 62], Config::default())),
        case("constrained D4 4x30", || study(constrained(), &[30; 4], Config::default())),
        case("c-mokg D2 60+20", || study(problem(2, 2), &[60, 20], with(Algorithm::CMokg))),
        case("hvkg-exact D2 60+20", || study(problem(2, 2), &[60, 20], with(Algorithm::HvkgExact))),
        case("hvkg-d D2 60+20", || study(problem(2, 2), &[60, 20], with(Algorithm::HvkgD))),
        case("hvkg-d D6 3x30", || study(problem(6, 3), &[30; 3], with(Algorithm::HvkgD))),
        case("jes-lb-d D2 60+20", || study(problem(2, 2), &[60, 20], with(Algorithm::JesLbD))),
        case("c-mokg D8 3x1000", || study(problem(8, 3), &[1000; 3], with(Algorithm::CMokg))),
        case("c-mokg D6 2x5000", || study(problem(6, 2), &[5000; 2], with(Algorithm::CMokg))),
    ]
}

/// So many values of each of two objectives of four parameters.
fn growth() -> Vec<Case> {
    let mut cases = vec![];
    for count in [10, 20, 50, 100, 200, 500, 1000, 2000, 5000] {
        for (name, algorithm) in [("c-mokg", Algorithm::CMokg), ("default", Algorithm::default())] {
            let make = move || study(problem(4, 2), &[count; 2], with(algorithm));
            cases.push(case(format!("growth {name} D4 2x{count}"), make));
        }
    }
    cases
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let filter = arguments.first().map_or("", |text| text);
    let repeats: usize = arguments.get(1).map_or(1, |text| text.parse().unwrap());
    let all = cases().into_iter().chain(growth());
    for Case { name, make } in all.filter(|case| case.name.contains(filter)) {
        let (mut times, mut by_clock) = (vec![], f64::INFINITY);
        let mut last = None;
        for _ in 0..repeats {
            // Another one each time: a study remembers its models.
            let study = make();
            let (start, clock) = (processor_seconds(), Instant::now());
            last = Some(study.suggest().unwrap());
            by_clock = by_clock.min(1e3 * clock.elapsed().as_secs_f64());
            times.push(1e3 * (processor_seconds() - start));
        }
        times.sort_by(f64::total_cmp);
        let (least, median) = (times[0], times[times.len() / 2]);
        let suggestion = last.unwrap();
        let gains: Vec<String> =
            suggestion.options.iter().map(|row| format!("{:.12}", row.log_gain)).collect();
        println!(
            "{name:26} {least:9.1} ms {median:9.1} ms {by_clock:9.1} ms {:6.0} MB  {} {}",
            peak_megabytes(),
            suggestion.measurement,
            gains.join(" ")
        );
    }
}
