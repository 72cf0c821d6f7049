//! From observations to one model: standardised, fitted, conditioned.
//!
//! Values at the same design are merged into one row of a model. Where there are many designs,
//! hyper-parameters are fitted on some of them, and the model itself is conditioned on those that
//! `subset` chooses.

use super::belief::ModelNote;
use super::best_possible::{Best, best_possible};
use super::subset::{Candidates, squared_distance};
use super::suspects::Clipped;
use super::{Observed, Row, Tail};
use crate::config::{Config, Deterministic, LengthscalePrior, Lengthscales};
use crate::problem::{GammaPrior, KnownHyper, Noise};
use crate::remembered::Fits;
use crate::space::key;
use std::cmp::Ordering;
use std::collections::HashMap;
use unyoke_math::data::{Data, Standardizer};
use unyoke_math::fit::{self, Hyper, Mean};
use unyoke_math::gamma::Gamma;
use unyoke_math::gp::Gp;
use unyoke_math::kernel::Family;
use unyoke_math::optimize::largest;
use unyoke_math::prior::{LogNormal, Prior};
use unyoke_math::{Points, Result};

/// Least fitted noise variance, as a fraction of the observed variance.
const LEAST_NOISE: f64 = 1e-4;

/// How much likelier values must be, as a logarithm, before a deterministic output is followed less
/// closely. By chance a free noise variance gains that in fewer than one of a hundred fits.
const ADAPTATION_MARGIN: f64 = 3.0;

/// Most noise variance of an output that is declared deterministic, as a fraction of the observed variance:
/// values that scatter more contradict what was declared, which is not for a model to settle.
const MOST_ADAPTATION: f64 = 0.02;

/// From so many parameters on, length scales may be long.
const LONG_LENGTHSCALES: usize = 3;

/// Most designs that hyper-parameters are fitted on, and most that a model is conditioned on.
pub(super) const FIT_DESIGNS: usize = 400;
pub(super) const MODEL_DESIGNS: usize = 1500;

/// How many neighbours of a place say what is expected there, beside the designs that were fitted.
const NEAREST: usize = 5;

/// A model with its hyper-parameters, before it is conditioned on its data.
pub(super) struct Draft {
    /// All values, standardised, those at the same design merged, designs in an order of their own.
    data: Data,
    pub(super) map: Standardizer,
    /// The best possible value, standardised, where values show one.
    pub(super) bound: Option<f64>,
    hyper: Hyper,
    /// How they were fitted, if they were.
    pub(super) alone: Option<Alone>,
    /// What to do where these hyper-parameters lead nowhere; known ones are never replaced.
    cautious: Option<Hyper>,
    pub(super) notes: Vec<ModelNote>,
    /// Evaluations whose values do not count, ascending.
    pub(super) set_aside: Vec<u64>,
    /// Values that count as others.
    pub(super) clipped: Vec<Clipped>,
}

/// The fit of one output's model by itself.
pub(super) struct Alone {
    pub(super) model: fit::Model,
    pub(super) fit: fit::Fit,
}

pub(super) const FAMILY: Family = Family::Matern52;

