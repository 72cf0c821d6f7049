//! Records as the text that databases keep: one line of JSON each.

use unyoke::{FORMAT, Header, Record};

use crate::error::{Error, Result};

/// The records as text.
///
/// Each is read back before anybody relies on it: JSON has no NaN and would quietly turn it into
/// something that can never be read again.
pub(crate) fn write(location: &str, records: &[Record]) -> Result<Vec<String>> {
    let write_one = |record| {
        let text = serde_json::to_string(record)?;
        serde_json::from_str::<Record>(&text).map(|_| text)
    };
    let texts: serde_json::Result<_> = records.iter().map(write_one).collect();
    texts.map_err(|error| {
        let reason = format!("a record cannot be written: {error}");
        Error::Failed { location: location.to_owned(), reason }
    })
}

/// The records that `texts` hold, which stand at positions from `from` on.
pub(crate) fn read(location: &str, from: u64, texts: &[String]) -> Result<Vec<Record>> {
    let read_one = |(position, text): (u64, &String)| {
        let damaged = |error| damaged(location, position, &error);
        check_format(location, position, text)?;
        serde_json::from_str(text).map_err(damaged)
    };
    (from..).zip(texts).map(read_one).collect()
}

/// The texts of rows that must stand at positions from `first` on, each at the next one.
pub(crate) fn gapless(location: &str, first: i64, rows: Vec<(i64, String)>) -> Result<Vec<String>> {
    let is_next = |(index, (position, _)): &(usize, &(i64, String))| {
        position.checked_sub(first).is_some_and(|distance| usize::try_from(distance) == Ok(*index))
    };
    if let Some((index, _)) = rows.iter().enumerate().find(|row| !is_next(row)) {
        let reason = format!("record {} is missing", first.saturating_add(index as i64));
        return Err(Error::Damaged { location: location.to_owned(), reason });
    }
    Ok(rows.into_iter().map(|(_, text)| text).collect())
}

/// Fails if this version cannot know what the record says.
pub(crate) fn check_format(location: &str, position: u64, text: &str) -> Result<()> {
    let header: Header =
        serde_json::from_str(text).map_err(|error| damaged(location, position, &error))?;
    header.check().map_err(|_| Error::NewerRecord { found: header.format, known: FORMAT })
}

fn damaged(location: &str, position: u64, error: &serde_json::Error) -> Error {
    let reason = format!("record {position} cannot be read: {error}");
    Error::Damaged { location: location.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unyoke::Event;

    #[test]
    fn records_come_back_from_text() {
        let records =
            [0.1 + 0.2, -0.0].map(|value| Record::from(Event::Told { evaluation: 0, value }));
        let texts = write("here", &records).unwrap();
        assert_eq!(read("here", 0, &texts).unwrap(), records);
    }

    #[test]
    fn what_json_cannot_hold_is_refused_before_it_is_written() {
        let record = Record::from(Event::Told { evaluation: 0, value: f64::NAN });
        let Error::Failed { reason, .. } = write("here", &[record]).unwrap_err() else {
            panic!("a journal was spoilt")
        };
        assert!(reason.contains("cannot be written"), "{reason}");
    }

    #[test]
    fn text_that_is_no_record_is_named_by_its_position() {
        let text = r#"{"format":1,"event":"withdrawn","evaluation":0}"#.to_owned();
        let Error::Damaged { reason, .. } = read("here", 4, &[text, "{".into()]).unwrap_err()
        else {
            panic!("half a record was read")
        };
        assert!(reason.starts_with("record 5 cannot be read"), "{reason}");
    }

    #[test]
    fn a_gap_is_damage() {
        let rows = |positions: [i64; 3]| positions.map(|at| (at, String::new())).to_vec();
        assert_eq!(gapless("here", 2, rows([2, 3, 4])).unwrap().len(), 3);
        assert!(gapless("here", i64::MAX, Vec::new()).unwrap().is_empty());
        for (first, positions, missing) in
            [(2, [2, 4, 5], 3), (1, [2, 3, 4], 1), (0, [0, 1, i64::MAX], 2)]
        {
            let reason = format!("record {missing} is missing");
            let damaged = Error::Damaged { location: "here".into(), reason };
            assert_eq!(gapless("here", first, rows(positions)).unwrap_err(), damaged);
        }
    }

    #[test]
    fn a_newer_record_is_refused_before_it_is_parsed() {
        let text = r#"{"format":2,"event":"merged","studies":[1,2]}"#.to_owned();
        let newer = Error::NewerRecord { found: 2, known: FORMAT };
        assert_eq!(read("here", 0, &[text]).unwrap_err(), newer);
    }
}
