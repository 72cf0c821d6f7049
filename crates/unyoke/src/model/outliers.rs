//! Models that values far away from all others do not ruin.
//!
//! A value is suspect if a gap separates it from all others (`tails`), or if it is unlike all its near
//! neighbours. What becomes of it depends on the side and on the neighbours (`suspects`), and is
//! decided at each step anew, from the values alone:
//!
//! - If near neighbours contradict it, it does not count at all: it is *set aside*. Neighbours that are
//!   suspect themselves confirm it instead. A value on the good side of an objective may be what the
//!   search is for: there, neighbours have to be nearer.
//! - If it is on the bad side of an objective, or very far out on either side of a constraint, it is
//!   *clipped*: it counts as a value clearly worse than all others, on the same side of the limit.
//!   The place stays bad, and differences between other values stay visible. Where no neighbour
//!   confirms that it is bad, it has noise, so that others may say otherwise; where one does, it is
//!   clipped only if it is very far out. Several values that are the price of another objective, which
//!   is best where they were measured, are not clipped: how bad they are matters to whoever pays it.
//!
//! Where nothing is decided the model is that of all values, bit for bit.

use super::belief::{MeasuredValue, ModelNote};
use super::fit::{Draft, sorted_rows, standardised_variance};
use super::suspects::{Clipped, Role, Suspects, clip, is_impossible};
use super::{Observed, Row};
use crate::config::{Config, Outliers};
use crate::remembered::Fits;
use rayon::prelude::*;
use unyoke_math::{Points, Result};

/// The models of all outputs, their outliers handled as the settings say.
pub(super) fn drafts(
    observed: &[Observed<'_>],
    config: &Config,
    fits: &Fits,
) -> Result<Vec<Draft>> {
    let drafts = observed.par_iter().map(|one| draft(one, config, fits, Clipping::Allowed));
    let mut drafts: Vec<Draft> = drafts.collect::<Result<_>>()?;
    // Decided for all before any is fitted again: the order of the outputs must not matter.
    let prices = (0..drafts.len()).map(|k| is_price(k, observed, &drafts));
    let prices: Vec<bool> = prices.collect::<Result<_>>()?;
    for (k, _) in prices.iter().enumerate().filter(|(_, is_price)| **is_price) {
        drafts[k] = draft(&observed[k], config, fits, Clipping::Never)?;
    }
    Ok(drafts)
}

/// Whether values may count as less extreme ones.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clipping {
    Allowed,
    Never,
}

/// The model of an output by itself.
fn draft(
    observed: &Observed<'_>,
    config: &Config,
    fits: &Fits,
    clipping: Clipping,
) -> Result<Draft> {
    let mut rows = sorted_rows(observed);
    if config.outliers == Outliers::Kept {
        return Draft::new(observed, &rows, config, fits);
    }
    let role = observed.limit.map_or(Role::Objective, |_| Role::Constraint);
    let suspects = Suspects::of(&rows, observed.parameters, role);
    let lonely = suspects.lonely(&rows, observed.parameters, role);
    let (mut set_aside, mut others) = (vec![], None);
    if !lonely.is_empty() {
        let draft = Draft::new(observed, &suspects.ordinary(&rows), config, fits)?;
        set_aside = contradicted(&draft, &rows, &lonely)?;
        others = (set_aside.len() == suspects.len()).then_some(draft);
    }
    rows.retain(|row| set_aside.iter().all(|one| one.evaluation != row.evaluation));
    let clipped = match clipping {
        Clipping::Allowed => clip(&mut rows, observed.limit),
        Clipping::Never => vec![],
    };
    let draft = match others {
        // All suspects are set aside: this is the model of the rest.
        Some(draft) if clipped.is_empty() => draft,
        _ => Draft::new(observed, &rows, config, fits)?,
    };
    Ok(with_notes(draft, &set_aside, clipped))
}

/// Whether the clipped values of output `k` are what the best of another objective costs in this one: there are
/// several, not all the same as penalties are, and of the designs at which this output was measured, one of
/// theirs is expected to be the best for another objective.
fn is_price(k: usize, observed: &[Observed<'_>], drafts: &[Draft]) -> Result<bool> {
    let (one, draft) = (&observed[k], &drafts[k]);
    let [first, others @ ..] = &draft.clipped[..] else { return Ok(false) };
    if one.limit.is_some() || others.iter().all(|other| other.value == first.value) {
        return Ok(false);
    }
    let counts = |row: &&Row<'_>| !draft.set_aside.contains(&row.evaluation);
    let is_clipped = |row: &Row<'_>| draft.clipped.iter().any(|c| c.evaluation == row.evaluation);
    let rows: Vec<&Row<'_>> = one.rows.iter().filter(counts).collect();
    let designs = Points::from_rows(one.dim, rows.iter().map(|row| row.x))?;
    for (other, draft) in observed.iter().zip(drafts) {
        if other.limit.is_some() || std::ptr::eq(other, one) {
            continue;
        }
        let values: Vec<f64> = match &other.known {
            Some(known) => {
                designs.rows().map(|x| known.at(x).unwrap_or(f64::NEG_INFINITY)).collect()
            }
            None => draft.expected(&designs)?,
        };
        let best = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if rows.iter().zip(&values).any(|(row, value)| *value == best && is_clipped(row)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Those of some rows that a model of the other values rules out.
fn contradicted<'a>(others: &Draft, rows: &[Row<'a>], lonely: &[usize]) -> Result<Vec<Row<'a>>> {
    let Some(gp) = others.around(lonely.iter().map(|row| rows[*row].x)) else {
        return Ok(vec![]);
    };
    let mut found = vec![];
    for row in lonely.iter().map(|row| rows[*row]) {
        let prediction = gp.predict(row.x)?;
        let own = row.sd.map(|sd| standardised_variance(&others.map, sd));
        let error = others.map.standardize(row.value) - prediction.mean;
        if is_impossible(error, prediction.variance + own.unwrap_or(gp.noise())) {
            found.push(row);
        }
    }
    Ok(found)
}

/// Says which values do not count as they were measured.
fn with_notes(mut draft: Draft, set_aside: &[Row<'_>], clipped: Vec<Clipped>) -> Draft {
    let measured = |evaluation: u64, value: f64| MeasuredValue { evaluation, value };
    let mut values: Vec<MeasuredValue> =
        set_aside.iter().map(|row| measured(row.evaluation, row.value)).collect();
    values.sort_by_key(|one| one.evaluation);
    draft.set_aside = values.iter().map(|one| one.evaluation).collect();
    if !values.is_empty() {
        draft.notes.push(ModelNote::SetAside { values });
    }
    let mut levels: Vec<f64> = clipped.iter().map(|one| one.counts_as).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    for counts_as in levels {
        let same = clipped.iter().filter(|one| one.counts_as == counts_as);
        let values = same.map(|one| measured(one.evaluation, one.value)).collect();
        draft.notes.push(ModelNote::Clipped { values, counts_as });
    }
    draft.clipped = clipped;
    draft
}
