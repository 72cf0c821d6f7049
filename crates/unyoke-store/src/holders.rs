//! Who keeps a file of SQLite locked, as far as the system tells.

use std::path::Path;

/// The byte of the index that whoever writes has locked. Source: `WAL_WRITE_LOCK` of SQLite's
/// `wal.c`, which is part of its file format.
#[cfg(target_os = "linux")]
const WRITE_LOCK: u64 = 120;

/// The processes that keep others from writing to the file at `path`, in words.
#[cfg(target_os = "linux")]
pub(crate) fn of(path: &Path) -> Vec<String> {
    let mut index = path.as_os_str().to_owned();
    index.push("-shm");
    let (file, index) = (inode(path), inode(Path::new(&index)));
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    let mut found: Vec<u32> = locks
        .lines()
        .filter_map(Lock::parse)
        .filter(|lock| {
            Some(lock.inode) == file || (Some(lock.inode) == index && lock.covers(WRITE_LOCK))
        })
        .map(|lock| lock.process)
        .collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(describe).collect()
}

/// Other systems do not tell.
#[cfg(not(target_os = "linux"))]
pub(crate) fn of(_: &Path) -> Vec<String> {
    Vec::new()
}

#[cfg(target_os = "linux")]
fn inode(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|metadata| metadata.ino())
}

/// A lock for writing that a process holds.
#[cfg(target_os = "linux")]
#[derive(Debug, PartialEq, Eq)]
struct Lock {
    process: u32,
    inode: u64,
    first: u64,
    /// `None` for the end of the file.
    last: Option<u64>,
}

#[cfg(target_os = "linux")]
impl Lock {
    /// Understands `1: POSIX  ADVISORY  WRITE 4711 fe:00:5341190 120 120`. Devices are not
    /// compared: some file systems show another one here than elsewhere.
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split_whitespace().skip(1);
        // Whoever waits has an arrow here.
        let ("POSIX", _, "WRITE") = (fields.next()?, fields.next()?, fields.next()?) else {
            return None;
        };
        let process = fields.next()?.parse().ok()?;
        let inode = fields.next()?.rsplit(':').next()?.parse().ok()?;
        Some(Self {
            process,
            inode,
            first: fields.next()?.parse().ok()?,
            last: fields.next()?.parse().ok(),
        })
    }

    fn covers(&self, byte: u64) -> bool {
        self.first <= byte && self.last.is_none_or(|last| byte <= last)
    }
}

/// A process by number, name, and whether it stands still.
#[cfg(target_os = "linux")]
fn describe(process: u32) -> String {
    let read = |what: &str| std::fs::read_to_string(format!("/proc/{process}/{what}"));
    let name = read("comm").unwrap_or_default();
    let status = read("stat").unwrap_or_default();
    // The name, in brackets, may contain anything; the state is the letter after it.
    let state = status.rsplit_once(')').map_or("", |(_, rest)| rest.trim_start());
    let stopped = if state.starts_with(['T', 't']) { ", stopped" } else { "" };
    match name.trim() {
        "" => format!("process {process}"),
        name => format!("process {process} ({name}{stopped})"),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn locks_are_read_as_the_system_writes_them() {
        let lock = Lock::parse("12: POSIX  ADVISORY  WRITE 4711 fe:00:5341190 120 127").unwrap();
        assert_eq!(lock, Lock { process: 4711, inode: 5_341_190, first: 120, last: Some(127) });
        assert!(lock.covers(120) && lock.covers(127) && !lock.covers(119) && !lock.covers(128));
        let whole = Lock::parse("3: POSIX  ADVISORY  WRITE 7 00:2f:99 0 EOF").unwrap();
        assert!(whole.covers(u64::MAX));
        for other in [
            "1: FLOCK  ADVISORY  WRITE 7385 fe:00:5341190 0 EOF",
            "1: POSIX  ADVISORY  READ 7385 fe:00:5341190 120 120",
            "1: -> POSIX  ADVISORY  WRITE 7385 fe:00:5341190 120 120",
            "1: OFDLCK ADVISORY  WRITE -1 fe:00:5341190 120 120",
            "",
        ] {
            assert_eq!(Lock::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_process_is_named() {
        let own = describe(std::process::id());
        assert!(own.starts_with(&format!("process {} (", std::process::id())), "{own}");
    }
}
