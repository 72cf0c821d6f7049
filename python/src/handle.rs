//! The class that Python calls. Every method lets go of the interpreter first, and takes and gives
//! JSON; the Python class `Study` around it gives these names and shapes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use numpy::{PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use serde::Serialize;
use unyoke::{Config, Cost, Design, Journal, Pause, Problem, Study};
use unyoke_run::{
    Amendment, Executor, Layout, Limits, MeasurementRun, is_gone, job_of, now, refuse_running,
    release_by_hand,
};
use unyoke_store::{LeaseStatus, Store};
use unyoke_view::{
    Background, Custody, FrontView, Plan, StudyReport, Worker, best_for, evaluations,
    explain_designs, explanation, front, has_values, measured, measured_front, models, status,
};

use crate::error::{Failure, Result};
use crate::jobs;
use crate::place::Found;
use crate::running;
use crate::state::State;
use crate::threads::compute;
use crate::written;

/// Fails with all that is wrong with a problem; otherwise gives it as journals have it.
#[pyfunction]
pub(crate) fn check_problem(py: Python<'_>, problem: &str) -> PyResult<String> {
    Ok(py.detach(|| -> Result<String> {
        let problem: Problem = serde_json::from_str(problem)?;
        problem.check()?;
        json(&problem)
    })?)
}

/// Settings with the defaults of new studies where nothing is said.
#[pyfunction]
pub(crate) fn with_defaults(settings: &str) -> PyResult<String> {
    let settings = serde_json::from_str(settings).map_err(Failure::Json)?;
    Ok(json(&written::with_defaults(settings)?)?)
}

/// Fails with all that is wrong with the settings of an executor, by the fields of study files.
#[pyfunction]
pub(crate) fn check_executor(name: &str, fields: &str) -> PyResult<()> {
    let fields = serde_json::from_str(fields).map_err(Failure::Json)?;
    let run = MeasurementRun::from_fields(name, &[], Path::new("/"), &fields);
    Ok(run.map(drop).map_err(Failure::Run)?)
}

/// The picture of a front as SVG; none with one objective.
#[pyfunction]
pub(crate) fn front_picture(
    py: Python<'_>,
    front: &str,
    measured: Vec<Vec<f64>>,
) -> PyResult<Option<String>> {
    Ok(py.detach(|| -> Result<Option<String>> {
        let front: FrontView = serde_json::from_str(front)?;
        Ok(front.picture(&measured).map(|picture| picture.svg()))
    })?)
}

/// A study.
#[pyclass(frozen, weakref, module = "unyoke._engine")]
pub(crate) struct Handle {
    state: Arc<State>,
}

#[pymethods]
impl Handle {
    /// A new study in memory.
    #[staticmethod]
    fn in_memory(py: Python<'_>, beginning: &str) -> PyResult<Self> {
        Self::found(py, || Found::in_memory(&written::beginning(beginning)?))
    }

    /// The study at a place, begun there if need be and if it is known with what.
    #[staticmethod]
    #[pyo3(signature = (place, beginning = None))]
    fn at(py: Python<'_>, place: &str, beginning: Option<&str>) -> PyResult<Self> {
        Self::found(py, || {
            let beginning = beginning.map(written::beginning).transpose()?;
            Found::at(place, beginning.as_ref())
        })
    }

    /// The study of a study file, begun if need be.
    #[staticmethod]
    fn of_file(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Self::found(py, || Found::of_file(&path))
    }

