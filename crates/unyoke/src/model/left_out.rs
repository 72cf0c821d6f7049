//! What the model of each output expects of every value when it has not seen it.

use super::Observed;
use super::fit::{Draft, modelled};
use crate::config::Config;
use crate::space::key;
use std::collections::HashMap;
use unyoke_math::Result;
use unyoke_math::data::{Data, Standardizer};
use unyoke_math::gp::LeftOut;

/// The rows of one output's model, each compared with what the others make one expect.
#[derive(Debug, Clone)]
pub(crate) struct Comparison {
    /// From values to standardised values.
    pub(crate) map: Standardizer,
    /// Standardised, in the order of the model's own.
    pub(crate) left_out: Vec<LeftOut>,
    /// Numbers of the evaluations that each row is made of, ascending.
    pub(crate) evaluations: Vec<Vec<u64>>,
}

/// A comparison for each output; none for a formula.
///
/// Hyper-parameters are those of all values: fitting them once for each value left out would take n
/// times as long, and changes little unless there are few values. Each output is checked by itself.
pub(crate) fn comparisons(
    observed: &[Observed<'_>],
    config: &Config,
) -> Result<Vec<Option<Comparison>>> {
    let drafts = observed.iter().map(|one| Draft::new(one, config));
    let mut drafts: Vec<Draft> = drafts.collect::<Result<_>>()?;
    let modelled = modelled(&drafts)?;
    let rows = observed.iter().zip(&mut drafts).zip(&modelled);
    rows.map(|((observed, draft), data)| {
        if observed.known.is_some() {
            return Ok(None);
        }
        let left_out = draft.condition(data)?.leave_one_out();
        let evaluations = evaluations(observed, data);
        Ok(Some(Comparison { map: draft.map, left_out, evaluations }))
    })
    .collect()
}

/// Numbers of the evaluations behind each row of `data`.
fn evaluations(observed: &Observed<'_>, data: &Data) -> Vec<Vec<u64>> {
    let mut behind: HashMap<(Vec<u64>, bool), Vec<u64>> = HashMap::new();
    for row in &observed.rows {
        behind.entry((key(row.x), row.sd.is_some())).or_default().push(row.evaluation);
    }
    behind.values_mut().for_each(|numbers| numbers.sort_unstable());
    let rows = data.points().rows().zip(data.known_noise());
    rows.map(|(x, noise)| behind.remove(&(key(x), noise.is_some())).unwrap_or_default()).collect()
}
