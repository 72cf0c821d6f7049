//! How a study stands: evaluations and spending by measurement, values by output, and who works on what.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unyoke::{
    Cost, Design, Direction, Evaluation, Journal, Measurement, Pause, QueueEntry, Reading, Status,
    Study,
};

use crate::evaluations::{EvaluationView, view};
use crate::output::{OutputView, outputs};

/// How a study stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatusView {
    /// Name and limits.
    #[serde(flatten)]
    pub plan: Plan,
    /// What the evaluations that ended have cost.
    pub spent: f64,
    /// What was spent, and the cost of what is under way.
    pub committed: f64,
    /// The measurements, in the order of the problem.
    pub measurements: Vec<MeasurementStatus>,
    /// The outputs, in the order of the problem.
    pub outputs: Vec<OutputStatus>,
    /// Evaluations whose result is awaited.
    pub pending: Vec<PendingView>,
    /// Designs of the user's own that wait, in their order.
    #[serde(default)]
    pub queue: Vec<QueuedView>,
    /// Measurements that cannot be made now.
    #[serde(default)]
    pub paused: Vec<PausedView>,
    /// Evaluations that were corrected or retracted.
    #[serde(default)]
    pub corrections: Vec<EvaluationView>,
    /// Results that came after their evaluation had been settled; they are kept and do not count.
    pub late_results: usize,
}

/// What a study is called, where it is kept, and its limits.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Plan {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Where it is kept, without passwords.
    pub store: String,
    /// The most that may be spent.
    pub budget: Option<f64>,
    /// The most evaluations of single measurements, by name.
    pub evaluations: BTreeMap<String, u64>,
    /// Seconds that a run may take.
    pub wall_time: Option<f64>,
}

/// How a measurement stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasurementStatus {
    /// Its name.
    pub name: String,
    /// The outputs that it gives.
    pub outputs: Vec<String>,
    /// The present price of an evaluation: a number, a formula, or how it is learned.
    pub cost: Cost,
    /// How many evaluations gave values.
    pub completed: usize,
    /// How many evaluations failed.
    pub failed: usize,
    /// How many results are awaited.
    pub pending: usize,
    /// How many evaluations were made whose results do not count any more.
    #[serde(default)]
    pub retracted: usize,
    /// What its evaluations have cost.
    pub spent: f64,
}

/// How an output stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputStatus {
    /// What it is, and how many values there are.
    #[serde(flatten)]
    pub output: OutputView,
    /// For an objective, the best value so far.
    pub best: Option<f64>,
    /// The standard error of that value, where it is known.
    pub best_sd: Option<f64>,
}

/// An evaluation whose result is awaited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingView {
    /// Its number.
    pub evaluation: u64,
    /// What is measured.
    pub measurement: String,
    /// The design that is measured.
    pub design: Design,
    /// Who works on it; `None` if it is orphaned and will be resumed.
    pub owner: Option<String>,
    /// Which attempt this is, counting from 1; 0 before the first.
    pub attempt: u32,
    /// Since when its command runs on this machine, in seconds since the beginning of 1970, UTC.
    #[serde(default)]
    pub since: Option<u64>,
    /// The name of its job and what the scheduler said of it last, where it is one.
    #[serde(default)]
    pub job: Option<String>,
}

/// A design of the user's own that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueuedView {
    /// Its number in the queue.
    pub entry: u64,
    /// The design.
    pub design: Design,
    /// The measurements that are still to be made there.
    pub measurements: Vec<String>,
}

/// A measurement that cannot be made now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PausedView {
    /// Its name.
    pub measurement: String,
    /// Until when, in seconds since the beginning of 1970, UTC; `None` until it is resumed.
    pub until: Option<u64>,
    /// Why, if somebody said so.
    pub reason: Option<String>,
}

/// Who works on what. A journal does not hold that; whoever keeps the study knows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Custody {
    /// By the number of the evaluation.
    pub workers: BTreeMap<u64, Worker>,
    /// Results that came after their evaluation had been settled.
    pub late_results: usize,
    /// The time, in seconds since the beginning of 1970, UTC: pauses end.
    pub now: u64,
}

