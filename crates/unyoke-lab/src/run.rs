//! One study on one instance, measured after every evaluation or at equal costs.

use crate::error::Result;
use crate::instance::Instance;
use crate::method::Method;
use crate::metrics::{Recommendation, hypervolume_regret, regret};
use crate::table::{Metrics, Row};
use crate::target::Target;
use std::collections::BTreeMap;
use std::time::Instant;
use unyoke::{
    Config, Design, Event, Journal, Lengthscales, MemoryJournal, Parameter, Record, Status, Study,
    Suggestion, Units,
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
    /// Metrics are taken at multiples of this cost, or after every evaluation: they take longer
    /// than a suggestion.
    pub measure_every: Option<f64>,
    /// The cost from which these multiples count.
    pub measure_from: f64,
}

impl Protocol {
    /// The seed of everything random on an instance: all algorithms share its initial designs and
    /// weights.
    fn seed_for(&self, instance: &Instance) -> u64 {
        seed_for(self.seed, u64::from(instance.id))
    }

    /// Settings of the method, with the problem's own reference point for those who are told it.
    fn config(&self, instance: &Instance, target: &Target, method: Method) -> Config {
        let reference = instance
            .problem
            .objectives()
            .map(|(m, objective)| (objective.name.clone(), instance.sign(m) * target.reference[m]))
            .collect::<BTreeMap<_, _>>();
        let inputs = instance.problem.parameters.len();
        let given = instance.initial.as_ref().map(|initial| initial.designs.len());
        let mut config = method.config(inputs);
        if method != Method::Default {
            config.lengthscales = self.lengthscales;
        }
        config.reference = method.is_told_reference().then_some(reference);
        config.initial.designs = Some(given.unwrap_or(2 * (inputs + 1)));
        if !instance.has_common_units() {
            config.units = Units::Standardised;
        }
        config
    }

    /// Whether metrics are wanted of what is known after spending `from`, given that more is known
    /// only after spending `to`.
    fn measures(&self, from: f64, to: f64) -> bool {
        // Sums of costs are not exact.
        let index = |cost: f64, every: f64| ((cost - self.measure_from) / every - 1e-9).ceil();
        self.measure_every.is_none_or(|every| index(from, every) < index(to, every))
    }
}

/// Runs a method on an instance until the money is spent. After each evaluation that took a
/// search, `advanced` is told its share of what is spent on such evaluations.
pub fn run(
    instance: &Instance,
    target: &Target,
    method: Method,
    protocol: &Protocol,
    mut advanced: impl FnMut(f64),
) -> Result<Vec<Row>> {
    let mut rows = initial_rows(instance, method);
    let mut study = replay(instance, target, method, protocol, &rows)?;
    let each = instance.full_cost();
    let initial = each * study.config().initial.designs.unwrap_or(0) as f64;
    let mut spent = rows.last().map_or(0.0, |row| row.cumulative_cost);
    loop {
        let begun = Instant::now();
        let suggestion = study.ask()?;
        let suggest_seconds = begun.elapsed().as_secs_f64();
        let ends = spent + suggestion.cost > protocol.max_cost;
        if let Some(last) = rows.last_mut().filter(|_| is_complete(instance, &study)) {
            // What is known changes once all that belongs together was evaluated.
            let together = study.config().algorithm.is_coupled();
            let next = spent + if together { each } else { suggestion.cost };
            if ends || spent == initial || protocol.measures(spent, next) {
                let begun = Instant::now();
                last.metrics = Some(measure(instance, target, &study)?);
                last.metrics_seconds = begun.elapsed().as_secs_f64();
            }
        }
        if ends {
            return Ok(rows);
        }
        let value = observe(instance, &study, protocol, &suggestion)?;
        study.tell(suggestion.evaluation, value)?;
        spent += suggestion.cost;
        if spent > initial {
            advanced(suggestion.cost / (protocol.max_cost - initial));
        }
        rows.push(Row {
            instance: instance.id,
            method,
            step: rows.len() + 1,
            design: instance.coordinates(&suggestion.design),
            objective: suggestion.measurement,
            value,
            cost: suggestion.cost,
            cumulative_cost: spent,
            metrics: None,
            suggest_seconds,
            metrics_seconds: 0.0,
        });
    }
}

/// The evaluations that a run starts from, where these are given.
fn initial_rows(instance: &Instance, method: Method) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let Some(initial) = &instance.initial else { return rows };
    for (design, values) in initial.designs.rows().zip(initial.values.rows()) {
        for ((m, output), &value) in instance.problem.outputs.iter().enumerate().zip(values) {
            let cost = instance.cost(m);
            let before = rows.last().map_or(0.0, |row| row.cumulative_cost);
            rows.push(Row {
                instance: instance.id,
                method,
                step: rows.len() + 1,
                design: design.to_vec(),
                objective: output.name.clone(),
                value,
                cost,
                cumulative_cost: before + cost,
                metrics: None,
                suggest_seconds: 0.0,
                metrics_seconds: 0.0,
            });
        }
    }
    rows
}

