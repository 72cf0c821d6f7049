//! Objectives that are modelled together, where their values speak for a correlation.
//!
//! All objectives whose models are fitted and that have no best possible value are in one joint model,
//! or none is. Whether they are is decided at each step anew, from the data alone: by how much the joint
//! model explains them better (`unyoke_math::coregional::fit`).

use super::fit::{Alone, Draft, FAMILY};
use super::{Observed, Tail};
use crate::space::key;
use std::collections::HashSet;
use std::sync::Arc;
use unyoke_math::coregional::fit::Model;
use unyoke_math::coregional::{Coregional, Hyper, Place};
use unyoke_math::data::Data;
use unyoke_math::fit;
use unyoke_math::gp::Prediction;
use unyoke_math::linalg::{Cholesky, Matrix};
use unyoke_math::random::Rng;
use unyoke_math::{Points, Result};

/// Most rows of all outputs together that a joint model is fitted to, which takes the cube of their
/// number many times over, and most that it is conditioned on.
const FIT_ROWS: usize = 150;
const MOST_ROWS: usize = 500;

/// Several objectives in one model, on standardised values.
#[derive(Debug, Clone)]
pub(crate) struct Joint {
    pub(crate) model: Arc<Coregional>,
    /// Which objective each output of the model is.
    pub(crate) objectives: Vec<usize>,
    hyper: Hyper,
    /// For each output, rows that are expectations; those of each follow those of the one before it.
    tails: Vec<Tail>,
}

/// One of the outputs of a joint model.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    model: Arc<Coregional>,
    output: usize,
}

impl Joint {
    /// The joint model of all fitted objectives, if there are several and their values speak for it.
    ///
    /// `data` is what each output's model is conditioned on.
    pub(super) fn fit(
        observed: &[Observed<'_>],
        drafts: &[Draft],
        data: &[Data],
    ) -> Result<Option<Self>> {
        let is_objective = |k: &usize| observed[*k].limit.is_none();
        let objectives = (0..observed.len()).filter(is_objective).enumerate();
        // What is the same everywhere tells nothing of the others.
        let is_constant = |k: usize| data[k].values().iter().all(|value| value.abs() < 0.1);
        let is_fitted = |(_, k): &(usize, usize)| {
            let draft = &drafts[*k];
            let is_plain = draft.alone.is_some() && draft.bound.is_none();
            is_plain && data[*k].len() > 1 && !is_constant(*k)
        };
        let mut members: Vec<(usize, usize)> = objectives.filter(is_fitted).collect();
        // However the problem lists them.
        members.sort_by_key(|(_, k)| &observed[*k].output.name);
        let (objectives, outputs): (Vec<usize>, Vec<usize>) = members.into_iter().unzip();
        let data: Vec<Data> = outputs.iter().map(|k| data[*k].clone()).collect();
        if outputs.len() < 2 || data.iter().map(Data::len).sum::<usize>() > MOST_ROWS {
            return Ok(None);
        }
        let alone: Vec<&Alone> = outputs.iter().filter_map(|k| drafts[*k].alone.as_ref()).collect();
        let Some(hyper) = believed(&alone, &data) else { return Ok(None) };
        let Ok(model) = hyper.condition(FAMILY, &data) else { return Ok(None) };
        let observed = outputs.iter().map(|k| &observed[*k]);
        let (model, tails) = condition_on_expected(model, observed)?;
        Ok(Some(Self { model: Arc::new(model), objectives, hyper, tails }))
    }

    /// The model if pending evaluations return what these normals make of what is expected, those of
    /// each output; see [`Model::imagine`](super::Model::imagine).
    pub(super) fn imagine(&self, normals: &[&[f64]]) -> Result<Self> {
        let drawn = self.tails.iter().zip(normals).flat_map(|(tail, drawn)| tail.normals(drawn));
        let model = Arc::new(self.model.imagine(&drawn.collect::<Vec<_>>())?);
        Ok(Self { model, ..self.clone() })
    }

    /// The outputs of the model as members of it, each with the objective that it is.
    pub(super) fn members(&self) -> impl Iterator<Item = (usize, Member)> + '_ {
        let member = |output| Member { model: self.model.clone(), output };
        self.objectives.iter().enumerate().map(move |(output, k)| (*k, member(output)))
    }

