//! The text of a journal file: a first line that says what it is, then batches of lines.
//!
//! A batch is what was written in one step. It counts when all of it is there: its lines carry its
//! number, how many of them are still to come, and a checksum.
//!
//! ```text
//! unyoke journal 1
//! 0 0 record 0 5b1ea2c4 {"format":4,"event":"created",…
//! 1 1 record 1 90aa01f3 {"format":4,"event":"asked",…
//! 1 0 lease 2 0c2f55e8 [0,1,"node7-4711-x81k",1763438400000000]
//! ```
//!
//! What ends in the middle of a batch was torn off while it was written. What has a later batch
//! behind it was written in full, so if it cannot be read any more it is damaged.

use crate::file::JOURNAL;
use crate::lease::{LateResult, Lease};
use crate::lease_table::LastLease;
use crate::text::Line;

/// The first line of every file of ours.
pub(crate) const HEADER: &str = "unyoke journal 1\n";

/// What the beginning of a file shows it to be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// Nothing was written yet, or not even the first line in full.
    Nothing,
    /// A journal of this version.
    Journal,
    /// A journal of a newer version.
    Newer(i64),
    /// Something else.
    Other(&'static str),
}

/// What a file is, by its contents.
pub(crate) fn identify(bytes: &[u8]) -> Opening {
    let header = HEADER.as_bytes();
    if bytes.starts_with(header) {
        return Opening::Journal;
    }
    if header.starts_with(bytes) {
        return Opening::Nothing;
    }
    if bytes.starts_with(b"SQLite format 3") {
        return Opening::Other("it is an SQLite file, whose path is written without \"file:\"");
    }
    let number =
        bytes.strip_prefix(JOURNAL.as_bytes()).and_then(|rest| rest.split(|b| *b == b'\n').next());
    let number = number.and_then(|number| std::str::from_utf8(number).ok()?.parse().ok());
    number.map_or(Opening::Other("it is not a journal file"), Opening::Newer)
}

/// What a line holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A record of the study.
    Record,
    /// What became of the lease of an evaluation.
    Lease,
    /// A result that does not count.
    Late,
}

const KINDS: [(Kind, &str); 3] =
    [(Kind::Record, "record"), (Kind::Lease, "lease"), (Kind::Late, "late")];

impl Kind {
    fn name(self) -> &'static str {
        KINDS.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    fn parse(text: &str) -> Option<Self> {
        KINDS.iter().find(|(_, name)| *name == text).map(|(kind, _)| *kind)
    }
}

/// A line of a file.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) kind: Kind,
    /// The position is that of the record, or of the record that would come next.
    pub(crate) line: Line,
    /// Where the line begins, in bytes from the beginning of what was scanned.
    pub(crate) offset: usize,
    batch: u64,
    /// How many lines of the batch follow.
    left: usize,
}

impl Row {
    /// Understands a line without its end. None if it is not what was written.
    pub(crate) fn parse(offset: usize, bytes: &[u8]) -> Option<Self> {
        let mut fields = std::str::from_utf8(bytes).ok()?.splitn(6, ' ');
        let (batch, left) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        let kind = Kind::parse(fields.next()?)?;
        let position = fields.next()?.parse().ok()?;
        let sum = u32::from_str_radix(fields.next()?, 16).ok()?;
        let text = fields.next()?;
        let is_as_written = sum == checksum(&beginning(batch, left, kind, position), text);
        let line = Line::new(position, text.to_owned());
        is_as_written.then_some(Self { kind, line, offset, batch, left })
    }

    /// What a line says of a lease.
    pub(crate) fn lease(&self) -> Option<LastLease> {
        let (evaluation, attempt, owner, expires) = serde_json::from_str(&self.line.text).ok()?;
        Some(LastLease { lease: Lease { evaluation, attempt, owner }, expires })
    }

    /// What a line says of a late result.
    pub(crate) fn late(&self) -> Option<LateResult> {
        let (evaluation, attempt, outcome) = serde_json::from_str(&self.line.text).ok()?;
        Some(LateResult { evaluation, attempt, outcome })
    }
}

/// A line up to its checksum.
fn beginning(batch: u64, left: usize, kind: Kind, position: i64) -> String {
    format!("{batch} {left} {} {position} ", kind.name())
}

