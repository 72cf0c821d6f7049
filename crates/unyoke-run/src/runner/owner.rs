//! Who works on evaluations, and whether they are still there.
//!
//! An owner is a name in leases, and a locked file of that name beside the attempts. On the
//! machine where it runs, a lock that is free means that it is gone, at once and beyond doubt;
//! elsewhere its leases end by themselves.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use unyoke_store::{Lease, LeaseStatus, Store, network_file_system};

use super::LEASE_TIME;
use crate::error::{Error, Result};
use crate::process::{Layout, host_name, is_locked};

/// The owner of evaluations that somebody asked for by hand and will tell by hand.
pub const BY_HAND: &str = "by hand";

/// Nobody knows how long people take.
const UNTIL_TOLD: Duration = Duration::from_secs(50 * 365 * 24 * 3600);

/// The names of files that are not locked yet begin with this.
const UNFINISHED: &str = ".";

/// Marks an evaluation as somebody's own, so that no runner takes it up.
pub fn claim_by_hand(store: &Store, evaluation: u64) -> Result<Option<Lease>> {
    Ok(store.claim(evaluation, BY_HAND, UNTIL_TOLD)?)
}

/// Gives back an evaluation that was somebody's own, if it was: it has ended.
pub fn release_by_hand(store: &Store, evaluation: u64) -> Result<()> {
    let is_own = |held: &LeaseStatus| {
        held.is_live() && held.lease.evaluation == evaluation && held.lease.owner == BY_HAND
    };
    for held in store.leases()?.into_iter().filter(is_own) {
        store.release(&held.lease)?;
    }
    Ok(())
}

/// Fails if programs work on a study: they know it as it is now.
pub fn refuse_running(layout: Option<&Layout>, store: &Store) -> Result<()> {
    let is_gone =
        |owner: &str| layout.is_some_and(|layout| is_gone(layout, owner).unwrap_or(false));
    let mut live = store.leases()?.into_iter().filter(LeaseStatus::is_live);
    match live.find(|held| held.lease.owner != BY_HAND && !is_gone(&held.lease.owner)) {
        Some(held) => Err(Error::Running { owner: held.lease.owner }),
        None => Ok(()),
    }
}

/// The locked file by which others see that this program is alive.
#[derive(Debug, Clone)]
pub struct SignOfLife(Arc<Mutex<Option<File>>>);

impl SignOfLife {
    fn new(file: File) -> Self {
        Self(Arc::new(Mutex::new(Some(file))))
    }

    /// For a process that was forked off this one: closes the file and does nothing else, so that it does
    /// not outlast this process.
    pub fn forget(&self) {
        drop(self.0.try_lock().map(|mut file| file.take()));
    }
}

/// This program, as one that works on a study. Dropping it says goodbye.
#[derive(Debug)]
pub(super) struct Owner {
    /// The name of its leases: machine, process, and something random.
    pub(super) name: String,
    path: PathBuf,
    /// Locked as long as we live.
    file: SignOfLife,
    /// Whether the file remains when we leave.
    stays: bool,
}

impl Owner {
    pub(super) fn new(layout: &Layout) -> Result<Self> {
        let folder = layout.owners();
        fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
        let prefix = format!("{UNFINISHED}{}-{}-", host_name(), std::process::id());
        let mut builder = tempfile::Builder::new();
        // All who share the study must be able to see that we live, and only that.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
        let file = builder.prefix(&prefix).rand_bytes(8).tempfile_in(&folder);
        let file = file.map_err(Error::io(&folder))?;
        file.as_file().lock().map_err(Error::io(file.path()))?;
        let name = file.path().file_name().unwrap_or_default().to_string_lossy();
        let name = name.trim_start_matches(UNFINISHED).to_owned();
        let path = folder.join(&name);
        // It gets its name when it is locked: otherwise others might take us for dead.
        let file = file.persist_noclobber(&path).map_err(|error| Error::io(&path)(error.error))?;
        Ok(Self { name, path, file: SignOfLife::new(file), stays: false })
    }

    /// Leaves the file behind, so that others see that leases of this name have no owner any more.
    pub(super) fn leave_leases(&mut self) {
        self.stays = true;
    }

