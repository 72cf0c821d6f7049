//! One study from its first run to its last, with disturbances in between.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use rustix::process::Signal;

use super::audit::Audit;
use super::command::FOLDER;
use super::processes::{self, Process, Role, STUDY};
use super::server;
use super::tally::{Fault, Kind, Tally};
use crate::place::Place;

/// For what must happen, on a machine of any speed.
const PATIENCE: Duration = Duration::from_secs(300);

/// The end of a run because the database cannot be reached when it begins.
const STORE: i32 = 4;

/// The end of a run after Ctrl-C.
const INTERRUPTED: i32 = 130;

/// Where the journal of a study is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    File,
    Postgres,
}

/// A study that is being disturbed.
pub(crate) struct Disturbed {
    /// The folders of the study, each as on a machine of its own; a file has one.
    places: Vec<Place>,
    kept: Kept,
    store: String,
    rng: Rng,
    seed: u64,
    runners: Vec<Runner>,
    /// How many runners there should be.
    wanted: usize,
    slots: usize,
    /// What each runner said.
    said: Vec<PathBuf>,
    stopped: Vec<Stopped>,
    faults: Vec<(Fault, String)>,
}

struct Runner {
    child: Child,
    /// It may end at any moment, because we said so.
    disturbed: bool,
    said: PathBuf,
}

/// A stopped process, and what becomes of it when.
struct Stopped {
    process: Process,
    until: Instant,
    signal: Signal,
}

impl Disturbed {
    pub(crate) fn new(kept: Kept, seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let url = match kept {
            Kept::File => None,
            Kept::Postgres => Some(server::study(&format!("soak-{seed}"))),
        };
        let folders = if kept == Kept::Postgres { rng.usize(1..=2) } else { 1 };
        let places: Vec<Place> = (0..folders).map(|_| Place::new(&study(url.as_deref()))).collect();
        let store = url.unwrap_or_else(|| places[0].path("study.db").display().to_string());
        let (wanted, slots) = (rng.usize(1..=3), rng.usize(1..=3));
        Self {
            places,
            kept,
            store,
            rng,
            seed,
            runners: vec![],
            wanted,
            slots,
            said: vec![],
            stopped: vec![],
            faults: vec![],
        }
    }

    /// Disturbs the study in these ways, one after the other, lets it come to its end, and looks what
    /// became of it.
    pub(crate) fn disturb(mut self, kinds: &[Kind], tally: &mut Tally) {
        for kind in kinds {
            self.await_moment();
            self.disturb_once(*kind);
            tally.count(*kind);
        }
        self.end();
        self.audit(tally);
    }

    /// Random kinds of disturbances.
    pub(crate) fn kinds(&mut self, count: usize) -> Vec<Kind> {
        let mut kinds = Kind::ON_A_FILE.to_vec();
        if self.kept == Kept::Postgres && server::is_ours() {
            kinds.push(Kind::RestartServer);
        }
        if self.places.len() > 1 {
            // Who works on what is known by leases alone, between folders.
            kinds.retain(|kind| *kind != Kind::EndLeases);
        }
        (0..count).map(|_| kinds[self.rng.usize(..kinds.len())]).collect()
    }

