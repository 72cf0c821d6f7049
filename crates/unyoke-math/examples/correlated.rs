//! Experiments with correlated outputs; `docs/correlated.md` has what they print.
//!
//! `cargo run -p unyoke-math --example correlated -- errors|choice|three|times`, the last with
//! `--release`.
#![allow(clippy::print_stdout)]

use std::time::{Duration, Instant};
use unyoke_math::coregional::fit::MARGIN;
use unyoke_math::coregional::set::{Candidate, StepsAdjoint};
use unyoke_math::coregional::{self, Hyper, Latent};
use unyoke_math::data::{Data, Standardizer};
use unyoke_math::fit::{Fit, Lengthscales, Mean, Model, Noise, Search};
use unyoke_math::gamma::Gamma;
use unyoke_math::kernel::Family;
use unyoke_math::random::Rng;
use unyoke_math::{Points, Result, sobol};

const FAMILY: Family = Family::Matern52;

/// Designs that are measured for both outputs.
const COMMON: usize = 6;

/// Points at which predictions are compared with the truth.
const TESTS: usize = 200;

/// Cases per kind.
const CASES: u64 = 40;

/// Two functions, the first cheap, measured at some designs and known at the test points.
struct Case {
    data: Vec<Data>,
    tests: Points,
    truth: Vec<f64>,
}

/// Which cases to draw.
#[derive(Clone, Copy)]
struct Kind {
    dim: usize,
    cheap: usize,
    expensive: usize,
    correlation: f64,
    noise: f64,
}

fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("errors") => errors(),
        Some("choice") => choice(),
        Some("three") => three(),
        Some("times") => times(),
        _ => {
            println!("one of: errors, choice, three, times");
            Ok(())
        }
    }
}

fn model(noise: f64) -> Result<Model> {
    Ok(Model {
        family: FAMILY,
        lengthscales: Lengthscales::PerInput,
        lengthscale_prior: Some(Gamma::new(3.0, 6.0)?.into()),
        lengthscale_spread: None,
        outputscale_prior: Some(Gamma::new(2.0, 0.15)?),
        noise: if noise > 0.0 {
            Noise::Fitted { prior: Some(Gamma::new(1.1, 0.05)?), lower: 1e-4 }
        } else {
            Noise::Fixed(1e-4)
        },
        mean: Mean::Fitted,
    })
}

/// f₁ = g₁, f₂ = r g₁ + √(1 − r²) g₂ with g of different length scales between 0.2 and 0.8.
fn draw(kind: Kind, seed: u64) -> Result<Case> {
    let mut rng = Rng::new(seed, 17);
    let r = kind.correlation;
    let mut latent = |loadings: [f64; 2]| Latent {
        lengthscales: (0..kind.dim).map(|_| 0.2 + 0.6 * rng.uniform()).collect(),
        loadings: loadings.to_vec(),
        own: vec![0.0; 2],
    };
    let latents = vec![latent([1.0, r]), latent([0.0, (1.0 - r * r).sqrt()])];
    let hyper = Hyper { latents, noises: vec![0.0; 2], means: vec![0.0; 2] };
    let designs = sobol::cube(kind.dim, kind.cheap, seed)?;
    let mut all = designs.clone();
    let others = sobol::cube(kind.dim, kind.expensive - COMMON, seed + 1_000)?;
    let tests = sobol::cube(kind.dim, TESTS, seed + 2_000)?;
    others.rows().chain(tests.rows()).try_for_each(|x| all.push(x))?;
    let nothing = [Data::empty(kind.dim), Data::empty(kind.dim)];
    let joint = hyper.condition(FAMILY, &nothing)?.joint(&all)?;
    let normals: Vec<f64> = (0..2 * all.len()).map(|_| rng.normal()).collect();
    let sample = joint.sample(&Points::from_flat(normals.len(), normals)?)?;
    let (first, second) = sample.row(0).split_at(all.len());
    let cheap: Vec<usize> = (0..kind.cheap).collect();
    let added = kind.cheap..kind.cheap + kind.expensive - COMMON;
    let expensive: Vec<usize> = (0..COMMON).chain(added).collect();
    let mut measured = |values: &[f64], rows: &[usize]| {
        let noisy = rows.iter().map(|&i| values[i] + kind.noise.sqrt() * rng.normal()).collect();
        standardised(&all.select(rows), noisy)
    };
    let (cheap, _) = measured(first, &cheap)?;
    let (expensive, map) = measured(second, &expensive)?;
    let truth = second[all.len() - TESTS..].iter().map(|y| map.standardize(*y)).collect();
    Ok(Case { data: vec![cheap, expensive], tests, truth })
}