/// Who works on an evaluation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Worker {
    /// `None` if it is orphaned.
    pub owner: Option<String>,
    /// Which attempt this is, counting from 1.
    pub attempt: u32,
    /// Since when its command runs on this machine, in seconds since the beginning of 1970, UTC.
    pub since: Option<u64>,
    /// The name of its job and what the scheduler said of it last, where it is one.
    pub job: Option<String>,
}

/// How a study stands.
pub fn status<J: Journal>(
    study: &Study<J>,
    plan: Plan,
    custody: &Custody,
) -> unyoke::Result<StatusView> {
    let all = study.evaluations();
    let measurements = study.problem().measurements.iter().enumerate();
    let measurements = measurements.map(|(m, one)| measurement_status(study, m, one));
    let outputs = outputs(study).into_iter().enumerate();
    let corrected = all.iter().filter(|e| !e.superseded.is_empty());
    Ok(StatusView {
        plan,
        spent: study.spent(),
        committed: study.committed(),
        measurements: measurements.collect::<unyoke::Result<_>>()?,
        outputs: outputs.map(|(k, output)| output_status(output, k, all)).collect(),
        pending: pending(study, custody),
        queue: queue(study)?,
        paused: paused(study, custody.now),
        corrections: corrected.map(|e| view(e, study.problem())).collect(),
        late_results: custody.late_results,
    })
}

fn pending<J: Journal>(study: &Study<J>, custody: &Custody) -> Vec<PendingView> {
    let pending = study.evaluations().iter().filter(|e| e.status == Status::Pending);
    let name = |m: usize| study.problem().measurements[m].name.clone();
    let view = |e: &Evaluation| {
        let worker = custody.workers.get(&e.id).cloned().unwrap_or_default();
        PendingView {
            evaluation: e.id,
            measurement: e.measurement.map(name).unwrap_or_default(),
            design: e.design.clone(),
            owner: worker.owner,
            attempt: worker.attempt,
            since: worker.since,
            job: worker.job,
        }
    };
    pending.map(view).collect()
}

fn queue<J: Journal>(study: &Study<J>) -> unyoke::Result<Vec<QueuedView>> {
    let name = |m: &usize| study.problem().measurements[*m].name.clone();
    let view = |(queued, awaited): (&QueueEntry, Vec<usize>)| QueuedView {
        entry: queued.entry,
        design: queued.design.clone(),
        measurements: awaited.iter().map(name).collect(),
    };
    Ok(study.queued()?.into_iter().map(view).collect())
}

/// The measurements that cannot be made at a time, in seconds since the beginning of 1970, UTC.
pub fn paused<J: Journal>(study: &Study<J>, now: u64) -> Vec<PausedView> {
    let view = |(m, measurement): (usize, &Measurement)| {
        let Pause { until, reason } =
            study.pause_of(m).filter(|pause| pause.holds_at(now))?.clone();
        Some(PausedView { measurement: measurement.name.clone(), until, reason })
    };
    study.problem().measurements.iter().enumerate().filter_map(view).collect()
}

fn measurement_status<J: Journal>(
    study: &Study<J>,
    place: usize,
    measurement: &Measurement,
) -> unyoke::Result<MeasurementStatus> {
    let Measurement { name, outputs, .. } = measurement;
    let mut status = MeasurementStatus {
        name: name.clone(),
        outputs: outputs.clone(),
        cost: study.cost(name)?.clone(),
        completed: 0,
        failed: 0,
        pending: 0,
        retracted: 0,
        // Not a sum: that of nothing is minus zero, and would be shown so.
        spent: 0.0,
    };
    for evaluation in study.evaluations().iter().filter(|e| e.measurement == Some(place)) {
        status.spent += evaluation.spent();
        match evaluation.status {
            Status::Completed(_) => status.completed += 1,
            Status::Failed(_) => status.failed += 1,
            Status::Pending => status.pending += 1,
            Status::Retracted(_) => status.retracted += 1,
            Status::Withdrawn => {}
        }
    }
    Ok(status)
}