impl Draft {
    /// From rows of an output, sorted: all, or those that count.
    pub(super) fn new(
        observed: &Observed<'_>,
        rows: &[Row<'_>],
        config: &Config,
        fits: &Fits,
    ) -> Result<Self> {
        let map = match &observed.known {
            Some(known) => known.standardizer()?,
            None => standardizer(rows)?,
        };
        let data = standardised(observed.dim, rows, &map)?;
        let mut notes = vec![];
        if observed.known.is_some() {
            // Nothing to learn.
        } else if rows.is_empty() {
            notes.push(ModelNote::NoObservations);
        } else if rows.len() > 1 && is_constant(rows, &map) {
            notes.push(ModelNote::ConstantValues);
        }
        if has_outlier(rows) {
            notes.push(ModelNote::Outlier);
        }
        let best = best_possible(observed, rows, &map, config);
        if let Some(Best { value, designs, .. }) = best {
            notes.push(ModelNote::BestPossible { value, designs });
        }
        let draft = |hyper: Hyper| {
            let (data, (set_aside, clipped)) = (data.clone(), Default::default());
            Self {
                data,
                map,
                bound: best.map(|best| best.bound),
                hyper,
                alone: None,
                cautious: None,
                notes: vec![],
                set_aside,
                clipped,
            }
        };
        if let Some(known) = &observed.output.hyper {
            return Ok(Self { notes, ..draft(known_hyper(known, observed.sign, &map)) });
        }
        let unfitted = unfitted(observed, &data, &map, config)?;
        let cautious = Hyper { noise: 1e-2, ..prior_hyper(&unfitted) };
        if data.is_empty() {
            let cautious = Some(cautious);
            return Ok(Self { cautious, notes, ..draft(prior_hyper(&unfitted)) });
        }
        if observed.output.noise == Noise::Deterministic && disagrees(rows, &data, config) {
            notes.push(ModelNote::ReplicatesDisagree { evaluations: disagreeing(rows) });
        }
        let alone = fitted(rows, &data, &map, unfitted, fits, &mut notes);
        let hyper = alone.as_ref().map_or(&cautious, |alone| &alone.fit.hyper).clone();
        if alone.is_err() {
            notes.push(ModelNote::FitFailed);
        }
        Ok(Self { alone: alone.ok(), cautious: Some(cautious), notes, ..draft(hyper) })
    }

    /// Whether values are followed less closely than they were declared to be.
    pub(super) fn is_adapted(&self) -> bool {
        let noise = self.alone.as_ref().map(|alone| alone.model.noise);
        matches!(noise, Some(fit::Noise::Fitted { prior: None, .. }))
    }

    /// The variance below which a value without noise would only repeat what is known.
    pub(super) fn negligible(&self, config: &Config) -> f64 {
        match self.is_adapted() {
            // What a value there would leave.
            true => self.hyper.noise,
            false => config.deterministic.noise(),
        }
    }

    /// The model given `data`, part of its own, with a note where it is not all.
    pub(super) fn condition(&mut self, data: &Data) -> Result<Gp> {
        let (used, of) = (data.len(), self.data.len());
        if used < of {
            self.notes.push(ModelNote::Subset { used, of });
        }
        self.hyper.condition(FAMILY, data).or_else(|error| {
            let gp = self.cautious(data).ok_or(error)??;
            if !self.notes.contains(&ModelNote::FitFailed) {
                self.notes.push(ModelNote::FitFailed);
            }
            Ok(gp)
        })
    }

    /// The model given `data` with cautious hyper-parameters, if they may be replaced.
    fn cautious(&self, data: &Data) -> Option<Result<Gp>> {
        self.cautious.as_ref().map(|hyper| hyper.condition(FAMILY, data))
    }

    /// The model given the designs that were fitted and those nearest to some places; none where
    /// hyper-parameters are only cautious.
    pub(super) fn around<'a>(&self, places: impl Iterator<Item = &'a [f64]>) -> Option<Gp> {
        let is_fitted = !self.notes.contains(&ModelNote::FitFailed);
        let points = self.data.points();
        if points.len() <= FIT_DESIGNS {
            return self.hyper.condition(FAMILY, &self.data).ok().filter(|_| is_fitted);
        }
        let mut chosen = evenly_spread(points.len());
        for place in places {
            let distances = points.rows().map(|x| -squared_distance(place, x));
            chosen.extend(largest(&distances.collect::<Vec<_>>(), NEAREST));
        }
        chosen.truncate(MODEL_DESIGNS);
        chosen.sort_unstable();
        chosen.dedup();
        self.hyper.condition(FAMILY, &self.data.subset(&chosen)).ok().filter(|_| is_fitted)
    }

    /// What is expected at each of `points`, from the designs that were fitted and, at designs of
    /// its own, from what was observed there.
    pub(super) fn expected(&self, points: &Points) -> Result<Vec<f64>> {
        let part = thinned(&self.data);
        let gp = self.hyper.condition(FAMILY, &part);
        let gp = gp.or_else(|error| self.cautious(&part).ok_or(error)?)?;
        let own: HashMap<Vec<u64>, usize> =
            self.data.points().rows().enumerate().map(|(i, x)| (key(x), i)).collect();
        let predictions = gp.predict_many(points)?;
        let expected = points.rows().zip(predictions).map(|(x, prediction)| {
            let Some(&i) = own.get(&key(x)) else { return prediction.mean };
            let noise = self.data.noise(i, gp.noise());
            // Noise and variance may both be zero: then the value is the prediction.
            let trust = prediction.variance / (prediction.variance + noise).max(f64::MIN_POSITIVE);
            prediction.mean + trust * (self.data.values()[i] - prediction.mean)
        });
        Ok(expected.collect())
    }
}

