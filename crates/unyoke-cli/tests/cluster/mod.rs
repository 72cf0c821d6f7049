//! A cluster of one node, which `cargo xtask` starts, and studies whose measurements are jobs there.

#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::place::Place;

/// Where the cluster is.
const FOLDER: &str = "UNYOKE_TEST_SLURM";

/// How long a run may take: one that waits for what never comes must not hold up the others.
const MOST: Duration = Duration::from_secs(400);

/// Writes down when it begins and ends, looks whether another attempt at its evaluation runs, and takes
/// a second.
pub(crate) const WORK: &str = r#"e=$UNYOKE_EVALUATION
mkdir -p running
before=$(cat running/$e 2>/dev/null || echo none)
# A killed process that nobody has waited for yet does not run.
state=$(cut -d' ' -f3 "/proc/$before/stat" 2>/dev/null)
if [ -n "$state" ] && [ "$state" != Z ]; then echo "met $e 0" >> commands; fi
echo $$ > running/$e
echo "began $e $UNYOKE_ATTEMPT" >> commands
sleep "$2"
echo "ended $e $UNYOKE_ATTEMPT" >> commands
rm -f running/$e
echo "$1"
"#;

/// Two objectives, each a job of Slurm that takes a second, three at once; so many evaluations in all.
pub(crate) fn study(evaluations: usize) -> Place {
    on_cluster(&text(evaluations, "1", 3))
}

/// A study on a cluster that has nothing to do, whatever the test before left there.
pub(crate) fn on_cluster(text: &str) -> Place {
    let place = Place::new(text);
    place.write("work.sh", WORK);
    for job in jobs("pending,running") {
        slurm("scancel", &[&job]);
    }
    set_node(&place, NodeState::Resume);
    place.await_that("the cluster has nothing to do", |_| {
        jobs("pending,running,completing").is_empty()
    });
    place
}