/// CRC-32 of all of a line but the checksum itself.
fn checksum(beginning: &str, text: &str) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(beginning.as_bytes());
    hasher.update(text.as_bytes());
    hasher.finalize()
}

/// What is written in one step.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) records: Vec<Line>,
    pub(crate) leases: Vec<LastLease>,
    pub(crate) late: Option<LateResult>,
}

impl Batch {
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.leases.is_empty() && self.late.is_none()
    }

    /// The bytes of the batch with this number, behind `count` records.
    pub(crate) fn bytes(&self, number: u64, count: usize) -> serde_json::Result<Vec<u8>> {
        let position = (count + self.records.len()) as i64;
        let mut lines: Vec<(Kind, Line)> =
            self.records.iter().map(|line| (Kind::Record, line.clone())).collect();
        for LastLease { lease: Lease { evaluation, attempt, owner }, expires } in &self.leases {
            let text = serde_json::to_string(&(evaluation, attempt, owner, expires))?;
            lines.push((Kind::Lease, Line::new(position, text)));
        }
        if let Some(LateResult { evaluation, attempt, outcome }) = &self.late {
            let text = serde_json::to_string(&(evaluation, attempt, outcome))?;
            lines.push((Kind::Late, Line::new(position, text)));
        }
        let mut bytes = Vec::new();
        for (index, (kind, Line { position, text, .. })) in lines.iter().enumerate() {
            let beginning = beginning(number, lines.len() - 1 - index, *kind, *position);
            let sum = checksum(&beginning, text);
            bytes.extend(format!("{beginning}{sum:08x} {text}\n").bytes());
        }
        Ok(bytes)
    }
}

/// How far a file is known: how many batches and records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) batches: u64,
    pub(crate) records: usize,
}

/// The complete batches in a part of a file.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) rows: Vec<Row>,
    /// Where the last complete batch ends, in bytes.
    pub(crate) end: usize,
    pub(crate) mark: Mark,
}

/// Something that was written in full cannot be read any more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    /// The record that should stand there.
    pub(crate) position: usize,
}

/// Reads the batches that `bytes` hold, which begin behind `mark`. What follows the last complete
/// one was torn off, or is being written.
pub(crate) fn scan(bytes: &[u8], mark: Mark) -> Result<Scan, Damage> {
    let mut scan = Scan { rows: Vec::new(), end: 0, mark };
    let (mut at, mut pending, mut records) = (0, Vec::<Row>::new(), mark.records);
    while let Some(length) = bytes[at..].iter().position(|byte| *byte == b'\n') {
        let row = Row::parse(at, &bytes[at..at + length]);
        let expected = |row: &Row| {
            let follows = pending.last().is_none_or(|before| before.left == row.left + 1);
            row.batch == scan.mark.batches && follows && row.line.position == records as i64
        };
        let Some(row) = row.filter(expected) else {
            let rest = &bytes[at..];
            return if has_later_batch(rest, scan.mark.batches) {
                Err(Damage { position: records })
            } else {
                Ok(scan)
            };
        };
        at += length + 1;
        records += usize::from(row.kind == Kind::Record);
        let is_last = row.left == 0;
        pending.push(row);
        if is_last {
            scan.rows.append(&mut pending);
            scan.end = at;
            scan.mark = Mark { batches: scan.mark.batches + 1, records };
        }
    }
    Ok(scan)
}

