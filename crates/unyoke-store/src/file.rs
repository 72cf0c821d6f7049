//! Whether a path is fit for a study, and whether the file is still the same. Contents are not
//! looked at here.

use std::fs::{self, Metadata};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The length of the smallest SQLite file.
const SMALLEST: u64 = 512;

/// What the first line of a journal file begins with.
pub(crate) const JOURNAL: &str = "unyoke journal ";

/// The path of a file that may exist, in full: the folder of a program may change, and names such as
/// `:memory:` mean something else to SQLite.
pub(crate) fn full(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|error| Error::BadLocation {
        location: path.display().to_string(),
        reason: error.to_string(),
    })
}

/// Fails if there is no file, or none that can be written to.
pub(crate) fn check_existing(path: &Path) -> Result<()> {
    let metadata = fs::metadata(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            Error::NoStudy { location: path.display().to_string() }
        }
        _ => no_access(path, &error),
    })?;
    check_no_journal(path)?;
    check_kind(path, &metadata)?;
    check_local(path, path)
}

/// Fails if this is a journal file, not one of SQLite.
fn check_no_journal(path: &Path) -> Result<()> {
    let mut beginning = [0; JOURNAL.len()];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut beginning));
    if read.is_err() || beginning != *JOURNAL.as_bytes() {
        return Ok(());
    }
    let reason = "it is a journal file, whose path is written with \"file:\" before it".to_owned();
    Err(Error::NotAStudy { path: path.to_path_buf(), reason })
}

/// Fails if no file can be made there and none that is there can be written to.
pub(crate) fn check_possible(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(_) => check_existing(path),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let folder = path.parent().unwrap_or(path);
            let metadata = fs::metadata(folder).map_err(|error| no_access(folder, &error))?;
            check_writable(folder, &metadata)?;
            check_local(path, folder)
        }
        Err(error) => Err(no_access(path, &error)),
    }
}

/// Fails if no file can be made there and none that is there can be written to, on any file system.
pub(crate) fn check_place(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => check_writable(path, &metadata),
        Ok(metadata) => {
            let reason =
                if metadata.is_dir() { "it is a folder" } else { "it is not a plain file" };
            Err(Error::NotAStudy { path: path.to_path_buf(), reason: reason.to_owned() })
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let folder = path.parent().unwrap_or(path);
            let metadata = fs::metadata(folder).map_err(|error| no_access(folder, &error))?;
            check_writable(folder, &metadata)
        }
        Err(error) => Err(no_access(path, &error)),
    }
}

/// Whether SQLite left a write-ahead log with something in it beside the file.
pub(crate) fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    fs::metadata(log).is_ok_and(|metadata| metadata.len() > 0)
}

fn check_kind(path: &Path, metadata: &Metadata) -> Result<()> {
    let reason = if metadata.is_dir() {
        "it is a folder"
    } else if !metadata.is_file() {
        "it is not a plain file"
    } else if (1..SMALLEST).contains(&metadata.len()) {
        // SQLite takes a file of one byte for an empty one and would write over it.
        "it is not an SQLite file"
    } else {
        check_single(path, metadata)?;
        return check_writable(path, metadata);
    };
    Err(Error::NotAStudy { path: path.to_path_buf(), reason: reason.to_owned() })
}

/// Fails if the file has other names: each would get a log of its own.
#[cfg(unix)]
fn check_single(path: &Path, metadata: &Metadata) -> Result<()> {
    match std::os::unix::fs::MetadataExt::nlink(metadata) {
        0 | 1 => Ok(()),
        links => Err(Error::HardLinked { path: path.to_path_buf(), links }),
    }
}

/// Only Unix tells it without opening the file.
#[cfg(not(unix))]
fn check_single(_: &Path, _: &Metadata) -> Result<()> {
    Ok(())
}

/// Fails if nobody may write: a user who took that right away means it, even for root.
fn check_writable(path: &Path, metadata: &Metadata) -> Result<()> {
    if !metadata.permissions().readonly() {
        return Ok(());
    }
    let reason = "nobody has permission to write to it".to_owned();
    Err(Error::ReadOnly { location: path.display().to_string(), reason })
}

