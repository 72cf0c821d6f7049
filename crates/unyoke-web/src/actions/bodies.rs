//! What actions are sent: who does it, and what.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use unyoke::Reading;
use utoipa::ToSchema;

/// An action as it is sent. A field that nobody knows, such as a misspelled one, is refused here, for all of them.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Sent<B> {
    /// A name of this request, the same when it is sent again: 8 to 64 letters, digits, - and _.
    pub(super) key: String,
    /// Who does it.
    pub(super) by: Option<String>,
    /// What is to be done.
    #[serde(flatten)]
    pub(super) body: B,
}

/// Asks for an evaluation.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct AskBody {
    /// Only these measurements.
    #[serde(default)]
    pub(super) measurements: Vec<String>,
    /// Only designs with these values of some parameters.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub(super) fix: BTreeMap<String, Value>,
}

/// Records values.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct TellBody {
    /// The evaluation.
    pub(super) evaluation: u64,
    /// A number, or `{"value": 1.2, "sd": 0.1}`, for each output.
    #[schema(value_type = Object)]
    pub(super) values: BTreeMap<String, Reading>,
    /// Why other outputs have no value.
    pub(super) missing: Option<String>,
    /// What it really cost.
    pub(super) cost: Option<f64>,
    /// Values of parameters that were not as asked for.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub(super) design: BTreeMap<String, Value>,
}

/// Records that an evaluation gave no value.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct FailBody {
    /// The evaluation.
    pub(super) evaluation: u64,
    /// Why there is no value.
    pub(super) reason: String,
    /// What it really cost.
    pub(super) cost: Option<f64>,
}

/// Says that what was recorded is wrong.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct CorrectBody {
    /// The evaluation.
    pub(super) evaluation: u64,
    /// The right values; outputs that are left out keep theirs.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub(super) values: BTreeMap<String, Reading>,
    /// It gave no value, for this reason.
    pub(super) failed: Option<String>,
    /// Why other outputs have no value.
    pub(super) missing: Option<String>,
    /// What it really cost.
    pub(super) cost: Option<f64>,
    /// Values of parameters that were not as recorded.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub(super) design: BTreeMap<String, Value>,
}

/// Takes back what was recorded.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct RetractBody {
    /// The evaluation.
    pub(super) evaluation: u64,
    /// Why it does not count.
    pub(super) reason: Option<String>,
}

/// Names an evaluation.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct EvaluationBody {
    /// The evaluation.
    pub(super) evaluation: u64,
}

/// Puts a design into the queue.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct QueueBody {
    /// A value for each parameter.
    #[schema(value_type = Object)]
    pub(super) design: BTreeMap<String, Value>,
    /// Only this measurement; by default all that the design lacks.
    pub(super) measurement: Option<String>,
}

/// Takes an entry out of the queue.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct UnqueueBody {
    /// The number of the entry.
    pub(super) entry: u64,
}

/// Leaves out a measurement for a while.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct PauseBody {
    /// The measurement.
    pub(super) measurement: String,
    /// Until when, in seconds since the beginning of 1970, UTC; by default until it is resumed.
    pub(super) until: Option<u64>,
    /// Why it cannot be made.
    pub(super) reason: Option<String>,
}

/// Names a measurement.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct ResumeBody {
    /// The measurement.
    pub(super) measurement: String,
}

/// Changes a price.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct PriceBody {
    /// The measurement.
    pub(super) measurement: String,
    /// What an evaluation of it costs from now on.
    pub(super) cost: f64,
}

/// Changes the budget.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct BudgetBody {
    /// The most that may be spent; `null` for no limit.
    pub(super) cost: Option<f64>,
}
