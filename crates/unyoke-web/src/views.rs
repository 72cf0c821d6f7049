//! Views of a study that need no model: at once, whatever its size.

use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use unyoke_run::{BY_HAND, Layout, Working, job_of, now};
use unyoke_view::{Custody, EvaluationView, Plan, StatusView, Worker, evaluation, status};
use utoipa::ToSchema;

use crate::answer::{Kind, Refusal};
use crate::error::Result;
use crate::shelf::{Glance, Terms};
use crate::shown::{Deed, Evaluations, LiveView};

/// How a study stands.
pub(crate) fn status_of(glance: &Glance) -> Result<StatusView> {
    let worker = |(evaluation, working): (u64, Working)| {
        let Working { owner, attempt, since, job } = working;
        (evaluation, Worker { owner, attempt, since, job })
    };
    let workers = glance.working()?.into_iter().map(worker).collect();
    let late_results = match &glance.store {
        Some(store) => store.late()?.len(),
        None => 0,
    };
    let custody = Custody { workers, late_results, now: now() };
    Ok(status(&*glance.study, plan(&glance.terms), &custody)?)
}

fn plan(terms: &Terms) -> Plan {
    Plan {
        name: Some(terms.name.clone()),
        store: terms.location.to_string(),
        budget: terms.budget.cost,
        evaluations: terms.budget.evaluations.clone(),
        wall_time: terms.budget.wall_time.map(|time| time.as_secs_f64()),
    }
}

/// The evaluations whose results are awaited.
pub(crate) fn live(glance: &Glance, status: &StatusView) -> Vec<LiveView> {
    let layout = glance.terms.layout.as_ref();
    let view = |pending: &unyoke_view::PendingView| {
        let evaluation = pending.evaluation;
        let is_running = pending.owner.as_deref().is_some_and(|owner| owner != BY_HAND);
        let has_log = layout.is_some_and(|layout| !attempts(layout, evaluation).is_empty());
        LiveView {
            elapsed: pending.since.map(|since| now().saturating_sub(since)),
            job: layout.and_then(|layout| job_of(layout, evaluation)),
            has_log,
            can_stop: is_running,
            by_hand: match &pending.owner {
                Some(_) => !is_running,
                // Nobody holds it, as after a failure that is to be made again. Without a study file, nobody
                // knows who makes what, but a command leaves attempts behind.
                None => glance.terms.is_by_hand(&pending.measurement).unwrap_or(!has_log),
            },
            pending: pending.clone(),
        }
    };
    status.pending.iter().map(view).collect()
}

fn attempts(layout: &Layout, evaluation: u64) -> Vec<u32> {
    layout.attempts(evaluation).unwrap_or_default()
}

/// An evaluation with what was done to it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EvaluationWithDeeds {
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub(crate) evaluation: EvaluationView,
    /// What was done to it, in order.
    pub(crate) deeds: Vec<Deed>,
}

/// Evaluations from a number on, at most so many.
pub(crate) fn evaluations_from(
    glance: &Glance,
    from: u64,
    count: usize,
) -> Vec<EvaluationWithDeeds> {
    let deeds: &Arc<BTreeMap<u64, Vec<Deed>>> = &glance.deeds;
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    let all = from..from.saturating_add(count).min(Evaluations::count(&*glance.study));
    let wanted = all.filter_map(|number| evaluation(&*glance.study, number));
    let with = |evaluation: EvaluationView| {
        let deeds = deeds.get(&evaluation.evaluation).cloned().unwrap_or_default();
        EvaluationWithDeeds { evaluation, deeds }
    };
    wanted.map(with).collect()
}

/// What a command has written so far.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LogView {
    /// The evaluation.
    pub(crate) evaluation: u64,
    /// Which attempt at it.
    pub(crate) attempt: u32,
    /// `stdout` or `stderr`.
    pub(crate) stream: &'static str,
    /// The first byte that is shown.
    pub(crate) from: u64,
    /// The byte behind the last: go on from here.
    pub(crate) to: u64,
    /// How many bytes there are.
    pub(crate) size: u64,
    /// What was written; what is no UTF-8 is replaced.
    pub(crate) text: String,
}

/// Bytes of a log that are sent at once, at most.
const LONGEST_LOG: u64 = 64 << 10;

/// Bytes of its end that are sent if nobody says from where.
const LOG_TAIL: u64 = 16 << 10;

/// The log of the last attempt at an evaluation: from a byte on, or its end.
pub(crate) fn log(
    glance: &Glance,
    evaluation: u64,
    stream: &'static str,
    from: Option<u64>,
) -> Result<LogView, Refusal> {
    let none = || {
        let message = format!("nothing that evaluation {evaluation} has written can be read here");
        Refusal::new(Kind::NotFound, message)
    };
    let layout = glance.terms.layout.as_ref().ok_or_else(none)?;
    let attempt = attempts(layout, evaluation).pop().ok_or_else(none)?;
    let path = layout.attempt(evaluation, attempt).join(stream);
    let mut file = open_plain(&path).ok_or_else(none)?;
    let size = file.metadata().map_err(|_| none())?.len();
    let from = from.unwrap_or_else(|| size.saturating_sub(LOG_TAIL)).min(size);
    let mut bytes = vec![];
    let read = file
        .seek(SeekFrom::Start(from))
        .and_then(|_| file.take(LONGEST_LOG).read_to_end(&mut bytes));
    read.map_err(|_| none())?;
    // A character that is not all there yet is sent next time.
    let whole = match std::str::from_utf8(&bytes) {
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => error.valid_up_to(),
        _ => bytes.len(),
    };
    let text = String::from_utf8_lossy(&bytes[..whole]).into_owned();
    Ok(LogView { evaluation, attempt, stream, from, to: from + whole as u64, size, text })
}

/// A plain file, and not what a link in its place leads to: a command might have put one there.
fn open_plain(path: &Path) -> Option<File> {
    let no_follow = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(no_follow.bits()).ok()?;
    let mut folders = path.ancestors().skip(1).take(2);
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|m| m.is_symlink());
    if folders.any(is_link) {
        return None;
    }
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    file.metadata().is_ok_and(|metadata| metadata.is_file()).then_some(file)
}
