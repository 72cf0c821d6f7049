//! Records as the text that databases keep: one line of JSON each, with a checksum.

use unyoke::{FORMAT, Header, Record};

use crate::error::{Error, Result};
use crate::frequent;

/// A record as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// Where it stands in the journal.
    pub(crate) position: i64,
    /// The record as JSON.
    pub(crate) text: String,
    /// Of position and text; missing in records that are older than checksums.
    pub(crate) checksum: Option<i64>,
}

impl Line {
    /// A line to be kept.
    pub(crate) fn new(position: i64, text: String) -> Self {
        let checksum = Some(checksum(position, &text));
        Self { position, text, checksum }
    }

    /// Fails if this is not what was written, or if this version cannot know what it says.
    pub(crate) fn check(&self, location: &str) -> Result<()> {
        self.check_whole(location)?;
        let header: Header = serde_json::from_str(&self.text)
            .map_err(|error| self.damaged(location, &format!("it cannot be read: {error}")))?;
        check_format(header)
    }

    fn check_whole(&self, location: &str) -> Result<()> {
        if self.checksum.is_some_and(|kept| kept != checksum(self.position, &self.text)) {
            return Err(self.damaged(location, "it is not what was written: its checksum differs"));
        }
        Ok(())
    }

    fn read(&self, location: &str) -> Result<Record> {
        if let Some(record) = frequent::read(&self.text) {
            self.check_whole(location)?;
            check_format(Header { format: record.format })?;
            return Ok(record);
        }
        self.check(location)?;
        serde_json::from_str(&self.text).map_err(|error| self.unreadable(location, &error))
    }

    /// Says why a line with the right format cannot be read. Programs write only what they can
    /// read, so a line that is as it was written is from one that knows more.
    fn unreadable(&self, location: &str, error: &serde_json::Error) -> Error {
        let said = error.to_string();
        let unknown = said.contains("unknown field") || said.contains("unknown variant");
        if error.is_data() && (self.checksum.is_some() || unknown) {
            let (location, position) = (location.to_owned(), self.position.cast_unsigned());
            return Error::NewerContent { location, position, reason: said };
        }
        self.damaged(location, &format!("it cannot be read: {said}"))
    }

    fn damaged(&self, location: &str, reason: &str) -> Error {
        damaged(location, self.position, reason)
    }
}

/// Fails if this version cannot know what a record of this format says.
fn check_format(header: Header) -> Result<()> {
    header.check().map_err(|_| Error::NewerRecord { found: header.format, known: FORMAT })
}

/// CRC-32 of a line: any change of up to four neighbouring bytes, and all but one in four billion
/// of the others, give another one. The position counts, so that lines cannot trade places.
fn checksum(position: i64, text: &str) -> i64 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&position.to_le_bytes());
    hasher.update(text.as_bytes());
    i64::from(hasher.finalize())
}

/// The records as lines that stand at positions from `at` on.
///
/// Each is read back before anybody relies on it: JSON has no NaN and would quietly turn it into
/// something that can never be read again, or that is read as something else.
pub(crate) fn write(location: &str, at: i64, records: &[Record]) -> Result<Vec<Line>> {
    let write_one = |(index, record): (usize, &Record)| {
        let text = serde_json::to_string(record).map_err(|error| error.to_string())?;
        let back: Record = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        if back != *record {
            return Err("it would be read as something else".to_owned());
        }
        Ok(Line::new(at.saturating_add(index as i64), text))
    };
    let lines: std::result::Result<_, String> = records.iter().enumerate().map(write_one).collect();
    lines.map_err(|reason| {
        let reason = format!("a record cannot be written: {reason}");
        Error::Failed { location: location.to_owned(), reason }
    })
}

/// The records that `lines` hold, which must stand at positions from `first` on without gaps.
pub(crate) fn read(location: &str, first: i64, lines: &[Line]) -> Result<Vec<Record>> {
    let mut reader = Reader::new(location, first);
    lines.iter().for_each(|line| reader.take(line));
    reader.records()
}

/// Makes records of lines one after the other.
pub(crate) struct Reader<'a> {
    location: &'a str,
    /// The position of the next line.
    next: i64,
    records: Result<Vec<Record>>,
}

impl<'a> Reader<'a> {
    /// Of lines that must stand at positions from `first` on without gaps.
    pub(crate) fn new(location: &'a str, first: i64) -> Self {
        Self { location, next: first, records: Ok(vec![]) }
    }

    /// The next line. After one that cannot be read, others are passed over.
    pub(crate) fn take(&mut self, line: &Line) {
        let Ok(records) = &mut self.records else { return };
        let record = match line.position == self.next {
            true => line.read(self.location),
            false => Err(damaged(self.location, self.next, "it is missing")),
        };
        self.next = self.next.saturating_add(1);
        match record {
            Ok(record) => records.push(record),
            Err(error) => self.records = Err(error),
        }
    }

    /// All records, or what is wrong with the first line that cannot be read.
    pub(crate) fn records(self) -> Result<Vec<Record>> {
        self.records
    }
}

