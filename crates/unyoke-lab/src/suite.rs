//! The test problems by name: the paper's families and the formulas of the literature.

use crate::error::{Error, Result};
use crate::family::{self, Family};
use crate::formulas::Formula;
use crate::instance::{Instance, Truth};
use std::path::Path;
use unyoke::{Direction, Output, Problem};

/// A set of test problems that have a name in common.
#[derive(Debug, Clone)]
pub enum Suite {
    /// Instances of one of the paper's families.
    Family(Family),
    /// A formula; its instances differ in their initial designs only.
    Formula(Formula),
}

impl Suite {
    /// Names of all.
    pub fn names() -> Vec<&'static str> {
        Family::ALL.into_iter().map(Family::name).chain(Formula::names()).collect()
    }

    /// The suite of this name.
    pub fn named(name: &str) -> Result<Self> {
        let family = Family::ALL.into_iter().find(|family| family.name() == name);
        let formula = || Formula::named(name).map(Self::Formula);
        family.map(Self::Family).or_else(formula).ok_or_else(|| Error::Setting {
            what: "family",
            reason: format!("{name:?} is none of {}", Self::names().join(", ")),
        })
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Family(family) => family.name(),
            Self::Formula(formula) => formula.name,
        }
    }

    /// Number of objectives.
    pub fn objectives(&self) -> usize {
        match self {
            Self::Family(_) => 2,
            Self::Formula(formula) => formula.objectives.len(),
        }
    }

    /// The usual cost of each objective: the first is cheap.
    pub fn usual_costs(&self) -> Vec<f64> {
        (0..self.objectives()).map(|m| if m == 0 { 1.0 } else { 10.0 }).collect()
    }

    /// The usual standard deviation of each objective's noise.
    pub fn usual_noise(&self) -> Vec<f64> {
        match self {
            Self::Family(family) => family.noise().to_vec(),
            Self::Formula(formula) => vec![0.0; formula.objectives.len()],
        }
    }

    /// The cumulative cost at which runs usually end: the published one, or four times that of
    /// the initial designs.
    pub fn usual_max_cost(&self, costs: &[f64]) -> f64 {
        match self {
            Self::Family(family) => family.published_max_cost(),
            Self::Formula(formula) => {
                4.0 * (2 * (formula.inputs.len() + 1)) as f64 * costs.iter().sum::<f64>()
            }
        }
    }

    /// Lets models of these instances know the hyper-parameters of the objectives.
    pub(crate) fn tell_hyper(&self, instances: &mut [Instance]) -> Result<()> {
        let Self::Family(family) = self else {
            let reason = format!("{} is a formula and has no true ones", self.name());
            return Err(Error::Setting { what: "hyper-parameters", reason });
        };
        for instance in instances {
            let known = family.true_hyper(&instance.noise);
            for (output, hyper) in instance.problem.outputs.iter_mut().zip(known) {
                output.hyper = Some(hyper);
            }
        }
        Ok(())
    }

    /// Instances by number; those of a family from a file of published ones if there is one.
    pub fn instances(&self, ids: &[u32], source: &Source<'_>) -> Result<Vec<Instance>> {
        match (self, source.problems) {
            (Self::Family(family), None) => {
                let sampled = |&id: &u32| {
                    family::sampled(*family, id, source.seed, source.costs, source.noise)
                };
                ids.iter().map(sampled).collect()
            }
            (Self::Family(family), Some(path)) => {
                let all = family::published(*family, path, source.costs, source.noise)?;
                let find = |&id: &u32| {
                    let found = all.iter().find(|instance| instance.id == id).cloned();
                    found.ok_or_else(|| Error::bad_file(path)(format!("has no instance {id}")))
                };
                ids.iter().map(find).collect()
            }
            (Self::Formula(formula), None) => {
                ids.iter().map(|&id| formula_instance(formula, id, source)).collect()
            }
            (Self::Formula(formula), Some(path)) => Err(Error::Setting {
                what: "problems",
                reason: format!("{} is a formula and needs no {}", formula.name, path.display()),
            }),
        }
    }
}

/// Where instances come from, and what is said about them.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// A file of published instances.
    pub problems: Option<&'a Path>,
    /// From which instances are sampled.
    pub seed: u64,
    /// Cost of one evaluation of each objective.
    pub costs: &'a [f64],
    /// Standard deviation of each objective's noise.
    pub noise: &'a [f64],
}

fn formula_instance(formula: &Formula, id: u32, source: &Source<'_>) -> Result<Instance> {
    let mut builder = Problem::builder();
    for input in &formula.inputs {
        builder = builder.continuous(input.name.clone(), input.low, input.high);
    }
    for (m, objective) in formula.objectives.iter().enumerate() {
        let name = objective.name.clone();
        let output = match objective.direction {
            Direction::Maximise => Output::maximise(name),
            Direction::Minimise => Output::minimise(name),
        };
        let output = if source.noise[m] > 0.0 { output.noisy() } else { output };
        builder = builder.measured(output, source.costs[m]);
    }
    Ok(Instance {
        family: formula.name.to_owned(),
        id,
        problem: builder.build()?,
        noise: source.noise.to_vec(),
        // Published reference points may lie so far out that no difference between fronts shows.
        reference: None,
        initial: None,
        truth: Truth::Formula(formula.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use unyoke::Design;

    #[test]
    fn every_suite_gives_instances_whose_values_are_those_of_the_formula() {
        for formula in Formula::all() {
            let suite = Suite::named(formula.name).unwrap();
            let (costs, noise) = (suite.usual_costs(), suite.usual_noise());
            let source = Source { problems: None, seed: 0, costs: &costs, noise: &noise };
            let instance = &suite.instances(&[0], &source).unwrap()[0];
            let inputs: Vec<f64> =
                formula.inputs.iter().map(|i| 0.7 * i.low + 0.3 * i.high).collect();
            let named = formula.inputs.iter().zip(&inputs);
            let design =
                named.fold(Design::new(), |design, (i, &x)| design.with(i.name.clone(), x));
            for (m, expected) in formula.evaluate(&inputs).into_iter().enumerate() {
                let value = instance.value(&design, m).unwrap();
                assert!((value - expected).abs() <= 1e-9 * expected.abs(), "{}", formula.name);
            }
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_those_that_exist() {
        let message = Suite::named("zdt9").unwrap_err().to_string();
        assert!(message.contains("zdt9") && message.contains("lengthscales"), "{message}");
    }
}
