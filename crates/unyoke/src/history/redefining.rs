//! A history whose problem or settings change: what was recorded stays, seen in the new problem.

use super::{Evaluation, History, Status};
use crate::config::Config;
use crate::design::Design;
use crate::error::{Error, Result};
use crate::problem::{Output, Parameter, Problem, Scale};
use crate::reading::{Reading, Results};
use crate::space::Space;

impl History {
    /// The same history with another problem and other settings. Earlier designs have the values
    /// `was` of parameters that are new.
    pub(super) fn redefined(
        &self,
        problem: &Problem,
        config: &Config,
        was: &Design,
    ) -> Result<Self> {
        problem.check_replayable()?;
        config.check_replayable(problem)?;
        self.check_parameters(problem, was)?;
        let mut next = Self {
            space: Space::new(problem),
            costs: problem.measurements.iter().map(|m| m.cost.clone()).collect(),
            problem: problem.clone(),
            config: config.clone(),
            ..self.clone()
        };
        let places = Places::new(self, problem)?;
        for (index, evaluation) in next.evaluations.iter_mut().enumerate() {
            places.move_evaluation(evaluation, was);
            let id = evaluation.id;
            let encode = |design: &Design| {
                next.space.encode(design).map_err(|error| unfit(format!("evaluation {id}"), error))
            };
            next.asked_at[index] = completed(&next.asked_at[index], was);
            next.suggested[index] = encode(&next.asked_at[index])?;
            next.points[index] = encode(&evaluation.design)?;
        }
        next.check_values()?;
        next.move_queue(was)?;
        // Measurements that are gone need no pause.
        next.pauses.retain(|name, _| problem.measurement_index(name).is_ok());
        Ok(next)
    }

    /// Fails if a parameter is gone, or if nobody knows what earlier designs had of a new one.
    fn check_parameters(&self, problem: &Problem, was: &Design) -> Result<()> {
        let is_in = |problem: &Problem, name: &str| {
            problem.parameters.iter().any(|parameter| parameter.name() == name)
        };
        let evaluations = self.evaluations.len();
        for name in self.problem.parameters.iter().map(Parameter::name) {
            if !is_in(problem, name) && evaluations > 0 {
                let reason = "cannot be removed: designs of evaluations have values of it; equal low \
                              and high, or one choice, keep it as it is";
                return refuse("parameter", name, reason);
            }
        }
        for name in problem.parameters.iter().map(Parameter::name) {
            let is_new = !is_in(&self.problem, name);
            match was.get(name) {
                None if is_new && evaluations > 0 => {
                    let reason = "is new: `was` must say which value the designs so far had";
                    return refuse("parameter", name, reason);
                }
                Some(_) if !is_new => {
                    return refuse("parameter", name, "is not new: designs have values of it");
                }
                _ => {}
            }
        }
        match was.iter().find(|(name, _)| !is_in(problem, name)) {
            Some((name, _)) => refuse("parameter", name, "is in `was`, but not in the problem"),
            None => Ok(()),
        }
    }

    /// Sees what is queued in the new problem.
    fn move_queue(&mut self, was: &Design) -> Result<()> {
        for queued in &mut self.queue {
            queued.design = completed(&queued.design, was);
            if queued.dropped {
                continue;
            }
            let entry = queued.entry;
            let encoded = self.space.encode(&queued.design);
            encoded.map_err(|error| unfit(format!("queue entry q{entry}"), error))?;
            let gone = |name: &&String| self.problem.measurement_index(name).is_err();
            if let Some(name) = queued.measurement.as_ref().filter(gone) {
                let reason =
                    format!("cannot be removed: queue entry q{entry} is one of it; skip it");
                return refuse("measurement", name, &reason);
            }
        }
        Ok(())
    }

    /// Fails if a value that counts cannot be one of its output any more.
    fn check_values(&self) -> Result<()> {
        for evaluation in &self.evaluations {
            let Status::Completed(results) = &evaluation.status else { continue };
            for (k, Reading { value, .. }) in results.iter() {
                let Output { name, formula, scale, .. } = &self.problem.outputs[k];
                let id = evaluation.id;
                if formula.is_some() {
                    let reason = format!("cannot become a formula: evaluation {id} measured it");
                    return refuse("output", name, &reason);
                }
                if *scale == Scale::Log && value <= 0.0 {
                    let reason = format!(
                        "cannot be on a log scale: evaluation {id} gave {value}, which is not \
                                 positive; correct or retract it first"
                    );
                    return refuse("output", name, &reason);
                }
            }
        }
        Ok(())
    }
}

/// Where the outputs and measurements of the old problem stand in the new one, as far as evaluations
/// need them.
struct Places {
    outputs: Vec<Option<usize>>,
    measurements: Vec<Option<usize>>,
}

impl Places {
    fn new(history: &History, problem: &Problem) -> Result<Self> {
        let outputs = history.problem.outputs.iter().map(|o| problem.output_index(&o.name).ok());
        let measurements = history.problem.measurements.iter();
        let measurements = measurements.map(|m| problem.measurement_index(&m.name).ok());
        let places = Self { outputs: outputs.collect(), measurements: measurements.collect() };
        for Evaluation { id, outputs, measurement, .. } in &history.evaluations {
            let gone = outputs.iter().find(|k| places.outputs[**k].is_none());
            if let Some(k) = gone {
                let reason = format!("cannot be removed: evaluation {id} measures it");
                return refuse("output", &history.problem.outputs[*k].name, &reason);
            }
            if let Some(m) = measurement.filter(|m| places.measurements[*m].is_none()) {
                let reason = format!(
                    "cannot be removed: evaluation {id} is one of it; a budget of evaluations, or a \
                     higher cost, keeps it from being made"
                );
                return refuse("measurement", &history.problem.measurements[m].name, &reason);
            }
        }
        Ok(places)
    }

    fn move_evaluation(&self, evaluation: &mut Evaluation, was: &Design) {
        let outputs = evaluation.outputs.iter();
        evaluation.outputs = outputs.filter_map(|k| self.outputs[*k]).collect();
        evaluation.measurement = evaluation.measurement.and_then(|m| self.measurements[m]);
        evaluation.design = completed(&evaluation.design, was);
        self.move_status(&mut evaluation.status);
        for superseded in &mut evaluation.superseded {
            superseded.design = completed(&superseded.design, was);
            self.move_status(&mut superseded.status);
        }
    }

    fn move_status(&self, status: &mut Status) {
        if let Status::Completed(results) = status {
            let moved = results.iter().filter_map(|(k, reading)| Some((self.outputs[k]?, reading)));
            *results = Results::new(moved.collect(), results.missing.clone());
        }
    }
}

/// A design with the values of new parameters.
fn completed(design: &Design, was: &Design) -> Design {
    was.iter().fold(design.clone(), |design, (name, value)| design.with(name, value.clone()))
}

fn refuse<T>(what: &str, name: &str, reason: &str) -> Result<T> {
    Err(Error::CannotAmend { what: format!("{what} {name:?}"), reason: reason.to_owned() })
}

/// Why the design of something is none of the new problem.
fn unfit(of: String, error: Error) -> Error {
    match error {
        Error::BadValue { parameter, value, must } => Error::CannotAmend {
            what: format!("parameter {parameter:?}"),
            reason: format!("is {value} in {of}, but would have to be {must}"),
        },
        other => other,
    }
}