fn standardised(points: &Points, values: Vec<f64>) -> Result<(Data, Standardizer)> {
    let map = Standardizer::new(&values)?;
    let standard: Vec<f64> = values.iter().map(|y| map.standardize(*y)).collect();
    Ok((Data::new(points, &standard)?, map))
}

/// Both kinds of fits.
struct Fits {
    alone: Vec<Fit>,
    correlated: coregional::fit::Fit,
}

fn fit(data: &[Data], noise: f64) -> Result<Fits> {
    let (model, search) = (model(noise)?, Search::default());
    let alone = data.iter().map(|data| model.fit(data, None, &search));
    let alone = alone.collect::<Result<Vec<_>>>()?;
    let both = coregional::fit::Model::new(vec![model; data.len()]);
    let correlated = both.fit(data, &alone, None, &search)?;
    Ok(Fits { alone, correlated })
}

/// Root of the mean squared difference.
fn error(found: &[f64], truth: &[f64]) -> f64 {
    let squares: f64 = found.iter().zip(truth).map(|(a, b)| (a - b).powi(2)).sum();
    (squares / truth.len() as f64).sqrt()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Margins to compare.
const MARGINS: [f64; 4] = [0.0, 2.0, 3.0, MARGIN];

fn errors() -> Result<()> {
    println!(
        "D, cheap + expensive, noise, r | error alone | ratio: correlated, chosen by margins \
         {MARGINS:?} | (error/deviation)^2 alone, correlated | preferred by margins | median r"
    );
    for (dim, noise) in [(2, 0.0), (2, 0.05), (4, 0.0)] {
        for (cheap, expensive) in [(40, 10), (40, 20), (100, 10), (100, 20)] {
            for correlation in [0.0, 0.8, -0.8, 0.95] {
                report(Kind { dim, cheap, expensive, correlation, noise })?;
            }
        }
    }
    Ok(())
}

/// How well the expensive output of one case is predicted.
struct Outcome {
    alone: f64,
    correlated: f64,
    /// Median of squared errors over their predicted variances.
    surprise: [f64; 2],
    gain: f64,
    correlation: f64,
}

fn outcome(kind: Kind, seed: u64) -> Result<Outcome> {
    let case = draw(kind, seed)?;
    let fits = fit(&case.data, kind.noise)?;
    let gp = fits.alone[1].hyper.condition(FAMILY, &case.data[1])?;
    let model = fits.correlated.hyper.condition(FAMILY, &case.data)?;
    let predicted = [gp.predict_many(&case.tests)?, model.predict_many(&case.tests)?[1].clone()];
    let means = predicted.each_ref().map(|p| p.iter().map(|p| p.mean).collect::<Vec<_>>());
    let surprise = predicted.each_ref().map(|predicted| {
        let tests = predicted.iter().zip(&case.truth);
        let squares = tests.map(|(p, y)| (p.mean - y).powi(2) / (p.variance + 1e-4));
        mean(&squares.collect::<Vec<_>>())
    });
    Ok(Outcome {
        alone: error(&means[0], &case.truth),
        correlated: error(&means[1], &case.truth),
        surprise,
        gain: fits.correlated.gain,
        correlation: fits.correlated.hyper.correlation(0, 1),
    })
}

fn report(kind: Kind) -> Result<()> {
    let outcomes = (0..CASES).map(|seed| outcome(kind, seed)).collect::<Result<Vec<_>>>()?;
    let over = |of: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(of).collect::<Vec<f64>>();
    let alone = mean(&over(&|o| o.alone));
    let ratio = |of: &dyn Fn(&Outcome) -> f64| mean(&over(of)) / alone;
    let chosen =
        MARGINS.map(|margin| ratio(&|o| if o.gain > margin { o.correlated } else { o.alone }));
    let preferred = MARGINS.map(|margin| outcomes.iter().filter(|o| o.gain > margin).count());
    let Kind { dim, cheap, expensive, correlation, noise } = kind;
    println!(
        "{dim} {cheap:3} + {expensive} {noise:4} {correlation:5} | {alone:.3} | {:.2} {chosen:.2?} | {:.2} {:.2} | {preferred:2?} | {:5.2}",
        ratio(&|o| o.correlated),
        median(over(&|o| o.surprise[0])),
        median(over(&|o| o.surprise[1])),
        median(over(&|o| o.correlation)),
    );
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn choice() -> Result<()> {
    println!("dim cheap exp. noise    r | gain: least, median, 90 %, most | preferred");
    for (dim, noise) in [(2, 0.0), (2, 0.05), (4, 0.0)] {
        for (cheap, expensive) in [(12, 12), (20, 10), (40, 15), (80, 25)] {
            for correlation in [0.0, 0.8, -0.8] {
                let kind = Kind { dim, cheap, expensive, correlation, noise };
                let gain = |seed| Ok(fit(&draw(kind, seed)?.data, noise)?.correlated.gain);
                let mut gains = (0..CASES).map(gain).collect::<Result<Vec<f64>>>()?;
                gains.sort_by(f64::total_cmp);
                let preferred = gains.iter().filter(|g| **g > MARGIN).count();
                println!(
                    "{dim:3} {cheap:5} {expensive:4} {noise:5} {correlation:5} | {:6.2} {:6.2} {:6.2} {:6.2} | {preferred:2}/40",
                    gains[0], gains[20], gains[35], gains[39]
                );
            }
        }
    }
    Ok(())
}

/// Three functions, f_k = ±√|r| g₀ + √(1 − |r|) g_k, the second turned round where r < 0.
fn draw_three(correlation: f64, counts: [usize; 3], seed: u64) -> Result<Vec<Data>> {
    let mut rng = Rng::new(seed, 18);
    let (common, rest) = (correlation.abs().sqrt(), (1.0 - correlation.abs()).sqrt());
    let mut latents = vec![];
    for q in 0..4 {
        let mut loadings = vec![0.0; 3];
        match q {
            0 => loadings.copy_from_slice(&[common, correlation.signum() * common, common]),
            _ => loadings[q - 1] = rest,
        }
        let lengthscales = (0..2).map(|_| 0.2 + 0.6 * rng.uniform()).collect();
        latents.push(Latent { lengthscales, loadings, own: vec![0.0; 3] });
    }
    let hyper = Hyper { latents, noises: vec![0.0; 3], means: vec![0.0; 3] };
    let points = sobol::cube(2, counts.iter().sum(), seed)?;
    let joint = hyper.condition(FAMILY, &[0; 3].map(|_| Data::empty(2)))?.joint(&points)?;
    let normals: Vec<f64> = (0..3 * points.len()).map(|_| rng.normal()).collect();
    let sample = joint.sample(&Points::from_flat(normals.len(), normals)?)?;
    let mut data = vec![];
    for (k, values) in sample.row(0).chunks_exact(points.len()).enumerate() {
        let start: usize = counts[..k].iter().sum();
        let rows: Vec<usize> = (start..start + counts[k]).collect();
        let values = rows.iter().map(|&i| values[i]).collect();
        data.push(standardised(&points.select(&rows), values)?.0);
    }
    Ok(data)
}

fn three() -> Result<()> {
    println!("counts, r | gain: least, median, 90 %, most | preferred");
    for counts in [[20, 10, 10], [40, 20, 15]] {
        for correlation in [0.0, 0.8, -0.8] {
            let gain =
                |seed| Ok(fit(&draw_three(correlation, counts, seed)?, 0.0)?.correlated.gain);
            let mut gains = (0..CASES).map(gain).collect::<Result<Vec<f64>>>()?;
            gains.sort_by(f64::total_cmp);
            let preferred = gains.iter().filter(|g| **g > MARGIN).count();
            println!(
                "{counts:?} {correlation:4} | {:5.2} {:5.2} {:5.2} {:5.2} | {preferred}/{CASES}",
                gains[0], gains[20], gains[35], gains[39]
            );
        }
    }
    Ok(())
}

/// Seconds of computing by all threads so far, to 0.01; Linux only, elsewhere zero. On a busy machine
/// the clock on the wall says little.
fn computing() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = text.split_whitespace().skip(13).take(2).filter_map(|t| t.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// The least time of many calls.
fn least(mut work: impl FnMut() -> Result<()>) -> Result<Duration> {
    let mut least = Duration::MAX;
    for _ in 0..200 {
        let start = Instant::now();
        work()?;
        least = least.min(start.elapsed());
    }
    Ok(least)
}

fn times() -> Result<()> {
    for (dim, cheap, expensive) in [(2, 60, 20), (6, 60, 20), (2, 200, 200), (6, 200, 200)] {
        let kind = Kind { dim, cheap, expensive, correlation: 0.8, noise: 0.0 };
        time_one(kind)?;
    }
    Ok(())
}

fn time_one(kind: Kind) -> Result<()> {
    let Kind { dim, cheap, expensive, .. } = kind;
    let (data, model, search) = (draw(kind, 0)?.data, model(0.0)?, Search::default());
    let repeats = if cheap + expensive > 100 { 2 } else { 20 };
    let per_fit = |since: f64| 1e3 * (computing() - since) / f64::from(repeats);
    let mut alone = vec![];
    let start = computing();
    for _ in 0..repeats {
        let fits = data.iter().map(|data| model.fit(data, None, &search));
        alone = fits.collect::<Result<Vec<_>>>()?;
    }
    let independent = per_fit(start);
    let both = coregional::fit::Model::new(vec![model; 2]);
    let start = computing();
    for _ in 1..repeats {
        both.fit(&data, &alone, None, &search)?;
    }
    let fit = both.fit(&data, &alone, None, &search)?;
    let correlated = per_fit(start);
    let density = least(|| both.log_posterior(&data, &fit.hyper).map(|_| ()))?;
    let model = fit.hyper.condition(FAMILY, &data)?;
    let points = sobol::cube(dim, 121, 3)?;
    let setup = least(|| model.fixed_set(&points).map(|_| ()))?;
    let (set, x, mut candidate) = (model.fixed_set(&points)?, vec![0.4; dim], Candidate::default());
    let query = least(|| set.evaluate(&x, 0, &mut candidate))?;
    let ones = vec![1.0; 2 * set.len()];
    let adjoint = StepsAdjoint { set: &ones, own: &[1.0; 2], means: &[1.0; 2] };
    let gradient = least(|| set.steps_gradient(&candidate, 1e-4, adjoint).map(|_| ()))?;
    println!(
        "D = {dim}, {cheap} + {expensive} rows: ms of computing: independent fits \
         {independent:.1}, correlated {correlated:.1}; density with gradient {density:.1?}, set of \
         121 {setup:.1?}, query {query:.1?}, its gradient {gradient:.1?}"
    );
    Ok(())
}
