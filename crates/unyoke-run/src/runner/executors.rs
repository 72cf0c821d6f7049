//! Where attempts run: as processes on this machine, or as jobs of schedulers. Either way an attempt is
//! started, watched until it has ended, and stopped.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use super::Happened;
use crate::error::{Error, Result};
use crate::process::{Attempt, JobRecord, Spec, Supervisor};
use crate::scheduler::{
    Commands, Dispatcher, Notice, SLURM_PROGRAMS, Scheduler, Slurm, Watch, find_program,
};
use crate::study_file::{Executor, MeasurementRun, StudyFile, Watching};

/// A supervisor shows so many signs of life before its silence counts.
const BEATS: u32 = 8;

/// The shortest and the longest time between two of them.
const SHORTEST_BEAT: Duration = Duration::from_millis(100);
const LONGEST_BEAT: Duration = Duration::from_secs(10);

/// Of the name of a study file, so many letters are in the names of its jobs.
const LETTERS: usize = 20;

/// The executors of a study, by measurement.
pub(super) struct Executors {
    /// For the names of jobs.
    study: String,
    supervisor: Supervisor,
    happened: Sender<Happened>,
    places: Vec<Place>,
}

/// Where the evaluations of a measurement run.
enum Place {
    Here,
    Batch { dispatcher: Arc<Dispatcher>, executor: Arc<Executor>, watching: Watching },
}

impl Executors {
    /// Fails if a scheduler that the file names is not there.
    pub(super) fn new(
        file: &StudyFile,
        supervisor: Supervisor,
        happened: &Sender<Happened>,
    ) -> Result<Self> {
        require_programs(file)?;
        let mut slurm = None;
        let mut places = vec![];
        for run in &file.run.measurements {
            let executor = Arc::new(run.executor.clone());
            places.push(match &run.executor {
                Executor::Local | Executor::Hand => Place::Here,
                Executor::Slurm(_, watching) => {
                    let dispatcher = match &slurm {
                        Some(shared) => Arc::clone(shared),
                        // One for all, so that one question is asked about all.
                        None => dispatcher(Slurm::new(longest_call(file)), happened)?,
                    };
                    slurm = Some(dispatcher.clone());
                    Place::Batch { dispatcher, executor, watching: *watching }
                }
                Executor::Command(commands, watching) => {
                    let commands = Commands::new(commands, &file.folder, watching.call_timeout);
                    let dispatcher = dispatcher(commands, happened)?;
                    Place::Batch { dispatcher, executor, watching: *watching }
                }
            });
        }
        let study = job_prefix(file.path());
        Ok(Self { study, supervisor, happened: happened.clone(), places })
    }

    /// Starts an attempt in a folder that must not exist yet, and watches it.
    pub(super) fn start(&self, measurement: usize, folder: &Path, spec: &Spec) -> Result<()> {
        let Some(Place::Batch { dispatcher, executor, watching }) = self.places.get(measurement)
        else {
            let started = Attempt::start(folder, spec, &self.supervisor)?;
            return self.watch_process(spec.evaluation, started);
        };
        let name = self.name(spec);
        let beat = (watching.grace / BEATS).clamp(SHORTEST_BEAT, LONGEST_BEAT);
        let record = JobRecord::new(name.clone(), beat);
        let folder = Attempt::prepare_job(folder, spec, &self.supervisor, &record)?;
        let (executor, evaluation) = (executor.clone(), spec.evaluation);
        dispatcher.add_new(Watch { evaluation, folder, executor, watching: *watching }, name);
        Ok(())
    }

    /// Watches an attempt that was started earlier: `happened` tells when it has ended.
    pub(super) fn watch(&self, measurement: usize, evaluation: u64, folder: PathBuf) -> Result<()> {
        match self.places.get(measurement) {
            Some(Place::Batch { dispatcher, executor, watching }) if Attempt::is_job(&folder) => {
                let folder = std::path::absolute(&folder).map_err(Error::io(&folder))?;
                let executor = executor.clone();
                dispatcher.add(Watch { evaluation, folder, executor, watching: *watching })
            }
            _ => self.watch_process(evaluation, Attempt::open(folder)),
        }
    }

