//! Many runs: every algorithm on every instance, on several threads. What is finished is kept at
//! once, and never done again.

use crate::error::{Error, Result};
use crate::instance::Instance;
use crate::method::Method;
use crate::problems::TestProblem;
use crate::run::run;
use crate::settings::Settings;
use crate::table::{write_run, write_whole};
use crate::target::{Scale, Target};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

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

impl Lab {
    /// The folder of the runs of the lab's family.
    pub fn folder(&self) -> PathBuf {
        family_folder(&self.out, &self.settings.family)
    }

    /// Makes all runs that are not there yet. A run that fails does not stop the others.
    pub fn run(&self, progress: &(dyn Fn(Progress) + Sync)) -> Result<Outcome> {
        let bench = Bench::new(self)?;
        let jobs = bench.jobs();
        Ok(make(&jobs, self.threads, progress))
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
}

/// A lab with its instances, each with the target that is found when it is first needed: all
/// algorithms share it.
pub(crate) struct Bench<'a> {
    lab: &'a Lab,
    stands: Vec<Stand>,
    /// The target of all instances, where they differ in their initial designs only.
    shared: Option<OnceLock<Target>>,
}

struct Stand {
    instance: Instance,
    target: OnceLock<Target>,
}

/// One run to make.
pub(crate) struct Job<'a> {
    bench: &'a Bench<'a>,
    stand: &'a Stand,
    method: Method,
    path: PathBuf,
}

impl<'a> Bench<'a> {
    /// Claims the folder for the lab's settings and notes what is planned.
    pub(crate) fn new(lab: &'a Lab) -> Result<Self> {
        let instances = lab.settings.instances(&lab.instances)?;
        lab.settings.claim(&lab.folder())?;
        lab.note_plan()?;
        let stand = |instance| Stand { instance, target: OnceLock::new() };
        let one = TestProblem::named(&lab.settings.family)?.has_one_truth();
        let shared = one.then(OnceLock::new);
        Ok(Self { lab, stands: instances.into_iter().map(stand).collect(), shared })
    }

    /// The runs of the lab's shard, instance by instance.
    pub(crate) fn jobs(&'a self) -> Vec<Job<'a>> {
        let lab = self.lab;
        let job = |(stand, method): (&'a Stand, Method)| {
            let name = format!("{}.csv", stand.instance.id);
            let path = lab.folder().join(method.name()).join(name);
            Job { bench: self, stand, method, path }
        };
        let pairs = self
            .stands
            .iter()
            .flat_map(|stand| lab.methods.iter().map(move |&method| (stand, method)));
        let mine = |i: &usize| i % lab.shard.count.max(1) + 1 == lab.shard.index;
        pairs.enumerate().filter(|(i, _)| mine(i)).map(|(_, pair)| job(pair)).collect()
    }

    /// The target of an instance, found once.
    fn target(&self, stand: &'a Stand) -> Result<&Target> {
        let cell = self.shared.as_ref().unwrap_or(&stand.target);
        if let Some(target) = cell.get() {
            return Ok(target);
        }
        let target = Target::of(&stand.instance)?;
        Ok(cell.get_or_init(|| target))
    }
}

impl Job<'_> {
    /// The number of its instance.
    pub(crate) fn instance(&self) -> u32 {
        self.stand.instance.id
    }

    /// Makes the run, on one thread, and saves it. The scale of its regrets is saved first: whoever
    /// finds a run can tell what it means.
    fn finish(&self, progress: &(dyn Fn(Progress) + Sync)) -> Result<()> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(|error| {
            Error::Setting { what: "threads", reason: format!("no thread can be had: {error}") }
        })?;
        let (lab, instance) = (self.bench.lab, &self.stand.instance);
        let protocol = lab.settings.protocol();
        let advanced = |share: f64| progress(Progress::Advanced(share));
        let rows = pool.install(|| {
            let target = self.bench.target(self.stand)?;
            write_scale(&lab.folder(), instance.id, target.scale)?;
            run(instance, target, self.method, &protocol, advanced)
        })?;
        write_run(&self.path, &rows)
    }
}

/// Makes those of `jobs` that are not there yet, in their order, on several threads.
pub(crate) fn make(
    jobs: &[Job<'_>],
    threads: usize,
    progress: &(dyn Fn(Progress) + Sync),
) -> Outcome {
    let missing: Vec<&Job<'_>> = jobs.iter().filter(|job| !job.path.exists()).collect();
    let before = jobs.len() - missing.len();
    progress(Progress::Begun { runs: missing.len(), before });
    let outcome = Mutex::new(Outcome { before, ..Outcome::default() });
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(job) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
            let done = job.finish(progress);
            let mut outcome = outcome.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            match done {
                Ok(()) => outcome.finished += 1,
                Err(error) => outcome.failed.push((job.path.clone(), error)),
            }
            progress(Progress::Finished);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(work);
        }
    });
    outcome.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The folder beside the runs that holds the scale of each instance.
const SCALES: &str = "scales";

fn write_scale(folder: &Path, id: u32, scale: Scale) -> Result<()> {
    let path = folder.join(SCALES).join(format!("{id}.json"));
    if path.exists() {
        return Ok(());
    }
    let text = serde_json::to_vec(&scale).map_err(Error::bad_file(&path))?;
    write_whole(&path, &text)
}

/// What the regrets of an instance count in; none where its runs were made by an older version.
pub(crate) fn read_scale(folder: &Path, id: u32) -> Result<Option<Scale>> {
    let path = folder.join(SCALES).join(format!("{id}.json"));
    if !path.exists() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(&path).map_err(Error::io(&path))?;
    serde_json::from_str(&text).map(Some).map_err(Error::bad_file(&path))
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
