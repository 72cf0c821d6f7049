//! What may be found at the path of a journal file, who may write to it, and what may happen to it.
//!
//! Other processes are this test program itself, told by its environment what to do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod places;

use places::{JournalFile, Place, measured, parts, record};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use unyoke::{FORMAT, Journal, JournalError, Record};
use unyoke_store::{Error, Location, Store};

const MINUTE: Duration = Duration::from_secs(60);
const HEADER: &str = "unyoke journal 1\n";

const TASK: &str = "UNYOKE_STORE_TEST_TASK";
const PLACE: &str = "UNYOKE_STORE_TEST_PLACE";
const HOST: &str = "UNYOKE_HOST";

/// Not a test but what the other processes run.
#[test]
#[ignore = "this is run by other tests"]
fn process() {
    let (Ok(task), Ok(place)) = (std::env::var(TASK), std::env::var(PLACE)) else { return };
    let location = Location::parse(&place).unwrap();
    match task.as_str() {
        "hold" => hold(&location),
        "try" => try_to_append(&location),
        "fill" => fill(&location),
        other => panic!("{other}"),
    }
}

/// The command for a process on a machine that calls itself `host`.
fn command(path: &Path, task: &str, host: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["process", "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(TASK, task).env(PLACE, format!("file:{}", path.display())).env(HOST, host);
    command.stdout(Stdio::piped());
    command
}

fn say(what: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{what}").unwrap();
    out.flush().unwrap();
}

fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok)
}

/// Appends a record, says so, and holds the lock until it is killed.
fn hold(location: &Location) {
    let mut store = Store::open(location).unwrap();
    let at = store.read(0).unwrap().len() as u64;
    store.append(at, &[record(at, "holder")]).unwrap();
    say("holds");
    loop {
        std::thread::park();
    }
}

/// Appends a record and says what came of it.
fn try_to_append(location: &Location) {
    let mut store = Store::open(location).unwrap();
    let at = store.read(0).unwrap().len() as u64;
    match store.append(at, &[record(at, "other")]) {
        Ok(()) => say("appended"),
        Err(error) => say(&format!("refused: {error}")),
    }
}

/// Appends longer and longer records until the disk is full; then says how many there are, and goes
/// on with short ones until it is full for these as well.
fn fill(location: &Location) {
    let mut store = Store::open(location).unwrap();
    let mut at = store.read(0).unwrap().len() as u64;
    for length in [3000, 700, 1] {
        loop {
            match store.append(at, &[record(at, &"x".repeat(length))]) {
                Ok(()) => at += 1,
                Err(error) => {
                    assert!(error.to_string().contains("no space is left"), "{error}");
                    break;
                }
            }
            say(&format!("written {at}"));
        }
        assert_eq!(store.read(0).unwrap().len() as u64, at, "what failed is not there");
    }
    say("full");
}

/// A process that holds the lock of the journal.
fn holder(place: &JournalFile, host: &str) -> Child {
    let mut child = command(&place.path(), "hold", host).spawn().unwrap();
    assert!(lines(&mut child).any(|line| line == "holds"));
    child
}

