//! How long a suggestion takes; run with `cargo xtask bench`.
#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;
use unyoke::{
    Algorithm, Config, Design, Discretisation, Measurement, MemoryJournal, Output, Problem, Study,
};
use unyoke_math::sobol;

/// The journal of a study with this many values of each objective at Sobol' designs.
fn study(dim: usize, counts: &[usize], config: Config) -> MemoryJournal {
    let mut builder = Problem::builder();
    for d in 0..dim {
        builder = builder.continuous(format!("x{d}"), 0.0, 1.0);
    }
    for m in 0..counts.len() {
        builder = builder.maximise(format!("f{m}"), 10f64.powi(m as i32));
    }
    let (problem, journal) = (builder.build().unwrap(), MemoryJournal::default());
    let mut study = Study::create(problem, config, 1, journal.clone()).unwrap();
    for (m, &count) in counts.iter().enumerate() {
        for x in sobol::cube(dim, count, m as u64).unwrap().rows() {
            let frequency = 9.0 / (1.0 + 3.0 * m as f64);
            let value: f64 =
                x.iter().enumerate().map(|(d, v)| (frequency * v + d as f64).sin()).sum();
            let design: Design = (0..dim).map(|d| (format!("x{d}"), x[d].into())).collect();
            study.tell_result(design, &format!("f{m}"), value).unwrap();
        }
    }
    journal
}

/// The journal of a study of a run that gives two objectives and a constraint.
fn one_run(config: Config) -> MemoryJournal {
    let problem = Problem::builder()
        .continuous("x", 0.0, 1.0)
        .continuous("y", 0.0, 1.0)
        .output(Output::maximise("lift"))
        .output(Output::minimise("drag"))
        .output(Output::at_most("moment", 0.4))
        .measurement(Measurement::new("cfd", ["lift", "drag", "moment"], 4.0))
        .build()
        .unwrap();
    let journal = MemoryJournal::default();
    let mut study = Study::create(problem, config, 1, journal.clone()).unwrap();
    for at in sobol::cube(2, 40, 1).unwrap().rows() {
        let design = || Design::new().with("x", at[0]).with("y", at[1]);
        let (x, y) = (at[0], at[1]);
        for (name, value) in
            [("lift", (4.0 * x).sin() + y), ("drag", x * x + y), ("moment", (3.0 * y).cos() * x)]
        {
            study.tell_result(design(), name, value).unwrap();
        }
    }
    journal
}

/// Opens the study anew each time: it remembers its models.
fn bench<T>(c: &mut Criterion, what: &str, journal: &MemoryJournal, work: impl Fn(&Study) -> T) {
    let open = || Study::open(journal.clone()).unwrap();
    let size = BatchSize::LargeInput;
    c.bench_function(what, |b| b.iter_batched(open, |study| black_box(work(&study)), size));
}

fn suggestion(c: &mut Criterion) {
    let discretisation = Discretisation::Grid { per_input: 11 };
    let paper = |algorithm| Config { algorithm, discretisation, ..Config::paper() };
    for (name, algorithm) in [
        ("C-MOKG", Algorithm::CMokg),
        ("C-MOKG random", Algorithm::CMokgRandom),
        ("maKG", Algorithm::Makg),
        ("maKG vector", Algorithm::MakgVector),
    ] {
        let study = study(2, &[60, 20], paper(algorithm));
        let what = format!("{name} suggestion, D = 2, 11 x 11 grid, Q = 16, n = 60 + 20");
        bench(c, &what, &study, |study| study.suggest().unwrap());
    }
    for (name, algorithm) in [
        ("JES-LB-d", Algorithm::JesLbD),
        ("JES-LB-c", Algorithm::JesLbC),
        ("ParEGO", Algorithm::Parego),
        ("NEHVI", Algorithm::Nehvi),
        ("HVKG-d", Algorithm::HvkgD),
        ("HVKG exact", Algorithm::HvkgExact),
        ("auto", Algorithm::Auto),
        ("HVKG-c", Algorithm::HvkgC),
    ] {
        let study = study(2, &[60, 20], Config { algorithm, ..Config::default() });
        let what = format!("{name} suggestion, D = 2, n = 60 + 20");
        bench(c, &what, &study, |study| study.suggest().unwrap());
    }
    let default = study(2, &[60, 20], Config::default());
    let what = "C-MOKG suggestion, default settings, D = 2, n = 60 + 20";
    bench(c, what, &default, |study| study.suggest().unwrap());
    let six = study(6, &[100, 100, 100], Config::default());
    let what = "C-MOKG suggestion, D = 6, three objectives, n = 3 x 100";
    bench(c, what, &six, |study| study.suggest().unwrap());
    let together = one_run(Config::default());
    let what = "C-MOKG suggestion, one run of two objectives and a constraint, D = 2, n = 40";
    bench(c, what, &together, |study| study.suggest().unwrap());
    let what = "predicted front of 20 points, D = 2, n = 60 + 20";
    bench(c, what, &default, |study| study.front(20).unwrap());
}

fn few() -> Criterion {
    Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
}

criterion_group! {
    name = benches;
    config = few();
    targets = suggestion
}
criterion_main!(benches);