    /// Name, place, budget and seed.
    fn description(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |found| {
            json(&Description {
                name: found.name.clone(),
                store: found.location.clone(),
                file: found.file.as_ref().map(|file| file.display().to_string()),
                budget: found.budget.cost,
                evaluations: found.budget.evaluations.clone(),
                wall_time: found.budget.wall_time.map(|time| time.as_secs_f64()),
                slots: found.run.slots,
                seed: found.study.seed(),
                config: serde_json::to_value(found.study.config())?,
                commands: commands(found),
                by_hand: by_hand(found),
                confirm: found.run.confirm,
                runs: found.runs.as_ref().map(|runs| runs.display().to_string()),
            })
        })
    }

    /// The problem, as journals have it.
    fn problem(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |found| {
            let mut problem = found.study.problem().clone();
            for measurement in &mut problem.measurements {
                measurement.cost = found.study.cost(&measurement.name)?.clone();
            }
            json(&problem)
        })
    }

    /// What was spent, and that together with what is under way.
    fn spent(&self, py: Python<'_>) -> PyResult<(f64, f64)> {
        self.read(py, |found| Ok((found.study.spent(), found.study.committed())))
    }

    /// How many events there are.
    fn position(&self, py: Python<'_>) -> PyResult<u64> {
        self.read(py, |found| Ok(found.study.position()))
    }

    /// Whether there is any value.
    fn has_values(&self, py: Python<'_>) -> PyResult<bool> {
        self.read(py, |found| Ok(has_values(&found.study)))
    }

    /// Asks what to evaluate next, for somebody who does it by hand: one of these measurements, if any is
    /// named, at a design with these values.
    fn ask(&self, py: Python<'_>, only: Vec<String>, fixed: &str) -> PyResult<String> {
        let fixed: Design = serde_json::from_str(fixed).map_err(Failure::Json)?;
        Ok(py.detach(|| json(&running::ask(&self.state, &only, &fixed)?))?)
    }

    /// Puts a design into the queue; its number there.
    #[pyo3(signature = (design, measurement))]
    fn queue(&self, py: Python<'_>, design: &str, measurement: Option<&str>) -> PyResult<u64> {
        let design: Design = serde_json::from_str(design).map_err(Failure::Json)?;
        self.write(py, |found| Ok(found.study.queue(design, measurement)?))
    }

    /// Takes an entry out of the queue.
    fn unqueue(&self, py: Python<'_>, entry: u64) -> PyResult<()> {
        self.write(py, |found| Ok(found.study.unqueue(entry)?))
    }

    /// Takes an evaluation back and does not suggest it again right away.
    fn skip(&self, py: Python<'_>, evaluation: u64) -> PyResult<()> {
        self.write(py, |found| {
            found.study.skip(evaluation)?;
            Ok(release_by_hand(&found.store, evaluation)?)
        })
    }

    /// Records that a measurement cannot be made until then, in seconds since 1970.
    #[pyo3(signature = (measurement, until, reason))]
    fn pause(
        &self,
        py: Python<'_>,
        measurement: &str,
        until: Option<u64>,
        reason: Option<String>,
    ) -> PyResult<()> {
        self.write(py, |found| Ok(found.study.pause(measurement, Pause { until, reason })?))
    }

    /// Records that a measurement can be made again. False if it was not paused.
    fn resume(&self, py: Python<'_>, measurement: &str) -> PyResult<bool> {
        self.write(py, |found| Ok(found.study.resume(measurement)?))
    }

    /// What would be asked for, and why.
    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        self.view(py, |study, found| {
            let limits = Limits::new(&found.budget, &found.run, vec![]);
            let allowed = study.suggest_where(|study, which| limits.permission(study, which))?;
            json(&explanation(study, allowed.as_ref(), found.stop.as_ref())?)
        })
    }

    /// What is expected of designs, and what measuring them is worth.
    fn explain_designs(&self, py: Python<'_>, designs: &str) -> PyResult<String> {
        let designs: Vec<Design> = serde_json::from_str(designs).map_err(Failure::Json)?;
        self.view(py, |study, _| {
            require_values(study)?;
            json(&explain_designs(study, &designs)?)
        })
    }

    /// Records what came out of an evaluation.
    #[pyo3(signature = (evaluation, outcome, replace))]
    fn tell(&self, py: Python<'_>, evaluation: u64, outcome: &str, replace: bool) -> PyResult<()> {
        let outcome: written::WrittenOutcome =
            serde_json::from_str(outcome).map_err(Failure::Json)?;
        self.write(py, |found| {
            let asked = written::asked_design(&found.study, evaluation)?;
            let outcome = outcome.outcome(&asked);
            match replace {
                true => found.study.replace_failure(evaluation, outcome)?,
                false => found.study.tell(evaluation, outcome)?,
            }
            Ok(release_by_hand(&found.store, evaluation)?)
        })
    }

    /// Records that something else came out of an evaluation than was recorded.
    fn correct(&self, py: Python<'_>, evaluation: u64, outcome: &str) -> PyResult<()> {
        let outcome: written::WrittenOutcome =
            serde_json::from_str(outcome).map_err(Failure::Json)?;
        self.write(py, |found| {
            let asked = written::asked_design(&found.study, evaluation)?;
            Ok(found.study.correct(evaluation, outcome.outcome(&asked))?)
        })
    }

    /// Records that the result of an evaluation does not count any more.
    #[pyo3(signature = (evaluation, reason))]
    fn retract(&self, py: Python<'_>, evaluation: u64, reason: Option<&str>) -> PyResult<()> {
        self.write(py, |found| Ok(found.study.retract(evaluation, reason)?))
    }

    /// Takes an evaluation back.
    fn withdraw(&self, py: Python<'_>, evaluation: u64) -> PyResult<()> {
        self.write(py, |found| {
            found.study.withdraw(evaluation)?;
            Ok(release_by_hand(&found.store, evaluation)?)
        })
    }

    /// Makes a failed evaluation pending again.
    fn retry(&self, py: Python<'_>, evaluation: u64) -> PyResult<()> {
        self.write(py, |found| Ok(found.study.retry(evaluation)?))
    }

    /// Records results from elsewhere, all or none; how many of them are new.
    fn add(&self, py: Python<'_>, results: &str) -> PyResult<usize> {
        self.write(py, |found| {
            let results = written::results(results, found.study.problem())?;
            Ok(found.study.tell_missing_results(&results)?.len())
        })
    }

    /// Changes what a measurement costs.
    fn set_cost(&self, py: Python<'_>, measurement: &str, cost: &str) -> PyResult<()> {
        let cost: Cost = serde_json::from_str(cost).map_err(Failure::Json)?;
        self.write(py, |found| Ok(found.study.set_cost(measurement, cost)?))
    }

    /// Goes on with another problem, for which designs so far had these values; what has changed.
    fn redefine(
        &self,
        py: Python<'_>,
        problem: &str,
        config: &str,
        was: &str,
    ) -> PyResult<Vec<String>> {
        let problem: Problem = serde_json::from_str(problem).map_err(Failure::Json)?;
        let config: Config = serde_json::from_str(config).map_err(Failure::Json)?;
        let was: Design = serde_json::from_str(was).map_err(Failure::Json)?;
        self.write(py, |found| {
            let amendment = Amendment::between(&found.study, problem.clone(), config.clone(), was);
            let changes: Vec<String> = amendment.changes().map(ToString::to_string).collect();
            if !changes.is_empty() {
                amendment.check(&found.study)?;
                refuse_running(found.layout.as_ref(), &found.store)?;
                amendment.record(&mut found.study)?;
            }
            found.follow(&problem, &config)?;
            Ok(changes)
        })
    }

    /// How the study stands.
    fn status(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |found| {
            let plan = Plan {
                name: found.name.clone(),
                store: found.location.clone(),
                budget: found.budget.cost,
                evaluations: found.budget.evaluations.clone(),
                wall_time: found.budget.wall_time.map(|time| time.as_secs_f64()),
            };
            json(&status(&found.study, plan, &custody(found)?)?)
        })
    }

    /// All evaluations.
    fn evaluations(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |found| json(&evaluations(&found.study)))
    }

    /// Values of all objectives at designs where all of them are known.
    fn measured(&self, py: Python<'_>) -> PyResult<Vec<Vec<f64>>> {
        self.read(py, |found| Ok(measured(&found.study)?))
    }

    /// How far the models can be trusted.
    fn models(&self, py: Python<'_>) -> PyResult<String> {
        self.view(py, |study, _| json(&models(study)?))
    }

    /// The predicted front, for people who are this cautious.
    fn front(&self, py: Python<'_>, count: usize, cautious: Option<f64>) -> PyResult<String> {
        self.view(py, |study, _| {
            require_values(study)?;
            json(&front(study, count, cautious)?)
        })
    }

    /// Designs at which every output was measured and that no other of them beats.
    fn measured_front(&self, py: Python<'_>) -> PyResult<String> {
        self.view(py, |study, _| json(&measured_front(study)?))
    }

    /// The design that is best for these weights, as a front of one.
    fn best(&self, py: Python<'_>, weights: Vec<f64>) -> PyResult<String> {
        self.view(py, |study, _| {
            require_values(study)?;
            json(&best_for(study, &weights, None)?)
        })
    }

    /// Means and standard deviations of all outputs, a row for each design.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        designs: &str,
    ) -> PyResult<[Bound<'py, PyArray2<f64>>; 2]> {
        let designs: Vec<Design> = serde_json::from_str(designs).map_err(Failure::Json)?;
        let (means, deviations, width) = py.detach(|| -> Result<_> {
            let study = self.state.snapshot()?;
            require_values(&study)?;
            let points = compute(|| study.forecasts(&designs))??;
            let forecasts = || points.iter().flat_map(|point| &point.outputs);
            let means: Vec<f64> = forecasts().map(|forecast| forecast.mean).collect();
            let deviations: Vec<f64> = forecasts().map(|forecast| forecast.sd).collect();
            Ok((means, deviations, study.problem().outputs.len()))
        })?;
        let shape = [designs.len(), width];
        let array = |values: Vec<f64>| numpy::PyArray1::from_vec(py, values).reshape(shape);
        Ok([array(means)?, array(deviations)?])
    }

    /// The study as a page of HTML.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        self.view(py, |study, found| {
            let background = Background {
                name: found.name.clone(),
                study_file: found.file.as_ref().map(|file| file.display().to_string()),
                store: found.location.clone(),
                budget: found.budget.cost,
            };
            let records = found.store.read(0)?;
            let limits = Limits::new(&found.budget, &found.run, vec![]);
            let allowed = study.suggest_where(|study, which| limits.permission(study, which))?;
            let report = StudyReport::new(study, &records, background, allowed.as_ref())?;
            Ok(report.page().html())
        })
    }

    /// Begins to make evaluations in this program.
    fn begin_run(&self, py: Python<'_>) -> PyResult<()> {
        Ok(py.detach(|| self.state.begin_work())?)
    }

    /// What a run makes next that makes these evaluations now.
    fn next(
        &self,
        py: Python<'_>,
        run: &str,
        running: Vec<u64>,
        too_long: Vec<String>,
    ) -> PyResult<String> {
        Ok(py.detach(|| -> Result<String> {
            let (budget, run) = self.state.with(|found| written::run(run, found))?;
            json(&running::next(&self.state, &budget, &run, &running, &too_long)?)
        })?)
    }

    /// Records what came out of an evaluation of a run. False if it was too late.
    fn finish(&self, py: Python<'_>, evaluation: u64, outcome: &str) -> PyResult<bool> {
        let outcome = serde_json::from_str(outcome).map_err(Failure::Json)?;
        Ok(py.detach(|| running::finish(&self.state, evaluation, outcome))?)
    }

    /// Leaves an evaluation of a run to others, or to a later run.
    fn leave(&self, py: Python<'_>, evaluation: u64) -> PyResult<()> {
        Ok(py.detach(|| -> Result<()> { Ok(self.state.worker()?.release(evaluation)?) })?)
    }

    /// Gives back what the run did not finish.
    fn end_run(&self, py: Python<'_>) -> PyResult<()> {
        Ok(py.detach(|| self.state.end_work())?)
    }

    /// Makes evaluations as processes and jobs until the run ends; `tell` is called with what happens. An
    /// exception, such as that of Ctrl-C, leaves what runs to the next run.
    fn run_jobs(&self, py: Python<'_>, orders: &str, tell: &Bound<'_, PyAny>) -> PyResult<String> {
        let mut run = py.detach(|| jobs::begin(&self.state, orders))?;
        let told = loop {
            let events = &mut run.events;
            let event = py.detach(move || events.recv_timeout(LOOK));
            let told = match event {
                Ok(event) => json(&event).map_err(PyErr::from).and_then(|text| tell.call1((text,))),
                Err(RecvTimeoutError::Timeout) => Ok(py.None().into_bound(py)),
                Err(RecvTimeoutError::Disconnected) => break Ok(()),
            };
            if let Err(error) = told.and_then(|_| py.check_signals()) {
                run.interrupt.leave();
                break Err(error);
            }
        };
        let ended = py.detach(|| {
            let ended = run.finish();
            self.state.end_work().and(ended)
        });
        told?;
        Ok(json(&ended?)?)
    }

    /// Closes the study.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        Ok(py.detach(|| self.state.close())?)
    }

    /// Called in a process that was just forked off.
    fn forget(&self) {
        self.state.forget();
    }
}

