//! The right to write to a journal file, which one program at a time has, on whatever machine.
//!
//! File systems that machines share do not all keep locks of the system (`flock`, `fcntl`), but a
//! name is given to one file only on all of them. So the right is a file in a folder beside the
//! journal: `000001`, `000002`, …, of which the one with the highest number counts. Whoever wants it
//! makes the next one with `link`, which succeeds for one program only, and then removes the others.
//! A file holds who made it, and below that what became of it.
//!
//! An owner that was killed left its file behind. On the same machine the system tells whether the
//! process runs. Elsewhere the file is watched: as long as its owner lives, its time changes every
//! [`Timing::beat`]. The watcher measures with its own clock, so clocks may differ.
//!
//! An owner that only stood still, as when its machine slept, may go on at any moment. It finds its
//! file gone. What keeps it from harming the journal is described in `journal_file`.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::host::{Host, Life, Process};

/// What stands below the owner in its file.
const READY: &str = "ready";
const RELEASED: &str = "released";
const LEFT: &str = "left";

/// Names of files that are not finished begin with this.
const UNFINISHED: &str = ".";

/// How often somebody may come between before something must be wrong.
const MOST_TRIES: u32 = 1000;

/// How long things take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    /// After which time an owner gives a sign of life.
    pub(crate) beat: Duration,
    /// After how long without one an owner on another machine counts as dead.
    pub(crate) silence: Duration,
    /// How long to wait for an owner that lives: commands such as `tell` are soon done.
    pub(crate) patience: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            beat: Duration::from_secs(2),
            silence: Duration::from_secs(20),
            patience: Duration::from_secs(2),
        }
    }
}

/// Why the right to write could not be had.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Somebody has it and lives.
    Held(String),
    /// Somebody elsewhere stopped just as it was taking over from another.
    Interrupted(String),
    /// The file system failed.
    Io(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// How the one before left the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    /// Everything it wrote is complete.
    Complete,
    /// It was killed, or there was none: the end may be torn.
    Unknown,
}

/// Who asks for the right, and where.
#[derive(Debug, Clone)]
pub(crate) struct Lock {
    folder: PathBuf,
    host: Host,
    timing: Timing,
}

/// The right to write, until it is dropped or somebody takes it.
#[derive(Debug)]
pub(crate) struct Held {
    path: PathBuf,
    /// What the file holds as long as it is ours.
    written: Vec<u8>,
    process: u32,
    /// The thread that gives signs of life ends when this is dropped.
    _alive: Option<Sender<()>>,
}

/// The file that counts.
#[derive(Debug)]
struct Newest {
    number: u64,
    /// None if it is not written yet, or damaged.
    owner: Option<Process>,
    state: State,
    changed: Option<SystemTime>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The owner may be replacing the journal.
    TakingOver,
    Ready,
    Released,
    Left,
}

/// An owner that is watched for signs of life.
#[derive(Debug)]
struct Watch {
    number: u64,
    changed: Option<SystemTime>,
    begun: Instant,
    looked: Instant,
}

impl Lock {
    pub(crate) fn new(folder: PathBuf, host: Host, timing: Timing) -> Self {
        Self { folder, host, timing }
    }

