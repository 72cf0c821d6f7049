//! Problems as they are written in journals: that of format 2, and that of format 1, in which every
//! objective had a cost and was measured alone.

use serde::{Deserialize, Serialize};

use super::{
    Direction, KnownHyper, Limit, Measurement, Noise, Output, Parameter, Priors, Problem, Role,
    Scale, is_default,
};

/// A problem of either format.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenProblem {
    parameters: Vec<Parameter>,
    #[serde(default)]
    outputs: Vec<Output>,
    #[serde(default)]
    measurements: Vec<Measurement>,
    #[serde(default)]
    limits: Vec<Limit>,
    /// Format 1.
    #[serde(default)]
    objectives: Vec<WrittenObjective>,
}

/// An objective of format 1.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenObjective {
    name: String,
    direction: Direction,
    cost: f64,
    #[serde(default)]
    noise: Noise,
    #[serde(default)]
    priors: Priors,
    #[serde(default)]
    hyper: Option<KnownHyper>,
}

impl TryFrom<WrittenProblem> for Problem {
    type Error = String;

    fn try_from(written: WrittenProblem) -> Result<Self, String> {
        let WrittenProblem { parameters, mut outputs, mut measurements, limits, objectives } =
            written;
        let has_format_2 = !(outputs.is_empty() && measurements.is_empty());
        if has_format_2 && !objectives.is_empty() {
            return Err("has objectives of format 1 beside outputs or measurements".to_owned());
        }
        for objective in objectives {
            let WrittenObjective { name, direction, cost, noise, priors, hyper } = objective;
            let own = [name.clone()];
            measurements.push(Measurement::new(name.clone(), own, cost));
            let role = Role::Objective(direction);
            let (formula, scale) = (None, Scale::Linear);
            outputs.push(Output { name, role, formula, scale, noise, priors, hyper });
        }
        Ok(Self { parameters, outputs, measurements, limits })
    }
}

/// An output, its role in the words of the study file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenOutput {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    direction: Option<Direction>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_most: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_least: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    formula: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    scale: Scale,
    #[serde(default, skip_serializing_if = "is_default")]
    noise: Noise,
    #[serde(default, skip_serializing_if = "is_default")]
    priors: Priors,
    #[serde(default, skip_serializing_if = "is_default")]
    hyper: Option<KnownHyper>,
}

impl TryFrom<WrittenOutput> for Output {
    type Error = String;

    fn try_from(written: WrittenOutput) -> Result<Self, String> {
        let WrittenOutput { name, direction, at_most, at_least, formula, scale, .. } = written;
        let role = match (direction, at_most, at_least) {
            (Some(direction), None, None) => Role::Objective(direction),
            (None, Some(limit), None) => Role::AtMost(limit),
            (None, None, Some(limit)) => Role::AtLeast(limit),
            _ => return Err(format!("output {name:?} needs a direction, at_most or at_least")),
        };
        let WrittenOutput { noise, priors, hyper, .. } = written;
        Ok(Self { name, role, formula, scale, noise, priors, hyper })
    }
}

impl From<Output> for WrittenOutput {
    fn from(output: Output) -> Self {
        let Output { name, role, formula, scale, noise, priors, hyper } = output;
        let (mut direction, mut at_most, mut at_least) = (None, None, None);
        match role {
            Role::Objective(way) => direction = Some(way),
            Role::AtMost(limit) => at_most = Some(limit),
            Role::AtLeast(limit) => at_least = Some(limit),
        }
        Self { name, direction, at_most, at_least, formula, scale, noise, priors, hyper }
    }
}
