//! Who works on evaluations, and whether they are still there.
//!
//! An owner is a name in leases, and a locked file of that name beside the attempts. On the
//! machine where it runs, a lock that is free means that it is gone, at once and beyond doubt;
//! elsewhere its leases end by themselves.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tempfile::NamedTempFile;
use unyoke_store::{Lease, LeaseStatus, Store};

use crate::error::{Error, Result};
use crate::process::{Layout, host_name, is_locked};

/// The owner of evaluations that somebody asked for by hand and will tell by hand.
pub const BY_HAND: &str = "by hand";

/// Nobody knows how long people take.
const UNTIL_TOLD: Duration = Duration::from_secs(50 * 365 * 24 * 3600);

/// Marks an evaluation as somebody's own, so that no runner takes it up.
pub fn claim_by_hand(store: &Store, evaluation: u64) -> Result<Option<Lease>> {
    Ok(store.claim(evaluation, BY_HAND, UNTIL_TOLD)?)
}

/// This program, as one that works on a study. Dropping it says goodbye.
#[derive(Debug)]
pub(super) struct Owner {
    /// The name of its leases: machine, process, and something random.
    pub(super) name: String,
    /// Locked as long as we live, and removed when we leave in order.
    file: NamedTempFile,
}

impl Owner {
    pub(super) fn new(layout: &Layout) -> Result<Self> {
        let folder = layout.owners();
        fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
        let prefix = format!("{}-{}-", host_name(), std::process::id());
        let file = tempfile::Builder::new().prefix(&prefix).rand_bytes(8).tempfile_in(&folder);
        let file = file.map_err(Error::io(&folder))?;
        file.as_file().lock().map_err(Error::io(file.path()))?;
        let name = file.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, file })
    }

    /// Leaves the file behind, so that others see that leases of this name have no owner any more.
    pub(super) fn leave_leases(&mut self) {
        self.file.disable_cleanup(true);
    }
}

/// Whether an owner worked here and is gone. Of those elsewhere nobody knows.
pub fn is_gone(layout: &Layout, owner: &str) -> Result<bool> {
    let Some(name) = Path::new(owner).file_name().filter(|name| *name == owner) else {
        return Ok(false);
    };
    let path = layout.owners().join(name);
    Ok(path.try_exists().map_err(Error::io(&path))? && !is_locked(&path)?)
}

/// Ends the leases of owners that were killed on this machine, so that others need not wait.
pub(super) fn release_those_of_the_dead(layout: &Layout, store: &Store) -> Result<()> {
    let mut gone: Vec<String> = vec![];
    for LeaseStatus { lease, .. } in store.leases()?.into_iter().filter(LeaseStatus::is_live) {
        if gone.contains(&lease.owner) || is_gone(layout, &lease.owner)? {
            store.release(&lease)?;
            gone.push(lease.owner);
        }
    }
    for name in gone {
        // Only now: while it is there, others know as well that its leases have no owner.
        let _ = fs::remove_file(layout.owners().join(name));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_gone_when_its_lock_is() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        let mut owner = Owner::new(&layout).unwrap();
        let name = owner.name.clone();
        assert!(name.contains(&std::process::id().to_string()));
        assert!(!is_gone(&layout, &name).unwrap());
        drop(owner);
        assert!(!is_gone(&layout, &name).unwrap(), "it left in order, with its file");
        fs::write(layout.owners().join(&name), "").unwrap();
        assert!(is_gone(&layout, &name).unwrap(), "it was killed, its file remained");

        owner = Owner::new(&layout).unwrap();
        let name = owner.name.clone();
        owner.leave_leases();
        assert!(!is_gone(&layout, &name).unwrap());
        drop(owner);
        assert!(is_gone(&layout, &name).unwrap(), "it could not give back its leases");
    }

    #[test]
    fn leases_of_the_dead_are_released_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        let (store, owner) = (Store::memory(), Owner::new(&layout).unwrap());
        fs::write(layout.owners().join("here-1-dead"), "").unwrap();
        let minute = Duration::from_secs(60);
        let names = ["here-1-dead", "elsewhere-1-abc", BY_HAND, "here-1-dead", &owner.name];
        for (evaluation, name) in (0..).zip(names) {
            store.claim(evaluation, name, minute).unwrap();
        }
        release_those_of_the_dead(&layout, &store).unwrap();
        let live: Vec<bool> = store.leases().unwrap().iter().map(LeaseStatus::is_live).collect();
        assert_eq!(live, [false, true, true, false, true]);
        assert_eq!(fs::read_dir(layout.owners()).unwrap().count(), 1);
    }

    #[test]
    fn nothing_is_known_of_owners_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        for name in ["another-machine-7-abc", "", "..", "/etc/passwd", "../000001", BY_HAND] {
            assert!(!is_gone(&layout, name).unwrap(), "{name}");
        }
    }
}
