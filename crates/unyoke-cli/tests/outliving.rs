//! Commands that outlive the program, programs that outlive their database, and folders that do not
//! outlive their command.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;

use std::fs;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, ChildStderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use place::{Place, TWO, signal, stderr};
use tempfile::TempDir;
use unyoke_store::{LeaseState, Location, Store};

/// The database of the tests, and a study of its own in it.
fn server() -> String {
    std::env::var("UNYOKE_TEST_POSTGRES")
        .expect("`cargo xtask test` starts a PostgreSQL for the tests")
}

fn study_at(server: &str, name: &str) -> String {
    let separator = if server.contains('?') { '&' } else { '?' };
    format!("{server}{separator}study={name}-{}", std::process::id())
}

/// One evaluation of `mass`, which waits until somebody opens the gate.
fn gated(store: Option<&str>) -> Place {
    let text = TWO.replace("\"echo\", \"{x}\"", "\"sh\", \"-c\", \"cat gate; echo {x}\"");
    let text = text.replace("cost = 18", "cost = 1");
    let store = store.map_or_else(String::new, |store| format!("[study]\nstore = {store:?}\n"));
    let place = Place::new(&format!("{store}{text}"));
    place.gate("gate");
    place
}

fn open_gate(place: &Place) {
    // Blocks until the script is there.
    fs::OpenOptions::new().write(true).open(place.path("gate")).unwrap();
}

/// A run that has begun its evaluation, and what else it says.
fn begin(place: &Place) -> (Child, Lines<BufReader<ChildStderr>>) {
    let mut run = place.spawn(&["run", "--no-report"]);
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    assert!(line.contains("mass at x="), "{line}");
    (run, lines)
}

/// A run that was killed; its command waits at the gate.
fn killed(place: &Place) {
    let (mut run, _) = begin(place);
    signal(&run, "-KILL");
    run.wait().unwrap();
}

fn assert_measured_once(place: &Place) {
    assert_eq!(place.spent(), 1.0);
    let evaluations = place.evaluations();
    assert!(evaluations.iter().all(|row| row["status"] == "completed"), "{evaluations:?}");
    assert_eq!(place.starts().into_iter().collect::<Vec<_>>(), [(0, 1)]);
}

#[test]
fn a_value_is_handed_in_although_the_program_was_killed() {
    let place = gated(Some(&study_at(&server(), "handed")));
    killed(&place);
    open_gate(&place);
    // By no program of ours: somebody elsewhere would begin it again.
    place.await_that("the value is there", |place| {
        place.evaluations().iter().all(|row| row["status"] == "completed")
    });
    place.text(&["run", "--no-report"]);
    assert_measured_once(&place);
}

#[test]
fn the_lease_of_a_killed_program_is_kept_while_its_command_runs() {
    let store = study_at(&server(), "kept");
    let place = gated(Some(&store));
    killed(&place);
    let store = Store::open(&Location::parse(&store).unwrap()).unwrap();
    let mut before = Duration::MAX;
    place.await_that("the lease is renewed", |_| {
        let leases = store.leases().unwrap();
        let LeaseState::Live { remaining } = leases[0].state else { panic!("{leases:?}") };
        remaining > std::mem::replace(&mut before, remaining)
    });
    open_gate(&place);
    place.await_that("it is given back", |_| {
        store.leases().unwrap()[0].state == LeaseState::Released
    });
}

