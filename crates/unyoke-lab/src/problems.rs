//! The test problems by name: the paper's families, samples of other kinds, and the formulas of the
//! literature.

use crate::error::{Error, Result};
use crate::family::{self, Family};
use crate::formulas::{self, Formula};
use crate::instance::{Instance, Truth};
use crate::samples::Samples;
use std::path::Path;
use unyoke::{Output, Problem, ProblemBuilder, near};

/// Test problems that have a name in common; instances have numbers.
#[derive(Debug, Clone)]
pub enum TestProblem {
    /// Instances of one of the paper's families.
    Family(Family),
    /// Samples of another kind.
    Samples(Samples),
    /// A formula; its instances differ in their initial designs only.
    Formula(Formula),
}

impl TestProblem {
    /// Names of all.
    pub fn names() -> Vec<&'static str> {
        let families = Family::ALL.into_iter().map(Family::name);
        let samples = Samples::ALL.into_iter().map(Samples::name);
        families.chain(samples).chain(Formula::names()).collect()
    }

    /// The problem of this name.
    pub fn named(name: &str) -> Result<Self> {
        let family = Family::ALL.into_iter().find(|family| family.name() == name);
        let samples = || Samples::ALL.into_iter().find(|samples| samples.name() == name);
        let formula = || Formula::named(name).map(Self::Formula);
        let found = family.map(Self::Family).or_else(|| samples().map(Self::Samples));
        found.or_else(formula).ok_or_else(|| {
            let names = Self::names();
            let meant = near(name, names.iter().copied());
            let hint = meant.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            let reason = format!("{name:?} is none of {}{hint}", names.join(", "));
            Error::Setting { what: "family", reason }
        })
    }

    /// Its name in files and on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Family(family) => family.name(),
            Self::Samples(samples) => samples.name(),
            Self::Formula(formula) => formula.name,
        }
    }

    /// Number of inputs.
    pub fn inputs(&self) -> usize {
        match self {
            Self::Family(_) => 2,
            Self::Samples(samples) => samples.inputs(),
            Self::Formula(formula) => formula.inputs.len(),
        }
    }

    /// Number of outputs that are measured: objectives, and constraints that are not limits.
    pub fn outputs(&self) -> usize {
        self.usual_costs().len()
    }

    /// The usual cost of each output that is measured: where nothing else is known, the first
    /// objective is cheap.
    pub fn usual_costs(&self) -> Vec<f64> {
        match self {
            Self::Family(_) | Self::Samples(_) => vec![1.0, 10.0],
            Self::Formula(formula) => measured(formula).map(|output| output.cost).collect(),
        }
    }

    /// The usual standard deviation of each output's noise.
    pub fn usual_noise(&self) -> Vec<f64> {
        match self {
            Self::Family(family) => family.noise().to_vec(),
            Self::Samples(_) => vec![0.0; 2],
            Self::Formula(formula) => measured(formula).map(|output| output.noise).collect(),
        }
    }

    /// The cumulative cost at which runs usually end: the published one, or four times that of
    /// the initial designs.
    pub fn usual_max_cost(&self, costs: &[f64]) -> f64 {
        match self {
            Self::Family(family) => family.published_max_cost(),
            _ => 4.0 * self.initial_cost(costs),
        }
    }

    /// What the initial designs cost, 2 (D + 1) of them.
    pub fn initial_cost(&self, costs: &[f64]) -> f64 {
        (2 * (self.inputs() + 1)) as f64 * costs.iter().sum::<f64>()
    }

    /// Whether all its instances have the same true values.
    pub(crate) fn has_one_truth(&self) -> bool {
        matches!(self, Self::Formula(_))
    }

    /// Lets models of these instances know the hyper-parameters of the objectives.
    pub(crate) fn tell_hyper(&self, instances: &mut [Instance]) -> Result<()> {
        let Self::Family(family) = self else {
            let reason =
                format!("those of {} are not known: not a family of the paper", self.name());
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
        let all = match (self, source.problems) {
            (_, None) => None,
            (Self::Family(family), Some(path)) => {
                Some((path, family::published(*family, path, source.costs, source.noise)?))
            }
            (_, Some(path)) => {
                let (name, path) = (self.name(), path.display());
                let reason = format!("{name} is not a family of the paper and needs no {path}");
                return Err(Error::Setting { what: "problems", reason });
            }
        };
        let instance = |&id: &u32| match (self, &all) {
            (_, Some((path, all))) => {
                let found = all.iter().find(|instance| instance.id == id).cloned();
                found.ok_or_else(|| Error::bad_file(*path)(format!("has no instance {id}")))
            }
            (Self::Family(family), None) => {
                family::sampled(*family, id, source.seed, source.costs, source.noise)
            }
            (Self::Samples(samples), None) => sampled_instance(*samples, id, source),
            (Self::Formula(formula), None) => formula_instance(formula, id, source),
        };
        ids.iter().map(instance).collect()
    }
}

