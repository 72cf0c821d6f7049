//! Keeps the beginning and the end of what a command prints, however much that is.

use std::io::{self, Write};

use super::outcome::Output;

/// Kept of the beginning, written as it arrives.
const HEAD: u64 = 1 << 20;

/// Kept of the end, in memory until it is known to be the end.
const TAIL: usize = 1 << 20;

/// One channel of a command on its way to a file.
#[derive(Debug)]
pub(super) struct Capture<W> {
    file: W,
    bytes: u64,
    tail: Vec<u8>,
    problem: Option<String>,
}

impl<W: Write> Capture<W> {
    pub(super) fn new(file: W) -> Self {
        Self { file, bytes: 0, tail: vec![], problem: None }
    }

    /// Takes in what was printed next.
    pub(super) fn take(&mut self, printed: &[u8]) {
        let room = HEAD.saturating_sub(self.bytes) as usize;
        self.write(&printed[..printed.len().min(room)]);
        self.bytes += printed.len() as u64;
        self.tail.extend_from_slice(printed);
        // Only every so often, so that each byte is moved about once.
        if self.tail.len() > 2 * TAIL {
            self.tail.drain(..self.tail.len() - TAIL);
        }
    }

    /// Writes the end behind the beginning, and a line between them if something is left out.
    pub(super) fn finish(&mut self) {
        let beyond = usize::try_from(self.bytes.saturating_sub(HEAD)).unwrap_or(usize::MAX);
        let kept = beyond.min(TAIL);
        if beyond > kept {
            let line = format!("\n[unyoke: {} bytes left out here]\n", beyond - kept);
            self.write(line.as_bytes());
        }
        let end = self.tail.split_off(self.tail.len() - kept);
        self.write(&end);
        self.tail.extend_from_slice(&end);
        let flushed = self.file.flush();
        self.note(flushed);
    }

    /// The end of it.
    pub(super) fn tail(&self) -> &[u8] {
        &self.tail
    }

    pub(super) fn output(&self) -> Output {
        Output { bytes: self.bytes, problem: self.problem.clone() }
    }

    /// A command must not fail because its log cannot be written: it is noted, and no more is
    /// written.
    fn write(&mut self, bytes: &[u8]) {
        if self.problem.is_none() && !bytes.is_empty() {
            let written = self.file.write_all(bytes);
            self.note(written);
        }
    }

    fn note(&mut self, written: io::Result<()>) {
        if let (Err(error), None) = (written, &self.problem) {
            self.problem = Some(error.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is kept of `output`, printed in pieces.
    fn captured(output: &[u8], piece: usize) -> (Vec<u8>, Vec<u8>) {
        let mut file = Vec::new();
        let mut capture = Capture::new(&mut file);
        output.chunks(piece).for_each(|printed| capture.take(printed));
        capture.finish();
        let tail = capture.tail().to_vec();
        (file, tail)
    }

    #[test]
    fn a_moderate_output_is_kept_as_it_is() {
        for size in [0, 1, 1000, 1 << 20, (1 << 20) + 1, 2 << 20] {
            let output: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
            let (file, tail) = captured(&output, 4096);
            assert!(file == output, "{size}");
            assert!(output.ends_with(&tail) && tail.len() >= size.min(TAIL), "{size}");
        }
    }

    #[test]
    fn of_a_long_output_both_ends_are_kept() {
        let output: Vec<u8> = (0..5_000_000u32).map(|i| (i % 251) as u8).collect();
        for piece in [1000, 65536, 5_000_000] {
            let (file, tail) = captured(&output, piece);
            assert!(file.starts_with(&output[..HEAD as usize]));
            assert!(file.ends_with(&output[output.len() - TAIL..]));
            let left_out = output.len() - HEAD as usize - TAIL;
            let line = format!("\n[unyoke: {left_out} bytes left out here]\n");
            assert_eq!(file.len(), HEAD as usize + TAIL + line.len());
            assert!(output.ends_with(&tail));
        }
    }

    #[test]
    fn memory_does_not_grow_with_the_output() {
        let mut capture = Capture::new(io::sink());
        for _ in 0..1000 {
            capture.take(&[b'y'; 65536]);
            assert!(capture.tail.len() <= 2 * TAIL + 65536);
        }
        assert_eq!(capture.output().bytes, 65_536_000);
    }

    /// A disk with little room.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.0.min(bytes.len()) {
                0 => Err(io::ErrorKind::StorageFull.into()),
                room => {
                    self.0 -= room;
                    Ok(room)
                }
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_noted_and_the_end_is_known_all_the_same() {
        let mut capture = Capture::new(Full(10));
        capture.take(b"123456789\n");
        capture.take(b"more\n1.5\n");
        capture.finish();
        assert!(capture.output().problem.is_some());
        assert!(capture.tail().ends_with(b"1.5\n"));
        assert_eq!(capture.output().bytes, 19);
    }
}