#[test]
fn nobody_elsewhere_begins_what_still_runs_here_when_the_next_program_has_too_few_slots() {
    let url = study_at(&server(), "slots");
    let place = gated(Some(&url));
    let text = fs::read_to_string(place.path("study.toml")).unwrap();
    let drag = "\"awk\", \"BEGIN {{ print (1 - {x}) ^ 2 }}\"";
    place.write("study.toml", &text.replace(drag, "\"sh\", \"-c\", \"cat gate; echo {x}\""));
    let mut run = place.spawn(&["run", "--no-report", "--slots", "3", "--cost", "6"]);
    place.await_that("three run", |place| place.starts().len() == 3);
    signal(&run, "-KILL");
    run.wait().unwrap();
    let mut run = place.spawn(&["run", "--no-report", "--slots", "1", "--cost", "6"]);
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("waiting for attempt 1")));
    let store = Store::open(&Location::parse(&url).unwrap()).unwrap();
    let live = store.leases().unwrap().iter().filter(|held| held.is_live()).count();
    thread::spawn(move || lines.count());
    place.await_that("the run ends", |place| {
        // Opened and closed until all scripts have passed.
        drop(fs::OpenOptions::new().read(true).write(true).open(place.path("gate")).unwrap());
        run.try_wait().unwrap().is_some()
    });
    assert_eq!(live, 3, "the others were free for anybody");
    assert_eq!(place.starts().into_values().collect::<Vec<_>>(), [1, 1, 1]);
}

#[test]
fn another_machine_does_not_begin_what_a_killed_program_left_running() {
    let store = study_at(&server(), "machines");
    let (here, elsewhere) = (gated(Some(&store)), gated(Some(&store)));
    killed(&here);
    let opened = Store::open(&Location::parse(&store).unwrap()).unwrap();
    let mut before = Duration::MAX;
    here.await_that("the supervisor renews the lease", |_| {
        let leases = opened.leases().unwrap();
        let LeaseState::Live { remaining } = leases[0].state else { panic!("{leases:?}") };
        remaining > std::mem::replace(&mut before, remaining)
    });
    elsewhere.text(&["run", "--no-report"]);
    assert!(elsewhere.starts().is_empty());
    open_gate(&here);
    here.await_that("the value is there", |place| {
        place.evaluations().iter().all(|row| row["status"] == "completed")
    });
    elsewhere.text(&["run", "--no-report"]);
    assert!(elsewhere.starts().is_empty());
    assert_measured_once(&here);
}

#[test]
fn what_comes_after_somebody_elsewhere_has_settled_it_is_kept() {
    let place = gated(Some(&study_at(&server(), "late")));
    killed(&place);
    place.text(&["tell", "0", "0.25"]);
    open_gate(&place);
    place.await_that("it is kept", |place| place.json(&["status"])["late_results"] == 1);
    place.text(&["run", "--no-report"]);
    assert_eq!(place.json(&["status"])["late_results"], 1, "and once is enough");
}

#[test]
fn a_program_that_starts_keeps_what_nobody_collected() {
    let place = gated(None);
    killed(&place);
    place.text(&["tell", "0", "0.25"]);
    open_gate(&place);
    // Locked as long as the supervisor lives.
    let lock = fs::File::open(place.path("study.runs/000000/1/lock")).unwrap();
    lock.lock_shared().unwrap();
    for _ in 0..2 {
        place.text(&["run", "--no-report"]);
        assert_eq!(place.json(&["status"])["late_results"], 1);
    }
    assert_eq!(place.evaluations()[0]["mass"], "0.25");
}

/// Stands between a program and its database, and can be cut.
struct Line {
    folder: TempDir,
    cut: Cut,
}

/// How a line is cut, from any thread.
#[derive(Clone, Default)]
struct Cut {
    is_cut: Arc<AtomicBool>,
    connections: Arc<Mutex<Vec<UnixStream>>>,
    /// What is asked with these words in it is carried out, but the answer is lost, with the line.
    fatal: Arc<Mutex<Option<&'static [u8]>>>,
    is_fatal: Arc<AtomicBool>,
}

impl Cut {
    fn now(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
        for connection in self.connections.lock().unwrap().drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    /// Passes on what is asked.
    fn pass_on_questions(self, mut from: UnixStream, mut to: UnixStream) {
        thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                let fatal = self.fatal.lock().unwrap().filter(|words| {
                    buffer[..count].windows(words.len()).any(|window| window == *words)
                });
                if fatal.is_some() {
                    self.is_fatal.store(true, Ordering::SeqCst);
                }
                if to.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Both);
        });
    }

    /// Passes on what is answered.
    fn pass_on_answers(self, mut from: UnixStream, mut to: UnixStream) {
        thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                if self.is_fatal.load(Ordering::SeqCst) {
                    self.now();
                }
                if to.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Both);
        });
    }
}

