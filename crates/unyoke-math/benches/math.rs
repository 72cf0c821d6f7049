//! The benchmarks behind `docs/performance.md`; run them with `cargo xtask bench`.
#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use unyoke_math::Points;
use unyoke_math::data::{Data, Standardizer};
use unyoke_math::envelope::{Envelope, SlopeOrder};
use unyoke_math::fit::{Lengthscales, Mean, Model, Noise, Search};
use unyoke_math::gamma::Gamma;
use unyoke_math::gp::{Candidate, FixedSet, Gp};
use unyoke_math::hypervolume_gain::{
    HypervolumeGain, JointHypervolumeGain, JointWork, Work, directions,
};
use unyoke_math::kernel::{Family, Kernel};
use unyoke_math::linalg::Cholesky;
use unyoke_math::nsga2::Nsga2;
use unyoke_math::pareto::{hypervolume, non_dominated_ranks};
use unyoke_math::sobol;

/// A smooth function of the unit cube with several hills.
fn hills(x: &[f64], frequency: f64) -> f64 {
    let waves = x.iter().enumerate().map(|(d, v)| (frequency * v + d as f64).sin());
    waves.sum::<f64>() + x.iter().map(|v| v * v).sum::<f64>()
}

fn data(dim: usize, n: usize, frequency: f64) -> Data {
    let points = sobol::cube(dim, n, 11).unwrap();
    let values: Vec<f64> = points.rows().map(|x| hills(x, frequency)).collect();
    let map = Standardizer::new(&values).unwrap();
    let standard: Vec<f64> = values.iter().map(|y| map.standardize(*y)).collect();
    Data::new(&points, &standard).unwrap()
}

fn gp(dim: usize, n: usize, frequency: f64) -> Gp {
    let kernel = Kernel::new(Family::Matern52, dim, &[0.35], 2.0).unwrap();
    Gp::new(kernel, 0.0, 1e-4, &data(dim, n, frequency)).unwrap()
}

fn grid() -> Points {
    let nodes = (0..121).map(|i| [(i % 11) as f64 / 10.0, (i / 11) as f64 / 10.0]);
    Points::from_rows(2, nodes).unwrap()
}

fn model(lengthscales: Lengthscales) -> Model {
    Model {
        family: Family::Matern52,
        lengthscales,
        lengthscale_prior: Some(Gamma::new(3.0, 10.0).unwrap().into()),
        lengthscale_spread: None,
        outputscale_prior: Some(Gamma::new(2.0, 0.15).unwrap()),
        noise: Noise::Fixed(1e-4),
        mean: Mean::Fixed(0.0),
    }
}

fn linear_algebra(c: &mut Criterion) {
    for n in [20, 60, 120, 300] {
        let kernel = Kernel::new(Family::Matern52, 6, &[0.7], 2.0).unwrap();
        let points = sobol::cube(6, n, 3).unwrap();
        let id = |what: &str| format!("{what}, n = {n}");
        c.bench(&id("kernel matrix, D = 6"), || kernel.matrix(&points).unwrap());
        let mut matrix = kernel.matrix(&points).unwrap();
        for i in 0..n {
            matrix.col_mut(i)[i] += 1e-4;
        }
        c.bench(&id("Cholesky factor"), || Cholesky::new(&matrix).unwrap());
    }
}

fn posterior(c: &mut Criterion) {
    let grid = grid();
    for n in [20, 60, 120, 300] {
        let gp = gp(2, n, 7.0);
        let id = |what: &str| format!("{what}, n = {n}");
        c.bench(&id("posterior at 121 points"), || gp.predict_many(&grid).unwrap());
    }
    let gp = gp(2, 60, 7.0);
    let set = gp.fixed_set(&grid).unwrap();
    let mut candidate = Candidate::default();
    c.bench("covariance of a candidate to 121 points, n = 60", || {
        set.evaluate(black_box(&[0.3, 0.6]), &mut candidate).unwrap()
    });
}

