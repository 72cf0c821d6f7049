//! Stores that several processes use, and that processes leave by being killed.
//!
//! The processes are this test program itself, told by its environment what to do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod places;

use places::{File, JournalFile, Place, Postgres, Shared, parts, record};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use unyoke::{Journal, JournalError};
use unyoke_store::{Location, Store};

const TASK: &str = "UNYOKE_STORE_TEST_TASK";
const PLACE: &str = "UNYOKE_STORE_TEST_PLACE";
const LEASE: Duration = Duration::from_secs(60);

/// Not a test but what the other processes run.
#[test]
#[ignore = "this is run by other tests"]
fn process() {
    let (Ok(task), Ok(place)) = (std::env::var(TASK), std::env::var(PLACE)) else { return };
    let location = Location::parse(&place).unwrap();
    match task.as_str() {
        "append" => append_without_end(&location),
        writer => append_and_claim(Store::open(&location).unwrap(), writer),
    }
}

fn start(place: &impl Shared, task: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["process", "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(TASK, task).env(PLACE, place.text());
    command.stdout(Stdio::piped()).spawn().unwrap()
}

/// Says on the standard output, at once, what was achieved. On a line of its own: the test program
/// begins lines, too.
fn say(what: &str, number: u64) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{what} {number}").unwrap();
    out.flush().unwrap();
}

/// The numbers that a process said about `what`.
fn said<'a>(lines: &'a [String], what: &str) -> impl Iterator<Item = u64> + use<'a> {
    let prefix = format!("{what} ");
    lines.iter().filter_map(move |line| line.strip_prefix(&prefix)?.parse().ok())
}

fn append_and_claim(mut store: Store, writer: &str) {
    let mut at = 0;
    for number in 0..50 {
        loop {
            at += store.read(at).unwrap().len() as u64;
            match store.append(at, &[record(number, writer)]) {
                Ok(()) => break,
                Err(JournalError::Conflict { .. }) => (),
                Err(error) => panic!("{error}"),
            }
        }
        if store.claim(number, writer, LEASE).unwrap().is_some() {
            say("claimed", number);
        }
    }
}

/// Appends records that hold their own position, one or several at a time, until it is killed.
fn append_without_end(location: &Location) {
    let mut store = Store::open(location).unwrap();
    let mut at = store.read(0).unwrap().len() as u64;
    loop {
        let many = 1 + at % 3;
        let records: Vec<_> = (at..at + many).map(|position| record(position, "child")).collect();
        store.append(at, &records).unwrap();
        at += many;
        say("written", at);
    }
}

fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok)
}

fn eight_processes_lose_nothing(place: impl Shared) {
    let store = place.begin();
    let mut children: Vec<Child> =
        (0..8).map(|writer| start(&place, &format!("writer {writer}"))).collect();
    let mut claimed = Vec::new();
    for child in &mut children {
        let output: Vec<String> = lines(child).collect();
        assert!(child.wait().unwrap().success());
        claimed.extend(said(&output, "claimed"));
    }
    claimed.sort_unstable();
    assert!(claimed.into_iter().eq(0..50), "each evaluation is claimed once");
    let records = store.read(1).unwrap();
    assert_eq!(records.len(), 8 * 50);
    for writer in 0..8 {
        let name = format!("writer {writer}");
        let theirs = records.iter().map(parts).filter(|(_, who)| *who == name);
        assert!(theirs.map(|(number, _)| number).eq(0..50), "{name}");
    }
    assert_eq!(place.open().read(1).unwrap(), records, "one order for all readers");
}

/// Starts a writer, kills it at some moment, and looks at what it left, `times` times.
fn killed_writers_lose_nothing(place: impl Shared, times: u64) {
    drop(place.begin());
    for round in 0..times {
        let mut child = start(&place, "append");
        let mut output = lines(&mut child);
        // How far it gets varies between not having begun and a dozen transactions; where in a
        // transaction it is when the signal arrives is up to the scheduler.
        let patience = usize::try_from(round * 7 % 12).unwrap();
        let mut seen: Vec<String> = Vec::new();
        while said(&seen, "written").count() < patience {
            seen.push(output.next().expect("the writer goes on until it is killed"));
        }
        std::thread::sleep(Duration::from_micros(round * 611 % 4_000));
        child.kill().unwrap();
        seen.extend(output);
        child.wait().unwrap();
        check_after_kill(place.open(), said(&seen, "written").last().unwrap_or(0));
    }
}

/// Everything acknowledged is there, nothing is torn, and the next append works.
fn check_after_kill(mut store: Store, acknowledged: u64) {
    loop {
        let records = store.read(0).unwrap();
        let length = records.len() as u64;
        assert!(length >= acknowledged, "{acknowledged} were acknowledged, {length} are left");
        assert!(records.iter().map(|record| parts(record).0).eq(0..length));
        match store.append(length, &[record(length, "parent")]) {
            // A server may finish what the writer sent before it was killed, once: it sends nothing more.
            Err(JournalError::Conflict { found, .. }) => assert!(found > length),
            appended => return appended.unwrap(),
        }
    }
}

#[test]
fn eight_processes_lose_nothing_in_a_file() {
    eight_processes_lose_nothing(File::new());
}

#[test]
fn eight_processes_lose_nothing_in_a_database() {
    eight_processes_lose_nothing(Postgres::new());
}

#[test]
fn killed_writers_lose_nothing_in_a_file() {
    killed_writers_lose_nothing(File::new(), 40);
}

#[test]
fn killed_writers_lose_nothing_in_a_journal_file() {
    killed_writers_lose_nothing(JournalFile::new(), 40);
}

#[test]
#[ignore = "takes minutes: the long form of the test before"]
fn killed_500_times_writers_lose_nothing_in_a_journal_file() {
    killed_writers_lose_nothing(JournalFile::new(), 500);
}

#[test]
fn killed_writers_lose_nothing_in_a_database() {
    killed_writers_lose_nothing(Postgres::new(), 10);
}
