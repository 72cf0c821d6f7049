//! The fitted Gaussian processes, one per objective.
//!
//! Outputs are standardised for the fit. Evaluations that are under way, and those that failed,
//! enter as if they had returned what the model expects there: that changes no prediction, but
//! leaves nothing to be learned at the same place.

use crate::config::{Lengthscales, Units};
use crate::problem::{GammaPrior, KnownHyper, Noise, Objective};
use unyoke_math::data::{Data, Standardizer};
use unyoke_math::fit::{self, Hyper, Mean, Model};
use unyoke_math::gamma::Gamma;
use unyoke_math::gp::{Gp, Prediction};
use unyoke_math::kernel::Family;
use unyoke_math::{Points, Result};

/// What the surrogate of one objective is made from; everything maximises, on the unit cube.
#[derive(Debug, Clone)]
pub(crate) struct Observed<'a> {
    pub(crate) objective: &'a Objective,
    /// +1 if the objective is maximised, −1 if minimised: known hyper-parameters need turning.
    pub(crate) sign: f64,
    pub(crate) points: Points,
    pub(crate) values: Vec<f64>,
    /// Pending and failed evaluations.
    pub(crate) expected: Points,
    /// The prior mean is fitted on this many first observations.
    pub(crate) initial: usize,
}

/// The models of all objectives.
#[derive(Debug, Clone)]
pub(crate) struct Surrogate {
    pub(crate) outputs: Vec<Output>,
}

/// The model of one objective.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    /// On standardised values.
    pub(crate) gp: Gp,
    /// From values to standardised values.
    pub(crate) map: Standardizer,
    /// What one standardised unit counts when objectives are weighed against each other.
    pub(crate) unit: f64,
    /// What the user should know about this model.
    pub(crate) notes: Vec<ModelNote>,
}

/// Something about a model that a user should know.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ModelNote {
    /// Nothing was observed; the prior stands alone.
    NoObservations,
    /// Declared deterministic, but the same design returned different values; noise was fitted.
    ReplicatesDisagree,
    /// All observed values are equal.
    ConstantValues,
    /// One value dwarfs the differences between all others.
    Outlier,
    /// There are too many observations for an exact model; the latest `used` were used.
    Subset {
        /// Number of observations used.
        used: usize,
        /// Number of observations there are.
        of: usize,
    },
    /// Hyper-parameters could not be fitted; cautious defaults are in use.
    FitFailed,
}

impl std::fmt::Display for ModelNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoObservations => write!(f, "nothing observed yet, the prior stands alone"),
            Self::ReplicatesDisagree => write!(
                f,
                "declared deterministic, but the same design returned different values: noise was fitted"
            ),
            Self::ConstantValues => write!(f, "all observed values are equal"),
            Self::Outlier => write!(f, "one value dwarfs the differences between all others"),
            Self::Subset { used, of } => {
                write!(f, "modelled from the latest {used} of {of} values")
            }
            Self::FitFailed => write!(f, "hyper-parameters could not be fitted, defaults are used"),
        }
    }
}

/// Noise variance of a deterministic objective, as a fraction of its observed variance.
const NEGLIGIBLE_NOISE: f64 = 1e-4;

/// Most rows that hyper-parameters are fitted on, and most that a model is conditioned on.
const FIT_ROWS: usize = 400;
const MODEL_ROWS: usize = 1500;