/// Where instances come from, and what is said about them.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// A file of published instances.
    pub problems: Option<&'a Path>,
    /// From which instances are sampled.
    pub seed: u64,
    /// Cost of one evaluation of each output.
    pub costs: &'a [f64],
    /// Standard deviation of each output's noise.
    pub noise: &'a [f64],
}

/// The outputs that a study measures.
fn measured(formula: &Formula) -> impl Iterator<Item = &formulas::Output> {
    formula.outputs.iter().filter(|output| output.limit.is_none())
}

/// Adds output `m`, measured alone.
fn add_output(
    builder: ProblemBuilder,
    output: Output,
    m: usize,
    from: &Source<'_>,
) -> ProblemBuilder {
    let output = if from.noise[m] > 0.0 { output.noisy() } else { output };
    builder.measured(output, from.costs[m])
}

fn sampled_instance(samples: Samples, id: u32, source: &Source<'_>) -> Result<Instance> {
    let inputs = (1..=samples.inputs()).map(|i| format!("x{i}"));
    let builder = inputs.fold(Problem::builder(), |b, name| b.continuous(name, 0.0, 1.0));
    let outputs = ["f1", "f2"].map(Output::maximise).into_iter().enumerate();
    let builder = outputs.fold(builder, |b, (m, output)| add_output(b, output, m, source));
    Ok(Instance {
        family: samples.name().to_owned(),
        id,
        problem: builder.build()?,
        noise: source.noise.to_vec(),
        reference: None,
        initial: None,
        truth: Truth::Mixture(samples.draw(id, source.seed)?),
    })
}

fn formula_instance(formula: &Formula, id: u32, source: &Source<'_>) -> Result<Instance> {
    let mut builder = Problem::builder();
    for input in &formula.inputs {
        let (name, low, high) = (input.name.clone(), input.low, input.high);
        builder = match input.step {
            Some(step) => builder.stepped(name, low, high, step),
            None => builder.continuous(name, low, high),
        };
    }
    for (m, output) in measured(formula).enumerate() {
        let told = Output {
            role: output.role,
            scale: output.scale,
            ..Output::minimise(output.name.clone())
        };
        builder = add_output(builder, told, m, source);
    }
    for output in &formula.outputs {
        if let Some(limit) = output.limit {
            builder = builder.limit(output.name.clone(), limit);
        }
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

    fn instance(name: &str) -> Instance {
        let problem = TestProblem::named(name).unwrap();
        let (costs, noise) = (problem.usual_costs(), problem.usual_noise());
        let source = Source { problems: None, seed: 0, costs: &costs, noise: &noise };
        problem.instances(&[0], &source).unwrap().remove(0)
    }

    #[test]
    fn every_formula_gives_instances_whose_values_are_its_own() {
        for formula in Formula::all() {
            let instance = instance(formula.name);
            let inputs: Vec<f64> = formula.inputs.iter().map(|i| i.value(0.3)).collect();
            let named = formula.inputs.iter().zip(&inputs);
            let design =
                named.fold(Design::new(), |design, (i, &x)| design.with(i.name.clone(), x));
            let expected = formula.evaluate(&inputs).into_iter();
            for (m, expected) in expected.take(instance.problem.outputs.len()).enumerate() {
                let value = instance.value(&design, m).unwrap();
                assert!((value - expected).abs() <= 1e-9 * expected.abs(), "{}", formula.name);
            }
        }
    }

    #[test]
    fn constraints_are_measured_and_those_between_inputs_are_limits() {
        let brake = instance("disc-brake").problem;
        let constraints: Vec<&str> = brake.constraints().map(|(_, o)| o.name.as_str()).collect();
        assert_eq!(constraints, ["pressure", "heat", "torque"]);
        assert_eq!(brake.measurements.len(), 5);
        assert_eq!(brake.limits[0].formula, "outer_radius - inner_radius >= 20");
        let beam = instance("welded-beam").problem;
        assert_eq!((beam.constraints().count(), beam.limits.len()), (3, 1));
        assert_eq!(beam.outputs[2].limit(), Some(13_600.0));
    }

    #[test]
    fn an_unknown_name_is_refused_with_those_that_exist() {
        let message = TestProblem::named("zdt9").unwrap_err().to_string();
        assert!(message.contains("zdt9") && message.contains("lengthscales"), "{message}");
        let message = TestProblem::named("pressure-vesel").unwrap_err().to_string();
        assert!(message.contains("did you mean pressure-vessel?"), "{message}");
    }
}
