//! Many runs: every algorithm on every instance, on several threads. What is finished is kept at
//! once, and never done again.

use crate::error::{Error, Result};
use crate::instance::Instance;
use crate::method::Method;
use crate::run::run;
use crate::settings::Settings;
use crate::table::{write_run, write_whole};
use crate::target::Target;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A set of runs to make.
#[derive(Debug, Clone)]
pub struct Lab {
    /// What the runs have in common.
    pub settings: Settings,
    /// Numbers of the instances.
    pub instances: Vec<u32>,
    /// Who competes.
    pub methods: Vec<Method>,
    /// Which part of the runs to make here.
    pub shard: Shard,
    /// Runs at a time. Each uses one thread, so that times are those of one core.
    pub threads: usize,
    /// The folder that holds `runs/`.
    pub out: PathBuf,
}

/// Part `index` (from one) of `count` parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Which part.
    pub index: usize,
    /// Of how many.
    pub count: usize,
}

impl Shard {
    /// Everything.
    pub const WHOLE: Self = Self { index: 1, count: 1 };
}

/// What happens while a lab works.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progress {
    /// So many runs are to be made; the others were finished before.
    Begun {
        /// To be made.
        runs: usize,
        /// Finished before.
        before: usize,
    },
    /// A run got on by this share of its budget.
    Advanced(f64),
    /// A run was finished and saved.
    Finished,
}

/// What came of a lab.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Runs made now.
    pub finished: usize,
    /// Runs that were there before.
    pub before: usize,
    /// Runs that failed, by their file, with the reason.
    pub failed: Vec<(PathBuf, Error)>,
}

/// One run to make.
struct Job<'a> {
    instance: &'a Instance,
    method: Method,
    path: PathBuf,
}

impl Lab {
    /// The folder of the runs of the lab's family.
    pub fn folder(&self) -> PathBuf {
        family_folder(&self.out, &self.settings.family)
    }

    /// Makes all runs that are not there yet. A run that fails does not stop the others.
    pub fn run(&self, progress: &(dyn Fn(Progress) + Sync)) -> Result<Outcome> {
        let instances = self.settings.instances(&self.instances)?;
        self.settings.claim(&self.folder())?;
        self.note_plan()?;
        let all = self.jobs(&instances);
        let total = all.len();
        let jobs: Vec<Job<'_>> = all.into_iter().filter(|job| !job.path.exists()).collect();
        let before = total - jobs.len();
        progress(Progress::Begun { runs: jobs.len(), before });
        let outcome = Mutex::new(Outcome { before, ..Outcome::default() });
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                let done = self.finish(job, progress);
                let mut outcome = outcome.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                match done {
                    Ok(()) => outcome.finished += 1,
                    Err(error) => outcome.failed.push((job.path.clone(), error)),
                }
                progress(Progress::Finished);
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.threads.max(1) {
                scope.spawn(work);
            }
        });
        Ok(outcome.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Adds what is asked for to what was asked for before, beside the runs of each algorithm:
    /// a report can then tell what is missing.
    fn note_plan(&self) -> Result<()> {
        for method in &self.methods {
            let folder = self.folder().join(method.name());
            let mut planned = read_plan(&folder)?;
            let before = planned.len();
            planned.extend(&self.instances);
            if planned.len() > before {
                let path = folder.join(PLAN);
                let text = serde_json::to_vec(&planned).map_err(Error::bad_file(&path))?;
                write_whole(&path, &text)?;
            }
        }
        Ok(())
    }

    /// The runs of this shard, instance by instance.
    fn jobs<'a>(&self, instances: &'a [Instance]) -> Vec<Job<'a>> {
        let job = |(instance, method): (&'a Instance, Method)| {
            let name = format!("{}.csv", instance.id);
            Job { instance, method, path: self.folder().join(method.name()).join(name) }
        };
        let pairs = instances
            .iter()
            .flat_map(|instance| self.methods.iter().map(move |&method| (instance, method)));
        let mine = |i: &usize| i % self.shard.count.max(1) + 1 == self.shard.index;
        pairs.enumerate().filter(|(i, _)| mine(i)).map(|(_, pair)| job(pair)).collect()
    }

    /// Makes one run, on one thread, and saves it.
    fn finish(&self, job: &Job<'_>, progress: &(dyn Fn(Progress) + Sync)) -> Result<()> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(|error| {
            Error::Setting { what: "threads", reason: format!("no thread can be had: {error}") }
        })?;
        let protocol = self.settings.protocol();
        let advanced = |share: f64| progress(Progress::Advanced(share));
        let rows = pool.install(|| {
            let target = Target::of(job.instance)?;
            run(job.instance, &target, job.method, &protocol, advanced)
        })?;
        write_run(&job.path, &rows)
    }
}

/// The file beside the runs of an algorithm that lists the instances asked for.
const PLAN: &str = "plan.json";

/// The instances that were asked for in the folder of an algorithm.
pub(crate) fn read_plan(folder: &Path) -> Result<BTreeSet<u32>> {
    let path = folder.join(PLAN);
    if !path.exists() {
        return Ok(BTreeSet::new());
    }
    let text = std::fs::read_to_string(&path).map_err(Error::io(&path))?;
    serde_json::from_str(&text).map_err(Error::bad_file(&path))
}

/// Where the runs of a family lie.
pub(crate) fn family_folder(out: &Path, family: &str) -> PathBuf {
    out.join("runs").join(family)
}
