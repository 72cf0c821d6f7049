//! What is believed of one output.

use super::joint::Member;
use super::known::Known;
use serde::Serialize;
use unyoke_math::censored::Censored;
use unyoke_math::data::Standardizer;
use unyoke_math::gp::{Gp, Prediction, Query};
use unyoke_math::{Points, Result};

/// What is believed of one output.
#[derive(Debug, Clone)]
pub(crate) struct Belief {
    /// The output alone, on standardised values; a prior that nobody asks where it is a formula.
    pub(crate) gp: Gp,
    /// Its place in the model of several outputs, if it is modelled together with others: what is
    /// believed is then this. Only objectives are, and only for algorithms that know it.
    pub(crate) joint: Option<Member>,
    /// The formula that the output is, if it is one.
    pub(crate) known: Option<Known>,
    /// Its best possible value, standardised, where values show one and designs are searched for; it is no
    /// formula and in no joint model then, and utilities are linear.
    pub(crate) bound: Option<f64>,
    /// From values to standardised values.
    pub(crate) map: Standardizer,
    /// What one standardised unit counts when objectives are weighed against each other.
    pub(crate) unit: f64,
    /// What the user should know about this model.
    pub(crate) notes: Vec<ModelNote>,
}

/// Something about a model that a user should know.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelNote {
    /// Nothing was observed; the prior stands alone.
    NoObservations,
    /// Declared deterministic, but the same design returned different values; noise was fitted.
    ReplicatesDisagree {
        /// The evaluations whose values differ from that of another at the same design.
        evaluations: Vec<u64>,
    },
    /// All observed values are equal.
    ConstantValues,
    /// One value dwarfs the differences between all others.
    Outlier,
    /// There are too many designs for an exact model; `used` of them were used, those near the
    /// front and a selection that covers the rest.
    Subset {
        /// Number of designs used.
        used: usize,
        /// Number of designs at which this objective was observed.
        of: usize,
    },
    /// Hyper-parameters were fitted on a part of the designs, evenly spread over all.
    FittedOnSubset {
        /// Number of designs used.
        used: usize,
        /// Number of designs at which this objective was observed.
        of: usize,
    },
    /// Nothing better than the best value is searched for, which was measured at designs far apart.
    BestPossible {
        /// That value.
        value: f64,
        /// So many designs that are apart from each other have it.
        designs: usize,
    },
    /// Hyper-parameters could not be fitted; cautious defaults are in use.
    FitFailed,
    /// Values so far from all others that they count as less extreme ones; see `docs/outliers.md`.
    Clipped {
        /// In order of number.
        values: Vec<MeasuredValue>,
        /// What each of them counts as.
        counts_as: f64,
    },
    /// Values far from all others that contradict their neighbours and do not count.
    SetAside {
        /// In order of number.
        values: Vec<MeasuredValue>,
    },
}

/// A value with the evaluation that gave it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MeasuredValue {
    /// Number of the evaluation.
    pub evaluation: u64,
    /// What was measured.
    pub value: f64,
}

impl ModelNote {
    /// The same with all values in other units.
    pub(crate) fn in_units(&self, convert: impl Fn(f64) -> f64) -> Self {
        let converted = |values: &[MeasuredValue]| {
            let value = |one: &MeasuredValue| MeasuredValue { value: convert(one.value), ..*one };
            values.iter().map(value).collect()
        };
        match self {
            Self::Clipped { values, counts_as } => {
                Self::Clipped { values: converted(values), counts_as: convert(*counts_as) }
            }
            Self::SetAside { values } => Self::SetAside { values: converted(values) },
            Self::BestPossible { value, designs } => {
                Self::BestPossible { value: convert(*value), designs: *designs }
            }
            other => other.clone(),
        }
    }
}

impl std::fmt::Display for ModelNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoObservations => write!(f, "nothing observed yet, the prior stands alone"),
            Self::ReplicatesDisagree { evaluations } => {
                let numbers: Vec<String> = evaluations.iter().map(u64::to_string).collect();
                let numbers = numbers.join(", ");
                write!(f, "declared deterministic, but evaluations {numbers} differ from others ")?;
                write!(f, "at the same design: noise was fitted")
            }
            Self::ConstantValues => write!(f, "all observed values are equal"),
            Self::Outlier => write!(f, "one value dwarfs the differences between all others"),
            Self::Subset { used, of } => {
                write!(f, "modelled from {used} of {of} designs: those near the front, and a ")?;
                write!(f, "selection that covers the rest")
            }
            Self::FittedOnSubset { used, of } => {
                write!(f, "hyper-parameters were fitted on {used} of {of} designs")
            }
            Self::BestPossible { value, designs } => {
                let best = brief(*value);
                write!(
                    f,
                    "{best} was measured at {designs} designs far apart: nothing better is "
                )?;
                write!(f, "searched for; if there may be, set best_possible = \"ignored\"")
            }
            Self::FitFailed => write!(f, "hyper-parameters could not be fitted, defaults are used"),
            Self::Clipped { values, counts_as } => {
                let (what, verbs) = (
                    listed(values),
                    if values.len() == 1 { ["is", "counts"] } else { ["are", "count"] },
                );
                let [is, counts] = verbs;
                write!(
                    f,
                    "{what} {is} far from all others and {counts} as {}; ",
                    brief(*counts_as)
                )?;
                let if_wrong = if_wrong(values);
                write!(f, "{if_wrong}, if such values are right consider a log scale")
            }
            Self::SetAside { values } => {
                let what = listed(values);
                let does = if values.len() == 1 {
                    "contradicts its neighbours and does"
                } else {
                    "contradict their neighbours and do"
                };
                write!(f, "{what} {does} not count; {}", if_wrong(values))
            }
        }
    }
}