/// For each objective the data its model is conditioned on: all, or at most [`MODEL_DESIGNS`].
pub(super) fn modelled(drafts: &[Draft]) -> Result<Vec<Data>> {
    let choose = |draft: &Draft| -> Result<Data> {
        if draft.data.len() <= MODEL_DESIGNS {
            return Ok(draft.data.clone());
        }
        let points = draft.data.points();
        let expected = drafts.iter().map(|other| other.expected(points));
        let expected: Vec<Vec<f64>> = expected.collect::<Result<_>>()?;
        let row = |i: usize| expected.iter().map(|e| e[i]).collect::<Vec<_>>();
        let expected = Points::from_rows(drafts.len(), (0..points.len()).map(row))?;
        let scaled = scaled(points, &draft.hyper.lengthscales)?;
        let candidates = Candidates { points, expected: &expected, scaled: &scaled };
        Ok(draft.data.subset(&candidates.choose(MODEL_DESIGNS)?))
    };
    drafts.iter().map(choose).collect()
}

/// Points in units of the length scales, of which there is one or one per input.
fn scaled(points: &Points, lengthscales: &[f64]) -> Result<Points> {
    let scale = |d: usize| if lengthscales.len() == 1 { lengthscales[0] } else { lengthscales[d] };
    let row = |x: &[f64]| x.iter().enumerate().map(|(d, v)| v / scale(d)).collect::<Vec<_>>();
    Points::from_rows(points.dim(), points.rows().map(row))
}

/// The rows sorted: the order in which results arrived must not show, not even in the last bit.
pub(super) fn sorted_rows<'a>(observed: &Observed<'a>) -> Vec<Row<'a>> {
    let mut rows = observed.rows.clone();
    let order = |a: &Row<'_>, b: &Row<'_>| (a.x, a.value, a.sd).partial_cmp(&(b.x, b.value, b.sd));
    // Coordinates and values are finite, so any two can be compared.
    rows.sort_by(|a, b| order(a, b).unwrap_or(Ordering::Equal));
    rows
}

