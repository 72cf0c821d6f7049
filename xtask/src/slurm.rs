//! A cluster of one node with Slurm for the tests, from unpacked Debian packages: nothing is installed,
//! and everything is gone afterwards. A test may kill a daemon; it is then started again, as a service
//! manager would.

use crate::command::{Outcome, cargo, root, run};
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Tells tests where the folder of the cluster is.
const FOLDER: &str = "UNYOKE_TEST_SLURM";

/// What is needed of Debian or Ubuntu.
const PACKAGES: [&str; 8] = [
    "libhwloc15",
    "liblua5.1-0",
    "libmunge2",
    "munge",
    "slurm-wlm-basic-plugins",
    "slurm-client",
    "slurmctld",
    "slurmd",
];

/// How long the cluster may take to start.
const PATIENCE: Duration = Duration::from_secs(60);

/// Between two looks, and before a daemon that ended is started again.
const PAUSE: Duration = Duration::from_millis(50);

/// A cluster, which is stopped and deleted with this value.
pub(crate) struct Slurm {
    folder: PathBuf,
    installed: Installed,
    is_over: Arc<AtomicBool>,
    keepers: Vec<JoinHandle<()>>,
}

/// Runs a command with a cluster.
pub(crate) fn with(command: &[&str]) -> Outcome {
    let [program, arguments @ ..] = command else {
        return Err("usage: cargo xtask slurm COMMAND...".to_owned());
    };
    let slurm = Slurm::start()?;
    run(slurm.show(Command::new(program).args(arguments).current_dir(root())))
}

/// Runs the tests that need a cluster, or those whose names contain some word.
pub(crate) fn test(filter: &[&str]) -> Outcome {
    run_tests("slurm_", filter)
}

/// Runs those that take long.
pub(crate) fn test_long() -> Outcome {
    run_tests("many_jobs", &[])
}

/// Each test has a cluster of its own: a controller that was killed gives numbers of jobs again, which a node
/// that remembers them refuses.
fn run_tests(prefix: &str, filter: &[&str]) -> Outcome {
    let tests = || cargo(&["test", "--workspace", "--test", "clusters", "--", "--ignored"]);
    let listed = tests().arg("--list").output();
    let listed = listed.map_err(|error| format!("cargo did not start: {error}"))?;
    let text = String::from_utf8_lossy(&listed.stdout);
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    let is_wanted =
        |name: &&str| name.starts_with(prefix) && filter.iter().all(|word| name.contains(word));
    let names: Vec<&str> = names.filter(is_wanted).collect();
    if names.is_empty() {
        let complaint = String::from_utf8_lossy(&listed.stderr);
        return Err(format!("there are no such tests of clusters\n{complaint}"));
    }
    for name in names {
        let slurm = Slurm::start()?;
        run(slurm.show(tests().args(["--nocapture", "--exact", name])))?;
    }
    Ok(())
}

/// Unpacked packages.
#[derive(Clone)]
struct Installed {
    root: PathBuf,
    libraries: PathBuf,
}

impl Installed {
    /// Those of an earlier call, or new ones.
    fn find() -> Result<Self, String> {
        let folder = root().join("target/slurm");
        let unpacked = folder.join("root");
        if !folder.join("complete").exists() {
            unpack(&folder, &unpacked)?;
        }
        let machine = format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH);
        Ok(Self { libraries: unpacked.join(machine), root: unpacked })
    }

    /// A program that finds its libraries and its cluster.
    fn command(&self, name: &str, folder: &Path) -> Command {
        let places = ["usr/bin", "usr/sbin"].map(|place| self.root.join(place));
        let path = places.iter().map(|place| place.join(name)).find(|path| path.exists());
        let mut command = Command::new(path.unwrap_or_else(|| name.into()));
        command.envs(self.environment(folder)).current_dir("/");
        command
    }

    fn environment(&self, folder: &Path) -> [(&'static str, String); 3] {
        let libraries = self.libraries.display();
        let path = std::env::var("PATH").unwrap_or_default();
        [
            ("LD_LIBRARY_PATH", format!("{libraries}:{libraries}/slurm-wlm")),
            ("SLURM_CONF", folder.join("slurm.conf").display().to_string()),
            ("PATH", format!("{}:{path}", self.root.join("usr/bin").display())),
        ]
    }
}

