//! One study on one instance, measured after every evaluation.

use crate::error::Result;
use crate::instance::Instance;
use crate::metrics::{Recommendation, hypervolume_regret, regret};
use crate::table::{Metrics, Row};
use crate::target::Target;
use std::collections::BTreeMap;
use std::time::Instant;
use unyoke::{
    Algorithm, Config, Design, Event, Journal, Lengthscales, MemoryJournal, Parameter, Record,
    Status, Study, Suggestion, Units,
};
use unyoke_math::Points;
use unyoke_math::pareto::hypervolume;
use unyoke_math::random::{Rng, seed_for};

/// Designs of the recommended set.
pub(crate) const RECOMMENDED: usize = 1000;
/// The stream of random numbers that the observation noise comes from.
const NOISE: u64 = 1;

/// How a run is made, apart from instance and algorithm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Protocol {
    /// From which all random numbers come.
    pub seed: u64,
    /// A run ends when the next evaluation would exceed this cumulative cost.
    pub max_cost: f64,
    /// Whether the inputs of a model share a length scale.
    pub lengthscales: Lengthscales,
}

impl Protocol {
    /// The seed of everything random on an instance: all algorithms share its initial designs and
    /// weights.
    fn seed_for(&self, instance: &Instance) -> u64 {
        seed_for(self.seed, u64::from(instance.id))
    }

    /// Settings of the paper, with the problem's own reference point for those who want one.
    fn config(&self, instance: &Instance, target: &Target, algorithm: Algorithm) -> Config {
        let objectives = instance.problem.objectives.iter().enumerate();
        let reference = objectives
            .map(|(m, objective)| (objective.name.clone(), instance.sign(m) * target.reference[m]))
            .collect::<BTreeMap<_, _>>();
        let mut config = Config {
            algorithm,
            lengthscales: self.lengthscales,
            reference: Some(reference),
            ..Config::paper()
        };
        config.initial.designs = Some(2 * (instance.problem.parameters.len() + 1));
        if !instance.has_common_units() {
            config.units = Units::Standardised;
        }
        config
    }
}

/// Runs `algorithm` on an instance until the money is spent. After each evaluation that took a
/// search, `advanced` is told its share of what is spent on such evaluations.
pub fn run(
    instance: &Instance,
    target: &Target,
    algorithm: Algorithm,
    protocol: &Protocol,
    mut advanced: impl FnMut(f64),
) -> Result<Vec<Row>> {
    let config = protocol.config(instance, target, algorithm);
    let problem = instance.problem.clone();
    let each: f64 = problem.objectives.iter().map(|objective| objective.cost).sum();
    let initial = each * config.initial.designs.unwrap_or(0) as f64;
    let mut study = Study::with_config(problem, config, protocol.seed_for(instance))?;
    let mut rows = Vec::new();
    let mut spent = 0.0;
    loop {
        let begun = Instant::now();
        let suggestion = study.ask()?;
        let suggest_seconds = begun.elapsed().as_secs_f64();
        spent += suggestion.cost;
        if spent > protocol.max_cost {
            return Ok(rows);
        }
        let value = observe(instance, &study, protocol, &suggestion)?;
        study.tell(suggestion.evaluation, value)?;
        let begun = Instant::now();
        let metrics = measure(instance, target, &study)?;
        let metrics_seconds = begun.elapsed().as_secs_f64();
        if spent > initial {
            advanced(suggestion.cost / (protocol.max_cost - initial));
        }
        rows.push(Row {
            instance: instance.id,
            algorithm,
            step: rows.len() + 1,
            design: instance.coordinates(&suggestion.design),
            objective: suggestion.objective,
            value,
            cost: suggestion.cost,
            cumulative_cost: spent,
            metrics,
            suggest_seconds,
            metrics_seconds,
        });
    }
}

/// The study of a run as it was after `rows`.
pub(crate) fn replay(
    instance: &Instance,
    target: &Target,
    algorithm: Algorithm,
    protocol: &Protocol,
    rows: &[Row],
) -> Result<Study> {
    let config = protocol.config(instance, target, algorithm);
    let initial = config.initial.designs.unwrap_or(0) * instance.problem.objectives.len();
    let seed = protocol.seed_for(instance);
    let problem = instance.problem.clone();
    let mut records = vec![Record::from(Event::Created { problem, config, seed })];
    for (i, row) in rows.iter().enumerate() {
        let (evaluation, value) = (i as u64, row.value);
        let names = instance.problem.parameters.iter().map(Parameter::name);
        let design = names.zip(&row.design).fold(Design::new(), |d, (name, &x)| d.with(name, x));
        let (objective, cost, initial) = (row.objective.clone(), row.cost, i < initial);
        records.push(Event::Asked { evaluation, design, objective, cost, initial }.into());
        records.push(Event::Told { evaluation, value }.into());
    }
    let mut journal = MemoryJournal::default();
    journal.append(0, &records).map_err(unyoke::Error::from)?;
    Ok(Study::open(journal)?)
}

/// The value of an evaluation, with noise. The n-th observation of an objective has the same
/// noise whatever the algorithm.
fn observe(
    instance: &Instance,
    study: &Study,
    protocol: &Protocol,
    suggestion: &Suggestion,
) -> Result<f64> {
    let m = instance.problem.objective_index(&suggestion.objective)?;
    let truth = instance.value(&suggestion.design, m)?;
    if instance.noise[m] == 0.0 {
        return Ok(truth);
    }
    let before = count(study, m);
    let seed = seed_for(seed_for(protocol.seed_for(instance), NOISE), m as u64);
    Ok(truth + instance.noise[m] * Rng::new(seed, before as u64).normal())
}

/// The metrics of what a study knows. None while the initial designs, or the objectives of a
/// design that are evaluated together, are incomplete.
fn measure(instance: &Instance, target: &Target, study: &Study) -> Result<Option<Metrics>> {
    if !is_complete(instance, study) {
        return Ok(None);
    }
    let recommendation = Recommendation::new(instance, &study.front(RECOMMENDED)?)?;
    Ok(Some(Metrics {
        bayesian_regret: regret(&recommendation, target),
        hypervolume_regret: hypervolume_regret(&recommendation, target)?,
        observed_hypervolume: observed_hypervolume(instance, target, study)?,
    }))
}

/// Whether the initial designs are evaluated and, where all objectives are evaluated together, the
/// latest design is.
fn is_complete(instance: &Instance, study: &Study) -> bool {
    let counts: Vec<usize> =
        (0..instance.problem.objectives.len()).map(|m| count(study, m)).collect();
    let initial = study.config().initial.designs.unwrap_or(0);
    let together = study.config().algorithm.is_coupled();
    counts.iter().all(|&n| n >= initial && (!together || n == counts[0]))
}

/// Evaluations of an objective so far.
fn count(study: &Study, objective: usize) -> usize {
    study.evaluations().iter().filter(|evaluation| evaluation.objective == objective).count()
}

/// Hypervolume of the values observed at designs where every objective was.
fn observed_hypervolume(instance: &Instance, target: &Target, study: &Study) -> Result<f64> {
    let objectives = instance.problem.objectives.len();
    let mut designs: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    for evaluation in study.evaluations() {
        if let Status::Told(value) = evaluation.status {
            let values = designs.entry(evaluation.design.to_string()).or_default();
            values.resize(objectives, None);
            values[evaluation.objective] = Some(instance.sign(evaluation.objective) * value);
        }
    }
    let complete =
        designs.values().filter_map(|row| row.iter().copied().collect::<Option<Vec<f64>>>());
    Ok(hypervolume(&Points::from_rows(objectives, complete)?, &target.reference)?)
}