/// The study of a run as it was after `rows`.
pub(crate) fn replay(
    instance: &Instance,
    target: &Target,
    method: Method,
    protocol: &Protocol,
    rows: &[Row],
) -> Result<Study> {
    let config = protocol.config(instance, target, method);
    let initial = config.initial.designs.unwrap_or(0) * instance.problem.outputs.len();
    let seed = protocol.seed_for(instance);
    let problem = instance.problem.clone();
    let mut records = vec![Record::from(Event::Created { problem, config, seed })];
    for (i, row) in rows.iter().enumerate() {
        let evaluation = i as u64;
        let names = instance.problem.parameters.iter().map(Parameter::name);
        let design = names.zip(&row.design).fold(Design::new(), |d, (name, &x)| d.with(name, x));
        let (measurement, cost, initial) = (row.objective.clone(), row.cost, i < initial);
        records.push(Event::Asked { evaluation, design, measurement, cost, initial }.into());
        let values = BTreeMap::from([(row.objective.clone(), row.value.into())]);
        let (missing, cost, design) = (None, None, None);
        records.push(Event::Measured { evaluation, values, missing, cost, design }.into());
    }
    let mut journal = MemoryJournal::default();
    journal.append(0, &records).map_err(unyoke::Error::from)?;
    Ok(Study::open(journal)?)
}

/// The value of an evaluation, with noise. The n-th observation of an output has the same
/// noise whatever the algorithm.
fn observe(
    instance: &Instance,
    study: &Study,
    protocol: &Protocol,
    suggestion: &Suggestion,
) -> Result<f64> {
    let m = instance.problem.output_index(&suggestion.measurement)?;
    let truth = instance.value(&suggestion.design, m)?;
    if instance.noise[m] == 0.0 {
        return Ok(truth);
    }
    let before = count(study, m);
    let seed = seed_for(seed_for(protocol.seed_for(instance), NOISE), m as u64);
    Ok(truth + instance.noise[m] * Rng::new(seed, before as u64).normal())
}

/// The metrics of what a study knows.
fn measure(instance: &Instance, target: &Target, study: &Study) -> Result<Metrics> {
    let recommendation =
        Recommendation::expected(instance, target, study.predicted_means(RECOMMENDED)?)?;
    Ok(Metrics {
        bayesian_regret: regret(&recommendation, target),
        hypervolume_regret: hypervolume_regret(&recommendation, target)?,
        observed_hypervolume: observed_hypervolume(instance, target, study)?,
    })
}

/// Whether the initial designs are evaluated and, where all objectives are evaluated together, the
/// latest design is.
fn is_complete(instance: &Instance, study: &Study) -> bool {
    let counts: Vec<usize> = (0..instance.problem.outputs.len()).map(|m| count(study, m)).collect();
    let initial = study.config().initial.designs.unwrap_or(0);
    let together = study.config().algorithm.is_coupled();
    counts.iter().all(|&n| n >= initial && (!together || n == counts[0]))
}

/// Values of an output so far.
fn count(study: &Study, output: usize) -> usize {
    study.evaluations().iter().filter(|e| e.reading(output).is_some()).count()
}

/// Hypervolume of the values observed at designs where every output was; constraints count as they
/// were observed.
fn observed_hypervolume(instance: &Instance, target: &Target, study: &Study) -> Result<f64> {
    let (objectives, outputs) = (instance.objectives(), instance.problem.outputs.len());
    let mut designs: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    for evaluation in study.evaluations() {
        let Status::Completed(results) = &evaluation.status else { continue };
        let values = designs.entry(evaluation.design.to_string()).or_default();
        values.resize(outputs, None);
        for (m, reading) in results.iter() {
            values[m] = Some(reading.value);
        }
    }
    let worth = |row: Vec<f64>| {
        let values: Vec<f64> = (0..objectives).map(|m| instance.sign(m) * row[m]).collect();
        target.worth(&values, instance.observed_violation(&row))
    };
    let complete =
        designs.values().filter_map(|row| row.iter().copied().collect::<Option<Vec<f64>>>());
    Ok(hypervolume(&Points::from_rows(objectives, complete.map(worth))?, &target.reference)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_taken_of_what_is_known_at_each_multiple() {
        let protocol = Protocol {
            seed: 0,
            max_cost: 100.0,
            lengthscales: Lengthscales::PerInput,
            measure_every: Some(2.5),
            measure_from: 66.0,
        };
        // What is known at 66 and at 68.5: after 66, and after 68 where the next costs 1 or more.
        assert!(protocol.measures(66.0, 67.0));
        assert!(!protocol.measures(67.0, 68.0));
        assert!(protocol.measures(68.0, 69.0));
        assert!(protocol.measures(67.0, 77.0));
        assert!(!protocol.measures(71.1, 73.0));
        assert!(Protocol { measure_every: None, ..protocol }.measures(67.0, 68.0));
    }
}