    fn await_moment(&mut self) {
        let until = Instant::now() + Duration::from_millis(self.rng.u64(0..250));
        while Instant::now() < until {
            self.keep_running();
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until there is something to disturb, then does.
    fn disturb_once(&mut self, kind: Kind) {
        let began = Instant::now();
        loop {
            self.keep_running();
            let done = match kind {
                Kind::KillRunner => self.kill_one(Role::Runner),
                Kind::KillSupervisor => self.kill_one(Role::Supervisor),
                Kind::KillCommand => self.kill_one(Role::Command),
                Kind::KillSeveral => self.kill_several(),
                Kind::StopAndContinue => self.stop_one(Signal::CONT),
                Kind::StopAndKill => self.stop_one(Signal::KILL),
                Kind::Interrupt => self.interrupt(),
                Kind::EndLeases => self.end_leases(),
                Kind::RestartServer => {
                    server::restart(if self.rng.bool() { Signal::QUIT } else { Signal::INT })
                }
            };
            // Enough has gone wrong already.
            if done || !self.faults.is_empty() {
                return;
            }
            assert!(
                began.elapsed() < PATIENCE,
                "seed {}: nothing to disturb by {kind:?}",
                self.seed
            );
            thread::sleep(Duration::from_millis(self.rng.u64(1..10)));
        }
    }

    fn kill_one(&mut self, role: Role) -> bool {
        let found = self.processes(|process| process.role == role);
        let Some(process) = self.one_of(found) else { return false };
        self.hit(&process, Signal::KILL);
        true
    }

    /// Kills any of all processes, two at least.
    fn kill_several(&mut self) -> bool {
        let mut found = self.processes(|_| true);
        if found.len() < 2 {
            return false;
        }
        self.rng.shuffle(&mut found);
        let count = self.rng.usize(2..=found.len());
        for process in &found[..count] {
            self.hit(process, Signal::KILL);
        }
        true
    }

    fn stop_one(&mut self, signal: Signal) -> bool {
        let role = [Role::Runner, Role::Supervisor, Role::Command][self.rng.usize(..3)];
        let found = self.processes(|process| process.role == role);
        let Some(process) = self.one_of(found) else { return false };
        process.signal(Signal::STOP);
        let until = Instant::now() + Duration::from_millis(self.rng.u64(5..1500));
        self.stopped.push(Stopped { process, until, signal });
        true
    }

    /// Asks a runner to stop, once or more often.
    fn interrupt(&mut self) -> bool {
        let found = self.processes(|process| process.role == Role::Runner);
        let Some(process) = self.one_of(found) else { return false };
        for _ in 0..self.rng.usize(1..=3) {
            self.hit(&process, Signal::INT);
            thread::sleep(Duration::from_millis(self.rng.u64(0..20)));
        }
        true
    }

    /// Ends all leases, as if the machine had slept for longer than they last. Two runners then
    /// believe that an evaluation is theirs.
    fn end_leases(&mut self) -> bool {
        match self.kept {
            Kept::File => end_leases_in_file(&self.store),
            Kept::Postgres => end_leases_in_postgres(&self.store),
        }
    }

    fn hit(&mut self, process: &Process, signal: Signal) {
        let is_it = |runner: &&mut Runner| runner.child.id().cast_signed() == process.number;
        if let Some(runner) = self.runners.iter_mut().find(is_it) {
            runner.disturbed = true;
        }
        process.signal(signal);
    }

    fn processes(&self, which: impl Fn(&Process) -> bool) -> Vec<Process> {
        let mut found = processes::of(&self.places[0].path(""));
        found.retain(which);
        found
    }

    fn one_of(&mut self, mut processes: Vec<Process>) -> Option<Process> {
        if processes.is_empty() {
            return None;
        }
        Some(processes.swap_remove(self.rng.usize(..processes.len())))
    }

    /// Lets stopped processes go on when it is time, and starts runners in the place of those that
    /// have ended.
    fn keep_running(&mut self) {
        self.resume(Instant::now());
        self.reap();
        while self.runners.len() < self.wanted {
            let folder = self.rng.usize(..self.places.len());
            let slots = self.slots.to_string();
            let much = ["run", "--no-report", "--cost", "1000000", "--slots", &slots];
            let runner = self.start(folder, &much);
            self.runners.push(runner);
        }
    }

    fn resume(&mut self, now: Instant) {
        let (due, later) = self.stopped.drain(..).partition(|stopped| stopped.until <= now);
        self.stopped = later;
        let due: Vec<Stopped> = due;
        for stopped in due {
            self.hit_stopped(&stopped);
        }
    }

    fn hit_stopped(&mut self, stopped: &Stopped) {
        match stopped.signal {
            Signal::CONT => stopped.process.signal(Signal::CONT),
            signal => self.hit(&stopped.process, signal),
        }
    }

    /// A run in one of the folders, with its words in a file.
    fn start(&mut self, folder: usize, arguments: &[&str]) -> Runner {
        let place = &self.places[folder];
        let said = place.path(&format!("said-{:03}", self.said.len()));
        let mut command = place.command(arguments);
        command.env(STUDY, self.places[0].path("")).env(FOLDER, folder.to_string());
        command.stdout(Stdio::null()).stderr(File::create(&said).unwrap());
        self.said.push(said.clone());
        Runner { child: command.spawn().unwrap(), disturbed: false, said }
    }

    /// Looks how runners ended that have.
    fn reap(&mut self) {
        let runners = std::mem::take(&mut self.runners);
        for mut runner in runners {
            match runner.child.try_wait().unwrap() {
                None => self.runners.push(runner),
                Some(status) => self.judge(&runner, status),
            }
        }
    }

    /// A run ends because of us, or because the database is not there when it begins.
    fn judge(&mut self, runner: &Runner, status: ExitStatus) {
        let asked = status.signal().is_some() || status.code() == Some(INTERRUPTED);
        let unreachable = self.kept == Kept::Postgres && status.code() == Some(STORE);
        let is_expected = unreachable || (runner.disturbed && asked);
        if !is_expected {
            let said = fs::read_to_string(&runner.said).unwrap_or_default();
            let last: Vec<&str> = said.lines().rev().take(3).collect();
            self.faults.push((Fault::Unattended, format!("a run ended with {status}: {last:?}")));
        }
    }

    /// Ends the runners, one way or the other, then runs the study to its end.
    fn end(&mut self) {
        self.resume(Instant::now() + PATIENCE);
        let signal = if self.rng.bool() { Signal::KILL } else { Signal::INT };
        self.await_end("runners end", |this| {
            for process in this.processes(|process| process.role == Role::Runner) {
                this.hit(&process, signal);
            }
            this.reap();
            this.runners.is_empty()
        });
        for folder in 0..self.places.len() {
            self.finish(folder);
        }
        self.await_end("no process is left", |this| this.processes(|_| true).is_empty());
    }

    /// Runs what was begun in a folder to its end.
    fn finish(&mut self, folder: usize) {
        let began = Instant::now();
        loop {
            let last = self.start(folder, &["run", "--no-report"]);
            let said = last.said.clone();
            let Some(status) = self.wait(last) else { return };
            if status.success() {
                return;
            }
            let unreachable = self.kept == Kept::Postgres && status.code() == Some(STORE);
            if !unreachable || began.elapsed() > PATIENCE {
                let said = fs::read_to_string(said).unwrap_or_default();
                self.faults.push((Fault::Unattended, format!("the last run: {status}\n{said}")));
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// How a run ends that nothing disturbs.
    fn wait(&mut self, mut runner: Runner) -> Option<ExitStatus> {
        let mut ended = None;
        self.await_end("the last run ends", |_| {
            ended = runner.child.try_wait().unwrap();
            ended.is_some()
        });
        if ended.is_none() {
            runner.child.kill().unwrap();
            runner.child.wait().unwrap();
        }
        ended
    }

    fn await_end(&mut self, what: &str, mut is_so: impl FnMut(&mut Self) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            if began.elapsed() > PATIENCE {
                let left = self.processes(|_| true);
                self.faults
                    .push((Fault::Unattended, format!("not within minutes: {what}: {left:?}")));
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn audit(mut self, tally: &mut Tally) {
        let audit = Audit::new(&self.places, &self.store);
        let figures = audit.figures();
        tally.studies += 1;
        tally.evaluations += figures.evaluations;
        tally.attempts += figures.attempts;
        tally.late += figures.late;
        // The last line of a killed program may be torn.
        let whole = |text: String| text.rsplit_once('\n').map(|(whole, _)| whole.to_owned());
        let said = self.said.iter().filter_map(|path| whole(fs::read_to_string(path).unwrap()));
        let said: Vec<String> = said.collect();
        self.faults.extend(audit.faults(&said.join("\n")));
        if self.faults.is_empty() {
            return;
        }
        let (seed, runners, slots) = (self.seed, self.wanted, self.slots);
        let kept: Vec<PathBuf> = self.places.into_iter().map(Place::keep).collect();
        println!("seed {seed}: {runners} runners with {slots} slots, kept in {kept:?}");
        for (fault, what) in &self.faults {
            println!("  {fault:?}: {what}");
        }
        tally.blame(self.faults.into_iter().map(|(fault, _)| fault));
    }
}

/// The study, whose own budget is spent at once: a run that says nothing else only finishes what was
/// begun.
fn study(store: Option<&str>) -> String {
    let store = store.map_or_else(String::new, |store| format!("store = {store:?}\n"));
    let program = std::env::current_exe().unwrap();
    let command =
        format!("[{:?}, \"--exact\", \"command\", \"--ignored\"]", program.display().to_string());
    format!(
        "[study]
algorithm = \"sobol\"
{store}
[budget]
cost = 0.5
[parameters.x]
low = 0
high = 1
[objectives.mass]
goal = \"minimise\"
cost = 1
retries = 1000
command = {command}
[objectives.drag]
goal = \"minimise\"
cost = 4
retries = 1000
command = {command}
"
    )
}

fn end_leases_in_file(path: &str) -> bool {
    let Ok(connection) = rusqlite::Connection::open(path) else { return false };
    connection.busy_timeout(Duration::from_millis(100)).unwrap();
    // One that is locked by a stopped process, or does not exist yet, is tried again.
    connection
        .execute("UPDATE lease SET expires = 0 WHERE expires > 0", [])
        .is_ok_and(|ended| ended > 0)
}

fn end_leases_in_postgres(store: &str) -> bool {
    let (url, study) = store.rsplit_once("study=").unwrap();
    let url = url.trim_end_matches(['?', '&']);
    let Ok(mut client) = postgres::Client::connect(url, postgres::NoTls) else { return false };
    let end = "UPDATE unyoke.lease SET expires = now() WHERE study = $1 AND expires > now()";
    client.execute(end, &[&study]).is_ok_and(|ended| ended > 0)
}