/// Waits until a run has ended, for minutes if need be, and says how things are if it has not.
pub(crate) fn await_end(place: &Place, run: &mut Child) {
    let began = Instant::now();
    while run.try_wait().unwrap().is_none() {
        if began.elapsed() > MOST {
            let _ = run.kill();
            panic!(
                "the run does not end:\n{}\n{}\n{}",
                String::from_utf8_lossy(&place.run(&["status"]).stdout),
                slurm("squeue", &[]),
                slurm("sinfo", &["-N", "-l"]),
            );
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// What a command printed, which must end within minutes.
pub(crate) fn output_within_minutes(place: &Place, mut command: Command) -> Output {
    let (printed, complained) = (place.path("printed"), place.path("complained"));
    command.stdout(fs::File::create(&printed).unwrap());
    command.stderr(fs::File::create(&complained).unwrap());
    let mut run = command.spawn().unwrap();
    await_end(place, &mut run);
    let status = run.wait().unwrap();
    let [stdout, stderr] = [printed, complained].map(|path| fs::read(path).unwrap());
    Output { status, stdout, stderr }
}

/// What an administrator can make of the node.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum NodeState {
    Drain,
    Resume,
}

/// Tells Slurm so until it has understood: a controller that has just been started may not listen yet.
pub(crate) fn set_node(place: &Place, state: NodeState) {
    let word = if state == NodeState::Drain { "state=drain" } else { "state=resume" };
    place.await_that(word, |_| {
        let nodes = slurm("sinfo", &["-h", "-N", "-o", "%N %T"]);
        let Some((node, now)) = nodes.lines().next().and_then(|line| line.split_once(' ')) else {
            return false;
        };
        let is_drained = now.contains("drain");
        let is_so = match state {
            NodeState::Drain => is_drained,
            NodeState::Resume => !is_drained && !now.contains("down"),
        };
        if !is_so {
            slurm("scontrol", &["update", &format!("nodename={node}"), word, "reason=test"]);
        }
        is_so
    });
}

pub(crate) fn text(evaluations: usize, seconds: &str, slots: usize) -> String {
    let mut text = format!(
        "[study]\nalgorithm = \"sobol\"\n[budget]\ncost = {evaluations}\n[parameters.x]\nlow = 0\nhigh = 1\n"
    );
    for (name, value) in [("mass", "{x}"), ("drag", "-{x}")] {
        text += &format!(
            "[objectives.{name}]
direction = \"minimise\"
cost = 1
command = [\"/bin/sh\", \"work.sh\", \"{value}\", \"{seconds}\"]
executor = \"slurm\"
slurm = {{ time = \"10m\", cpus = 1, memory = \"10M\" }}
slots = {slots}
poll = \"1s\"
grace = \"4s\"
"
        );
    }
    text
}

/// What commands wrote down: for each evaluation, how often.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) began: BTreeMap<u64, usize>,
    pub(crate) ended: BTreeMap<u64, usize>,
    pub(crate) met: Vec<u64>,
    /// Most at once.
    pub(crate) at_once: usize,
}

pub(crate) fn written(place: &Place) -> Written {
    let mut written = Written::default();
    let mut now = 0_usize;
    for line in fs::read_to_string(place.path("commands")).unwrap_or_default().lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let evaluation: u64 = words[1].parse().unwrap();
        match words[0] {
            "began" => {
                *written.began.entry(evaluation).or_default() += 1;
                now += 1;
            }
            "ended" => {
                *written.ended.entry(evaluation).or_default() += 1;
                now = now.saturating_sub(1);
            }
            _ => written.met.push(evaluation),
        }
        written.at_once = written.at_once.max(now);
    }
    written
}

/// Checks that nothing was lost or doubled in a study of so many evaluations.
pub(crate) fn audit(place: &Place, evaluations: usize) {
    let rows = place.evaluations();
    let completed = rows.iter().filter(|row| row["status"] == "completed").count();
    let written = written(place);
    assert_eq!(completed, evaluations, "{rows:?}");
    assert_eq!(place.spent(), evaluations as f64, "the budget was not kept");
    assert!(written.met.is_empty(), "two commands at once: {:?}", written.met);
    // A command that came to its end has its result in the study, and is never run again.
    assert_eq!(written.ended.len(), evaluations);
    let doubled: Vec<_> = written.ended.iter().filter(|(_, times)| **times > 1).collect();
    assert!(doubled.is_empty(), "ended more than once: {doubled:?}");
    for row in rows.iter().filter(|row| row["status"] == "completed") {
        let x: f64 = row["x"].parse().unwrap();
        let (name, value) = match row["measurement"].as_str() {
            "mass" => ("mass", x),
            _ => ("drag", -x),
        };
        assert_eq!(row[name].parse::<f64>().unwrap(), value, "{row:?}");
    }
}

/// What a command of Slurm prints.
pub(crate) fn slurm(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The numbers of jobs in this state.
pub(crate) fn jobs(state: &str) -> Vec<String> {
    let states = format!("--states={state}");
    slurm("squeue", &["-h", &states, "-o", "%i"]).lines().map(str::to_owned).collect()
}

/// Somebody who looks after the node. A controller that was killed forgets which numbers of jobs it gave, and
/// gives them again; a node that remembers one of them is then drained by Slurm until it is resumed. And it may
/// believe for many minutes that a job runs of which the node knows nothing, until that introduces itself again.
pub(crate) struct Administrator {
    is_over: Arc<AtomicBool>,
    watch: Option<JoinHandle<()>>,
}

impl Administrator {
    pub(crate) fn watches() -> Self {
        let is_over = Arc::<AtomicBool>::default();
        let until = is_over.clone();
        let watch = std::thread::spawn(move || {
            let mut introduced = Instant::now();
            while !until.load(Ordering::SeqCst) {
                let nodes = slurm("sinfo", &["-h", "-N", "-o", "%N %E"]);
                let node = nodes.lines().find(|line| line.contains("Duplicate jobid"));
                if let Some((node, _)) = node.and_then(|line| line.split_once(' ')) {
                    let node = format!("nodename={node}");
                    slurm("scontrol", &["update", &node, "state=resume"]);
                }
                if introduced.elapsed() > LONG_FOR_A_JOB && has_long_jobs() {
                    kill_daemon("slurmd-wlm");
                    introduced = Instant::now();
                }
                std::thread::sleep(Duration::from_millis(500));
            }
        });
        Self { is_over, watch: Some(watch) }
    }
}

impl Drop for Administrator {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        if let Some(watch) = self.watch.take() {
            let _ = watch.join();
        }
    }
}

/// Jobs of the tests take a second or so.
const LONG_FOR_A_JOB: Duration = Duration::from_secs(20);

/// Whether some job seems to run for longer.
fn has_long_jobs() -> bool {
    let seconds = |time: &str| {
        let parts = time.trim().split([':', '-']).map(|part| part.parse::<u64>().unwrap_or(0));
        Duration::from_secs(parts.fold(0, |sum, part| 60 * sum + part))
    };
    let running = slurm("squeue", &["-h", "--states=running", "-o", "%M"]);
    running.lines().any(|time| seconds(time) > LONG_FOR_A_JOB)
}

/// Kills a daemon, which is started again by whoever keeps it.
fn kill_daemon(name: &str) {
    let folder = PathBuf::from(std::env::var(FOLDER).unwrap());
    let number = fs::read_to_string(folder.join(format!("run/{name}.number"))).unwrap();
    assert!(Command::new("kill").args(["-9", number.trim()]).status().unwrap().success());
}

/// Kills the controller, which is started again by whoever keeps it, and waits until it answers.
pub(crate) fn kill_controller() {
    kill_daemon("slurmctld-wlm");
    let began = Instant::now();
    let answers = || Command::new("squeue").output().is_ok_and(|output| output.status.success());
    while !answers() {
        assert!(began.elapsed().as_secs() < 120, "the controller did not come back");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Programs of Slurm without accounting, with an `sbatch` of which every fifth call fails, before the
/// job is submitted or after. Gives the path to use.
pub(crate) fn unreliable(place: &Place) -> String {
    let folder = place.path("programs");
    fs::create_dir_all(&folder).unwrap();
    let real = |name: &str| {
        let path = std::env::var_os("PATH").unwrap();
        std::env::split_paths(&path).map(|at| at.join(name)).find(|at| at.exists()).unwrap()
    };
    for name in ["squeue", "scancel"] {
        std::os::unix::fs::symlink(real(name), folder.join(name)).unwrap();
    }
    let script = format!(
        r#"#!/bin/sh
count=$(($(cat '{folder}/count' 2>/dev/null || echo 0) + 1))
echo $count > '{folder}/count'
fail() {{ echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2; exit 1; }}
[ $((count % 10)) -ne 3 ] || fail
{sbatch} "$@" || exit
[ $((count % 10)) -ne 8 ] || fail
"#,
        folder = folder.display(),
        sbatch = real("sbatch").display(),
    );
    place.write("programs/sbatch", &script);
    let chmod = Command::new("chmod").arg("+x").arg(folder.join("sbatch")).status();
    assert!(chmod.unwrap().success());
    format!("{}:/usr/local/bin:/usr/bin:/bin", folder.display())
}
