//! One of the two streams of a command on its way to its file.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};

use super::capture::Capture;
use super::outcome::Output;
use super::system;

/// One channel at the end.
#[derive(Default)]
pub(super) struct Printed {
    pub(super) output: Output,
    pub(super) tail: Vec<u8>,
}

/// A stream that is read without ever waiting for it.
pub(super) struct Channel {
    source: Option<Source>,
    capture: Capture<File>,
    buffer: Vec<u8>,
}

/// Both streams are the same kind of thing but not the same type.
trait ReadFd: Read + AsFd {}
impl<T: Read + AsFd> ReadFd for T {}
type Source = Box<dyn ReadFd>;

impl Channel {
    pub(super) fn new<S: Read + AsFd + 'static>(
        source: Option<S>,
        capture: Capture<File>,
    ) -> io::Result<Self> {
        if let Some(source) = &source {
            system::never_block(source)?;
        }
        let source = source.map(|source| Box::new(source) as Source);
        Ok(Self { source, capture, buffer: vec![0; 64 << 10] })
    }

    /// What to wait for; none once the stream has ended.
    pub(super) fn source(&self) -> Option<BorrowedFd<'_>> {
        self.source.as_ref().map(|source| source.as_fd())
    }

    /// Reads what is there, up to `most` bytes or a little more.
    pub(super) fn drain(&mut self, most: usize) {
        let mut read = 0;
        while let (true, Some(source)) = (read < most, &mut self.source) {
            match source.read(&mut self.buffer) {
                Ok(0) => self.source = None,
                Ok(count) => {
                    self.capture.take(&self.buffer[..count]);
                    read += count;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.source = None,
            }
        }
    }

    pub(super) fn finish(mut self) -> Printed {
        self.capture.finish();
        Printed { output: self.capture.output(), tail: self.capture.tail().to_vec() }
    }
}