    /// Waits for a process on a thread of its own.
    fn watch_process(&self, evaluation: u64, mut attempt: Attempt) -> Result<()> {
        let sender = self.happened.clone();
        let watch = move || {
            let ended = attempt.wait().map(drop);
            // Nobody listens any more if the runner has ended.
            let _ = sender.send(Happened::Ended(evaluation, ended));
        };
        let thread = std::thread::Builder::new().name(format!("evaluation {evaluation}"));
        thread.spawn(watch).map(drop).map_err(Error::io("watcher"))
    }

    /// Asks for an attempt to be stopped. One that cannot be stopped goes on and is found again later.
    pub(super) fn stop(&self, measurement: usize, evaluation: u64, folder: &Path) {
        match self.places.get(measurement) {
            Some(Place::Batch { dispatcher, .. }) if Attempt::is_job(folder) => {
                dispatcher.stop(evaluation);
            }
            _ => drop(Attempt::open(folder).stop()),
        }
    }

    /// Stops whatever is still under way for an evaluation that has its result.
    pub(super) fn forget(&self, measurement: usize, evaluation: u64) {
        if let Some(Place::Batch { dispatcher, .. }) = self.places.get(measurement) {
            dispatcher.forget(evaluation);
        }
    }

    /// The name of a job, which no other ever has.
    fn name(&self, spec: &Spec) -> String {
        // Random, as the standard library begins each of these.
        let random = RandomState::new().build_hasher().finish();
        let (evaluation, attempt) = (spec.evaluation, spec.attempt);
        format!("unyoke-{}-{evaluation}-{attempt}-{:08x}", self.study, random as u32)
    }
}

fn dispatcher(
    scheduler: impl Scheduler + 'static,
    happened: &Sender<Happened>,
) -> Result<Arc<Dispatcher>> {
    let happened = happened.clone();
    let tell = move |notice: Notice| drop(happened.send(Happened::Job(notice)));
    Ok(Arc::new(Dispatcher::new(Box::new(scheduler), tell)?))
}

/// How long a command of Slurm may take: the longest that any measurement allows.
fn longest_call(file: &StudyFile) -> Duration {
    let times = file.run.measurements.iter().filter_map(|run| match &run.executor {
        Executor::Slurm(_, watching) => Some(watching.call_timeout),
        _ => None,
    });
    times.max().unwrap_or(Watching::default().call_timeout)
}

/// Fails if a program of a scheduler is missing, before anything is asked for.
pub(super) fn require_programs(file: &StudyFile) -> Result<()> {
    for run in &file.run.measurements {
        for program in programs(run) {
            if find_program(program, &file.folder).is_none() {
                let (measurement, program) = (run.measurement.clone(), program.to_owned());
                return Err(Error::NoScheduler { measurement, program });
            }
        }
    }
    Ok(())
}

/// The programs of the scheduler of a measurement.
fn programs(run: &MeasurementRun) -> Vec<&str> {
    match &run.executor {
        Executor::Local | Executor::Hand => vec![],
        Executor::Slurm(..) => SLURM_PROGRAMS.to_vec(),
        Executor::Command(commands, _) => {
            let all = [&commands.submit, &commands.status, &commands.cancel];
            all.into_iter().filter_map(|command| command.program()).collect()
        }
    }
}

/// The name of a study file in letters that every scheduler takes.
fn job_prefix(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = stem.chars().take(LETTERS).map(letter).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "study".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_jobs_are_such_that_every_scheduler_takes_them() {
        assert_eq!(job_prefix(Path::new("/a/Wing Über.toml")), "wing--ber");
        assert_eq!(job_prefix(Path::new("🦀.toml")), "study");
        assert!(job_prefix(Path::new(&"x".repeat(300))).len() <= LETTERS);
    }
}