impl Surrogate {
    /// Fits each objective's model to what was observed.
    pub(crate) fn fit(
        observed: &[Observed<'_>],
        lengthscales: Lengthscales,
        units: Units,
    ) -> Result<Self> {
        let outputs = observed.iter().map(|one| Output::fit(one, lengthscales, units));
        Ok(Self { outputs: outputs.collect::<Result<_>>()? })
    }

    /// λ · μ(x) in weighing units, for each of `points`.
    pub(crate) fn utilities(&self, weights: &[f64], points: &Points) -> Result<Vec<f64>> {
        Ok(self.weigh(weights, &self.means(points)?))
    }

    /// λ · μ in weighing units, for rows of standardised means.
    pub(crate) fn weigh(&self, weights: &[f64], means: &Points) -> Vec<f64> {
        let factors: Vec<f64> =
            self.outputs.iter().zip(weights).map(|(output, w)| w * output.unit).collect();
        means.rows().map(|row| row.iter().zip(&factors).map(|(m, f)| m * f).sum()).collect()
    }

    /// Posterior means of all objectives, in standardised units: a row per point.
    pub(crate) fn means(&self, points: &Points) -> Result<Points> {
        let means = self.outputs.iter().map(|output| output.gp.means(points));
        let means: Vec<Vec<f64>> = means.collect::<Result<_>>()?;
        let row = |i: usize| means.iter().map(|m| m[i]).collect::<Vec<_>>();
        Points::from_rows(self.outputs.len(), (0..points.len()).map(row))
    }
}

impl Output {
    fn fit(observed: &Observed<'_>, lengthscales: Lengthscales, units: Units) -> Result<Self> {
        let (points, values, mut notes) = modelled_rows(observed);
        let map = Standardizer::new(&values)?;
        let data = standardised(&points, &values, &map)?;
        if values.is_empty() {
            notes.push(ModelNote::NoObservations);
        } else if values.len() > 1 && values.iter().all(|v| *v == values[0]) {
            notes.push(ModelNote::ConstantValues);
        }
        if has_outlier(&values) {
            notes.push(ModelNote::Outlier);
        }
        let gp = match &observed.objective.hyper {
            Some(known) => {
                known_hyper(known, observed.sign, &map).condition(Family::Matern52, &data)?
            }
            None => fitted(observed, &data, &map, lengthscales, &mut notes)?,
        };
        let gp = condition_on_expected(gp, &observed.expected)?;
        let unit = match units {
            Units::Standardised => 1.0,
            Units::Raw => map.scale(),
        };
        Ok(Self { gp, map, unit, notes })
    }

