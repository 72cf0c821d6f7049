//! The paper's two families of test problems: sampled from a seed, or read from a file of
//! published instances.

use crate::error::{Error, Result};
use crate::instance::{Instance, Truth};
use serde::{Deserialize, Serialize};
use std::path::Path;
use unyoke::{GammaPrior, KnownHyper, Output, Priors, Problem};
use unyoke_math::Points;
use unyoke_math::data::Data;
use unyoke_math::gp::Gp;
use unyoke_math::kernel::{Family as KernelFamily, Kernel};
use unyoke_math::linalg::Cholesky;
use unyoke_math::random::{Rng, seed_for};
use unyoke_math::sobol;

/// Points at which each objective is sampled before it is interpolated.
const SAMPLE_POINTS: usize = 100;
/// Noise variance of the interpolation.
const JITTER: f64 = 1e-8;
/// Streams of random numbers: where the sample points lie, and the values there.
const PLACES: u64 = 1;
const VALUES: u64 = 2;

/// A family of test problems of the paper (its first appendix table). Two inputs, two objectives,
/// both maximised; the first is cheap and hard to learn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// The first objective varies on a shorter length scale.
    LengthScales,
    /// The first objective is observed with noise.
    ObservationNoise,
}

impl Family {
    /// Both, in the order of the paper.
    pub const ALL: [Self; 2] = [Self::LengthScales, Self::ObservationNoise];

    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::LengthScales => "lengthscales",
            Self::ObservationNoise => "observationnoise",
        }
    }

    /// True length scale of each objective.
    pub fn length_scales(self) -> [f64; 2] {
        match self {
            Self::LengthScales => [0.2, 1.8],
            Self::ObservationNoise => [0.4, 0.4],
        }
    }

    /// True output scale of each objective, a variance.
    pub fn output_scales(self) -> [f64; 2] {
        match self {
            Self::LengthScales => [1.0, 50.0],
            Self::ObservationNoise => [1.0, 1.0],
        }
    }

    /// Standard deviation of the noise on each objective.
    pub fn noise(self) -> [f64; 2] {
        match self {
            Self::LengthScales => [0.0, 0.0],
            Self::ObservationNoise => [1.0, 0.0],
        }
    }

    /// Prior of each objective's length scale in the surrogate model.
    pub fn length_scale_priors(self) -> [GammaPrior; 2] {
        let short = GammaPrior { shape: 3.0, rate: 10.0 };
        match self {
            Self::LengthScales => [short, GammaPrior { shape: 3.0, rate: 1.1 }],
            Self::ObservationNoise => [short, short],
        }
    }

    /// The cumulative cost at which the published runs stop.
    pub fn published_max_cost(self) -> f64 {
        match self {
            Self::LengthScales => 300.0,
            Self::ObservationNoise => 1000.0,
        }
    }

    /// What a study is told: costs, which objective is noisy, and the paper's priors (its last two
    /// tables).
    fn problem(self, costs: &[f64], noise: &[f64]) -> Result<Problem> {
        let mut builder = Problem::builder().continuous("x1", 0.0, 1.0).continuous("x2", 0.0, 1.0);
        for (m, lengthscale) in self.length_scale_priors().into_iter().enumerate() {
            let priors = Priors {
                lengthscale: Some(lengthscale),
                outputscale: Some(GammaPrior { shape: 2.0, rate: 0.15 }),
                noise: Some(GammaPrior { shape: 1.1, rate: 0.05 }),
            };
            let output = Output::maximise(format!("f{}", m + 1)).with_priors(priors);
            let output = if noise[m] > 0.0 { output.noisy() } else { output };
            builder = builder.measured(output, costs[m]);
        }
        Ok(builder.build()?)
    }

    /// The hyper-parameters that the objectives were sampled with.
    pub(crate) fn true_hyper(self, noise: &[f64]) -> Vec<KnownHyper> {
        let hyper = |(m, sd): (usize, &f64)| KnownHyper {
            lengthscales: vec![self.length_scales()[m]],
            outputscale: self.output_scales()[m],
            noise: sd * sd,
            mean: 0.0,
        };
        noise.iter().enumerate().map(hyper).collect()
    }

    /// The instance whose objectives interpolate `values` (one row per point) at `points`.
    fn instance(self, sample: &Sample, costs: &[f64], noise: &[f64]) -> Result<Instance> {
        let model = |m: usize| -> Result<Gp> {
            let values: Vec<f64> = sample.values.rows().map(|row| row[m]).collect();
            Ok(Gp::new(self.kernel(m)?, 0.0, JITTER, &Data::new(&sample.points, &values)?)?)
        };
        Ok(Instance {
            family: self.name().to_owned(),
            id: sample.id,
            problem: self.problem(costs, noise)?,
            noise: noise.to_vec(),
            reference: sample.reference.clone(),
            initial: None,
            truth: Truth::Sampled(vec![model(0)?, model(1)?]),
        })
    }

    fn kernel(self, m: usize) -> Result<Kernel> {
        let (lengthscale, variance) = (self.length_scales()[m], self.output_scales()[m]);
        Ok(Kernel::new(KernelFamily::Matern52, 2, &[lengthscale], variance)?)
    }
}

