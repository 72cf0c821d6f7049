//! What came out of an evaluation: values of outputs, perhaps with their standard errors.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::design::Design;

/// A measured value, and its standard error where that is known.
///
/// Written as a number, or as `{"value": 1.2, "sd": 0.05}`.
///
/// ```
/// use unyoke::Reading;
///
/// let read = |text| serde_json::from_str::<Reading>(text);
/// assert_eq!(read("1.2")?, Reading::from(1.2));
/// assert_eq!(read(r#"{"value": 1.2, "sd": 0.05}"#)?, Reading { value: 1.2, sd: Some(0.05) });
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(into = "Written")]
pub struct Reading {
    /// The value, in the units of the output.
    pub value: f64,
    /// Its standard error, in the same units.
    pub sd: Option<f64>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Written {
    Value(f64),
    WithError(WithError),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WithError {
    value: f64,
    #[serde(default)]
    sd: Option<f64>,
}

impl<'de> Deserialize<'de> for Reading {
    /// Written out: trying one form after the other takes several times as long, and journals have many.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyForm;
        impl<'de> Visitor<'de> for AnyForm {
            type Value = Reading;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a value with its standard error")
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Reading, E> {
                Ok(value.into())
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Reading, E> {
                Ok((value as f64).into())
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Reading, E> {
                Ok((value as f64).into())
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Reading, A::Error> {
                let WithError { value, sd } =
                    WithError::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Reading { value, sd })
            }
        }
        deserializer.deserialize_any(AnyForm)
    }
}

impl From<Reading> for Written {
    fn from(Reading { value, sd }: Reading) -> Self {
        match sd {
            None => Self::Value(value),
            Some(_) => Self::WithError(WithError { value, sd }),
        }
    }
}

impl From<f64> for Reading {
    fn from(value: f64) -> Self {
        Self { value, sd: None }
    }
}

/// What somebody records of an evaluation.
///
/// A number alone is the value of the only output of a measurement; otherwise values have the names
/// of their outputs.
///
/// ```
/// use unyoke::{Outcome, Problem, Reading, Study};
///
/// let problem = Problem::builder().continuous("x", 0.0, 1.0).minimise("drag", 1.0).build()?;
/// let mut study = Study::new(problem)?;
/// let first = study.ask()?.evaluation;
/// study.tell(first, 0.3)?;
/// let second = study.ask()?.evaluation;
/// study.tell(second, Outcome::from([("drag", 0.2)]).cost(1.5))?;
/// let third = study.ask()?.evaluation;
/// study.tell(third, Outcome::from(Reading { value: 0.2, sd: Some(0.05) }))?;
/// # Ok::<(), unyoke::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    pub(crate) only: Option<Reading>,
    pub(crate) values: BTreeMap<String, Reading>,
    pub(crate) missing: Option<String>,
    pub(crate) cost: Option<f64>,
    pub(crate) design: Option<Design>,
}

impl Outcome {
    /// Adds the value of an output.
    pub fn value(mut self, output: impl Into<String>, reading: impl Into<Reading>) -> Self {
        self.values.insert(output.into(), reading.into());
        self
    }

    /// Says why some outputs have no value.
    pub fn missing(self, reason: impl Into<String>) -> Self {
        Self { missing: Some(reason.into()), ..self }
    }

    /// Says what the evaluation really cost.
    pub fn cost(self, cost: f64) -> Self {
        Self { cost: Some(cost), ..self }
    }

    /// Says where the evaluation was really made.
    pub fn at(self, design: Design) -> Self {
        Self { design: Some(design), ..self }
    }
}

impl From<f64> for Outcome {
    fn from(value: f64) -> Self {
        Reading::from(value).into()
    }
}

impl From<Reading> for Outcome {
    fn from(reading: Reading) -> Self {
        Self { only: Some(reading), ..Self::default() }
    }
}

impl<const N: usize> From<[(&str, f64); N]> for Outcome {
    fn from(values: [(&str, f64); N]) -> Self {
        values
            .into_iter()
            .fold(Self::default(), |outcome, (name, value)| outcome.value(name, value))
    }
}

impl From<BTreeMap<String, Reading>> for Outcome {
    fn from(values: BTreeMap<String, Reading>) -> Self {
        Self { values, ..Self::default() }
    }
}

/// Values of some outputs of a problem, by the outputs' places.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Results {
    readings: Vec<(usize, Reading)>,
    /// Why other outputs of the measurement have no value.
    pub missing: Option<String>,
}

impl Results {
    /// From readings in any order; of two for one output the first counts.
    pub(crate) fn new(mut readings: Vec<(usize, Reading)>, missing: Option<String>) -> Self {
        readings.sort_by_key(|(output, _)| *output);
        readings.dedup_by_key(|(output, _)| *output);
        Self { readings, missing }
    }

    /// What was measured of an output, if anything.
    pub fn get(&self, output: usize) -> Option<Reading> {
        self.iter().find(|(k, _)| *k == output).map(|(_, reading)| reading)
    }

    /// Every output that has a value, in the order of the problem.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Reading)> {
        self.readings.iter().copied()
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.readings.len()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.readings.is_empty()
    }
}