/// Between two looks whether somebody has pressed Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);

/// What a study is called, where it is, and its settings.
#[derive(Serialize)]
struct Description {
    name: Option<String>,
    store: String,
    file: Option<String>,
    budget: Option<f64>,
    evaluations: BTreeMap<String, u64>,
    wall_time: Option<f64>,
    slots: usize,
    seed: u64,
    config: serde_json::Value,
    /// Measurements for which the study file has a command.
    commands: Vec<String>,
    /// Those that people make by hand.
    by_hand: Vec<String>,
    /// The share of the budget that is kept to confirm recommended designs.
    confirm: Option<f64>,
    /// The folder of attempts that are processes and jobs.
    runs: Option<String>,
}

impl Handle {
    fn found(py: Python<'_>, find: impl FnOnce() -> Result<Found> + Send) -> PyResult<Self> {
        let found = py.detach(|| compute(find)?)?;
        Ok(Self { state: Arc::new(State::new(found)) })
    }

    /// Looks at the study, with what others wrote.
    fn read<T: Send>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&Found) -> Result<T> + Send,
    ) -> PyResult<T> {
        Ok(py.detach(|| self.state.refreshed(|found| look(found)))?)
    }

    /// Changes the study.
    fn write<T: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut Found) -> Result<T> + Send,
    ) -> PyResult<T> {
        Ok(py.detach(|| self.state.refreshed(change))?)
    }

    /// Computes with the study as it is now, which can be used meanwhile.
    fn view<T: Send>(
        &self,
        py: Python<'_>,
        compute_with: impl FnOnce(&Study<Store>, &Surroundings) -> Result<T> + Send,
    ) -> PyResult<T> {
        Ok(py.detach(|| {
            let (study, surroundings) =
                self.state.refreshed(|found| Ok((found.study.clone(), Surroundings::of(found))))?;
            compute(|| compute_with(&study, &surroundings))?
        })?)
    }
}