/// What a user can do about values that are wrong.
fn if_wrong(values: &[MeasuredValue]) -> String {
    let number = match values {
        [only] => only.evaluation.to_string(),
        _ => "NUMBER".to_owned(),
    };
    format!("if wrong, `unyoke tell --correct {number} VALUE`")
}

/// Most values that a message lists.
const LISTED: usize = 3;

/// "evaluation 12 (1e6)", "evaluations 3 (1e6), 7 (2e6), 9 (1e6) and 4 more".
fn listed(values: &[MeasuredValue]) -> String {
    let each = |one: &MeasuredValue| format!("{} ({})", one.evaluation, brief(one.value));
    let first: Vec<String> = values.iter().take(LISTED).map(each).collect();
    let (plural, first) = (if values.len() == 1 { "" } else { "s" }, first.join(", "));
    match values.len().saturating_sub(LISTED) {
        0 => format!("evaluation{plural} {first}"),
        more => format!("evaluation{plural} {first} and {more} more"),
    }
}

/// A number with four digits.
fn brief(value: f64) -> String {
    let text = format!("{value:.3e}");
    let rounded: f64 = text.parse().unwrap_or(value);
    match rounded.abs() {
        size if size == 0.0 || (1e-3..1e5).contains(&size) => rounded.to_string(),
        _ => format!("{rounded:e}"),
    }
}

/// What an output counts as, standardised, where it is a formula that has no value.
pub(super) const HOPELESS: f64 = -1e12;

/// The most that a formula counts, standardised. Its spread is that of a sample, which may have missed where
/// it is the largest; products of several objectives must still be numbers.
const HIGHEST: f64 = 1e30;

impl Belief {
    /// Expected values, standardised.
    pub(crate) fn means(&self, points: &Points) -> Result<Vec<f64>> {
        match &self.known {
            Some(known) => Ok(points.rows().map(|x| self.standardised(known.at(x))).collect()),
            None => match &self.joint {
                Some(member) => member.means(points),
                None if self.bound.is_some() => {
                    Ok(self.predict_many(points)?.iter().map(|p| p.mean).collect())
                }
                None => self.gp.means(points),
            },
        }
    }

    /// The value of a formula, standardised; hopeless where it has none.
    fn standardised(&self, value: Option<f64>) -> f64 {
        value.map_or(HOPELESS, |value| self.map.standardize(value).clamp(HOPELESS, HIGHEST))
    }

    /// What is expected at `x`, standardised. A formula is certain.
    pub(crate) fn predict(&self, x: &[f64]) -> Result<Prediction> {
        match &self.known {
            Some(known) => Ok(Prediction { mean: self.standardised(known.at(x)), variance: 0.0 }),
            None => match &self.joint {
                Some(member) => member.predict(x),
                None => Ok(self.counted(self.gp.predict(x)?)),
            },
        }
    }

    /// The same by the model of the output alone; keeps in `query` what a gradient needs.
    pub(crate) fn query(&self, x: &[f64], query: &mut Query) -> Result<Prediction> {
        if self.known.is_some() {
            return self.predict(x);
        }
        self.gp.query_into(x, query)?;
        Ok(query.prediction())
    }

    /// What is expected at each of `points`.
    pub(crate) fn predict_many(&self, points: &Points) -> Result<Vec<Prediction>> {
        match &self.known {
            Some(_) => points.rows().map(|x| self.predict(x)).collect(),
            None => match &self.joint {
                Some(member) => member.predict_many(points),
                None => {
                    let predictions = self.gp.predict_many(points)?;
                    Ok(predictions.into_iter().map(|p| self.counted(p)).collect())
                }
            },
        }
    }

    /// What is predicted counts up to the best possible value.
    fn counted(&self, prediction: Prediction) -> Prediction {
        let censored = self.bound.map(|bound| Censored::new(prediction, bound).prediction());
        censored.unwrap_or(prediction)
    }

    /// Expected value at `x`; adds `factor` times its gradient to `gradient`.
    pub(crate) fn mean_with_gradient(
        &self,
        x: &[f64],
        factor: f64,
        gradient: &mut [f64],
    ) -> Result<f64> {
        match &self.known {
            Some(known) => {
                let value = known.with_gradient(x, factor / self.map.scale(), gradient);
                Ok(self.standardised(value))
            }
            None => match &self.joint {
                Some(member) => member.mean_with_gradient(x, factor, gradient),
                None => match self.bound {
                    Some(bound) => self.bounded_mean(x, bound, factor, gradient),
                    None => self.gp.mean_with_gradient(x, factor, gradient),
                },
            },
        }
    }

    fn bounded_mean(
        &self,
        x: &[f64],
        bound: f64,
        factor: f64,
        gradient: &mut [f64],
    ) -> Result<f64> {
        let query = self.gp.query(x)?;
        let censored = Censored::new(query.prediction(), bound);
        let [by_mean, by_variance] = censored.mean_slopes().map(|slope| factor * slope);
        let part = self.gp.gradient(&query, by_mean, by_variance);
        gradient.iter_mut().zip(part).for_each(|(g, p)| *g += p);
        Ok(censored.mean)
    }
}
