//! What the model of each output expects of every value when it has not seen it.

use super::fit::{Draft, modelled, standardised_variance};
use super::outliers::drafts;
use super::suspects::Clipped;
use super::{Observed, Row};
use crate::config::Config;
use crate::remembered::Fits;
use crate::space::key;
use std::collections::HashMap;
use unyoke_math::Result;
use unyoke_math::data::{Data, Standardizer};
use unyoke_math::gp::{Gp, LeftOut};

/// The rows of one output's model, each compared with what the others make one expect.
#[derive(Debug, Clone)]
pub(crate) struct Comparison {
    /// From values to standardised values.
    pub(crate) map: Standardizer,
    /// Standardised, in the order of the model's own.
    pub(crate) left_out: Vec<LeftOut>,
    /// Numbers of the evaluations that each row is made of, ascending.
    pub(crate) evaluations: Vec<Vec<u64>>,
    /// Values that count as others, in the rows above.
    pub(crate) clipped: Vec<Clipped>,
    /// Values that are in none of the rows: they do not count.
    pub(crate) set_aside: Vec<SetAside>,
}

/// A value that does not count, compared with what the others make one expect.
#[derive(Debug, Clone)]
pub(crate) struct SetAside {
    pub(crate) evaluation: u64,
    pub(crate) left_out: LeftOut,
}

/// A comparison for each output; none for a formula.
///
/// Hyper-parameters are those of all values: fitting them once for each value left out would take n
/// times as long, and changes little unless there are few values. Each output is checked by itself.
pub(crate) fn comparisons(
    observed: &[Observed<'_>],
    config: &Config,
    fits: &Fits,
) -> Result<Vec<Option<Comparison>>> {
    let mut drafts = drafts(observed, config, fits)?;
    let modelled = modelled(&drafts)?;
    let rows = observed.iter().zip(&mut drafts).zip(&modelled);
    rows.map(|((observed, draft), data)| {
        if observed.known.is_some() {
            return Ok(None);
        }
        let gp = draft.condition(data)?;
        Ok(Some(Comparison {
            map: draft.map,
            left_out: gp.leave_one_out(),
            evaluations: evaluations(observed, draft, data),
            clipped: draft.clipped.clone(),
            set_aside: set_aside(observed, draft, &gp)?,
        }))
    })
    .collect()
}

/// The values that do not count, with their predictions.
fn set_aside(observed: &Observed<'_>, draft: &Draft, gp: &Gp) -> Result<Vec<SetAside>> {
    let rows = observed.rows.iter().filter(|row| draft.set_aside.contains(&row.evaluation));
    let compared = |row: &Row<'_>| -> Result<SetAside> {
        let prediction = gp.predict(row.x)?;
        let own = row.sd.map(|sd| standardised_variance(&draft.map, sd));
        let variance = prediction.variance + own.unwrap_or(gp.noise());
        let value = draft.map.standardize(row.value);
        let left_out = LeftOut { value, mean: prediction.mean, variance };
        Ok(SetAside { evaluation: row.evaluation, left_out })
    };
    rows.map(compared).collect()
}

/// Numbers of the evaluations behind each row of `data`.
fn evaluations(observed: &Observed<'_>, draft: &Draft, data: &Data) -> Vec<Vec<u64>> {
    let mut behind: HashMap<(Vec<u64>, bool), Vec<u64>> = HashMap::new();
    for row in observed.rows.iter().filter(|row| !draft.set_aside.contains(&row.evaluation)) {
        // Clipped values that are doubted have noise of their own.
        let mut doubted = draft.clipped.iter().filter(|one| one.doubt.is_some());
        let has_own = row.sd.is_some() || doubted.any(|one| one.evaluation == row.evaluation);
        behind.entry((key(row.x), has_own)).or_default().push(row.evaluation);
    }
    behind.values_mut().for_each(|numbers| numbers.sort_unstable());
    let rows = data.points().rows().zip(data.known_noise());
    rows.map(|(x, noise)| behind.remove(&(key(x), noise.is_some())).unwrap_or_default()).collect()
}
