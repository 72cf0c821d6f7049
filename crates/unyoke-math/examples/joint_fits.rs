//! Fits of correlated outputs: how probable, whether they are preferred, and how long they take.
//!
//! ```text
//! cargo run --release -p unyoke-math --example joint_fits -- [FILTER]
//! ```
//!
//! Prints a row per problem whose name contains the filter: milliseconds of the independent fits and of the
//! joint one, the log posterior of both, what correlations gain, and the correlation of the first two outputs
//! where the joint model is preferred. Two builds that fit alike print the same; build both, then run them in turns
//! with `RAYON_NUM_THREADS=1`.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use unyoke_math::coregional::fit::Model;
use unyoke_math::coregional::{Hyper, Latent};
use unyoke_math::data::{Data, Standardizer};
use unyoke_math::fit::{self, Lengthscales, Mean, Noise, Search};
use unyoke_math::gamma::Gamma;
use unyoke_math::kernel::Family;
use unyoke_math::random::Rng;
use unyoke_math::{Points, sobol};

/// Seconds of processor time that all threads of this process have used.
fn processor_seconds() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let nanoseconds = |task: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(task.unwrap().path().join("schedstat")).unwrap();
        text.split_whitespace().next().unwrap().parse::<f64>().unwrap()
    };
    1e-9 * tasks.map(nanoseconds).sum::<f64>()
}

/// As studies model an output by default.
fn model(dim: usize) -> fit::Model {
    let rate = 6.0 / (dim as f64 / 2.0).max(1.0).sqrt();
    fit::Model {
        family: Family::Matern52,
        lengthscales: Lengthscales::PerInput,
        lengthscale_prior: Some(Gamma::new(3.0, rate).unwrap().into()),
        lengthscale_spread: Some(0.5),
        outputscale_prior: Some(Gamma::new(2.0, 0.15).unwrap()),
        noise: Noise::Fitted { prior: None, lower: 1e-6 },
        mean: Mean::Fitted,
    }
}

fn standardised(points: &Points, values: &[f64]) -> Data {
    let map = Standardizer::new(values).unwrap();
    let standard: Vec<f64> = values.iter().map(|&y| map.standardize(y)).collect();
    Data::new(points, &standard).unwrap()
}

/// Waves of different lengths, each output at designs of its own.
fn waves(dim: usize, counts: &[usize]) -> Vec<Data> {
    let value = |m: usize, x: &[f64]| -> f64 {
        let frequency = 9.0 / (1.0 + 3.0 * m as f64);
        x.iter().enumerate().map(|(d, v)| (frequency * v + d as f64).sin()).sum()
    };
    let data = |(m, &count): (usize, &usize)| {
        let points = sobol::cube(dim, count, m as u64).unwrap();
        standardised(&points, &points.rows().map(|x| value(m, x)).collect::<Vec<_>>())
    };
    counts.iter().enumerate().map(data).collect()
}

/// Draws of functions with the given correlation to the first; all have designs in common, of which
/// each has so many.
fn drawn(dim: usize, counts: &[usize], correlation: f64, seed: u64) -> Vec<Data> {
    let mut rng = Rng::new(seed, 21);
    let (outputs, rest) = (counts.len(), 1.0 - correlation * correlation);
    let latents = (0..outputs).map(|q| {
        let sign = |k: usize| if k.is_multiple_of(2) { 1.0 } else { -1.0 };
        let all = (0..outputs).map(|k| if k == 0 { 1.0 } else { sign(k) * correlation });
        let own = (0..outputs).map(|k| if k == q { rest } else { 0.0 });
        Latent {
            lengthscales: (0..dim).map(|_| 0.3 + 0.9 * rng.uniform()).collect(),
            loadings: if q == 0 { all.collect() } else { vec![0.0; outputs] },
            own: if q == 0 { vec![0.0; outputs] } else { own.collect() },
        }
    });
    let latents = latents.collect();
    let hyper = Hyper { latents, noises: vec![0.0; outputs], means: vec![0.0; outputs] };
    let most = counts.iter().copied().max().unwrap();
    let points = sobol::cube(dim, most, seed).unwrap();
    let nothing = vec![Data::empty(dim); outputs];
    let joint = hyper.condition(Family::Matern52, &nothing).unwrap().joint(&points).unwrap();
    let normals: Vec<f64> = (0..outputs * most).map(|_| rng.normal()).collect();
    let sample = joint.sample(&Points::from_flat(normals.len(), normals).unwrap()).unwrap();
    let data = |(k, &count): (usize, &usize)| {
        let rows: Vec<usize> = (0..count).collect();
        standardised(&points.select(&rows), &sample.row(0)[k * most..k * most + count])
    };
    counts.iter().enumerate().map(data).collect()
}

fn problems() -> Vec<(String, Vec<Data>)> {
    let mut all = vec![
        ("waves D2 60+20".into(), waves(2, &[60, 20])),
        ("waves D2 40+14".into(), waves(2, &[40, 14])),
        ("waves D6 3x50".into(), waves(6, &[50; 3])),
        ("waves D6 54+3x14".into(), waves(6, &[54, 14, 14, 14])),
        ("waves D30 2x62".into(), waves(30, &[62; 2])),
        ("waves D2 300".into(), waves(2, &[300])),
        ("waves D6 300".into(), waves(6, &[300])),
    ];
    let shapes: [(usize, &[usize]); 4] =
        [(2, &[60, 20]), (2, &[25, 25]), (4, &[30, 30, 30]), (6, &[80, 30])];
    for (dim, counts) in shapes {
        for correlation in [0.0, 0.5, 0.8, 0.95] {
            for seed in 0..4 {
                let name = format!("drawn D{dim} {counts:?} {correlation} {seed}");
                all.push((name.replace(", ", "+"), drawn(dim, counts, correlation, seed)));
            }
        }
    }
    all
}

fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default();
    for (name, data) in problems().into_iter().filter(|(name, _)| name.contains(&filter)) {
        let one = model(data[0].points().dim());
        let search = Search::default();
        let start = processor_seconds();
        let alone: Vec<fit::Fit> =
            data.iter().map(|data| one.fit(data, None, &search).unwrap()).collect();
        let both = Model::new(vec![one; data.len()]);
        let first = 1e3 * (processor_seconds() - start);
        let start = processor_seconds();
        let fit = both.fit(&data, &alone, None, &search).unwrap();
        let time = 1e3 * (processor_seconds() - start);
        let correlation = match fit.is_preferred() {
            true => format!("{:.4}", fit.hyper.correlation(0, 1)),
            false => "-".into(),
        };
        println!(
            "{name:30} {first:8.1} ms {time:8.1} ms {:14.6} {:14.6} {:10.4} {correlation}",
            fit.log_posterior - fit.gain,
            fit.log_posterior,
            fit.gain_by_correlation
        );
    }
}