fn standardizer(rows: &[Row<'_>]) -> Result<Standardizer> {
    Standardizer::new(&rows.iter().map(|row| row.value).collect::<Vec<_>>())
}

fn standardised(dim: usize, rows: &[Row<'_>], map: &Standardizer) -> Result<Data> {
    let values: Vec<f64> = rows.iter().map(|row| map.standardize(row.value)).collect();
    let variance = |row: &Row<'_>| row.sd.map(|sd| standardised_variance(map, sd));
    let variances: Vec<Option<f64>> = rows.iter().map(variance).collect();
    let points = Points::from_rows(dim, rows.iter().map(|row| row.x))?;
    Data::with_known_noise(&points, &values, &variances)
}

/// The variance that belongs to a standard error once values are standardised.
pub(super) fn standardised_variance(map: &Standardizer, sd: f64) -> f64 {
    let square = sd * sd;
    match square.is_normal() {
        true => map.standardize_variance(square),
        // Of errors so large or small that their square is no number, only their ratio is.
        false => (sd / map.scale()).powi(2).min(f64::MAX),
    }
}

/// Whether values at the same design differ by more than rounding.
fn disagrees(rows: &[Row<'_>], data: &Data, config: &Config) -> bool {
    rows.iter().any(|row| row.sd.is_none()) && data.scatter() > config.deterministic.noise()
}

/// Fits hyper-parameters.
fn fitted(
    rows: &[Row<'_>],
    data: &Data,
    map: &Standardizer,
    mut unfitted: fit::Model,
    fits: &Fits,
    notes: &mut Vec<ModelNote>,
) -> Result<Alone> {
    let part = thinned(data);
    if part.len() < data.len() {
        notes.push(ModelNote::FittedOnSubset { used: part.len(), of: data.len() });
    }
    let adapted = unfitted.noise;
    if let fit::Noise::Fitted { prior: None, lower } = adapted {
        unfitted.noise = fit::Noise::Fixed(lower);
    }
    unfitted.mean = prior_mean(rows, map, &unfitted, fits)?;
    let fit = fits.fit(&unfitted, &part)?;
    if adapted != unfitted.noise {
        let model = fit::Model { noise: adapted, ..unfitted.clone() };
        // Where it cannot be fitted, values are followed closely.
        if let Ok(loose) = fits.fit(&model, &part)
            && loose.log_posterior > fit.log_posterior + ADAPTATION_MARGIN
            && loose.hyper.noise <= MOST_ADAPTATION
        {
            return Ok(Alone { model, fit: loose });
        }
    }
    Ok(Alone { model: unfitted, fit })
}

/// Evaluations whose value differs from that of another at the same design, in order of number;
/// `rows` are sorted.
fn disagreeing(rows: &[Row<'_>]) -> Vec<u64> {
    let designs = rows.chunk_by(|a, b| a.x == b.x);
    let shared = designs.map(|design| design.iter().filter(|row| row.sd.is_none()));
    let shared = shared.map(|design| design.collect::<Vec<_>>());
    let differing = shared.filter(|design| design.iter().any(|row| row.value != design[0].value));
    let mut found: Vec<u64> = differing.flatten().map(|row| row.evaluation).collect();
    found.sort_unstable();
    found
}

/// The prior mean in standardised units, fitted with the rest but only on designs that were not
/// searched for: those that were are chosen for their values and would bias it.
fn prior_mean(
    rows: &[Row<'_>],
    map: &Standardizer,
    unfitted: &fit::Model,
    fits: &Fits,
) -> Result<Mean> {
    let unbiased: Vec<Row<'_>> = rows.iter().filter(|row| !row.searched).copied().collect();
    // From all rows it comes out of the fit that is made anyway.
    if unbiased.is_empty() || unbiased.len() == rows.len() {
        return Ok(Mean::Fitted);
    }
    let own = standardizer(&unbiased)?;
    let data = thinned(&standardised(unbiased[0].x.len(), &unbiased, &own)?);
    let unfitted = fit::Model { mean: Mean::Fitted, ..unfitted.clone() };
    let mean = own.restore(fits.fit(&unfitted, &data)?.hyper.mean);
    Ok(Mean::Fixed(map.standardize(mean)))
}

/// At most [`FIT_DESIGNS`] designs, evenly spread over the data. What replicates say about the
/// noise stays, also where they were left out.
fn thinned(data: &Data) -> Data {
    if data.len() <= FIT_DESIGNS {
        return data.clone();
    }
    data.subset(&evenly_spread(data.len()))
}

/// [`FIT_DESIGNS`] of so many rows.
fn evenly_spread(count: usize) -> Vec<usize> {
    (0..FIT_DESIGNS).map(|i| i * count / FIT_DESIGNS).collect()
}

/// The model of an output before its hyper-parameters are known.
fn unfitted(
    observed: &Observed<'_>,
    data: &Data,
    map: &Standardizer,
    config: &Config,
) -> Result<fit::Model> {
    let output = observed.output;
    let gamma = |prior: &Option<GammaPrior>, otherwise: GammaPrior| {
        let GammaPrior { shape, rate } = prior.as_ref().unwrap_or(&otherwise);
        Gamma::new(*shape, *rate)
    };
    let noise_prior = gamma(&output.priors.noise, GammaPrior { shape: 1.1, rate: 0.05 })?;
    let fitted = fit::Noise::Fitted { prior: Some(noise_prior), lower: LEAST_NOISE };
    let negligible = config.deterministic.noise();
    let noise = match output.noise {
        Noise::Noisy => fitted,
        // Values at one design that differ are noise, whatever was declared.
        Noise::Deterministic if data.scatter() > negligible => fitted,
        // Whoever gives standard errors has noise: what comes is expected to be like what came.
        Noise::Deterministic if data.known_noise().iter().all(Option::is_some) => {
            match data.len() {
                0 => fit::Noise::Fixed(negligible),
                _ => fitted,
            }
        }
        // Where some values have standard errors, the others are meant to be exact.
        Noise::Deterministic
            if config.deterministic == Deterministic::Adaptive
                && data.known_noise().iter().all(Option::is_none) =>
        {
            fit::Noise::Fitted { prior: None, lower: negligible }
        }
        Noise::Deterministic => fit::Noise::Fixed(negligible),
        Noise::Known { sd } => {
            let relative = (sd / map.scale()).powi(2);
            fit::Noise::Fixed(relative.clamp(1e-8, 1e8))
        }
    };
    Ok(fit::Model {
        family: FAMILY,
        lengthscales: match config.lengthscales {
            Lengthscales::Isotropic => fit::Lengthscales::Isotropic,
            // The choices of a parameter are its values, not things that matter more or less each.
            Lengthscales::PerInput
                if config.lengthscale_prior == LengthscalePrior::Alike
                    && observed.groups.windows(2).any(|pair| pair[0] == pair[1]) =>
            {
                fit::Lengthscales::Grouped(observed.groups.clone())
            }
            Lengthscales::PerInput => fit::Lengthscales::PerInput,
        },
        lengthscale_prior: Some(lengthscale_prior(observed, config)?),
        lengthscale_spread: config.lengthscale_prior.spread(),
        outputscale_prior: Some(gamma(
            &output.priors.outputscale,
            GammaPrior { shape: 2.0, rate: 0.15 },
        )?),
        noise,
        mean: Mean::Fitted,
    })
}

/// The prior of the length scales, or of their geometric mean where they are expected to be alike.
///
/// Mean ½ for one and two parameters; distances grow with the square root of their number. A
/// categorical parameter counts once, however many inputs it has: its choices are 1 apart. In many
/// dimensions functions that can be optimised at all have long length scales, to which the gamma
/// distribution gives next to no probability (docs/maths.md).
fn lengthscale_prior(observed: &Observed<'_>, config: &Config) -> Result<Prior> {
    if let Some(GammaPrior { shape, rate }) = &observed.output.priors.lengthscale {
        return Ok(Gamma::new(*shape, *rate)?.into());
    }
    let distance = (observed.parameters as f64 / 2.0).max(1.0).sqrt();
    let is_long = config.lengthscale_prior == LengthscalePrior::Alike
        && observed.parameters >= LONG_LENGTHSCALES;
    match is_long {
        true => Ok(LogNormal::new((0.5 * distance).ln() + 1.0, 1.3)?.into()),
        false => Ok(Gamma::new(3.0, 6.0 / distance)?.into()),
    }
}

/// Hyper-parameters to use where there is nothing to fit.
fn prior_hyper(unfitted: &fit::Model) -> Hyper {
    let noise = match unfitted.noise {
        fit::Noise::Fixed(noise) => noise,
        fit::Noise::Fitted { lower, .. } => lower.max(1e-2),
    };
    let lengthscale = unfitted.lengthscale_prior.map_or(0.5, |prior| prior.typical());
    Hyper { lengthscales: vec![lengthscale], outputscale: 1.0, noise, mean: 0.0 }
}

/// Known hyper-parameters in standardised units.
fn known_hyper(known: &KnownHyper, sign: f64, map: &Standardizer) -> Hyper {
    // What is known may be many orders of magnitude away from what was observed.
    const FARTHEST: f64 = 1e100;
    let square = map.scale() * map.scale();
    let standardised = |variance: f64| match variance / square {
        // Nothing, by a square that is too small for a number.
        ratio if ratio.is_nan() => 0.0,
        ratio => ratio,
    };
    let noise = standardised(known.noise).max(standardised(1e-10 * known.outputscale));
    Hyper {
        lengthscales: known.lengthscales.clone(),
        outputscale: standardised(known.outputscale).clamp(1.0 / FARTHEST, FARTHEST),
        noise: noise.clamp(1e-10 / FARTHEST, FARTHEST),
        mean: map.standardize(sign * known.mean).clamp(-FARTHEST, FARTHEST),
    }
}

/// Conditions on pending and failed evaluations as if they had returned what is expected there; with
/// the rows that they have in the model.
pub(super) fn condition_on_expected(gp: Gp, observed: &Observed<'_>) -> Result<(Gp, Tail)> {
    if observed.expected.is_empty() {
        return Ok((gp, Tail::default()));
    }
    let means = gp.means(&observed.expected)?;
    let [pending, failed] = observed.expected_parts();
    let (of_pending, of_failed) = means.split_at(pending.len());
    let first = gp.condition_on(&pending, of_pending, gp.noise())?;
    let second = first.condition_on(&failed, of_failed, gp.noise())?;
    let tail = Tail { pending: first.len() - gp.len(), failed: second.len() - first.len() };
    Ok((second, tail))
}

/// Whether the values are equal up to rounding. What is not has deviation 1 once standardised.
fn is_constant(rows: &[Row<'_>], map: &Standardizer) -> bool {
    rows.iter().all(|row| map.standardize(row.value).abs() < 0.1)
}

/// Whether one value is so far out that the others differ by less than a millionth of the range.
fn has_outlier(rows: &[Row<'_>]) -> bool {
    let mut sorted: Vec<f64> = rows.iter().map(|row| row.value).collect();
    sorted.sort_by(f64::total_cmp);
    let [lowest, second, .., penultimate, highest] = sorted[..] else { return false };
    let inner = (penultimate - lowest).min(highest - second);
    inner > 0.0 && inner < 1e-6 * (highest - lowest)
}
