//! The suite: many kinds of problems at the same budget, every algorithm on the same instances from the
//! same initial data.
//!
//! Here is what is run. What came of it is tabulated and drawn in `comparison`.

use crate::error::{Error, Result};
use crate::lab::{Bench, Lab, Outcome, Progress, Shard, make};
use crate::method::Method;
use crate::problems::TestProblem;
use crate::settings::Settings;
use std::path::PathBuf;

/// The parts of the budget after which metrics are taken.
pub(crate) const MARKS: usize = 8;

/// What to compare on what.
#[derive(Debug, Clone)]
pub struct Suite {
    /// Names of test problems.
    pub problems: Vec<String>,
    /// Who competes.
    pub methods: Vec<Method>,
    /// Numbers of the instances of each problem.
    pub instances: Vec<u32>,
    /// What is spent after the initial designs, in full evaluations: measuring everything once.
    pub budget: f64,
    /// From which all random numbers come.
    pub seed: u64,
    /// Runs at a time.
    pub threads: usize,
    /// The folder that holds `runs/`.
    pub out: PathBuf,
}

/// An algorithm that cannot be used on a problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Unsuited {
    /// Who.
    pub method: Method,
    /// Why not.
    pub reason: String,
}

impl Suite {
    /// The problems of the suite, the paper's own first.
    pub const PROBLEMS: [&'static str; 18] = [
        "lengthscales",
        "observationnoise",
        "branin-currin",
        "zdt1",
        "zdt2",
        "zdt3",
        "dtlz2",
        "dtlz2-4",
        "vehicle-safety",
        "four-bar-truss",
        "disc-brake",
        "welded-beam",
        "car-side-impact",
        "penicillin",
        "correlated",
        "anticorrelated",
        "sparse",
        "pressure-vessel",
    ];

    /// Makes all runs that are not there yet: the first instance of every problem, then the second, so
    /// that what is finished tells something about all problems early.
    pub fn run(&self, progress: &(dyn Fn(Progress) + Sync)) -> Result<Outcome> {
        let labs: Vec<Lab> =
            self.problems.iter().map(|name| self.lab(name)).collect::<Result<_>>()?;
        let benches: Vec<Bench<'_>> = labs.iter().map(Bench::new).collect::<Result<_>>()?;
        let mut jobs: Vec<_> = benches.iter().flat_map(Bench::jobs).collect();
        let place = |id: u32| self.instances.iter().position(|&other| other == id);
        jobs.sort_by_key(|job| place(job.instance()));
        Ok(make(&jobs, self.threads, progress))
    }

    /// How the runs on a problem are made.
    pub fn settings(&self, name: &str) -> Result<Settings> {
        if !(self.budget.is_finite() && self.budget > 0.0) {
            let reason = "must be a positive number of full evaluations".to_owned();
            return Err(Error::Setting { what: "budget", reason });
        }
        let usual = Settings::usual(name)?;
        let full: f64 = usual.costs.iter().sum();
        let start = TestProblem::named(name)?.initial_cost(&usual.costs);
        let spent = self.budget * full;
        Ok(Settings {
            seed: self.seed,
            max_cost: start + spent,
            measure_every: Some(spent / MARKS as f64),
            measure_from: start,
            ..usual
        })
    }

    /// Which of the algorithms cannot be used on a problem.
    pub fn unsuited(&self, name: &str) -> Result<Vec<Unsuited>> {
        let instances = self.settings(name)?.instances(&[0])?;
        let reason = |&method: &Method| {
            let problem = &instances.first()?.problem;
            Some(Unsuited { method, reason: method.unsuited(problem)? })
        };
        Ok(self.methods.iter().filter_map(reason).collect())
    }

    /// The part of the suite that concerns one problem.
    fn lab(&self, name: &str) -> Result<Lab> {
        let unsuited = self.unsuited(name)?;
        let is_suited = |method: &&Method| unsuited.iter().all(|other| other.method != **method);
        Ok(Lab {
            settings: self.settings(name)?,
            instances: self.instances.clone(),
            methods: self.methods.iter().filter(is_suited).copied().collect(),
            shard: Shard::WHOLE,
            threads: self.threads,
            out: self.out.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unyoke::Algorithm;

    fn suite() -> Suite {
        let rivals = [Algorithm::CMokg, Algorithm::HvkgD, Algorithm::Nehvi, Algorithm::Sobol];
        Suite {
            problems: Suite::PROBLEMS.map(str::to_owned).to_vec(),
            methods: rivals.map(Method::Published).to_vec(),
            instances: vec![0, 1],
            budget: 25.0,
            seed: 0,
            threads: 1,
            out: PathBuf::from("nowhere"),
        }
    }

    #[test]
    fn budgets_count_in_full_evaluations_after_the_start() {
        let settings = suite().settings("disc-brake").unwrap();
        // Ten initial designs of 14 each, and 25 times 14.
        assert_eq!(settings.costs, [1.0, 10.0, 1.0, 1.0, 1.0]);
        assert_eq!((settings.measure_from, settings.max_cost), (140.0, 490.0));
        let settings = suite().settings("penicillin").unwrap();
        assert_eq!(settings.costs, [10.0, 1.0, 1.0]);
        assert!(settings.noise.iter().all(|sd| *sd > 0.0));
        assert!(Suite { budget: 0.0, ..suite() }.settings("zdt1").is_err());
    }

    #[test]
    fn rivals_that_know_no_constraints_or_too_few_objectives_are_not_applicable() {
        let names = |problem: &str| -> Vec<&str> {
            suite().unsuited(problem).unwrap().iter().map(|u| u.method.name()).collect()
        };
        assert_eq!(names("disc-brake"), ["hvkg-d", "nehvi"]);
        assert_eq!(names("welded-beam"), ["hvkg-d", "nehvi"]);
        assert_eq!(names("dtlz2-4"), ["nehvi"]);
        assert!(names("pressure-vessel").is_empty() && names("sparse").is_empty());
    }

    #[test]
    fn all_problems_of_the_suite_exist() {
        for name in Suite::PROBLEMS {
            assert_eq!(TestProblem::named(name).unwrap().name(), name);
        }
    }
}