impl Slurm {
    pub(crate) fn start() -> Result<Self, String> {
        let installed = Installed::find()?;
        let folder = temporary_folder()?;
        let is_over = Arc::<AtomicBool>::default();
        let mut slurm = Self { folder, installed, is_over, keepers: vec![] };
        slurm.begin()?;
        Ok(slurm)
    }

    fn begin(&mut self) -> Outcome {
        for name in ["run", "state", "spool", "log"] {
            let path = self.folder.join(name);
            fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        self.write_configuration()?;
        let key = self.folder.join("munge.key");
        let mut mungekey = self.installed.command("mungekey", &self.folder);
        run(mungekey.args(["--create", "--force", "--keyfile"]).arg(&key))?;
        let conf = self.folder.join("slurm.conf").display().to_string();
        let run = self.folder.join("run");
        let at = |name: &str| run.join(name).display().to_string();
        self.keep(
            "munged",
            vec![
                "--foreground".to_owned(),
                "--force".to_owned(),
                format!("--key-file={}", key.display()),
                format!("--socket={}", at("munge.sock")),
                format!("--pid-file={}", at("munged.pid")),
                format!("--log-file={}", at("munged.log")),
                format!("--seed-file={}", at("seed")),
            ],
        );
        self.wait_for("munged", |slurm| slurm.folder.join("run/munge.sock").exists())?;
        self.keep("slurmctld-wlm", vec!["-D".to_owned(), "-f".to_owned(), conf.clone()]);
        let stepd = self.installed.root.join("usr/sbin/slurmstepd-wlm").display().to_string();
        let node = host_name();
        let arguments = ["-D", "-f", &conf, "-d", &stepd, "-N", &node];
        self.keep("slurmd-wlm", arguments.map(str::to_owned).to_vec());
        self.wait_for("slurmd", |slurm| {
            let mut sinfo = slurm.installed.command("sinfo", &slurm.folder);
            let output = sinfo.args(["-h", "-o", "%T"]).stderr(Stdio::null()).output();
            output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("idle"))
        })
    }

    /// Starts a daemon, and starts it again whenever it ends.
    fn keep(&mut self, name: &str, arguments: Vec<String>) {
        let (installed, folder) = (self.installed.clone(), self.folder.clone());
        let (name, is_over) = (name.to_owned(), self.is_over.clone());
        self.keepers.push(std::thread::spawn(move || {
            while !is_over.load(Ordering::SeqCst) {
                match launch(&installed, &folder, &name, &arguments) {
                    Ok(mut daemon) => wait_for_end(&mut daemon, &is_over),
                    Err(message) => eprintln!("xtask: {message}"),
                }
                std::thread::sleep(PAUSE);
            }
        }));
    }

    fn wait_until_empty(&self) -> Outcome {
        self.wait_for("its end", |slurm| {
            let mut squeue = slurm.installed.command("squeue", &slurm.folder);
            let output = squeue.args(["-h", "-o", "%T"]).stderr(Stdio::null()).output();
            output.is_ok_and(|output| output.stdout.is_empty())
        })
    }