fn map_fit(c: &mut Criterion) {
    for n in [20, 60, 120, 300] {
        let data = data(2, n, 7.0);
        let model = model(Lengthscales::Isotropic);
        let id = |what: &str| format!("{what}, n = {n}");
        let search = Search::default();
        c.bench(&id("MAP fit, D = 2"), || model.fit(&data, None, &search).unwrap());
    }
    let data = data(6, 100, 3.0);
    let model = model(Lengthscales::PerInput);
    let search = Search::default();
    c.bench("MAP fit, D = 6, a length scale per input, n = 100", || {
        model.fit(&data, None, &search).unwrap()
    });
}

fn envelope(c: &mut Criterion) {
    let (first, second) = (gp(2, 60, 9.0), gp(2, 20, 2.0));
    let grid = grid();
    let sets = [first.fixed_set(&grid).unwrap(), second.fixed_set(&grid).unwrap()];
    let x = [0.33, 0.62];
    let mut candidate = Candidate::default();
    sets[0].evaluate(&x, &mut candidate).unwrap();
    let mut slopes = candidate.covariances().to_vec();
    slopes.push(candidate.prediction().variance);
    let deviation = (candidate.prediction().variance + 1e-4).sqrt();
    slopes.iter_mut().for_each(|b| *b /= deviation);
    let weights = sobol::simplex(2, 16, 5).unwrap();
    let intercepts: Vec<Vec<f64>> = weights
        .rows()
        .map(|w| {
            let at_x =
                w[0] * first.predict(&x).unwrap().mean + w[1] * second.predict(&x).unwrap().mean;
            let on_grid = sets[0].means().iter().zip(sets[1].means());
            on_grid.map(|(a, b)| w[0] * a + w[1] * b).chain([at_x]).collect()
        })
        .collect();
    let (mut order, mut envelope) = (SlopeOrder::default(), Envelope::default());
    c.bench("envelope of 122 lines for 16 weight vectors, with gradients", || {
        order.sort(&slopes).unwrap();
        let mut sum = 0.0;
        for (a, w) in intercepts.iter().zip(weights.rows()) {
            sum += order.gain(a, w[0], &mut envelope).unwrap().value();
            sum += envelope.gradient().map(|g| g.intercept + g.slope).sum::<f64>();
        }
        sum
    });
}

/// Slopes of the points of a set and of x itself, when the set's process is observed at x.
fn slopes_at(set: &FixedSet<'_>, x: &[f64]) -> Vec<f64> {
    let mut candidate = Candidate::default();
    set.evaluate(x, &mut candidate).unwrap();
    let variance = candidate.prediction().variance;
    let deviation = (variance + set.noise()).sqrt();
    candidate.covariances().iter().chain([&variance]).map(|k| k / deviation).collect()
}

/// The gain in hypervolume beside the envelopes of weight vectors, on the same lines.
fn hypervolume_gain(c: &mut Criterion) {
    let gps = [gp(2, 60, 9.0), gp(2, 20, 2.0), gp(2, 40, 5.0), gp(2, 30, 3.0)];
    let designs = sobol::cube(2, 150, 3).unwrap();
    let sets: Vec<FixedSet<'_>> = gps.iter().map(|gp| gp.fixed_set(&designs).unwrap()).collect();
    let x = [0.33, 0.62];
    let own: Vec<f64> = gps.iter().map(|gp| gp.predict(&x).unwrap().mean).collect();
    for moving in [0, 1] {
        let slopes = slopes_at(&sets[moving], &x);
        let weights = sobol::simplex(2, 16, 5).unwrap();
        let line = |w: &[f64], a: &[f64], b: &[f64]| -> Vec<f64> {
            let means = a.iter().zip(b).chain([(&own[0], &own[1])]);
            means.map(|(a, b)| w[0] * a + w[1] * b).collect()
        };
        let intercepts: Vec<Vec<f64>> =
            weights.rows().map(|w| line(w, sets[0].means(), sets[1].means())).collect();
        let (mut order, mut envelope) = (SlopeOrder::default(), Envelope::default());
        c.bench(
            &format!("envelope of 151 lines for 16 weight vectors, objective {moving}"),
            || {
                order.sort(&slopes).unwrap();
                let mut sum = 0.0;
                for (a, w) in intercepts.iter().zip(weights.rows()) {
                    sum += order.gain(a, w[moving], &mut envelope).unwrap().value();
                    sum += envelope.gradient().map(|g| g.intercept + g.slope).sum::<f64>();
                }
                sum
            },
        );
        let mut work = Work::default();
        for objectives in [2, 3, 4] {
            let row = |j: usize| (0..objectives).map(|k| sets[k].means()[j]).collect::<Vec<_>>();
            let means = Points::from_rows(objectives, (0..150).map(row)).unwrap();
            let reference = vec![-1.0; objectives];
            let set = match objectives {
                4 => {
                    let rays = directions(3, 32, 1).unwrap();
                    HypervolumeGain::along(&rays, &means, moving, &reference).unwrap()
                }
                _ => HypervolumeGain::new(&means, moving, &reference).unwrap(),
            };
            let what = format!("gain in hypervolume, {objectives} objectives, objective {moving}");
            c.bench(&what, || set.gain(&slopes, &own[..objectives], &mut work).unwrap().value());
        }
    }
}

