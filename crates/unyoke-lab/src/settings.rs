//! What all runs of a folder have in common, kept beside them: numbers made in different ways are
//! never averaged.

use crate::error::{Error, Result};
use crate::initial::read_initial;
use crate::instance::Instance;
use crate::problems::{Source, TestProblem};
use crate::run::Protocol;
use crate::table::write_whole;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use unyoke::Lengthscales;

/// How the runs of one family in one folder are made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Which problems.
    pub family: String,
    /// A file of published instances; sampled from the seed if there is none.
    pub problems: Option<PathBuf>,
    /// From which all random numbers come.
    pub seed: u64,
    /// Cost of one evaluation of each output.
    pub costs: Vec<f64>,
    /// Standard deviation of each output's noise.
    pub noise: Vec<f64>,
    /// Runs end at this cumulative cost.
    pub max_cost: f64,
    /// Whether the inputs of a model share a length scale.
    pub lengthscales: Lengthscales,
    /// A file of initial designs and values; designs of the study's own if there is none.
    #[serde(default)]
    pub initial: Option<PathBuf>,
    /// Whether models are fitted.
    #[serde(default)]
    pub hyper: Hyper,
    /// Metrics are taken at multiples of this cost, or after every evaluation.
    #[serde(default)]
    pub measure_every: Option<f64>,
    /// The cost from which these multiples count.
    #[serde(default)]
    pub measure_from: f64,
    /// The version that made them.
    pub version: String,
}

/// Where the hyper-parameters of the models come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hyper {
    /// Fitted at each step.
    #[default]
    Fitted,
    /// Those that the objectives were sampled with, known from the start.
    True,
}

impl Settings {
    /// The usual ones: for the paper's families costs of 1 and 10, and the published stop.
    pub fn usual(family: &str) -> Result<Self> {
        let problem = TestProblem::named(family)?;
        let costs = problem.usual_costs();
        Ok(Self {
            family: problem.name().to_owned(),
            problems: None,
            seed: 0,
            noise: problem.usual_noise(),
            max_cost: problem.usual_max_cost(&costs),
            costs,
            lengthscales: Lengthscales::PerInput,
            initial: None,
            hyper: Hyper::Fitted,
            measure_every: None,
            measure_from: 0.0,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        })
    }

    /// The part of them that a single run needs.
    pub fn protocol(&self) -> Protocol {
        Protocol {
            seed: self.seed,
            max_cost: self.max_cost,
            lengthscales: self.lengthscales,
            measure_every: self.measure_every,
            measure_from: self.measure_from,
        }
    }

    /// Instances by number.
    pub fn instances(&self, ids: &[u32]) -> Result<Vec<Instance>> {
        let problem = TestProblem::named(&self.family)?;
        self.check(&problem)?;
        let problems = self.problems.as_deref();
        let (costs, noise) = (&self.costs, &self.noise);
        let source = Source { problems, seed: self.seed, costs, noise };
        let mut instances = problem.instances(ids, &source)?;
        if self.hyper == Hyper::True {
            problem.tell_hyper(&mut instances)?;
        }
        if let Some(path) = &self.initial {
            read_initial(path, &mut instances)?;
        }
        Ok(instances)
    }

    fn check(&self, problem: &TestProblem) -> Result<()> {
        let refuse = |what, reason: String| Err(Error::Setting { what, reason });
        let count = problem.outputs();
        if self.costs.len() != count || self.costs.iter().any(|c| !(c.is_finite() && *c > 0.0)) {
            return refuse("costs", format!("needs {count} positive numbers, one per output"));
        }
        if self.noise.len() != count || self.noise.iter().any(|sd| !(sd.is_finite() && *sd >= 0.0))
        {
            return refuse("noise", format!("needs {count} numbers that are not negative"));
        }
        if !(self.max_cost.is_finite() && self.max_cost > 0.0) {
            return refuse("max cost", "must be positive and finite".to_owned());
        }
        if self.measure_every.is_some_and(|cost| !(cost.is_finite() && cost > 0.0)) {
            return refuse("measure every", "must be positive and finite".to_owned());
        }
        Ok(())
    }

    /// Writes them beside the runs, or fails if the runs there were made in another way.
    pub(crate) fn claim(&self, folder: &Path) -> Result<()> {
        let path = folder.join("settings.json");
        if path.exists() {
            return Self::read(folder)?.agree(self, folder);
        }
        let text = serde_json::to_vec_pretty(self).map_err(Error::bad_file(&path))?;
        write_whole(&path, &text)
    }

    /// The settings of the runs in a folder.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join("settings.json");
        let text = std::fs::read_to_string(&path).map_err(Error::io(&path))?;
        serde_json::from_str(&text).map_err(Error::bad_file(&path))
    }

    /// Where files of problems and initial designs lie may differ, and so may the version; what changes numbers may not.
    fn agree(&self, other: &Self, folder: &Path) -> Result<()> {
        let file = |path: &Option<PathBuf>, without: &str| match path {
            Some(path) => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            None => without.to_owned(),
        };
        let source = |s: &Self| file(&s.problems, "sampled");
        let start = |s: &Self| file(&s.initial, "chosen by the study");
        let every = |s: &Self| match s.measure_every {
            Some(cost) if s.measure_from > 0.0 => format!("{cost} from {}", s.measure_from),
            Some(cost) => cost.to_string(),
            None => "evaluation".to_owned(),
        };
        let pairs = [
            ("problems", source(self), source(other)),
            ("initial designs", start(self), start(other)),
            ("measure every", every(self), every(other)),
            ("hyper-parameters", format!("{:?}", self.hyper), format!("{:?}", other.hyper)),
            ("seed", self.seed.to_string(), other.seed.to_string()),
            ("costs", format!("{:?}", self.costs), format!("{:?}", other.costs)),
            ("noise", format!("{:?}", self.noise), format!("{:?}", other.noise)),
            ("max cost", self.max_cost.to_string(), other.max_cost.to_string()),
            (
                "length scales",
                format!("{:?}", self.lengthscales),
                format!("{:?}", other.lengthscales),
            ),
            ("version", self.version.clone(), other.version.clone()),
        ];
        match pairs.into_iter().find(|(_, found, wanted)| found != wanted) {
            None => Ok(()),
            Some((what, found, wanted)) => {
                Err(Error::OtherSettings { folder: folder.to_owned(), what, found, wanted })
            }
        }
    }
}