    /// Posterior in the units of the (maximised) objective.
    pub(crate) fn predict(&self, x: &[f64]) -> Result<Prediction> {
        let Prediction { mean, variance } = self.gp.predict(x)?;
        let square = self.map.scale() * self.map.scale();
        Ok(Prediction { mean: self.map.restore(mean), variance: variance * square })
    }
}

/// The rows a model is made from, with a note where they are not all.
fn modelled_rows(observed: &Observed<'_>) -> (Points, Vec<f64>, Vec<ModelNote>) {
    let of = observed.values.len();
    if of <= MODEL_ROWS {
        return (observed.points.clone(), observed.values.clone(), vec![]);
    }
    let latest: Vec<usize> = (of - MODEL_ROWS..of).collect();
    let values = latest.iter().map(|&i| observed.values[i]).collect();
    (observed.points.select(&latest), values, vec![ModelNote::Subset { used: MODEL_ROWS, of }])
}

fn standardised(points: &Points, values: &[f64], map: &Standardizer) -> Result<Data> {
    Data::new(points, &values.iter().map(|v| map.standardize(*v)).collect::<Vec<_>>())
}

/// Fits hyper-parameters; when that fails, falls back to cautious ones.
fn fitted(
    observed: &Observed<'_>,
    data: &Data,
    map: &Standardizer,
    lengthscales: Lengthscales,
    notes: &mut Vec<ModelNote>,
) -> Result<Gp> {
    let mut model = model(observed.objective, data, map, lengthscales)?;
    if matches!(model.noise, fit::Noise::Fitted { .. })
        && observed.objective.noise == Noise::Deterministic
    {
        notes.push(ModelNote::ReplicatesDisagree);
    }
    let hyper = if data.is_empty() {
        Ok(prior_hyper(&model))
    } else {
        prior_mean(observed, &model)
            .and_then(|mean| {
                model.mean = Mean::Fixed(map.standardize(mean));
                model.fit(&thinned(data)?, None, &fit::Search::default())
            })
            .map(|fit| fit.hyper)
    };
    let gp = hyper.and_then(|hyper| hyper.condition(model.family, data));
    gp.or_else(|_| {
        notes.push(ModelNote::FitFailed);
        let cautious = Hyper { noise: 1e-2, ..prior_hyper(&model) };
        cautious.condition(model.family, data)
    })
}

/// The prior mean in the units of the objective, fitted with the rest on the initial design only:
/// later designs are chosen for their values and would bias it.
fn prior_mean(observed: &Observed<'_>, model: &Model) -> Result<f64> {
    let first: Vec<usize> = (0..observed.values.len().min(observed.initial.max(1))).collect();
    let values: Vec<f64> = first.iter().map(|&i| observed.values[i]).collect();
    let map = Standardizer::new(&values)?;
    let data = standardised(&observed.points.select(&first), &values, &map)?;
    let model = Model { mean: Mean::Fitted, ..model.clone() };
    Ok(map.restore(model.fit(&data, None, &fit::Search::default())?.hyper.mean))
}

/// At most [`FIT_ROWS`] rows, evenly spread over the data.
fn thinned(data: &Data) -> Result<Data> {
    if data.len() <= FIT_ROWS {
        return Ok(data.clone());
    }
    let rows: Vec<usize> = (0..FIT_ROWS).map(|i| i * data.len() / FIT_ROWS).collect();
    let values: Vec<f64> = rows.iter().map(|&i| data.values()[i]).collect();
    Data::new(&data.points().select(&rows), &values)
}

/// The model of an objective before its hyper-parameters are known.
fn model(
    objective: &Objective,
    data: &Data,
    map: &Standardizer,
    lengthscales: Lengthscales,
) -> Result<Model> {
    let gamma = |prior: &Option<GammaPrior>, otherwise: GammaPrior| {
        let GammaPrior { shape, rate } = prior.as_ref().unwrap_or(&otherwise);
        Gamma::new(*shape, *rate)
    };
    // Mean ½ in one and two inputs; distances grow with the square root of their number.
    let spread = (data.points().dim() as f64 / 2.0).max(1.0).sqrt();
    let noise_prior = gamma(&objective.priors.noise, GammaPrior { shape: 1.1, rate: 0.05 })?;
    let fitted = fit::Noise::Fitted { prior: Some(noise_prior), lower: NEGLIGIBLE_NOISE };
    let noise = match objective.noise {
        Noise::Noisy => fitted,
        // Values at one design that differ are noise, whatever was declared.
        Noise::Deterministic if data.scatter() > NEGLIGIBLE_NOISE => fitted,
        Noise::Deterministic => fit::Noise::Fixed(NEGLIGIBLE_NOISE),
        Noise::Known { sd } => {
            let relative = (sd / map.scale()).powi(2);
            fit::Noise::Fixed(relative.clamp(1e-8, 1e8))
        }
    };
    Ok(Model {
        family: Family::Matern52,
        lengthscales: match lengthscales {
            Lengthscales::Isotropic => fit::Lengthscales::Isotropic,
            Lengthscales::PerInput => fit::Lengthscales::PerInput,
        },
        lengthscale_prior: Some(gamma(
            &objective.priors.lengthscale,
            GammaPrior { shape: 3.0, rate: 6.0 / spread },
        )?),
        outputscale_prior: Some(gamma(
            &objective.priors.outputscale,
            GammaPrior { shape: 2.0, rate: 0.15 },
        )?),
        noise,
        mean: Mean::Fitted,
    })
}

/// Hyper-parameters to use where there is nothing to fit.
fn prior_hyper(model: &Model) -> Hyper {
    let noise = match model.noise {
        fit::Noise::Fixed(noise) => noise,
        fit::Noise::Fitted { lower, .. } => lower.max(1e-2),
    };
    let lengthscale = model.lengthscale_prior.map_or(0.5, |prior| prior.mean());
    Hyper { lengthscales: vec![lengthscale], outputscale: 1.0, noise, mean: 0.0 }
}

/// Known hyper-parameters in standardised units.
fn known_hyper(known: &KnownHyper, sign: f64, map: &Standardizer) -> Hyper {
    let square = map.scale() * map.scale();
    Hyper {
        lengthscales: known.lengthscales.clone(),
        outputscale: known.outputscale / square,
        noise: (known.noise / square).max(1e-10 * known.outputscale / square),
        mean: map.standardize(sign * known.mean),
    }
}

/// Conditions on points as if they had returned what is expected there.
fn condition_on_expected(gp: Gp, points: &Points) -> Result<Gp> {
    if points.is_empty() {
        return Ok(gp);
    }
    let means = gp.means(points)?;
    gp.condition_on(points, &means, gp.noise())
}

/// Whether one value is so far out that the others differ by less than a millionth of the range.
fn has_outlier(values: &[f64]) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let [lowest, second, .., penultimate, highest] = sorted[..] else { return false };
    let inner = (penultimate - lowest).min(highest - second);
    inner > 0.0 && inner < 1e-6 * (highest - lowest)
}