    /// Each two of the objectives, in the order of the problem, with their correlation, as the engine
    /// sees them: more is better.
    pub(crate) fn correlations(&self) -> Vec<([usize; 2], f64)> {
        let count = self.objectives.len();
        let pairs = (0..count).flat_map(|i| (0..i).map(move |j| (i, j)));
        let mut pairs: Vec<([usize; 2], f64)> = pairs
            .map(|(i, j)| {
                let (a, b) = (self.objectives[i], self.objectives[j]);
                ([a.min(b), a.max(b)], self.hyper.correlation(i, j))
            })
            .collect();
        pairs.sort_by_key(|(pair, _)| *pair);
        pairs
    }

    /// Means at `x`, in the order of the outputs of the model; adds the gradient of their sum with
    /// the factors of all objectives to `gradient`.
    pub(crate) fn means_with_gradient(
        &self,
        x: &[f64],
        factors: &[f64],
        gradient: &mut [f64],
    ) -> Result<Vec<f64>> {
        let factors: Vec<f64> = self.objectives.iter().map(|k| factors[*k]).collect();
        self.model.means_with_gradient(x, &factors, gradient)
    }

    /// Draws of all outputs at all points together: for each output of the model a row per draw.
    pub(crate) fn draw(&self, points: &Points, draws: usize, seed: u64) -> Result<Vec<Points>> {
        let (values, count) = (self.model.joint(points)?, points.len());
        let (outputs, size) = (self.objectives.len(), self.objectives.len() * count);
        let place = |i: usize| Place { output: i / count, point: i % count };
        let mut covariance = Matrix::zeros(size, size);
        for j in 0..size {
            (j..size).for_each(|i| covariance.set(i, j, values.covariance(place(i), place(j))));
        }
        // Of what is known well, rounding leaves less than nothing: relative to the prior that is little.
        let variances = (0..outputs).map(|k| self.model.prior_covariance(k, k));
        let least = variances.fold(f64::INFINITY, f64::min);
        let factor = Cholesky::with_jitter_unit(&covariance, least)?;
        let (mut rng, mut drawn) = (Rng::new(seed, 0), vec![Points::new(count); outputs]);
        for _ in 0..draws {
            let normals: Vec<f64> = (0..size).map(|_| rng.normal()).collect();
            let deviations = factor.lower_mul(&normals);
            let value = |i: usize| values.mean(place(i)) + deviations[i];
            for (k, rows) in drawn.iter_mut().enumerate() {
                rows.push(&(k * count..(k + 1) * count).map(value).collect::<Vec<_>>())?;
            }
        }
        Ok(drawn)
    }

    /// For tests: a model whose outputs are the objectives in their order.
    #[cfg(test)]
    pub(crate) fn of_all(model: Coregional, hyper: Hyper) -> Self {
        let objectives = (0..model.outputs()).collect();
        Self { model: Arc::new(model), objectives, hyper, tails: vec![] }
    }
}

/// Hyper-parameters of correlated outputs, if their values speak for that.
fn believed(alone: &[&Alone], data: &[Data]) -> Option<Hyper> {
    let (search, part) = (fit::Search::default(), thinned(data));
    let own = |((one, part), all): ((&&Alone, &Data), &Data)| match part.len() == all.len() {
        true => Ok(one.fit.clone()),
        false => one.model.fit(part, None, &search),
    };
    let fits: Result<Vec<fit::Fit>> = alone.iter().zip(&part).zip(data).map(own).collect();
    let model = Model::new(alone.iter().map(|one| one.model.clone()).collect());
    let fit = model.fit(&part, &fits.ok()?, None, &search).ok()?;
    fit.is_preferred().then_some(fit.hyper)
}

/// At most [`FIT_ROWS`] rows of all outputs together: outputs with many rows give some up. Designs that
/// other outputs have too say most about what they have in common, so they stay as far as there is room;
/// the rest is evenly spread.
fn thinned(data: &[Data]) -> Vec<Data> {
    let most = most_of_each(&data.iter().map(Data::len).collect::<Vec<_>>(), FIT_ROWS);
    let thin = |(k, one): (usize, &Data)| {
        if one.len() <= most {
            return one.clone();
        }
        let others = data.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, other)| other);
        let shared: HashSet<Vec<u64>> =
            others.flat_map(|other| other.points().rows().map(key)).collect();
        let is_shared = |i: &usize| shared.contains(&key(one.points().row(*i)));
        let (shared, rest): (Vec<usize>, Vec<usize>) = (0..one.len()).partition(is_shared);
        let mut chosen = evenly_spread(&shared, most);
        chosen.extend(evenly_spread(&rest, most - chosen.len()));
        chosen.sort_unstable();
        one.subset(&chosen)
    };
    data.iter().enumerate().map(thin).collect()
}