/// Values of both objectives at some points of the unit square.
struct Sample {
    id: u32,
    points: Points,
    values: Points,
    reference: Option<Vec<f64>>,
}

/// Instance `id` of a family, sampled from a seed: each objective is drawn from its Gaussian
/// process at 100 scrambled Sobol' points, then interpolated by the posterior mean.
pub fn sampled(
    family: Family,
    id: u32,
    seed: u64,
    costs: &[f64],
    noise: &[f64],
) -> Result<Instance> {
    let seed = seed_for(seed_for(seed, family as u64), u64::from(id));
    let points = sobol::cube(2, SAMPLE_POINTS, seed_for(seed, PLACES))?;
    let mut rng = Rng::new(seed_for(seed, VALUES), 0);
    let mut values = Points::zeros(2, SAMPLE_POINTS);
    for m in 0..2 {
        let mut covariance = family.kernel(m)?.matrix(&points)?;
        for i in 0..SAMPLE_POINTS {
            covariance.set(i, i, covariance.get(i, i) + JITTER);
        }
        let normals: Vec<f64> = (0..SAMPLE_POINTS).map(|_| rng.normal()).collect();
        for (i, value) in Cholesky::new(&covariance)?.lower_mul(&normals).into_iter().enumerate() {
            values.row_mut(i)[m] = value;
        }
    }
    family.instance(&Sample { id, points, values, reference: None }, costs, noise)
}

/// All instances of a file of published ones: a JSON list of objects with `id`, `x` (points), `y`
/// (values of both objectives there) and `ref_point`.
pub fn published(
    family: Family,
    path: &Path,
    costs: &[f64],
    noise: &[f64],
) -> Result<Vec<Instance>> {
    let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
    let entries: Vec<Entry> = serde_json::from_str(&text).map_err(Error::bad_file(path))?;
    let instance = |entry: Entry| {
        let of = |what: &str| format!("instance {}: {what}", entry.id);
        if entry.x.len() != entry.y.len() {
            return Err(Error::bad_file(path)(of("x and y have different lengths")));
        }
        if entry.hyper.length_scales != family.length_scales() {
            let scales = entry.hyper.length_scales;
            let message = format!("length scales {scales:?} are not those of {}", family.name());
            return Err(Error::bad_file(path)(of(&message)));
        }
        let sample = Sample {
            id: entry.id,
            points: Points::from_rows(2, &entry.x)?,
            values: Points::from_rows(2, &entry.y)?,
            reference: Some(entry.ref_point.to_vec()),
        };
        family.instance(&sample, costs, noise)
    };
    entries.into_iter().map(instance).collect()
}

/// A published instance as it stands in the file.
#[derive(Deserialize)]
struct Entry {
    id: u32,
    x: Vec<[f64; 2]>,
    y: Vec<[f64; 2]>,
    ref_point: [f64; 2],
    hyper: Hyper,
}

/// The hyper-parameters an instance was sampled with.
#[derive(Deserialize)]
struct Hyper {
    length_scales: [f64; 2],
}
