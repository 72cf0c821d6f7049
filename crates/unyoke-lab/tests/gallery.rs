//! Draws every figure from made-up data, to be looked at: `cargo test -p unyoke-lab --test gallery
//! -- --ignored`. The pictures are put into the directory for temporary files of the build.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;

use unyoke_draw::Picture;
use unyoke_draw::page::{Figure, Page, Runs, Section};
use unyoke_lab::figures::{
    Convergence, ConvergencePanel, Curve, CurvePanel, CurvesFigure, Field, LengthScalePrior,
    Predicted, PriorPanel, ProblemFigure, TimePanel, TimeRange, VerticalScale, convergence_figure,
    curves_figure, label, priors_figure, problem_figure, regret_figure, times_figure,
};
use unyoke_lab::report::{mean_table, time_table};

fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("gallery");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn save(name: &str, picture: &Picture) {
    std::fs::write(folder().join(format!("{name}.svg")), picture.svg()).unwrap();
    std::fs::write(folder().join(format!("{name}.png")), picture.png(2.0).unwrap()).unwrap();
}

/// A number between 0 and 1 that looks random.
fn noise(seed: usize) -> f64 {
    let bits = (seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ (bits >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((bits ^ (bits >> 32)) >> 11) as f64 / (1u64 << 53) as f64
}

/// How fast an algorithm learns, and where it ends.
struct Course {
    algorithm: &'static str,
    price: f64,
    rate: f64,
    floor: f64,
}

fn curve(course: &Course, seed: usize) -> Curve {
    let mut cost = vec![66.0];
    while cost[cost.len() - 1] + course.price <= 800.0 {
        let expensive = course.price > 10.0 || noise(seed + cost.len()) > 0.12;
        cost.push(cost[cost.len() - 1] + if expensive { course.price } else { 10.0 });
    }
    let mut level = 0.0;
    let mean: Vec<f64> = (0..cost.len())
        .map(|i| {
            level = 0.9 * level + 0.05 * (noise(seed * 1000 + i) - 0.5);
            let left = (-(cost[i] - 66.0) * course.rate).exp();
            (0.55 * left + course.floor) * (1.0 + level)
        })
        .collect();
    let standard_error = mean.iter().map(|m| 0.07 * m + 0.0004).collect();
    Curve { algorithm: course.algorithm.into(), cost, mean, standard_error, instances: 100 }
}

fn curves(courses: &[(&'static str, f64, f64, f64)]) -> Vec<Curve> {
    let made = |(i, &(algorithm, price, rate, floor)): (usize, &(&'static str, f64, f64, f64))| {
        curve(&Course { algorithm, price, rate, floor }, 17 * i + 3)
    };
    courses.iter().enumerate().map(made).collect()
}

fn families(y_label: &str) -> [CurvePanel; 2] {
    let first = [
        ("c-mokg", 1.0, 0.030, 0.003),
        ("makg", 11.0, 0.009, 0.004),
        ("hvkg-d", 1.0, 0.022, 0.006),
        ("hvkg-c", 11.0, 0.0085, 0.009),
        ("jes-lb-d", 1.0, 0.016, 0.007),
        ("jes-lb-c", 11.0, 0.007, 0.010),
    ];
    let second = [
        ("c-mokg", 1.0, 0.010, 0.08),
        ("makg", 11.0, 0.005, 0.12),
        ("hvkg-d", 1.0, 0.009, 0.10),
        ("hvkg-c", 11.0, 0.0045, 0.14),
        ("jes-lb-d", 1.0, 0.008, 0.11),
        ("jes-lb-c", 11.0, 0.0048, 0.15),
    ];
    let panel = |title: &str, courses: &[_]| CurvePanel {
        title: title.into(),
        y_label: y_label.into(),
        curves: curves(courses),
    };
    [panel("Different length scales", &first), panel("Different observation noise", &second)]
}

#[test]
#[ignore = "makes pictures to be looked at"]
fn regret() {
    let panels = families("Bayesian regret");
    save("1-regret-auto", &regret_figure(&panels, VerticalScale::Automatic));
    save("1-regret-log", &regret_figure(&panels, VerticalScale::Log));
    save("1-regret-linear", &regret_figure(&panels, VerticalScale::Linear));
    save("2-hypervolume", &regret_figure(&families("Hypervolume regret"), VerticalScale::Log));
}

#[test]
#[ignore = "makes pictures to be looked at"]
fn expectation() {
    let courses = [
        ("c-mokg", 1.0, 0.030, 0.003),
        ("makg", 11.0, 0.009, 0.004),
        ("c-mokg-random", 1.0, 0.010, 0.004),
        ("makg-random", 11.0, 0.008, 0.0045),
    ];
    let panel = CurvePanel {
        title: String::new(),
        y_label: "Bayesian regret".into(),
        curves: curves(&courses),
    };
    save("3-expectation", &regret_figure(&[panel], VerticalScale::Automatic));
}

#[test]
#[ignore = "makes pictures to be looked at"]
fn odd_curves() {
    let mut curves = curves(&[
        ("c-mokg", 1.0, 0.03, 0.0),
        ("makg", 11.0, 0.01, 0.001),
        ("hvkg-c", 11.0, 0.005, 0.001),
    ]);
    let reached = curves[0].mean.iter_mut().filter(|mean| **mean < 0.01);
    reached.for_each(|mean| *mean = 0.0);
    curves[1].mean[20..26].fill(f64::NAN);
    curves[2].cost.truncate(1);
    curves[2].instances = 41;
    let panel = CurvePanel { title: "Zeros and gaps".into(), y_label: "Regret".into(), curves };
    save("9-odd-log", &regret_figure(std::slice::from_ref(&panel), VerticalScale::Log));
    save("9-odd-linear", &regret_figure(&[panel], VerticalScale::Automatic));
    save("9-empty", &regret_figure(&[CurvePanel::default()], VerticalScale::Log));
}

#[test]
#[ignore = "makes pictures to be looked at"]
fn other_curves() {
    let all = [
        ("c-mokg", 1.0, 0.030, 0.003),
        ("makg", 11.0, 0.012, 0.004),
        ("makg-vector", 11.0, 0.010, 0.004),
        ("hvkg-d", 1.0, 0.022, 0.006),
        ("hvkg-c", 11.0, 0.0085, 0.009),
        ("jes-lb-d", 1.0, 0.016, 0.007),
        ("jes-lb-c", 11.0, 0.007, 0.010),
        ("parego", 11.0, 0.006, 0.012),
        ("nehvi", 11.0, 0.0065, 0.013),
        ("sobol", 11.0, 0.002, 0.02),
        ("something else", 11.0, 0.003, 0.02),
    ];
    let panel = |title: &str| CurvePanel {
        title: title.into(),
        y_label: "Bayesian regret".into(),
        curves: curves(&all),
    };
    save(
        "8-curves",
        &curves_figure(&CurvesFigure {
            heading: "When the cheap objective is the easy one".into(),
            x_label: "Cumulative cost".into(),
            panels: vec![panel("Costs 10 : 1"), panel("Costs 1 : 1"), panel("Costs 1 : 10")],
            scale: VerticalScale::Automatic,
        }),
    );
}

/// A smooth function on the unit square whose wiggles have about length `scale`.
fn surface(x: [f64; 2], scale: f64, seed: usize) -> f64 {
    let wave = |k: usize| {
        let angle = std::f64::consts::TAU * noise(seed + 3 * k);
        let phase = std::f64::consts::TAU * noise(seed + 3 * k + 1);
        let speed = (0.4 + 1.2 * noise(seed + 3 * k + 2)) / scale;
        (speed * (x[0] * angle.cos() + x[1] * angle.sin()) + phase).cos()
    };
    (0..24).map(wave).sum::<f64>() / 12f64.sqrt()
}

fn field(name: &str, scale: f64, seed: usize) -> Field {
    let side = 81;
    let at = |i: usize| i as f64 / (side - 1) as f64;
    let value = |i: usize| surface([at(i % side), at(i / side)], scale, seed);
    Field {
        name: name.into(),
        columns: side,
        rows: side,
        values: (0..side * side).map(value).collect(),
    }
}

/// The designs of a fine grid that no other one dominates.
fn pareto(scales: [f64; 2], seed: usize) -> (Vec<[f64; 2]>, Vec<[f64; 2]>) {
    let side = 300;
    let at = |i: usize| i as f64 / (side - 1) as f64;
    let mut all: Vec<([f64; 2], [f64; 2])> = (0..side * side)
        .map(|i| [at(i % side), at(i / side)])
        .map(|x| (x, [surface(x, scales[0], seed), 7.0 * surface(x, scales[1], seed + 100)]))
        .collect();
    all.sort_by(|a, b| b.1[0].total_cmp(&a.1[0]));
    let mut best = f64::NEG_INFINITY;
    all.retain(|(_, f)| {
        let keep = f[1] > best;
        best = best.max(f[1]);
        keep
    });
    all.into_iter().unzip()
}

fn problem(scales: [f64; 2], seed: usize) -> ProblemFigure {
    let (pareto_set, pareto_front) = pareto(scales, seed);
    let mut second = field("Objective 2", scales[1], seed + 100);
    second.values.iter_mut().for_each(|value| *value *= 7.0);
    ProblemFigure {
        objectives: [field("Objective 1", scales[0], seed), second],
        pareto_set,
        pareto_front,
    }
}

#[test]
#[ignore = "makes pictures to be looked at"]
fn test_problem() {
    save("5-problem-family-1", &problem_figure(&problem([0.12, 0.9], 5)));
    save("5-problem-family-2", &problem_figure(&problem([0.25, 0.25], 40)));
}

fn one_run() -> Convergence {
    let (_, front) = pareto([0.12, 0.9], 5);
    let moment = |title: &str, error: f64, observed: usize| ConvergencePanel {
        title: title.into(),
        predicted: front
            .iter()
            .map(|f| Predicted {
                mean: [f[0] - error * (1.0 + 0.3 * f[1]), f[1] - error * f[0].abs()],
                deviation: [0.8 * error, 0.6 * error],
            })
            .collect(),
        achieved: front
            .iter()
            .enumerate()
            .map(|(i, f)| {
                let down = |k: usize| 0.8 * error * noise(2 * i + k).powi(2);
                [f[0] - 1.4 * down(0), f[1] - 6.0 * down(1)]
            })
            .collect(),
        observed: (0..observed)
            .map(|i| [noise(7 * i), noise(7 * i + 1)])
            .map(|x| [surface(x, 0.12, 5), 7.0 * surface(x, 0.9, 105)])
            .collect(),
    };
    Convergence {
        objectives: ["Objective 1".into(), "Objective 2".into()],
        front: front.clone(),
        panels: vec![
            moment("Initial samples only", 0.7, 6),
            moment("30 evaluations", 0.2, 8),
            moment("70 evaluations", 0.03, 11),
        ],
    }
}

#[test]
#[ignore = "makes pictures to be looked at"]
fn convergence() {
    save("4-convergence", &convergence_figure(&one_run()));
}

#[test]
#[ignore = "makes pictures to be looked at"]
fn priors() {
    let prior = |objective: &str, rate: f64, truth: f64| LengthScalePrior {
        objective: objective.into(),
        shape: 3.0,
        rate,
        truth: Some(truth),
    };
    let panel =
        |title: &str, priors: Vec<LengthScalePrior>| PriorPanel { title: title.into(), priors };
    let first = vec![prior("Objective 1", 10.0, 0.2), prior("Objective 2", 1.1, 1.8)];
    let second = vec![prior("Objective 1", 10.0, 0.4), prior("Objective 2", 10.0, 0.4)];
    let panels =
        [panel("Different length scales", first), panel("Different observation noise", second)];
    save("6-priors", &priors_figure(&panels));
}

fn time_panels() -> [TimePanel; 2] {
    let row = |(algorithm, scale): (&str, f64)| {
        let seconds: Vec<f64> = (0..500).map(|i| scale * (2.5 * noise(i) - 1.2).exp()).collect();
        TimeRange::of(algorithm, &seconds).unwrap()
    };
    let rows = [
        ("c-mokg", 0.09),
        ("makg", 0.13),
        ("hvkg-d", 1.9),
        ("hvkg-c", 2.6),
        ("jes-lb-d", 0.7),
        ("jes-lb-c", 0.75),
        ("parego", 0.03),
        ("nehvi", 0.2),
    ];
    let panel =
        |title: &str| TimePanel { title: title.into(), rows: rows.into_iter().map(row).collect() };
    [panel("Different length scales"), panel("Different observation noise")]
}

#[test]
#[ignore = "makes pictures to be looked at"]
fn times() {
    let panels = time_panels();
    save("7-times", &times_figure(&panels));
    save("7-times-one", &times_figure(&[TimePanel { title: String::new(), ..panels[0].clone() }]));
}

#[test]
#[ignore = "makes pictures to be looked at"]
fn report() {
    let (regret, times) = (families("Bayesian regret"), time_panels());
    let costs: Vec<f64> = (1..=8).map(|i| 100.0 * f64::from(i)).collect();
    let table = |panel: &CurvePanel| {
        let caption = format!("Bayesian regret, mean ± standard error. {}.", panel.title);
        mean_table(&caption, &panel.curves, &costs)
    };
    let section = |heading: &str, text: &str, picture: Picture, caption: &str| Section {
        heading: heading.into(),
        text: text.into(),
        figures: vec![Figure { caption: caption.into(), pictures: vec![picture] }],
        tables: Vec::new(),
        ..Section::default()
    };
    let mut first = section(
        "Bayesian regret",
        "Regret is measured on the designs that the model recommends, by their true values.",
        regret_figure(&regret, VerticalScale::Automatic),
        "Mean Bayesian regret against cumulative cost. Shaded: two standard errors around the mean.",
    );
    first.tables = regret.iter().map(table).collect();
    let mut last =
        section("Time per suggestion", "", times_figure(&times), "Seconds per suggestion.");
    last.tables =
        vec![time_table("Seconds per suggestion. Different length scales.", &times[0].rows)];
    let runs = |(i, curve): (usize, &Curve)| Runs {
        name: format!("Family 1, {}", label(&curve.algorithm)),
        complete: if i == 3 { 41 } else { 100 },
        planned: 100,
    };
    let page = Page {
        title: "The paper’s experiments, run again".into(),
        lead: "C-MOKG reaches a regret of 0.01 at a third of the cost of maKG.".into(),
        made: [
            ("Version", "unyoke 0.1.0"),
            ("Seed", "0"),
            ("Costs", "1 and 10"),
            ("Instances", "100 for each family"),
            ("Budget", "800"),
            ("Total time", "3 h 12 min"),
        ]
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .to_vec(),
        runs: regret[0].curves.iter().enumerate().map(runs).collect(),
        sections: vec![
            first,
            section(
                "Convergence",
                "",
                convergence_figure(&one_run()),
                "A run of C-MOKG on one problem of the first family.",
            ),
            section(
                "A test problem",
                "",
                problem_figure(&problem([0.12, 0.9], 5)),
                "A problem of the first family. Objective 1 has the shorter length scale.",
            ),
            last,
        ],
    };
    std::fs::write(folder().join("report.html"), page.html()).unwrap();
}