impl Line {
    fn to(server: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("line").tempdir_in("/tmp").unwrap();
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
        let (cut, server) = (Cut::default(), socket_of(server));
        let line = Self { folder, cut: cut.clone() };
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                if cut.is_cut.load(Ordering::SeqCst) {
                    continue;
                }
                let far = UnixStream::connect(&server).unwrap();
                let ends = [near.try_clone().unwrap(), far.try_clone().unwrap()];
                cut.connections.lock().unwrap().extend(ends);
                let ends = (near.try_clone().unwrap(), far.try_clone().unwrap());
                cut.clone().pass_on_questions(ends.0, ends.1);
                cut.clone().pass_on_answers(far, near);
            }
        });
        line
    }

    /// The address of this end.
    fn address(&self, server: &str) -> String {
        let host = server.rsplit_once('@').unwrap().1.split('/').next().unwrap();
        server.replace(host, &self.folder.path().display().to_string().replace('/', "%2F"))
    }

    fn cut(&self) {
        self.cut.now();
    }

    /// Cuts the line in the moment in which this is answered.
    fn cut_at_answer_to(&self, words: &'static [u8]) {
        *self.cut.fatal.lock().unwrap() = Some(words);
    }

    fn mend(&self) {
        *self.cut.fatal.lock().unwrap() = None;
        self.cut.is_fatal.store(false, Ordering::SeqCst);
        self.cut.is_cut.store(false, Ordering::SeqCst);
    }
}

/// The socket in a URL such as `postgres://postgres@%2Ftmp%2Fserver:5433/postgres`.
fn socket_of(server: &str) -> PathBuf {
    let host = server.rsplit_once('@').unwrap().1.split('/').next().unwrap();
    assert!(host.starts_with("%2F"), "these tests need a server that listens on a socket: {host}");
    let (folder, port) = host.split_once(':').unwrap_or((host, "5432"));
    PathBuf::from(folder.replace("%2F", "/")).join(format!(".s.PGSQL.{port}"))
}

#[test]
fn a_lost_database_does_not_end_the_run() {
    let server = server();
    let line = Line::to(&server);
    let place = gated(Some(&study_at(&line.address(&server), "lost")));
    let (mut run, mut lines) = begin(&place);
    line.cut();
    open_gate(&place);
    let said = lines.find(|said| said.as_ref().unwrap().contains("lost the database")).unwrap();
    assert!(said.unwrap().contains("lost the database, retrying in 1s"));
    // The command has ended, and its result waits.
    place.await_that("it ends", |place| place.path("study.runs/000000/1/exit.json").exists());
    line.mend();
    thread::spawn(move || lines.count());
    assert!(run.wait().unwrap().success());
    assert_measured_once(&place);
}

#[test]
fn what_was_asked_for_is_begun_although_the_answer_was_lost() {
    let server = server();
    let line = Line::to(&server);
    let place = gated(Some(&study_at(&line.address(&server), "asked")));
    line.cut_at_answer_to(b"\"asked\"");
    let mut run = place.spawn(&["run", "--no-report"]);
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines();
    lines.find(|said| said.as_ref().unwrap().contains("lost the database")).unwrap().unwrap();
    line.mend();
    thread::spawn(move || lines.count());
    let gate = place.path("gate");
    // Waits for the script, which must come.
    thread::spawn(move || fs::OpenOptions::new().write(true).open(gate));
    assert!(run.wait().unwrap().success());
    assert_measured_once(&place);
}

#[test]
fn a_stop_is_honoured_while_the_database_is_lost() {
    let server = server();
    let line = Line::to(&server);
    let place = gated(Some(&study_at(&line.address(&server), "stopped")));
    let (mut run, mut lines) = begin(&place);
    line.cut();
    lines.find(|said| said.as_ref().unwrap().contains("lost the database")).unwrap().unwrap();
    // Two signals at once may arrive as one: the second must wait until the first was heard.
    signal(&run, "-INT");
    assert!(lines.any(|said| said.unwrap().contains("nothing new is started")));
    signal(&run, "-INT");
    assert!(lines.any(|said| said.unwrap().contains("stopping 1 evaluation")));
    thread::spawn(move || lines.count());
    assert_eq!(run.wait().unwrap().code(), Some(130));
    line.mend();
    assert_eq!(place.json(&["status"])["pending"].as_array().unwrap().len(), 1);
}