    fn wait_for(&self, what: &str, is_so: impl Fn(&Self) -> bool) -> Outcome {
        let start = Instant::now();
        while !is_so(self) {
            if start.elapsed() > PATIENCE {
                let log = |name: &str| {
                    let path = self.folder.join("log").join(name);
                    fs::read_to_string(path).unwrap_or_default()
                };
                return Err(format!(
                    "Slurm did not start ({what}):\n{}{}{}",
                    log("munged"),
                    log("slurmctld-wlm"),
                    log("slurmd-wlm")
                ));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Tells a command where the cluster is, with its programs on the path.
    pub(crate) fn show<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.envs(self.installed.environment(&self.folder)).env(FOLDER, &self.folder)
    }

    fn write_configuration(&self) -> Outcome {
        let (folder, node, user) = (self.folder.display(), host_name(), user_name());
        let plugins = self.installed.libraries.join("slurm-wlm");
        let (controller, daemon) = (free_port()?, free_port()?);
        let text = format!(
            "ClusterName=test
SlurmctldHost={node}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser={user}
SlurmdUser={user}
AuthInfo=socket={folder}/run/munge.sock
PluginDir={}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
MinJobAge=20
KillWait=2
SlurmdTimeout=60
MessageTimeout=5
EnforcePartLimits=ALL
SchedulerParameters=sched_min_interval=100000
SlurmdParameters=config_overrides
NodeName={node} NodeAddr=127.0.0.1 CPUs=64 RealMemory=16000 State=UNKNOWN
PartitionName=test Nodes={node} Default=YES MaxTime=INFINITE State=UP
PartitionName=short Nodes={node} MaxTime=1 State=UP
",
            plugins.display()
        );
        let path = self.folder.join("slurm.conf");
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        let mut scancel = self.installed.command("scancel", &self.folder);
        let _ = scancel.args(["-u", &user_name()]).stderr(Stdio::null()).status();
        // What still runs would outlive its node.
        let _ = self.wait_until_empty();
        self.is_over.store(true, Ordering::SeqCst);
        for keeper in self.keepers.drain(..) {
            let _ = keeper.join();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A daemon as a child of ours: an interrupt from the keyboard reaches it too.
fn launch(
    installed: &Installed,
    folder: &Path,
    name: &str,
    arguments: &[String],
) -> Result<Child, String> {
    let failed = |error: std::io::Error| format!("{name} did not start: {error}");
    let log = File::options().create(true).append(true).open(folder.join("log").join(name));
    let log = log.map_err(failed)?;
    let errors = log.try_clone().map_err(failed)?;
    let mut daemon = installed.command(name, folder);
    daemon.args(arguments).stdin(Stdio::null()).stdout(log).stderr(errors);
    let child = daemon.spawn().map_err(failed)?;
    // For tests that want to kill it.
    let number = folder.join("run").join(name).with_extension("number");
    fs::write(&number, child.id().to_string()).map_err(failed)?;
    Ok(child)
}

/// Waits for a daemon, and kills it when all is over.
fn wait_for_end(daemon: &mut Child, is_over: &AtomicBool) {
    while matches!(daemon.try_wait(), Ok(None)) {
        if is_over.load(Ordering::SeqCst) {
            let _ = daemon.kill();
            let _ = daemon.wait();
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

/// A folder with a short path: names of sockets have about a hundred characters at most.
fn temporary_folder() -> Result<PathBuf, String> {
    let made = Command::new("mktemp").args(["-d", "/tmp/unyoke-slurm-XXXXXX"]).output();
    let made = made.map_err(|error| format!("mktemp did not start: {error}"))?;
    match made.status.success() {
        true => Ok(PathBuf::from(String::from_utf8_lossy(&made.stdout).trim())),
        false => Err(format!("mktemp: {}", String::from_utf8_lossy(&made.stderr))),
    }
}

/// A port that nobody uses at the moment.
fn free_port() -> Result<u16, String> {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    free.map(|address| address.port()).map_err(|error| format!("no free port: {error}"))
}

fn host_name() -> String {
    output_of("hostname", &["-s"]).unwrap_or_else(|| "localhost".to_owned())
}

fn user_name() -> String {
    output_of("id", &["-un"]).unwrap_or_else(|| "root".to_owned())
}

fn output_of(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Fetches the packages and unpacks them, which needs no rights.
fn unpack(folder: &Path, unpacked: &Path) -> Outcome {
    let by_hand = "the tests need Slurm, which is fetched with apt-get on Debian and Ubuntu";
    let failed = |error: std::io::Error| format!("{by_hand}: {error}");
    eprintln!("Slurm is needed for the tests: fetching its packages with apt-get");
    let packages = folder.join("packages");
    fs::create_dir_all(&packages).map_err(failed)?;
    let mut fetch = Command::new("apt-get");
    fetch.args(["download", "-qq"]).args(PACKAGES).current_dir(&packages);
    if run(&mut fetch).is_err() {
        // The lists may be old, or none.
        let mut update = Command::new("apt-get");
        run(update.arg("update")).map_err(|error| format!("{by_hand} ({error})"))?;
        run(&mut fetch).map_err(|error| format!("{by_hand} ({error})"))?;
    }
    for entry in fs::read_dir(&packages).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        run(Command::new("dpkg").arg("-x").arg(&path).arg(unpacked))?;
    }
    fs::write(folder.join("complete"), "").map_err(failed)
}
