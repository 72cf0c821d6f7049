//! Records of the kinds that journals have most of, read in one pass.
//!
//! In general a record has to be taken apart before it is known which event it is, and put together
//! again. Where a line begins as this version writes it, the event is known from its first bytes.
//! What is read here is what the general way would have read; whatever is unusual is left to that.

use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use unyoke::{Design, Event, Reading, Record};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    format: u32,
    by: Option<String>,
    at: Option<u64>,
    key: Option<String>,
    #[serde(rename = "event")]
    _event: IgnoredAny,
    evaluation: u64,
    design: Design,
    measurement: String,
    cost: f64,
    #[serde(default)]
    initial: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    format: u32,
    by: Option<String>,
    at: Option<u64>,
    key: Option<String>,
    #[serde(rename = "event")]
    _event: IgnoredAny,
    evaluation: u64,
    values: BTreeMap<String, Reading>,
    #[serde(default)]
    missing: Option<String>,
    #[serde(default)]
    cost: Option<f64>,
    #[serde(default)]
    design: Option<Design>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Added {
    format: u32,
    by: Option<String>,
    at: Option<u64>,
    key: Option<String>,
    #[serde(rename = "event")]
    _event: IgnoredAny,
    evaluation: u64,
    design: Design,
    values: BTreeMap<String, Reading>,
}

/// The record that a line holds, if it is of a frequent kind and as usual.
pub(crate) fn read(text: &str) -> Option<Record> {
    Some(match event(text)? {
        "asked" => {
            let Asked {
                format, by, at, key, evaluation, design, measurement, cost, initial, ..
            } = serde_json::from_str(text).ok()?;
            let event = Event::Asked { evaluation, design, measurement, cost, initial };
            Record { format, by, at, key, event }
        }
        "measured" => {
            let Measured { format, by, at, key, evaluation, values, missing, cost, design, .. } =
                serde_json::from_str(text).ok()?;
            let event = Event::Measured { evaluation, values, missing, cost, design };
            Record { format, by, at, key, event }
        }
        "added" => {
            let Added { format, by, at, key, evaluation, design, values, .. } =
                serde_json::from_str(text).ok()?;
            Record { format, by, at, key, event: Event::Added { evaluation, design, values } }
        }
        _ => return None,
    })
}

/// The name of the event, where a line begins with its format and has no object before the event. Inside
/// a text, quotation marks have a backslash before them, so that the first match is the field.
fn event(text: &str) -> Option<&str> {
    let (before, rest) = text.strip_prefix("{\"format\":")?.split_once(",\"event\":\"")?;
    let (event, _) = rest.split_once('"')?;
    (!before.contains('{')).then_some(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn general(text: &str) -> Option<Record> {
        serde_json::from_str(text).ok()
    }

    /// Reads a record of a frequent kind both ways, signed or not.
    fn check(event: Event) {
        let (by, key) = (Some("Ann \",\"event\":\"added".to_owned()), Some("k".to_owned()));
        let plain = Record::from(event);
        for record in [Record { by, at: Some(7), key, ..plain.clone() }, plain] {
            let text = serde_json::to_string(&record).unwrap();
            assert_eq!(read(&text), Some(record));
            assert_eq!(read(&text), general(&text));
        }
    }

    #[test]
    fn frequent_records_are_read_as_all_others_are() {
        let design = || Design::new().with("x", 0.1 + 0.2).with("n", -3).with("kind", "a \"b\"\n");
        let values = || -> BTreeMap<String, Reading> {
            let with_error = Reading { value: -1e-300, sd: Some(0.5) };
            [("lift".to_owned(), 5e-324.into()), ("drag".to_owned(), with_error)].into()
        };
        for initial in [false, true] {
            let (measurement, cost) = ("wind tunnel \u{e9}".to_owned(), 1e22);
            let evaluation = u64::MAX;
            check(Event::Asked { evaluation, design: design(), measurement, cost, initial });
        }
        for missing in [None, Some("diverged, \"badly\"".to_owned())] {
            for (cost, at) in [(None, None), (Some(2.5), Some(design()))] {
                let (evaluation, missing) = (7, missing.clone());
                check(Event::Measured { evaluation, values: values(), missing, cost, design: at });
            }
        }
        check(Event::Added { evaluation: 0, design: design(), values: values() });
    }

    #[test]
    fn what_is_unusual_is_read_in_the_general_way() {
        for text in [
            // Other kinds, other orders, names of format 1, blanks.
            r#"{"format":4,"event":"withdrawn","evaluation":3}"#,
            r#"{"event":"added","format":4,"evaluation":0,"design":{"x":1.0},"values":{"f":1}}"#,
            r#"{"format":1,"event":"asked","evaluation":0,"design":{"x":1.0},"objective":"f","cost":1.0}"#,
            r#"{"format":4, "event":"added","evaluation":0,"design":{"x":1.0},"values":{"f":1}}"#,
        ] {
            assert_eq!(read(text), None, "{text}");
            assert!(general(text).is_some(), "{text}");
        }
        for text in [
            // Something missing, something twice, something unknown, something wrong.
            r#"{"format":4,"event":"added","evaluation":0,"design":{"x":1.0}}"#,
            r#"{"format":4,"event":"added","evaluation":0,"evaluation":0,"design":{"x":1.0},"values":{"f":1}}"#,
            r#"{"format":4,"event":"added","evaluation":0,"design":{"x":1.0},"values":{"f":1},"more":1}"#,
            r#"{"format":4,"event":"added","evaluation":0,"design":{"x":true},"values":{"f":1}}"#,
            r#"{"format":4,"event":"measured","evaluation":0,"values":{"f":{"value":1.0,"so":2}}}"#,
            r#"{"format":4,"event":"measured","evaluation":0,"values":{"f":null}}"#,
            r#"{"format":4,"event":"measured","evaluation":0,"values":{"f":1}} more"#,
        ] {
            assert_eq!(read(text), None, "{text}");
            assert_eq!(general(text), None, "{text}");
        }
    }
}
