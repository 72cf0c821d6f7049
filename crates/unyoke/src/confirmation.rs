//! Rounds of confirmations: what recommended designs lack is measured, and predictions are judged.
//!
//! A round belongs to the designs that were recommended from the first so many records of a journal, so that
//! everything about it follows from the journal alone.

use crate::engine::Engine;
use crate::error::Result;
use crate::event::Record;
use crate::history::{Evaluation, History};
use crate::plan::Allowed;
use crate::recommend::Confirmation;
use crate::suggestion::NextConfirmation;

/// The next measurement of the round under way, or of the one that begins now, for the recommended designs,
/// `points` at most.
pub(crate) fn next(
    history: &History,
    records: &[Record],
    points: usize,
    round: Option<u64>,
    allowed: Allowed<'_>,
) -> Result<NextConfirmation> {
    let now = Engine::new(history);
    let next_of = |round: u64| {
        let designs = match round == history.position {
            true => now.designs_to_confirm(points)?,
            false => Engine::new(&then(records, round)?).designs_to_confirm(points)?,
        };
        now.next_confirmation(&designs, round, allowed)
    };
    if let Some(round) = round {
        return next_of(round);
    }
    match under_way(history).map(next_of).transpose()? {
        Some(unfinished @ (NextConfirmation::Measure(_) | NextConfirmation::Wait)) => {
            Ok(unfinished)
        }
        Some(NextConfirmation::Done) | None => next_of(history.position),
    }
}

/// How predictions held up in the latest round, if there was one.
pub(crate) fn latest(history: &History, records: &[Record]) -> Result<Option<Confirmation>> {
    let Some(round) = history.asked().filter_map(|e| e.confirms).max() else { return Ok(None) };
    Engine::new(&then(records, round)?).confirmation(round, history).map(Some)
}

/// The round to which the latest evaluation belongs: whatever else was asked for since has ended it.
fn under_way(history: &History) -> Option<u64> {
    history.asked().last().and_then(|last: &Evaluation| last.confirms)
}

/// The study as it was when a round began.
fn then(records: &[Record], round: u64) -> Result<History> {
    let count = usize::try_from(round).unwrap_or(usize::MAX).min(records.len());
    History::replay(&records[..count])
}
