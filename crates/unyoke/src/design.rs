//! A design: one value for each parameter, as a user writes it.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The value of one parameter.
///
/// In JSON a number with a decimal point is real and one without is an integer, so each comes
/// back as what it was.
#[derive(Debug, Clone, PartialEq, Serialize)]
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

impl<'de> Deserialize<'de> for Value {
    /// Written out: trying one kind after the other takes several times as long, and journals have many.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyValue;
        impl Visitor<'_> for AnyValue {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a choice")
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
                Ok(Value::Integer(value))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
                Ok(i64::try_from(value).map_or(Value::Real(value as f64), Value::Integer))
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
                Ok(Value::Real(value))
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
                Ok(Value::Choice(value.to_owned()))
            }

            fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
                Ok(Value::Choice(value))
            }
        }
        deserializer.deserialize_any(AnyValue)
    }
}

/// One value for each parameter, by name. Copies share their values, so that they cost next to nothing.
///
/// ```
/// use unyoke::Design;
///
/// let design = Design::new().with("length", 0.3).with("layers", 4).with("kind", "steel");
/// assert_eq!(design.real("length"), Some(0.3));
/// assert_eq!(design.to_string(), "kind = steel, layers = 4, length = 0.3");
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Design(Arc<[(Arc<str>, Value)]>);

impl Serialize for Design {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Design {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Named;
        impl<'de> Visitor<'de> for Named {
            type Value = Design;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("values by the names of parameters")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Design, A::Error> {
                let mut values = Vec::with_capacity(map.size_hint().unwrap_or(8));
                while let Some((Name(name), value)) = map.next_entry()? {
                    values.push((name, value));
                }
                Ok(Design::sorted(values))
            }
        }
        deserializer.deserialize_map(Named)
    }
}

/// The name of a parameter. All designs of a journal have the same few, which are kept once.
struct Name(Arc<str>);

/// Most names that are kept for the designs that are read next.
const MOST_NAMES: usize = 64;

thread_local! {
    static NAMES: RefCell<Vec<Arc<str>>> = const { RefCell::new(vec![]) };
}

impl Name {
    fn of(name: &str) -> Arc<str> {
        NAMES.with_borrow_mut(|names| {
            if let Some(known) = names.iter().find(|known| &***known == name) {
                return known.clone();
            }
            if names.len() == MOST_NAMES {
                names.clear();
            }
            names.push(name.into());
            names[names.len() - 1].clone()
        })
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Name;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a parameter")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Name, E> {
                Ok(Name(Name::of(name)))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl Design {
    /// A design without any value yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same design with a value for one parameter more.
    #[must_use = "the design is returned, not changed"]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        let (name, value) = (name.into(), value.into());
        match self.place(&name) {
            Ok(at) => {
                let values = Arc::make_mut(&mut self.0);
                values[at].1 = value;
            }
            Err(at) => {
                let mut values = self.0.to_vec();
                values.insert(at, (Name::of(&name), value));
                self.0 = values.into();
            }
        }
        self
    }

    /// From values in any order; of two for one parameter the last counts.
    fn sorted(mut values: Vec<(Arc<str>, Value)>) -> Self {
        if !values.is_sorted_by(|a, b| a.0 < b.0) {
            values.sort_by(|a, b| a.0.cmp(&b.0));
            values.reverse();
            values.dedup_by(|a, b| a.0 == b.0);
            values.reverse();
        }
        Self(values.into())
    }

    /// Where a parameter stands among the values, or where it would.
    fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| (**known).cmp(name))
    }

    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.place(name).ok().map(|at| &self.0[at].1)
    }

    /// The value of a parameter, if it is a number.
    pub fn real(&self, name: &str) -> Option<f64> {
        self.get(name)?.as_f64()
    }

    /// Names and values, sorted by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (&**name, value))
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
        Self::sorted(values.into_iter().map(|(name, value)| (Name::of(&name), value)).collect())
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
    fn what_is_no_value_is_refused_and_large_numbers_are_real() {
        for text in ["true", "null", "[1]", r#"{"a": 1}"#] {
            assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
        }
        let read = |text| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(read("-9223372036854775808"), Value::Integer(i64::MIN));
        assert_eq!(read("9223372036854775808"), Value::Real(9_223_372_036_854_775_808.0));
        assert_eq!(read(r#""a\nb""#), Value::from("a\nb"));
    }

    #[test]
    fn of_two_values_of_a_parameter_the_last_counts() {
        let read: Design = serde_json::from_str(r#"{"b":1,"a":2,"b":3,"c":4,"a":5}"#).unwrap();
        let pairs = [("b", 1), ("a", 2), ("b", 3), ("c", 4), ("a", 5)];
        let collected: Design =
            pairs.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
        for design in [read, collected] {
            assert_eq!(design.to_string(), "a = 5, b = 3, c = 4");
            assert_eq!(
                (design.real("b"), design.real("d"), design.real("")),
                (Some(3.0), None, None)
            );
        }
    }

    #[test]
    fn more_names_than_are_kept_are_no_trouble() {
        let name = |i: usize| format!("x{:03}", (7 * i) % 200);
        let design: Design = (0..200).map(|i| (name(i), (i as f64).into())).collect();
        assert_eq!(there_and_back(&design), design);
        assert!((0..200).all(|i| design.real(&name(i)) == Some(i as f64)));
    }

    #[test]
    fn a_copy_is_not_changed_with_its_original() {
        let first = Design::new().with("x", 1.0);
        let second = first.clone().with("x", 2.0).with("y", 3);
        assert_eq!((first.real("x"), first.len()), (Some(1.0), 1));
        assert_eq!((second.real("x"), second.len()), (Some(2.0), 2));
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