/// What comes of a process that appends.
fn outcome(place: &JournalFile, host: &str) -> String {
    let mut child = command(&place.path(), "try", host).spawn().unwrap();
    let said: Vec<String> = lines(&mut child).collect();
    assert!(child.wait().unwrap().success(), "{said:?}");
    let found = said.into_iter().find(|line| line == "appended" || line.starts_with("refused"));
    found.expect("it says what came of it")
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A study that nobody has open, with this many records.
fn closed(count: u64) -> JournalFile {
    let place = JournalFile::new();
    let mut store = place.begin();
    let records: Vec<Record> = (1..count).map(|number| record(number, "me")).collect();
    for (at, record) in (1..).zip(&records) {
        store.append(at, std::slice::from_ref(record)).unwrap();
    }
    place
}

fn open(place: &JournalFile) -> Result<Store, Error> {
    Store::open(&place.location())
}

/// Makes the last writer look killed.
fn forget_lock(place: &JournalFile) {
    fs::remove_dir_all(place.lock()).unwrap();
}

#[test]
fn nothing_is_written_by_looking_for_a_study() {
    let place = JournalFile::new();
    let location = place.path().display().to_string();
    assert_eq!(open(&place).unwrap_err(), Error::NoStudy { location });
    assert_eq!(Store::check_creatable(&place.location()), Ok(()));
    drop(place.create());
    assert!(!place.path().exists() && !place.lock().exists());
}

#[test]
fn a_creation_that_was_interrupted_can_be_repeated() {
    for part in ["", "unyoke", HEADER] {
        let place = JournalFile::new();
        fs::write(place.path(), part).unwrap();
        assert!(matches!(open(&place), Err(Error::NoStudy { .. })));
        drop(place.begin());
        assert_eq!(place.open().read(0).unwrap().len(), 1);
    }
}

#[test]
fn a_study_is_created_once() {
    let place = closed(3);
    assert!(matches!(Store::create(&place.location()), Err(Error::StudyExists { .. })));
    assert_eq!(place.open().read(0).unwrap().len(), 3);
}

#[test]
fn other_files_are_refused_untouched() {
    let place = JournalFile::new();
    for (content, reason) in [
        ("a", "not a journal file"),
        ("[study]\nname = \"x\"\n", "not a journal file"),
        ("SQLite format 3\0…", "without \"file:\""),
    ] {
        fs::write(place.path(), content).unwrap();
        for refusal in [open(&place), Store::create(&place.location())] {
            let refusal = refusal.unwrap_err();
            assert!(matches!(refusal, Error::NotAStudy { .. }), "{refusal:?}");
            assert!(refusal.to_string().contains(reason), "{refusal}");
        }
        assert_eq!(fs::read_to_string(place.path()).unwrap(), content);
        assert!(!place.lock().exists());
    }
    let folder = Location::Journal(place.path().parent().unwrap().to_owned());
    assert!(matches!(Store::open(&folder), Err(Error::NotAStudy { .. })));
    let deeper = Location::Journal(place.path().with_file_name("no").join("such"));
    assert!(matches!(Store::create(&deeper), Err(Error::NoAccess { .. })));
}

#[test]
fn a_journal_taken_for_an_sqlite_file_says_how_to_name_it() {
    let place = closed(1);
    for refusal in
        [Store::open(&Location::File(place.path())), Store::create(&Location::File(place.path()))]
    {
        let told = refusal.unwrap_err().to_string();
        assert!(told.contains("written with \"file:\" before it"), "{told}");
    }
}

#[test]
fn what_is_newer_is_refused_untouched() {
    let place = JournalFile::new();
    fs::write(place.path(), "unyoke journal 2\nwho knows\n").unwrap();
    let location = place.path().display().to_string();
    let refusal = open(&place).unwrap_err();
    assert_eq!(refusal, Error::NewerLayout { location, found: 2, known: 1 });

    // As a newer version would write it, with a right checksum.
    let place = closed(1);
    let text = format!(r#"{{"format":{},"event":"merged"}}"#, FORMAT + 1);
    let sum = crc32fast::hash(format!("1 0 record 1 {text}").as_bytes());
    let mut file = fs::OpenOptions::new().append(true).open(place.path()).unwrap();
    writeln!(file, "1 0 record 1 {sum:08x} {text}").unwrap();
    let refusal = Error::NewerRecord { found: FORMAT + 1, known: FORMAT };
    assert_eq!(open(&place).unwrap_err(), refusal);
    assert_eq!(Store::create(&place.location()).unwrap_err(), refusal);
}

#[test]
fn a_journal_torn_at_any_byte_of_its_last_record_loses_that_one_only() {
    let whole = closed(4);
    let bytes = fs::read(whole.path()).unwrap();
    let last = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for length in last..bytes.len() {
        let place = JournalFile::new();
        fs::write(place.path(), &bytes[..length]).unwrap();
        let mut store = place.open();
        assert_eq!(store.read(0).unwrap().len(), 3, "{length} bytes");
        assert_eq!(fs::read(place.path()).unwrap(), bytes[..length], "reading repairs nothing");
        store.append(3, &[record(3, "me")]).unwrap();
        assert_eq!(place.open().read(0).unwrap(), whole.open().read(0).unwrap());
        assert_eq!(fs::read(place.path()).unwrap(), bytes);
    }
}

#[test]
fn a_last_record_with_garbage_at_any_byte_was_torn() {
    let whole = closed(4);
    let bytes = fs::read(whole.path()).unwrap();
    let last = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for at in last + 1..bytes.len() {
        let place = JournalFile::new();
        let mut torn = bytes.clone();
        torn[at..].fill(0);
        fs::write(place.path(), &torn).unwrap();
        let mut store = place.open();
        assert_eq!(store.read(0).unwrap().len(), 3, "from byte {at}");
        store.append(3, &[record(3, "me")]).unwrap();
        assert_eq!(fs::read(place.path()).unwrap(), bytes);
    }
}

#[test]
fn records_appended_together_are_torn_together() {
    let place = closed(2);
    let mut store = place.open();
    let three: Vec<Record> = (2..5).map(|number| record(number, "me")).collect();
    store.work_as("ann", MINUTE).unwrap();
    store.append(2, &three).unwrap();
    drop(store);
    let bytes = fs::read(place.path()).unwrap();
    let start = bytes.len()
        - bytes.split_inclusive(|b| *b == b'\n').rev().take(3).map(<[u8]>::len).sum::<usize>();
    for length in (start..bytes.len()).step_by(7) {
        let torn = JournalFile::new();
        fs::write(torn.path(), &bytes[..length]).unwrap();
        assert_eq!(torn.open().read(0).unwrap().len(), 2, "{length} bytes");
    }
}

#[test]
fn damage_is_told_with_its_record_and_not_made_worse() {
    let place = closed(9);
    let whole = fs::read_to_string(place.path()).unwrap();
    let damage = |from: &str, to: &str| {
        let text = whole.replacen(from, to, 1);
        assert_ne!(text, whole);
        text
    };
    for (text, position) in [
        (damage("\"evaluation\":4", "\"evaluation\":5"), 4),
        (damage("5 0 record 5", "5 1 record 5"), 5),
        (damage("3 0 record 3", "3 0 lease 3"), 3),
        (damage("6 0 record 6", "\0\0\0\0"), 6),
    ] {
        fs::write(place.path(), &text).unwrap();
        for lock_is_there in [true, false] {
            let refusal = open(&place).unwrap_err();
            assert!(
                matches!(refusal, Error::DamagedRecord { position: found, .. } if found == position),
                "{refusal}"
            );
            assert_eq!(fs::read_to_string(place.path()).unwrap(), text);
            if lock_is_there && place.lock().exists() {
                forget_lock(&place);
            }
        }
    }
}

#[test]
fn a_last_record_that_was_finished_and_cannot_be_read_is_damage_to_whoever_writes() {
    let place = closed(3);
    place.open().append(3, &[measured(3, 0.125)]).unwrap();
    let text = fs::read_to_string(place.path()).unwrap();
    fs::write(place.path(), text.replace("0.125", "0.126")).unwrap();
    let error = place.open().append(3, &[record(3, "me")]).unwrap_err();
    assert!(matches!(error, JournalError::Damaged { position: 3, .. }), "{error}");
    assert!(fs::read_to_string(place.path()).unwrap().contains("0.126"), "it was left as it is");
}

#[test]
fn nothing_is_acknowledged_that_goes_into_a_file_nobody_will_find() {
    let place = closed(3);
    let mut store = place.open();
    store.append(3, &[record(3, "me")]).unwrap();
    let away = place.path().with_extension("old");
    fs::rename(place.path(), &away).unwrap();
    let moved = Error::Moved {
        path: fs::canonicalize(away.parent().unwrap()).unwrap().join("study.journal"),
    };
    let refused = Err(JournalError::Storage { reason: moved.to_string() });
    assert_eq!(store.append(4, &[record(4, "me")]), refused);
    assert_eq!(store.claim(1, "me", MINUTE), Err(moved.clone()));
    fs::write(place.path(), "").unwrap();
    assert_eq!(store.claim(1, "me", MINUTE), Err(moved));
    fs::rename(&away, place.path()).unwrap();
    assert_eq!(store.append(4, &[record(4, "me")]), Ok(()));
}

#[test]
fn a_journal_nobody_may_write_can_be_read() {
    let place = closed(3);
    let mut permissions = fs::metadata(place.path()).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(place.path(), permissions).unwrap();
    let mut store = place.open();
    assert_eq!(store.read(0).unwrap().len(), 3);
    assert!(store.leases().unwrap().is_empty());
    let refusal = store.append(3, &[record(3, "me")]).unwrap_err().to_string();
    assert!(refusal.contains("read-only"), "{refusal}");
    assert!(matches!(store.claim(0, "me", MINUTE), Err(Error::ReadOnly { .. })));
}

#[test]
fn a_second_program_is_told_who_writes_and_can_read_meanwhile() {
    let place = closed(2);
    let child = holder(&place, "node7");
    let mut store = place.open();
    assert_eq!(store.read(0).unwrap().len(), 3, "the record of the holder is seen");
    assert!(store.leases().unwrap().is_empty() && store.late().unwrap().is_empty());
    let holder = format!("in use by process {} (", child.id());
    let claimed = store.claim(0, "me", MINUTE).unwrap_err();
    assert!(matches!(claimed, Error::Locked { .. }) && !claimed.is_passing(), "{claimed:?}");
    let appended = store.append(3, &[record(3, "me")]).unwrap_err().to_string();
    for told in [claimed.to_string(), appended] {
        assert!(told.contains(&holder) && told.contains(" on node7, since 20"), "{told}");
    }
    assert!(matches!(store.work_as("me", MINUTE), Err(Error::Locked { .. })));
    kill(child);
}

#[test]
fn of_two_programs_on_different_machines_one_is_refused_while_the_other_lives() {
    let place = closed(2);
    let child = holder(&place, "node7");
    let told = outcome(&place, "node8");
    assert!(told.starts_with("refused: ") && told.contains(" on node7, since 20"), "{told}");
    kill(child);
    // On the machine of the dead the system says that it is.
    assert_eq!(outcome(&place, "node7"), "appended");
    assert_eq!(outcome(&place, "node8"), "appended", "it was given back");
    assert_eq!(place.open().read(0).unwrap().len(), 5);
}

#[test]
fn what_a_dead_program_on_another_machine_held_is_free_after_a_while() {
    let place = closed(2);
    kill(holder(&place, "node7"));
    let start = Instant::now();
    assert_eq!(outcome(&place, "node8"), "appended");
    assert!(start.elapsed() >= Duration::from_secs(20), "it could have been alive");
    assert_eq!(place.open().read(0).unwrap().len(), 4);
}

#[test]
fn the_lock_can_be_taken_by_force() {
    let place = closed(2);
    kill(holder(&place, "node7"));
    forget_lock(&place);
    assert_eq!(outcome(&place, "node8"), "appended");
    assert_eq!(place.open().read(0).unwrap().len(), 4);
}

#[test]
fn the_lock_is_free_when_the_last_store_is_dropped() {
    let place = closed(2);
    let (mut store, other) = (place.open(), place.open());
    store.append(2, &[record(2, "me")]).unwrap();
    drop(store);
    assert!(outcome(&place, "here").starts_with("refused"), "one is left");
    drop(other);
    assert_eq!(outcome(&place, "here"), "appended");
}

#[test]
fn readers_see_complete_records_while_writers_come_and_are_killed() {
    let place = closed(2);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let reader = Store::open(&place.location()).unwrap();
            let mut seen = 0;
            while !done.load(Ordering::Relaxed) {
                let records = reader.read(0).unwrap();
                assert!(records.iter().skip(2).all(|record| parts(record).1 == "holder"));
                assert!(records.len() >= seen, "what was seen stays");
                seen = records.len();
            }
        });
        for _ in 0..5 {
            kill(holder(&place, "node7"));
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(place.open().read(0).unwrap().len(), 7);
}

/// Runs a process until its disk is full, and checks that all it acknowledged is there.
fn check_full(path: PathBuf, mut command: Command, make_room: impl FnOnce()) {
    let mut child = command.spawn().unwrap();
    let said: Vec<String> = lines(&mut child).collect();
    assert!(child.wait().unwrap().success(), "{said:?}");
    assert!(said.iter().any(|line| line == "full"), "{said:?}");
    let numbers = said.iter().filter_map(|line| line.strip_prefix("written ")?.parse::<u64>().ok());
    let acknowledged = numbers.max().unwrap();
    assert!(acknowledged > 5, "{acknowledged}");
    let location = Location::Journal(path);
    let records = Store::open(&location).unwrap().read(0).unwrap();
    assert_eq!(records.len() as u64, acknowledged);
    assert!(records.iter().map(|record| parts(record).0).eq(0..acknowledged));
    make_room();
    let mut store = Store::open(&location).unwrap();
    store.append(acknowledged, &[record(acknowledged, &"x".repeat(9000))]).unwrap();
    assert_eq!(store.read(0).unwrap().len() as u64, acknowledged + 1);
}

#[cfg(unix)]
#[test]
fn a_limit_on_the_size_of_files_costs_nothing_that_was_acknowledged() {
    let place = closed(1);
    let inner = command(&place.path(), "fill", "here");
    let mut limited = Command::new("sh");
    // In blocks of 512 bytes. Without the signal the system answers with an error.
    limited.args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\""]);
    limited.arg(inner.get_program()).args(inner.get_args());
    limited.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited.stdout(Stdio::piped());
    check_full(place.path(), limited, || ());
}

/// A file system of its own, as small as it can be. None if we may not make one.
#[cfg(target_os = "linux")]
fn small_disk(folder: &Path) -> bool {
    let mount = ["-t", "tmpfs", "-o", "size=128k", "tmpfs"];
    let mounted = Command::new("mount").args(mount).arg(folder).stderr(Stdio::null()).status();
    mounted.is_ok_and(|status| status.success())
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_costs_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    if !small_disk(folder.path()) {
        // Only root may; the test before does the same with a limit in place of a disk.
        return;
    }
    struct Mounted<'a>(&'a Path);
    impl Drop for Mounted<'_> {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg("-l").arg(self.0).status();
        }
    }
    let _mounted = Mounted(folder.path());
    let (path, ballast) = (folder.path().join("study.journal"), folder.path().join("ballast"));
    fs::write(&ballast, vec![1; 40_000]).unwrap();
    let location = Location::Journal(path.clone());
    Store::create(&location).unwrap().append(0, &[record(0, "begun")]).unwrap();
    let fill = command(&path, "fill", "here");
    check_full(path, fill, || fs::remove_file(ballast).unwrap());
}