/// Two objectives observed at once, with 16 nodes.
fn joint_hypervolume_gain(c: &mut Criterion) {
    let gps = [gp(2, 60, 9.0), gp(2, 20, 2.0), gp(2, 40, 5.0)];
    let designs = sobol::cube(2, 150, 3).unwrap();
    let sets: Vec<FixedSet<'_>> = gps.iter().map(|gp| gp.fixed_set(&designs).unwrap()).collect();
    let x = [0.33, 0.62];
    let own: Vec<f64> = gps.iter().map(|gp| gp.predict(&x).unwrap().mean).collect();
    let slopes = Points::from_rows(151, sets[..2].iter().map(|set| slopes_at(set, &x))).unwrap();
    let (nodes, mut work) = (sobol::normals(1, 16, 1).unwrap(), JointWork::default());
    for objectives in [2, 3] {
        let row = |j: usize| (0..objectives).map(|k| sets[k].means()[j]).collect::<Vec<_>>();
        let means = Points::from_rows(objectives, (0..150).map(row)).unwrap();
        let reference = vec![-1.0; objectives];
        let set = JointHypervolumeGain::new(&means, &[0, 1], &reference, &nodes).unwrap();
        let what = format!("gain in hypervolume, {objectives} objectives, two observed");
        c.bench(&what, || set.gain(&slopes, &own[..objectives], &mut work).unwrap().value());
    }
}

fn pareto(c: &mut Criterion) {
    for objectives in [2, 3] {
        let points = sobol::cube(objectives, 2000, 1).unwrap();
        let what = format!("non-dominated sort of 2,000 points, {objectives} objectives");
        c.bench(&what, || non_dominated_ranks(&points).unwrap());
        let what = format!("hypervolume of 2,000 points, {objectives} objectives");
        let reference = vec![0.0; objectives];
        c.bench(&what, || hypervolume(&points, &reference).unwrap());
    }
    let gps = [gp(2, 60, 9.0), gp(2, 20, 2.0)];
    let search = Nsga2 { population: 1000, offspring: 1000, ..Nsga2::default() };
    c.bench("NSGA-II 1,000 x 100 on the means of two processes, n = 60 + 20", || {
        let front = search.run(2, &Points::new(2), 1, |designs| {
            let means: Vec<Vec<f64>> = gps.iter().map(|gp| gp.means(designs).unwrap()).collect();
            Points::from_rows(2, means[0].iter().zip(&means[1]).map(|(a, b)| [*a, *b])).unwrap()
        });
        front.unwrap()
    });
}

/// Criterion wants a closure of a bencher; here is only what is timed.
trait Bench {
    fn bench<R>(&mut self, what: &str, work: impl FnMut() -> R);
}

impl Bench for Criterion {
    fn bench<R>(&mut self, what: &str, mut work: impl FnMut() -> R) {
        self.bench_function(what, |bencher| bencher.iter(|| black_box(work())));
    }
}

fn quick() -> Criterion {
    let second = std::time::Duration::from_secs(1);
    Criterion::default().sample_size(30).warm_up_time(second / 2).measurement_time(second)
}

criterion_group! {
    name = benches;
    config = quick();
    targets = linear_algebra, posterior, map_fit, envelope, hypervolume_gain, joint_hypervolume_gain, pareto
}
criterion_main!(benches);
