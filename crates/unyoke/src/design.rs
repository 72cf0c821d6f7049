//! A design: one value for each parameter, as a user writes it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The value of one parameter.
///
/// In JSON a number with a decimal point is real and one without is an integer, so each comes
/// back as what it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// One of the choices of a categorical parameter.
    Choice(String),
}

impl Value {
    /// The number, whole or not.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Integer(value) => Some(*value as f64),
            Self::Real(value) => Some(*value),
            Self::Choice(_) => None,
        }
    }

    /// The choice.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Choice(value) => Some(value),
            Self::Integer(_) | Self::Real(_) => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => write!(f, "{value}"),
            // Debug form: 1.0 keeps its point, and 1e-12 is not written out in full.
            Self::Real(value) => write!(f, "{value:?}"),
            Self::Choice(value) => write!(f, "{value}"),
        }
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Choice(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Choice(value.to_owned())
    }
}

/// One value for each parameter, by name.
///
/// ```
/// use unyoke::Design;
///
/// let design = Design::new().with("length", 0.3).with("layers", 4).with("kind", "steel");
/// assert_eq!(design.real("length"), Some(0.3));
/// assert_eq!(design.to_string(), "kind = steel, layers = 4, length = 0.3");
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Design(BTreeMap<String, Value>);

impl Design {
    /// A design without any value yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same design with a value for one parameter more.
    #[must_use = "the design is returned, not changed"]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.0.insert(name.into(), value.into());
        self
    }

    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// The value of a parameter, if it is a number.
    pub fn real(&self, name: &str) -> Option<f64> {
        self.get(name)?.as_f64()
    }

    /// Names and values, sorted by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, Value)> for Design {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl fmt::Display for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{name} = {value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn there_and_back(design: &Design) -> Design {
        serde_json::from_str(&serde_json::to_string(design).unwrap()).unwrap()
    }

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<i64>().prop_map(Value::Integer),
            any::<f64>()
                .prop_filter("JSON has no such number", |v| v.is_finite())
                .prop_map(Value::Real),
            any::<String>().prop_map(Value::Choice),
        ]
    }

    proptest! {
        #[test]
        fn a_design_comes_back_from_json_as_it_went_in(
            values in prop::collection::vec((any::<String>(), value()), 0..6)
        ) {
            let design: Design = values.into_iter().collect();
            prop_assert_eq!(there_and_back(&design), design);
        }
    }

    #[test]
    fn whole_reals_stay_real_and_integers_stay_integers() {
        let design = Design::new().with("a", 1.0).with("b", 1).with("c", "1");
        let text = serde_json::to_string(&design).unwrap();
        assert_eq!(text, r#"{"a":1.0,"b":1,"c":"1"}"#);
        let back = there_and_back(&design);
        assert_eq!(back.get("a"), Some(&Value::Real(1.0)));
        assert_eq!(back, design);
    }

    #[test]
    fn extreme_reals_keep_every_bit() {
        for value in [-0.0, 5e-324, f64::MAX, 0.1 + 0.2, 1e20, 9007199254740993.0] {
            let back = there_and_back(&Design::new().with("x", value)).real("x").unwrap();
            assert_eq!(back.to_bits(), value.to_bits());
        }
    }

    #[test]
    fn a_later_value_replaces_an_earlier_one() {
        let design = Design::new().with("x", 1.0).with("x", 2.0);
        assert_eq!((design.len(), design.real("x")), (1, Some(2.0)));
        assert_eq!(design.real("y"), None);
        assert_eq!(Value::from("steel").as_str(), Some("steel"));
        assert_eq!(Value::from("steel").as_f64(), None);
    }
}