fn damaged(location: &str, position: i64, reason: &str) -> Error {
    let (location, position) = (location.to_owned(), position.cast_unsigned());
    Error::DamagedRecord { location, position, reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unyoke::{Event, Reading};

    fn measured(reading: impl Into<Reading>, cost: Option<f64>) -> Record {
        let values = [("f".to_owned(), reading.into())].into();
        let (missing, design) = (None, None);
        Event::Measured { evaluation: 0, values, missing, cost, design }.into()
    }

    fn value(value: f64) -> Record {
        measured(value, None)
    }

    /// A line of a time before checksums.
    fn old(position: i64, text: &str) -> Line {
        Line { position, text: text.to_owned(), checksum: None }
    }

    #[test]
    fn records_come_back_from_text() {
        let records = [0.1 + 0.2, -0.0].map(value);
        let lines = write("here", 7, &records).unwrap();
        assert_eq!(read("here", 7, &lines).unwrap(), records);
    }

    #[test]
    fn what_json_cannot_hold_is_refused_before_it_is_written() {
        let uncertain = |sd| Reading { value: 1.0, sd: Some(sd) };
        for bad in [f64::NAN, f64::INFINITY] {
            for record in [value(bad), measured(uncertain(bad), None), measured(1.0, Some(bad))] {
                let Error::Failed { reason, .. } = write("here", 0, &[record]).unwrap_err() else {
                    panic!("a journal was spoilt")
                };
                assert!(reason.contains("cannot be written"), "{reason}");
            }
        }
    }

    #[test]
    fn text_that_is_no_record_is_named_by_its_position() {
        let good = old(4, r#"{"format":1,"event":"withdrawn","evaluation":0}"#);
        let Error::DamagedRecord { position: 5, reason, .. } =
            read("here", 4, &[good, old(5, "{")]).unwrap_err()
        else {
            panic!("half a record was read")
        };
        assert!(reason.starts_with("it cannot be read"), "{reason}");
    }

    #[test]
    fn one_other_digit_is_noticed_and_so_are_lines_that_trade_places() {
        let lines = write("here", 0, &[value(0.125), value(0.25)]).unwrap();
        let format = format!("\"format\":{}", unyoke::FORMAT);
        for (from, to) in [("0.125", "0.124"), ("0.125", "1.125"), (&format, "\"format\":9")] {
            let text = lines[0].text.replace(from, to);
            let error = read("here", 0, &[Line { text, ..lines[0].clone() }]).unwrap_err();
            assert!(matches!(error, Error::DamagedRecord { position: 0, .. }), "{error}");
        }
        let traded =
            [Line { position: 0, ..lines[1].clone() }, Line { position: 1, ..lines[0].clone() }];
        let error = read("here", 0, &traded).unwrap_err();
        assert!(matches!(error, Error::DamagedRecord { position: 0, .. }), "{error}");
    }

    #[test]
    fn lines_without_checksum_are_read() {
        let text = r#"{"format":1,"event":"told","evaluation":0,"value":0.5}"#;
        let told = Record { format: 1, ..Event::Told { evaluation: 0, value: 0.5 }.into() };
        assert_eq!(read("here", 0, &[old(0, text)]).unwrap(), [told]);
    }

    #[test]
    fn a_gap_is_damage() {
        let lines = |positions: [i64; 3]| {
            positions.map(|at| old(at, r#"{"format":1,"event":"withdrawn","evaluation":0}"#))
        };
        assert_eq!(read("here", 2, &lines([2, 3, 4])).unwrap().len(), 3);
        assert!(read("here", i64::MAX, &[]).unwrap().is_empty());
        for (first, positions, missing) in
            [(2, [2, 4, 5], 3), (1, [2, 3, 4], 1), (0, [0, 1, i64::MAX], 2)]
        {
            let (location, reason) = ("here".into(), "it is missing".into());
            let damaged = Error::DamagedRecord { location, position: missing, reason };
            assert_eq!(read("here", first, &lines(positions)).unwrap_err(), damaged);
        }
    }

    #[test]
    fn a_newer_record_is_refused_before_it_is_parsed() {
        let found = FORMAT + 1;
        let text = format!(r#"{{"format":{found},"event":"merged","studies":[1,2]}}"#);
        let newer = Error::NewerRecord { found, known: FORMAT };
        assert_eq!(read("here", 0, &[old(0, &text)]).unwrap_err(), newer);
    }

    /// A record of a format that is read here, with something in it that is not known here.
    fn newer_content(text: &str) {
        for line in [old(3, text), Line::new(3, text.to_owned())] {
            let error = read("here", 3, &[line]).unwrap_err();
            assert!(matches!(error, Error::NewerContent { position: 3, .. }), "{error}");
        }
    }

    #[test]
    fn what_is_not_known_in_a_known_format_is_from_a_newer_version() {
        for format in 1..=FORMAT {
            let text = format!(r#"{{"format":{format},"event":"merged","studies":[1,2]}}"#);
            newer_content(&text);
        }
        let setting = r#"{"format":1,"event":"created","problem":{"parameters":[{"type":"continuous",
            "name":"x","low":0.0,"high":1.0}],"objectives":[{"name":"f","direction":"maximise",
            "cost":1.0}]},"config":{"not_invented_yet":1},"seed":1}"#;
        newer_content(setting);
        let damaged = read("here", 0, &[old(0, r#"{"format":1,"event":"told","evaluation":0}"#)]);
        assert!(matches!(damaged, Err(Error::DamagedRecord { .. })), "a field is missing");
    }
}