#[test]
fn a_value_that_is_there_when_a_run_is_stopped_is_recorded() {
    let server = server();
    let line = Line::to(&server);
    let place = gated(Some(&study_at(&line.address(&server), "there")));
    let (mut run, mut lines) = begin(&place);
    line.cut();
    open_gate(&place);
    place.await_that("it ends", |place| place.path("study.runs/000000/1/exit.json").exists());
    // Long enough for what follows: the database is back, but the run does not know that yet.
    lines.find(|said| said.as_ref().unwrap().contains("retrying in 8s")).unwrap().unwrap();
    line.mend();
    signal(&run, "-INT");
    assert!(lines.any(|said| said.unwrap().contains("nothing new is started")));
    signal(&run, "-INT");
    thread::spawn(move || lines.count());
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert_measured_once(&place);
}

#[test]
fn a_command_that_deletes_its_own_folder_comes_to_an_end() {
    for folder in ["$(dirname $UNYOKE_DESIGN)", "$(dirname $(dirname $UNYOKE_DESIGN))"] {
        let script = format!("\"sh\", \"-c\", \"rm -rf {folder}; echo 1\"");
        let place = Place::new(&TWO.replace("\"echo\", \"{x}\"", &script));
        let output = place.run(&["run", "--no-report", "--cost", "2"]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let evaluations = place.evaluations();
        let mass = evaluations.iter().find(|row| row["measurement"] == "mass").unwrap();
        assert_eq!(mass["status"], "failed");
        assert!(mass["reason"].contains("deleted"), "{mass:?}");
        assert_eq!(place.starts()[&mass["evaluation"].parse().unwrap()], 6);
    }
}

#[test]
fn a_run_says_for_whom_it_waits_with_its_suggestion() {
    let place = Place::new(TWO);
    fs::create_dir(place.path("study.runs")).unwrap();
    fs::write(place.path("study.runs/.choosing"), "pluto-7-x").unwrap();
    let turn = fs::File::open(place.path("study.runs/.choosing")).unwrap();
    turn.lock().unwrap();
    let mut run = place.spawn(&["run", "--no-report"]);
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    assert_eq!(line, "waiting for pluto-7-x, which computes a suggestion");
    drop(turn);
    thread::spawn(move || lines.count());
    assert!(run.wait().unwrap().success());
    assert_eq!(place.spent(), 18.0);
}

#[test]
fn a_run_goes_on_when_nobody_reads_what_it_says() {
    let place = Place::new(TWO);
    place.text(&["run", "--no-report", "--cost", "5"]);
    // It has something to say at the end, too: that the seed differs.
    let text = fs::read_to_string(place.path("study.toml")).unwrap();
    place.write("study.toml", &format!("[study]\nseed = 7\n{text}"));
    let mut run = place.spawn(&["run", "--no-report"]);
    drop(run.stderr.take());
    let output = run.wait_with_output().unwrap();
    assert!(output.status.success(), "{:?}", output.status);
    assert_eq!(place.spent(), 18.0);
}

#[test]
fn a_run_says_what_it_waits_for() {
    let place = gated(None);
    killed(&place);
    let group = place.path("study.runs/000000/1/group");
    place.await_that("it begins", |_| fs::read_to_string(&group).is_ok_and(|g| g.ends_with('\n')));
    let mut run = place.spawn(&["run", "--no-report"]);
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines();
    let line = lines.find(|line| line.as_ref().unwrap().contains("waiting for attempt 1")).unwrap();
    let (line, group) = (line.unwrap(), fs::read_to_string(&group).unwrap());
    assert!(line.contains("study.runs/000000/1") && line.contains(group.trim()), "{line}");
    open_gate(&place);
    thread::spawn(move || lines.count());
    assert!(run.wait().unwrap().success());
}