/// So many of `all`, or all.
fn evenly_spread(all: &[usize], most: usize) -> Vec<usize> {
    let count = most.min(all.len());
    (0..count).map(|i| all[i * all.len() / count]).collect()
}

/// The largest number such that all of them have at most `total` together if none has more than that.
fn most_of_each(counts: &[usize], total: usize) -> usize {
    let sum = |most: usize| counts.iter().map(|count| (*count).min(most)).sum::<usize>();
    (0..=total).rev().find(|most| sum(*most) <= total).unwrap_or(0)
}

/// Conditions each output on pending and failed evaluations as if they had returned what is expected
/// there; with the rows that they have in the model. That changes no mean, so what is expected does not
/// depend on the order.
fn condition_on_expected<'a>(
    model: Coregional,
    observed: impl Iterator<Item = &'a Observed<'a>>,
) -> Result<(Coregional, Vec<Tail>)> {
    let (mut conditioned, mut tails) = (model.clone(), vec![]);
    for (k, observed) in observed.enumerate() {
        if observed.expected.is_empty() {
            tails.push(Tail::default());
            continue;
        }
        let (before, noise) = (conditioned.len(), model.noise(k));
        let means = model.means(&observed.expected)?;
        let [pending, failed] = observed.expected_parts();
        let (of_pending, of_failed) = means[k].split_at(pending.len());
        conditioned = conditioned.condition_on(&pending, k, of_pending, noise)?;
        let between = conditioned.len();
        conditioned = conditioned.condition_on(&failed, k, of_failed, noise)?;
        tails.push(Tail { pending: between - before, failed: conditioned.len() - between });
    }
    Ok((conditioned, tails))
}

impl Member {
    pub(super) fn means(&self, points: &Points) -> Result<Vec<f64>> {
        Ok(self.model.means(points)?.swap_remove(self.output))
    }

    pub(super) fn predict(&self, x: &[f64]) -> Result<Prediction> {
        Ok(self.model.query(x)?.prediction(self.output))
    }

    pub(super) fn predict_many(&self, points: &Points) -> Result<Vec<Prediction>> {
        Ok(self.model.predict_many(points)?.swap_remove(self.output))
    }

    /// Mean at `x`; adds `factor` times its gradient to `gradient`.
    pub(super) fn mean_with_gradient(
        &self,
        x: &[f64],
        factor: f64,
        gradient: &mut [f64],
    ) -> Result<f64> {
        let mut factors = vec![0.0; self.model.outputs()];
        factors[self.output] = factor;
        Ok(self.model.means_with_gradient(x, &factors, gradient)?[self.output])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unyoke_math::sobol;

    fn data(points: &Points) -> Data {
        let values: Vec<f64> = points.rows().map(|x| x[0]).collect();
        Data::new(points, &values).unwrap()
    }

    #[test]
    fn outputs_with_many_rows_give_up_some_but_keep_what_they_share() {
        let few = sobol::cube(2, 20, 1).unwrap();
        let mut many = few.clone();
        sobol::cube(2, 300, 2).unwrap().rows().for_each(|x| many.push(x).unwrap());
        let [first, second] = &thinned(&[data(&many), data(&few)])[..] else { panic!("two") };
        assert_eq!((first.len(), second.len()), (FIT_ROWS - 20, 20));
        let kept: HashSet<Vec<u64>> = first.points().rows().map(key).collect();
        assert!(few.rows().all(|x| kept.contains(&key(x))));
    }

    #[test]
    fn nothing_is_left_out_where_there_is_room() {
        assert_eq!(most_of_each(&[100, 40], 150), 150);
        assert_eq!(most_of_each(&[100, 60], 150), 90);
        assert_eq!(most_of_each(&[100, 100, 100], 150), 50);
        let points = sobol::cube(2, 60, 1).unwrap();
        let part = thinned(&[data(&points), data(&points)]);
        assert!(part.iter().all(|one| one.len() == 60));
    }
}