fn output_status(output: OutputView, place: usize, evaluations: &[Evaluation]) -> OutputStatus {
    let readings = evaluations.iter().filter_map(|e| e.reading(place));
    let by_value = |a: &Reading, b: &Reading| a.value.total_cmp(&b.value);
    let best = match output.wish.direction {
        Some(Direction::Minimise) => readings.min_by(by_value),
        Some(Direction::Maximise) => readings.max_by(by_value),
        None => None,
    };
    let (best, best_sd) = (best.map(|best| best.value), best.and_then(|best| best.sd));
    OutputStatus { output, best, best_sd }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unyoke::Problem;

    #[test]
    fn evaluations_and_values_are_counted_and_orphans_have_no_owner() {
        let problem = Problem::builder().continuous("x", 0.0, 1.0).maximise("lift", 2.0);
        let mut study = Study::new(problem.minimise("drag", 5.0).build().unwrap()).unwrap();
        study.tell_result(Design::new().with("x", 0.5), "lift", 1.5).unwrap();
        study.tell_result(Design::new().with("x", 0.6), "lift", 1.25).unwrap();
        let asked = study.ask_many(3).unwrap();
        assert_eq!(asked[1].measurement, "drag");
        study.tell_failure(asked[1].evaluation, "no licence").unwrap();
        study.correct(0, 1.75).unwrap();
        study.retract(1, None).unwrap();
        let worker = Worker { owner: Some("me".into()), attempt: 2, since: Some(77), job: None };
        study.queue(Design::new().with("x", 0.25), Some("drag")).unwrap();
        let pause = |until: u64| Pause { until: Some(until), reason: Some("down".into()) };
        study.pause("lift", pause(99)).unwrap();
        study.pause("drag", pause(101)).unwrap();
        let workers = [(asked[0].evaluation, worker)].into();
        let custody = Custody { workers, late_results: 1, now: 100 };
        let plan = Plan { store: "study.db".into(), budget: Some(9.0), ..Plan::default() };
        let shown = status(&study, plan, &custody).unwrap();
        let [lift, drag] = &shown.measurements[..] else { panic!("{shown:?}") };
        assert_eq!((lift.completed, lift.pending, lift.failed, lift.spent), (0, 2, 0, 0.0));
        assert_eq!((&lift.cost, &lift.outputs[..]), (&2.0.into(), &["lift".to_owned()][..]));
        assert!(lift.spent.is_sign_positive(), "nothing is not minus nothing");
        assert_eq!((drag.completed, drag.failed, drag.spent), (0, 1, 5.0));
        let values: Vec<_> = shown.outputs.iter().map(|o| (o.output.values, o.best)).collect();
        assert_eq!(values, [(1, Some(1.75)), (0, None)]);
        let corrected: Vec<_> = shown.corrections.iter().map(|e| e.evaluation).collect();
        assert_eq!(corrected, [0, 1]);
        let owners: Vec<_> =
            shown.pending.iter().map(|p| (p.owner.as_deref(), p.attempt)).collect();
        assert_eq!(owners, [(Some("me"), 2), (None, 0)]);
        assert_eq!((shown.spent, shown.committed, shown.late_results), (5.0, 9.0, 1));
        assert_eq!(shown.pending[0].since, Some(77));
        let queued: Vec<_> = shown.queue.iter().map(|q| (q.entry, &q.measurements[..])).collect();
        assert_eq!(queued, [(0, &["drag".to_owned()][..])]);
        let paused: Vec<_> = shown.paused.iter().map(|p| (&p.measurement[..], p.until)).collect();
        assert_eq!(paused, [("drag", Some(101))], "the other pause is over");
        let json = serde_json::to_value(&shown).unwrap();
        assert_eq!((&json["store"], &json["budget"]), (&"study.db".into(), &9.0.into()));
        assert_eq!(json["outputs"][0]["direction"], "maximise");
        assert_eq!(json["measurements"][0]["cost"], 2.0);
        assert_eq!(serde_json::from_value::<StatusView>(json).unwrap(), shown);
    }
}