/// Whether any line belongs to a batch after the one with this number.
fn has_later_batch(bytes: &[u8], number: u64) -> bool {
    let is_later = |line: &[u8]| Row::parse(0, line).is_some_and(|row| row.batch > number);
    // The end of the line before it may be what is damaged.
    let next = format!("{} ", number + 1).into_bytes();
    bytes.split(|byte| *byte == b'\n').any(|line| {
        let begins = |at: &usize| line[*at..].starts_with(&next);
        is_later(line) || (0..line.len()).filter(begins).any(|at| is_later(&line[at..]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;
    use unyoke::{Event, Record};

    fn record(evaluation: u64) -> Record {
        Event::Withdrawn { evaluation }.into()
    }

    fn lease() -> LastLease {
        let lease = Lease { evaluation: 7, attempt: 2, owner: "ann 🦀\n".into() };
        LastLease { lease, expires: Some(5) }
    }

    /// Three batches: a record; two records and a lease; a late result. And where each ends.
    fn three() -> (Vec<u8>, [usize; 3]) {
        let late = LateResult { evaluation: 3, attempt: 1, outcome: "zu spät".into() };
        let batches = [
            Batch { records: text::write("", 0, &[record(0)]).unwrap(), ..Batch::default() },
            Batch {
                records: text::write("", 1, &[record(1), record(2)]).unwrap(),
                leases: vec![lease()],
                late: None,
            },
            Batch { late: Some(late), ..Batch::default() },
        ];
        let (mut bytes, mut ends) = (Vec::new(), [0; 3]);
        for (number, (batch, count)) in batches.iter().zip([0, 1, 3]).enumerate() {
            bytes.extend(batch.bytes(number as u64, count).unwrap());
            ends[number] = bytes.len();
        }
        (bytes, ends)
    }

    fn scan_all(bytes: &[u8]) -> Result<Scan, Damage> {
        scan(bytes, Mark::default())
    }

    #[test]
    fn batches_come_back_as_they_were_written() {
        let (bytes, ends) = three();
        let found = scan_all(&bytes).unwrap();
        assert_eq!((found.end, found.mark), (ends[2], Mark { batches: 3, records: 3 }));
        let kinds: Vec<Kind> = found.rows.iter().map(|row| row.kind).collect();
        assert_eq!(kinds, [Kind::Record, Kind::Record, Kind::Record, Kind::Lease, Kind::Late]);
        assert_eq!(found.rows[3].lease().unwrap(), lease());
        assert_eq!(found.rows[4].late().unwrap().outcome, "zu spät");
        let rest = scan(&bytes[ends[0]..], Mark { batches: 1, records: 1 }).unwrap();
        assert_eq!((rest.rows.len(), rest.end), (4, ends[2] - ends[0]));
    }

    #[test]
    fn a_file_that_ends_at_any_byte_holds_its_complete_batches() {
        let (bytes, ends) = three();
        for length in 0..=bytes.len() {
            let complete = ends.iter().filter(|end| **end <= length).count();
            let found = scan_all(&bytes[..length]).unwrap();
            let end = if complete == 0 { 0 } else { ends[complete - 1] };
            assert_eq!((found.mark.batches, found.end), (complete as u64, end), "{length} bytes");
        }
    }

    #[test]
    fn any_changed_byte_before_the_last_batch_is_damage_and_in_it_a_torn_end() {
        let (bytes, ends) = three();
        for at in 0..bytes.len() {
            for other in [0, b'0', b'9', b'\n', bytes[at] ^ 1] {
                let mut changed = bytes.clone();
                changed[at] = other;
                if changed == bytes {
                    continue;
                }
                match scan_all(&changed) {
                    Err(_) => assert!(at < ends[1], "byte {at} as {other}"),
                    Ok(found) => {
                        assert!(at >= ends[1], "byte {at} as {other}");
                        assert_eq!((found.end, found.mark.batches), (ends[1], 2));
                    }
                }
            }
        }
    }

    #[test]
    fn a_hole_in_the_last_batch_is_a_torn_end_whatever_came_behind_it() {
        let (bytes, ends) = three();
        let mut torn = bytes[..ends[1]].to_vec();
        torn[ends[0]..ends[0] + 20].fill(0);
        assert_eq!(scan_all(&torn).unwrap().end, ends[0]);
        torn.extend(&bytes[ends[1]..]);
        assert_eq!(scan_all(&torn).unwrap_err(), Damage { position: 1 });
    }

    #[test]
    fn a_missing_batch_is_damage() {
        let (bytes, ends) = three();
        let without = [&bytes[..ends[0]], &bytes[ends[1]..]].concat();
        assert_eq!(scan_all(&without).unwrap_err(), Damage { position: 1 });
    }

    #[test]
    fn a_file_is_known_by_its_first_line() {
        assert_eq!(identify(b""), Opening::Nothing);
        assert_eq!(identify(b"unyoke jou"), Opening::Nothing);
        assert_eq!(identify(HEADER.as_bytes()), Opening::Journal);
        assert_eq!(identify(b"unyoke journal 2\n0 0 x"), Opening::Newer(2));
        assert!(matches!(identify(b"SQLite format 3\0"), Opening::Other(_)));
        assert!(matches!(identify(b"[study]\n"), Opening::Other(_)));
    }
}