    /// Takes the right to write. Waits shortly for owners that live, and for as long as it takes to be
    /// sure about others.
    pub(crate) fn acquire(&self) -> Result<(Held, Before), Refusal> {
        let (start, mut watch) = (Instant::now(), None);
        for _ in 0..MOST_TRIES {
            match fs::create_dir(&self.folder) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error.into()),
                _ => {}
            }
            let newest = self.newest()?;
            let number = newest.as_ref().map_or(0, |newest| newest.number) + 1;
            let Some(before) = self.free(newest, start, &mut watch)? else { continue };
            if let Some(held) = self.take(number)? {
                return Ok((held, before));
            }
        }
        Err(Refusal::Held("programs that come and go".to_owned()))
    }

    /// How the journal was left if the right to write can be taken now. None if it is too early to
    /// tell; some time has passed then.
    fn free(
        &self,
        newest: Option<Newest>,
        start: Instant,
        watch: &mut Option<Watch>,
    ) -> Result<Option<Before>, Refusal> {
        let Some(newest) = newest else { return Ok(Some(Before::Unknown)) };
        let life = newest.owner.as_ref().map_or(Life::Unknown, |owner| self.life(owner, &newest));
        match (newest.state, life) {
            (State::Released, _) => Ok(Some(Before::Complete)),
            (State::Left, _) | (_, Life::Ended) => Ok(Some(Before::Unknown)),
            (_, Life::Runs) if start.elapsed() >= self.timing.patience => {
                Err(Refusal::Held(newest.owner()))
            }
            (_, Life::Runs) => {
                std::thread::sleep(self.pause());
                Ok(None)
            }
            (state, Life::Unknown) => {
                let is_dead = self.watch(watch, &newest)?;
                if is_dead && state == State::TakingOver && newest.owner.is_some() {
                    return Err(Refusal::Interrupted(newest.owner()));
                }
                Ok(is_dead.then_some(Before::Unknown))
            }
        }
    }

    /// What is known of an owner. This process may have left its own file behind, as when the disk was
    /// too full to say so.
    fn life(&self, owner: &Process, newest: &Newest) -> Life {
        match owner.life(&self.host) {
            Life::Runs
                if owner.pid == std::process::id()
                    && !held().contains(&self.path(newest.number)) =>
            {
                Life::Ended
            }
            life => life,
        }
    }

    /// Looks for a sign of life. True when there has been none for long enough; fails if there is one.
    fn watch(&self, watch: &mut Option<Watch>, newest: &Newest) -> Result<bool, Refusal> {
        let now = Instant::now();
        let Newest { number, changed, .. } = *newest;
        match watch {
            Some(seen) if seen.number == number => {
                if seen.changed != changed {
                    return Err(Refusal::Held(newest.owner()));
                }
                // A server that did not answer for a while did not show signs of life either.
                if now.duration_since(seen.looked) > self.timing.beat {
                    seen.begun = now;
                }
                seen.looked = now;
                if now.duration_since(seen.begun) >= self.timing.silence {
                    return Ok(true);
                }
            }
            _ => *watch = Some(Watch { number, changed, begun: now, looked: now }),
        }
        std::thread::sleep(self.pause());
        Ok(false)
    }

    fn pause(&self) -> Duration {
        self.timing.patience / 8
    }

    /// The file that counts, if there is one.
    fn newest(&self) -> io::Result<Option<Newest>> {
        for _ in 0..MOST_TRIES {
            let Some(number) = self.numbers()?.into_iter().max() else { return Ok(None) };
            match read_with_time(&self.path(number)) {
                Ok((bytes, changed)) => return Ok(Some(Newest::parse(number, &bytes, changed))),
                // Somebody was faster.
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other(format!("{} changes all the time", self.folder.display())))
    }

    fn numbers(&self) -> io::Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            numbers.extend(name.to_str().and_then(|name| name.parse::<u64>().ok()));
        }
        Ok(numbers)
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number:06}"))
    }

    /// Makes the file with this number, unless somebody else does.
    fn take(&self, number: u64) -> io::Result<Option<Held>> {
        let mut written = serde_json::to_vec(&Process::this(&self.host))?;
        written.push(b'\n');
        let path = self.path(number);
        if !self.make(&path, &written)? {
            return Ok(None);
        }
        // Somebody who looked long ago may have made a number that was used and removed since.
        if self.numbers()?.into_iter().max() != Some(number) {
            let _ = fs::remove_file(&path);
            return Ok(None);
        }
        self.remove_others(number)?;
        held().insert(path.clone());
        let process = std::process::id();
        let _alive = give_signs_of_life(path.clone(), self.timing.beat);
        Ok(Some(Held { path, written, process, _alive }))
    }

    /// Makes a file with these contents under a name that must be free. False if it is not.
    fn make(&self, path: &Path, written: &[u8]) -> io::Result<bool> {
        let name = format!("{UNFINISHED}{}-{:016x}", std::process::id(), fastrand::u64(..));
        let unfinished = self.folder.join(name);
        let made = write_new(&unfinished, written).and_then(|()| link(&unfinished, path));
        let _ = fs::remove_file(&unfinished);
        match made {
            Ok(()) => Ok(true),
            // The second: somebody has just tidied up here.
            Err(error)
                if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) =>
            {
                Ok(false)
            }
            // Some file systems cannot give a file two names.
            Err(error) if cannot_link(&error) => match write_new(path, written) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
                made => made.map(|()| true),
            },
            Err(error) => Err(error),
        }
    }

    /// Removes the files of all earlier owners. One that still lives finds out by that, so it must not
    /// fail.
    fn remove_others(&self, number: u64) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let is_earlier = name.parse::<u64>().is_ok_and(|other| other < number);
            if is_earlier || name.starts_with(UNFINISHED) {
                match fs::remove_file(entry.path()) {
                    Err(error) if is_earlier && !is_gone(&error) => {
                        return Err(error);
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Who has the right to write now, for people.
    pub(crate) fn owner(&self) -> String {
        let newest = self.newest().ok().flatten();
        newest.map_or_else(|| "another program".to_owned(), |newest| newest.owner())
    }
}

/// The files of this process that count as held.
fn held() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    static HELD: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Held {
    fn drop(&mut self) {
        held().remove(&self.path);
    }
}

impl Newest {
    fn parse(number: u64, bytes: &[u8], changed: Option<SystemTime>) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.lines();
        let owner = lines.next().and_then(|line| serde_json::from_str(line).ok());
        let mut state = State::TakingOver;
        for line in lines {
            state = match line {
                READY => State::Ready,
                RELEASED => State::Released,
                LEFT => State::Left,
                _ => state,
            };
        }
        Self { number, owner, state, changed }
    }

    fn owner(&self) -> String {
        self.owner.as_ref().map_or_else(|| "an unknown program".to_owned(), Process::to_string)
    }
}

impl Held {
    /// Whether nobody has taken the right since.
    pub(crate) fn is_ours(&self) -> io::Result<bool> {
        match fs::read(&self.path) {
            Ok(found) => Ok(found == self.written),
            Err(error) if is_gone(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Says that the journal will not be replaced any more, only appended to.
    pub(crate) fn get_ready(&mut self) -> io::Result<()> {
        self.say(READY)
    }

    fn say(&mut self, what: &str) -> io::Result<()> {
        let line = format!("{what}\n");
        let mut file = OpenOptions::new().append(true).open(&self.path)?;
        file.write_all(line.as_bytes())?;
        file.sync_all()?;
        self.written.extend(line.bytes());
        Ok(())
    }

    /// Gives the right back. If that fails, others see that the process has ended.
    pub(crate) fn release(mut self, before: Before) {
        // After a fork, the right is still that of the parent.
        if self.process == std::process::id() && self.is_ours().unwrap_or(false) {
            let _ = self.say(match before {
                Before::Complete => RELEASED,
                Before::Unknown => LEFT,
            });
        }
    }
}

/// The contents of a file and when it was changed. Opening it makes network file systems ask the server.
fn read_with_time(path: &Path) -> io::Result<(Vec<u8>, Option<SystemTime>)> {
    let mut file = File::open(path)?;
    let (mut bytes, changed) = (Vec::new(), file.metadata()?.modified().ok());
    file.read_to_end(&mut bytes)?;
    Ok((bytes, changed))
}

/// Changes the time of a file every `beat`, until the sender is dropped.
fn give_signs_of_life(path: PathBuf, beat: Duration) -> Option<Sender<()>> {
    let (alive, over) = channel::<()>();
    let give = move || {
        while over.recv_timeout(beat) == Err(RecvTimeoutError::Timeout) {
            // What fails now may work the next time; a file that is gone is not made again.
            let file = OpenOptions::new().append(true).open(&path);
            let _ = file.and_then(|file| file.set_modified(SystemTime::now()));
        }
    };
    // Without a thread others may take the right, which costs time and no record.
    std::thread::Builder::new().name("journal lock".to_owned()).spawn(give).ok().map(|_| alive)
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Gives a file a second name, which must be free.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        // The answer of a server may have been lost, and the repeated question refused.
        Err(_) if has_two_names(from) => Ok(()),
        linked => linked,
    }
}

#[cfg(unix)]
fn has_two_names(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).is_ok_and(|metadata| metadata.nlink() == 2)
}

#[cfg(not(unix))]
fn has_two_names(_: &Path) -> bool {
    false
}

fn cannot_link(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Unsupported | ErrorKind::PermissionDenied | ErrorKind::TooManyLinks
    )
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::StaleNetworkFileHandle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    /// Gives signs of life all the time, and waits for those of others until they must have come.
    const LIVELY: Timing = Timing {
        beat: Duration::from_millis(20),
        silence: Duration::from_secs(60),
        patience: Duration::from_millis(50),
    };

    /// Gives no sign of life in the time of a test, and soon takes others for dead.
    const SILENT: Timing = Timing {
        beat: Duration::from_secs(3600),
        silence: Duration::from_millis(300),
        patience: Duration::from_millis(50),
    };

    fn lock(folder: &TempDir, host: &str, timing: Timing) -> Lock {
        Lock::new(folder.path().join("lock"), Host::named(host), timing)
    }

    /// Leaves the file of a lock behind as a process does that is killed.
    fn kill(held: Held) {
        drop(held);
    }

    fn refusal(lock: &Lock) -> String {
        match lock.acquire() {
            Err(Refusal::Held(owner)) => owner,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_was_released_is_free_at_once_and_complete() {
        let folder = tempfile::tempdir().unwrap();
        let (here, there) = (lock(&folder, "a", SILENT), lock(&folder, "b", SILENT));
        let (mut held, before) = here.acquire().unwrap();
        assert_eq!(before, Before::Unknown, "nobody knows what was before the first");
        held.get_ready().unwrap();
        assert!(held.is_ours().unwrap());
        held.release(Before::Complete);
        let (held, before) = there.acquire().unwrap();
        assert_eq!(before, Before::Complete);
        held.release(Before::Unknown);
        assert_eq!(here.acquire().unwrap().1, Before::Unknown);
        assert_eq!(fs::read_dir(&here.folder).unwrap().count(), 1, "one file remains");
    }

    #[test]
    fn an_owner_on_this_machine_that_lives_keeps_others_out_and_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let lock = lock(&folder, "a", SILENT);
        let (held, _) = lock.acquire().unwrap();
        let told = refusal(&lock);
        let process = format!("process {} (", std::process::id());
        assert!(told.starts_with(&process) && told.contains(" on a, since 20"), "{told}");
        held.release(Before::Complete);
        assert!(lock.acquire().is_ok());
    }

    #[test]
    fn an_owner_on_another_machine_that_gives_signs_of_life_keeps_others_out() {
        let folder = tempfile::tempdir().unwrap();
        let (here, there) = (lock(&folder, "a", LIVELY), lock(&folder, "b", LIVELY));
        let (mut held, _) = here.acquire().unwrap();
        for _ in 0..3 {
            assert!(refusal(&there).contains(" on a, since "));
        }
        held.get_ready().unwrap();
        assert!(held.is_ours().unwrap());
    }

    #[test]
    fn a_silent_owner_on_another_machine_is_replaced_and_finds_out() {
        let folder = tempfile::tempdir().unwrap();
        let (here, there) = (lock(&folder, "a", SILENT), lock(&folder, "b", SILENT));
        let (mut sleeper, _) = here.acquire().unwrap();
        sleeper.get_ready().unwrap();
        let start = Instant::now();
        let (held, before) = there.acquire().unwrap();
        assert!(start.elapsed() >= SILENT.silence);
        assert_eq!(before, Before::Unknown);
        assert!(!sleeper.is_ours().unwrap() && held.is_ours().unwrap());
        sleeper.release(Before::Complete);
        assert!(held.is_ours().unwrap(), "whoever lost the right cannot give it back");
        assert!(here.owner().contains(" on b, since "));
    }

    #[test]
    fn whoever_stopped_elsewhere_while_replacing_the_journal_is_left_to_people() {
        let folder = tempfile::tempdir().unwrap();
        let (here, there) = (lock(&folder, "a", SILENT), lock(&folder, "b", SILENT));
        kill(here.acquire().unwrap().0);
        let refused = there.acquire();
        assert!(matches!(&refused, Err(Refusal::Interrupted(owner)) if owner.contains(" on a,")));
        fs::remove_dir_all(&here.folder).unwrap();
        assert!(there.acquire().is_ok());
    }

    #[test]
    fn an_owner_on_this_machine_that_was_killed_is_replaced_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let lock = lock(&folder, "a", SILENT);
        let (held, _) = lock.acquire().unwrap();
        let text = fs::read_to_string(&held.path).unwrap();
        let own = format!("\"pid\":{}", std::process::id());
        assert!(text.contains(&own));
        // No process has this number.
        fs::write(&held.path, text.replace(&own, "\"pid\":4194305")).unwrap();
        assert_eq!(lock.acquire().unwrap().1, Before::Unknown);
    }

    #[test]
    fn of_many_that_take_a_free_lock_one_gets_it() {
        let folder = tempfile::tempdir().unwrap();
        let locks: Vec<Lock> =
            (0..8).map(|host| lock(&folder, &format!("host {host}"), SILENT)).collect();
        for round in 0..30 {
            fs::create_dir_all(&locks[0].folder).unwrap();
            let number = locks[0].numbers().unwrap().into_iter().max().unwrap_or(0) + 1;
            let taken: Vec<Held> = std::thread::scope(|scope| {
                let threads: Vec<_> =
                    locks.iter().map(|lock| scope.spawn(move || lock.take(number))).collect();
                threads.into_iter().filter_map(|thread| thread.join().unwrap().unwrap()).collect()
            });
            assert_eq!(taken.len(), 1, "round {round}");
            assert!(taken[0].is_ours().unwrap());
        }
    }

    #[test]
    fn a_number_that_was_used_and_removed_since_wins_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let lock = lock(&folder, "a", SILENT);
        lock.acquire().unwrap().0.release(Before::Complete);
        let (held, _) = lock.acquire().unwrap();
        assert!(lock.take(1).unwrap().is_none());
        assert!(held.is_ours().unwrap());
        assert_eq!(lock.numbers().unwrap(), [2]);
    }

    #[test]
    fn a_file_that_nobody_understands_is_watched_like_one_from_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let lock = lock(&folder, "a", SILENT);
        fs::create_dir(&lock.folder).unwrap();
        for content in [&b""[..], b"{\"host\":", b"\xff\xfe\n"] {
            let number = lock.numbers().unwrap().into_iter().max().unwrap_or(0) + 1;
            fs::write(lock.path(number), content).unwrap();
            let (held, before) = lock.acquire().unwrap();
            assert_eq!(before, Before::Unknown);
            held.release(Before::Complete);
        }
    }
}