    /// By which others see that we live.
    pub(super) fn sign_of_life(&self) -> SignOfLife {
        self.file.clone()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if !self.stays {
            // Where it cannot be removed, others see that it is not locked.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether an owner worked here and is gone. Of those elsewhere, and of those whose file cannot be
/// looked at, nobody knows.
pub fn is_gone(layout: &Layout, owner: &str) -> Result<bool> {
    let Some(name) = Path::new(owner).file_name().filter(|name| *name == owner) else {
        return Ok(false);
    };
    let path = layout.owners().join(name);
    let is_here = owner.starts_with(&format!("{}-", host_name()));
    if !is_here && network_file_system(&layout.owners()).is_some() {
        // Locks may not reach from one machine to the other.
        return Ok(false);
    }
    Ok(path.try_exists().unwrap_or(false) && !is_locked(&path).unwrap_or(true))
}

/// Takes over the lease of one of these evaluations from an owner that was killed on this machine, so
/// that nobody need wait until it ends. None if there is no such lease.
///
/// The other leases of the dead stay as they are: their commands may still run here, and somebody
/// elsewhere, who cannot see that, must not begin the same.
pub(super) fn take_over(
    layout: &Layout,
    store: &Store,
    evaluations: &[u64],
    owner: &str,
) -> Result<Option<Lease>> {
    let dead = dead_owners(layout)?;
    if dead.is_empty() {
        return Ok(None);
    }
    let live: Vec<Lease> =
        store.leases()?.into_iter().filter(LeaseStatus::is_live).map(|held| held.lease).collect();
    for lease in live.iter().filter(|lease| dead.contains(&lease.owner)) {
        if evaluations.contains(&lease.evaluation)
            && let Some(taken) = store.take_over(lease, owner, LEASE_TIME)?
        {
            return Ok(Some(taken));
        }
    }
    // A database may have carried out a claim after its client was killed. While the file is there,
    // others know as well that a lease has no owner.
    for gone in dead.iter().filter(|gone| !live.iter().any(|lease| lease.owner == **gone)) {
        let _ = fs::remove_file(layout.owners().join(gone));
    }
    Ok(None)
}

/// The owners that worked here and are gone.
fn dead_owners(layout: &Layout) -> Result<BTreeSet<String>> {
    let folder = layout.owners();
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
        entries => entries.map_err(Error::io(&folder))?,
    };
    let mut dead = BTreeSet::new();
    for entry in entries {
        let name = entry.map_err(Error::io(&folder))?.file_name().to_string_lossy().into_owned();
        if !name.starts_with(UNFINISHED) && is_gone(layout, &name)? {
            dead.insert(name);
        }
    }
    Ok(dead)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

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
    fn leases_of_the_dead_change_hands_one_by_one_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        let (store, owner) = (Store::memory(), Owner::new(&layout).unwrap());
        fs::write(layout.owners().join("here-1-dead"), "").unwrap();
        let minute = Duration::from_secs(60);
        let names = ["here-1-dead", "elsewhere-1-abc", BY_HAND, "here-1-dead", &owner.name];
        for (evaluation, name) in (0..).zip(names) {
            store.claim(evaluation, name, minute).unwrap();
        }
        let mut taken = vec![];
        while let Some(lease) = take_over(&layout, &store, &[0, 1, 2, 3, 4], "me").unwrap() {
            taken.push((lease.evaluation, lease.attempt));
            // What we have not taken yet, somebody elsewhere cannot claim either.
            let all: Vec<u64> = (0..5).collect();
            assert!(store.claim_free(&all, 5, "elsewhere-2-abc", minute).unwrap().is_empty());
        }
        assert_eq!(taken, [(0, 2), (3, 2)]);
        let owners: Vec<String> =
            store.leases().unwrap().into_iter().map(|held| held.lease.owner).collect();
        assert_eq!(owners, ["me", "elsewhere-1-abc", BY_HAND, "me", &owner.name]);
        assert_eq!(fs::read_dir(layout.owners()).unwrap().count(), 1);
    }

    #[test]
    fn an_owner_that_died_without_leases_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        let take_over = || take_over(&layout, &Store::memory(), &[0], "me").unwrap();
        assert_eq!(take_over(), None);
        let owner = Owner::new(&layout).unwrap();
        fs::write(layout.owners().join("here-1-dead"), "").unwrap();
        fs::write(layout.owners().join(".here-2-not-locked-yet"), "").unwrap();
        assert_eq!(take_over(), None);
        assert!(!layout.owners().join("here-1-dead").exists());
        assert!(layout.owners().join(".here-2-not-locked-yet").exists());
        assert!(layout.owners().join(&owner.name).exists());
    }

    /// Owners claim and die while others take over: no lease may be left to the dead. Each round ends
    /// with an owner that has claimed more than anybody who looked before could know of.
    #[test]
    fn no_lease_is_left_to_an_owner_that_died_while_others_were_taking_over() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        let (store, done) = (Store::memory(), std::sync::atomic::AtomicBool::new(false));
        let order = std::sync::atomic::Ordering::SeqCst;
        let all: Vec<u64> = (0..2_000).collect();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(order) {
                    take_over(&layout, &store, &all, "me").unwrap();
                }
            });
            for round in 0..100 {
                let mut owner = Owner::new(&layout).unwrap();
                for evaluation in 0..20 {
                    let claimed = store.claim(round * 20 + evaluation, &owner.name, LONG);
                    assert!(claimed.unwrap().is_some());
                }
                owner.leave_leases();
            }
            done.store(true, order);
        });
        while take_over(&layout, &store, &all, "me").unwrap().is_some() {}
        assert!(store.leases().unwrap().iter().all(|held| held.lease.owner == "me"));
        assert_eq!(fs::read_dir(layout.owners()).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn everybody_can_see_that_an_owner_lives_and_whoever_cannot_does_not_think_it_dead() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        let owner = Owner::new(&layout).unwrap();
        let mode = fs::metadata(layout.owners().join(&owner.name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644);
        // Tests may run as root, who can look at everything but this.
        let unreadable = layout.owners().join("here-1-unreadable");
        std::os::unix::fs::symlink(&unreadable, &unreadable).unwrap();
        assert!(!is_gone(&layout, "here-1-unreadable").unwrap());
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