fn no_access(path: &Path, error: &std::io::Error) -> Error {
    Error::NoAccess { location: path.display().to_string(), reason: error.to_string() }
}

/// Which file a path led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Volume and number, where files have them.
    #[cfg(unix)]
    node: (u64, u64),
}

impl Identity {
    /// The file at `path`, if there is one.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self::from(&metadata))
    }
}

#[cfg(unix)]
impl From<&Metadata> for Identity {
    fn from(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { node: (metadata.dev(), metadata.ino()) }
    }
}

#[cfg(not(unix))]
impl From<&Metadata> for Identity {
    fn from(_: &Metadata) -> Self {
        Self {}
    }
}

/// Fails if `path`, which is `existing` or in it, is on a file system that machines share.
fn check_local(path: &Path, existing: &Path) -> Result<()> {
    match network_file_system(existing) {
        Some(kind) => Err(Error::NetworkFileSystem { path: path.to_path_buf(), kind }),
        None => Ok(()),
    }
}

/// The kind of network file system on which an existing file or folder is, if it is on one: there,
/// locks cannot be relied upon.
#[cfg(target_os = "linux")]
pub fn network_file_system(existing: &Path) -> Option<&'static str> {
    // A system that does not tell is given the benefit of the doubt.
    rustix::fs::statfs(existing).ok().and_then(|found| network(found.f_type as u32))
}

/// Only Linux tells it in a way that is simple to ask.
#[cfg(not(target_os = "linux"))]
pub fn network_file_system(_: &Path) -> Option<&'static str> {
    None
}

/// The network file system with this number in `statfs`.
///
/// 9P and FUSE are not here: sandboxes and virtual machines show local folders through them.
#[cfg(target_os = "linux")]
fn network(number: u32) -> Option<&'static str> {
    match number {
        0x6969 => Some("NFS"),
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => Some("SMB"),
        0x5346_414f | 0x6b41_4653 => Some("AFS"),
        0x00c3_6400 => Some("Ceph"),
        0x0bd0_0bd0 => Some("Lustre"),
        0x4750_4653 => Some("GPFS"),
        0x1983_0326 => Some("BeeGFS"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_no_study_and_a_missing_folder_cannot_hold_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none.db");
        assert!(matches!(check_existing(&path), Err(Error::NoStudy { .. })));
        assert_eq!(check_possible(&path), Ok(()));
        let deeper = path.join("deeper.db");
        assert!(matches!(check_existing(&deeper), Err(Error::NoStudy { .. })));
        assert!(matches!(check_possible(&deeper), Err(Error::NoAccess { .. })));
    }

    #[test]
    fn a_folder_is_no_study() {
        let folder = tempfile::tempdir().unwrap();
        for check in [check_existing, check_possible] {
            assert!(matches!(check(folder.path()), Err(Error::NotAStudy { .. })));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_with_two_names_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&path, "").unwrap();
        fs::hard_link(&path, &other).unwrap();
        for check in [check_existing, check_possible] {
            assert_eq!(check(&path), Err(Error::HardLinked { path: path.clone(), links: 2 }));
        }
        fs::remove_file(&other).unwrap();
        assert_eq!(check_existing(&path), Ok(()));
    }

    #[test]
    fn a_replaced_file_is_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&path, "").unwrap();
        fs::write(&other, "").unwrap();
        let before = Identity::of(&path);
        assert_eq!(Identity::of(&path), before);
        fs::rename(&other, &path).unwrap();
        #[cfg(unix)]
        assert_ne!(Identity::of(&path), before);
        fs::remove_file(&path).unwrap();
        assert_eq!(Identity::of(&path), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn network_file_systems_are_known_by_their_numbers() {
        assert_eq!(network(0x6969), Some("NFS"));
        assert_eq!(network(0xff53_4d42), Some("SMB"));
        let (ext4, tmpfs) = (0xef53, 0x0102_1994);
        assert_eq!((network(ext4), network(tmpfs)), (None, None));
    }
}