/// What is known of a study beside its journal.
struct Surroundings {
    store: Store,
    location: String,
    file: Option<PathBuf>,
    name: Option<String>,
    budget: unyoke_run::Budget,
    stop: Option<unyoke::Stop>,
    run: unyoke_run::RunSettings,
}

impl Surroundings {
    fn of(found: &Found) -> Self {
        Self {
            store: found.store.clone(),
            location: found.location.clone(),
            file: found.file.clone(),
            name: found.name.clone(),
            budget: found.budget.clone(),
            stop: found.stop.clone(),
            run: found.run.clone(),
        }
    }
}

fn json(value: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string(value)?)
}

fn require_values(study: &Study<Store>) -> Result<()> {
    let reason = "there are no values yet, so nothing can be predicted";
    if has_values(study) { Ok(()) } else { Err(Failure::Refused(reason.to_owned())) }
}

fn commands(found: &Found) -> Vec<String> {
    let runs = found.run.measurements.iter().filter(|run| run.command.is_some());
    runs.map(|run| run.measurement.clone()).collect()
}

fn by_hand(found: &Found) -> Vec<String> {
    let runs = found.run.measurements.iter().filter(|run| run.executor == Executor::Hand);
    runs.map(|run| run.measurement.clone()).collect()
}

/// Who works on what, by the leases of the study.
fn custody(found: &Found) -> Result<Custody> {
    let is_gone = |owner: &str| {
        found.layout.as_ref().is_some_and(|layout| is_gone(layout, owner).unwrap_or(false))
    };
    let worker = |status: LeaseStatus| {
        let has_owner = status.is_live() && !is_gone(&status.lease.owner);
        let owner = has_owner.then(|| status.lease.owner.clone());
        let (evaluation, attempt) = (status.lease.evaluation, status.lease.attempt);
        let layout = found.runs.as_ref().map(Layout::new);
        let job = layout.and_then(|layout| job_of(&layout, evaluation));
        (evaluation, Worker { owner, attempt, since: None, job })
    };
    let workers = found.store.leases()?.into_iter().map(worker).collect();
    Ok(Custody { workers, late_results: found.store.late()?.len(), now: now() })
}
