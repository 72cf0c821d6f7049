//! A PostgreSQL server for the tests: found or installed, alone in a temporary folder, gone afterwards.
//! A test may stop it; it is then started again, as a service manager would.

use crate::command::{Outcome, run};
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Tells tests where the server is. Whoever sets it beforehand has a server of their own.
const VARIABLE: &str = "UNYOKE_TEST_POSTGRES";

/// Tells tests where the folder of a server is that they may restart.
const FOLDER: &str = "UNYOKE_TEST_POSTGRES_FOLDER";

/// What is needed of an installation.
const PROGRAMS: [&str; 4] = ["initdb", "postgres", "pg_ctl", "pg_isready"];

/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_secs(60);

/// Before a server that did not start is started again, and between two looks whether it has.
const PAUSE: Duration = Duration::from_millis(20);

/// A server, which is stopped and deleted with this value if it was started here.
pub(crate) struct Postgres {
    url: String,
    cluster: Option<Cluster>,
}

/// Data and process of a server that was started here.
struct Cluster {
    programs: PathBuf,
    folder: PathBuf,
    port: u16,
    /// The server, which a thread of its own starts again when it ends.
    keeper: JoinHandle<()>,
    is_over: Arc<AtomicBool>,
}

/// Runs a command with a server.
pub(crate) fn with(command: &[&str]) -> Outcome {
    let [program, arguments @ ..] = command else {
        return Err("usage: cargo xtask postgres COMMAND...".to_owned());
    };
    let postgres = Postgres::start()?;
    run(postgres.show(Command::new(program).args(arguments)))
}

impl Postgres {
    /// The server of the user's, or else a new one.
    pub(crate) fn start() -> Result<Self, String> {
        if let Ok(url) = std::env::var(VARIABLE) {
            return Ok(Self { url, cluster: None });
        }
        let programs = match find() {
            Some(programs) => programs,
            None => {
                install()?;
                find().ok_or("PostgreSQL was installed but cannot be found")?
            }
        };
        let cluster = Cluster::start(programs)?;
        // Through a socket in a folder nobody else may enter.
        let host = cluster.folder.display().to_string().replace('/', "%2F");
        let url = format!("postgres://postgres@{host}:{}/postgres", cluster.port);
        Ok(Self { url, cluster: Some(cluster) })
    }

    /// Tells a command how to connect, with the right to create databases.
    pub(crate) fn show<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        if let Some(cluster) = &self.cluster {
            command.env(FOLDER, &cluster.folder);
        }
        command.env(VARIABLE, &self.url)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(cluster) = &mut self.cluster {
            cluster.stop();
        }
    }
}

impl Cluster {
    fn start(programs: PathBuf) -> Result<Self, String> {
        let mut make = as_server_user("mktemp")?;
        // A short path: names of sockets have about a hundred characters at most.
        let made = make.args(["-d", "/tmp/unyoke-postgres-XXXXXX"]).output();
        let made = made.map_err(|error| format!("{make:?} did not start: {error}"))?;
        if !made.status.success() {
            return Err(format!("{make:?}: {}", String::from_utf8_lossy(&made.stderr)));
        }
        let folder = PathBuf::from(String::from_utf8_lossy(&made.stdout).trim());
        let port = free_port()?;
        let process =
            initialise(&programs, &folder).and_then(|()| launch(&programs, &folder, port));
        let process = process.inspect_err(|_| drop(fs::remove_dir_all(&folder)))?;
        let is_over = Arc::<AtomicBool>::default();
        let keeper = keep(process, is_over.clone(), {
            let (programs, folder) = (programs.clone(), folder.clone());
            move || launch(&programs, &folder, port)
        });
        let mut cluster = Self { programs, folder, port, keeper, is_over };
        let ready = cluster.wait();
        ready.inspect_err(|_| cluster.stop())?;
        Ok(cluster)
    }

    /// Waits until connections are accepted.
    fn wait(&mut self) -> Outcome {
        let start = Instant::now();
        loop {
            let mut ask = Command::new(self.programs.join("pg_isready"));
            ask.arg("-h").arg(&self.folder).args(["-p", &self.port.to_string()]);
            let answer = ask.stdout(Stdio::null()).status();
            if answer.is_ok_and(|status| status.success()) {
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                return Err(format!("PostgreSQL did not start:\n{log}"));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Nothing is reported here: the outcome of the tests is what counts.
    fn stop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        let start = Instant::now();
        // One that is just being started cannot be stopped yet.
        while !self.keeper.is_finished() && start.elapsed() < PATIENCE {
            if let Ok(mut stop) = as_server_user(self.programs.join("pg_ctl")) {
                stop.args(["stop", "--silent", "--mode", "immediate", "--pgdata"]);
                let _ = stop.arg(self.folder.join("data")).stderr(Stdio::null()).status();
            }
            std::thread::sleep(PAUSE);
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Starts a server again whenever it ends, until it is over.
fn keep(
    mut server: Child,
    is_over: Arc<AtomicBool>,
    start: impl Fn() -> Result<Child, String> + Send + 'static,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let _ = server.wait();
        while !is_over.load(Ordering::SeqCst) {
            match start() {
                Ok(mut server) => drop(server.wait()),
                Err(message) => eprintln!("xtask: {message}"),
            }
            // What ends at once would do so again and again.
            std::thread::sleep(PAUSE);
        }
    })
}

fn initialise(programs: &Path, folder: &Path) -> Outcome {
    let mut initdb = as_server_user(programs.join("initdb"))?;
    initdb.args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C"]);
    initdb.args(["--no-sync", "--pgdata"]).arg(folder.join("data"));
    run(initdb.stdout(Stdio::null()))?;
    // The port is there for tests of encryption, and lets in nobody without a password.
    let rules = "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n";
    let path = folder.join("data").join("pg_hba.conf");
    fs::write(&path, rules).map_err(|error| format!("{}: {error}", path.display()))
}

/// A port that nobody uses at the moment.
fn free_port() -> Result<u16, String> {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    free.map(|address| address.port()).map_err(|error| format!("no free port: {error}"))
}

/// The server as a child of ours, not a daemon: an interrupt from the keyboard reaches it too.
fn launch(programs: &Path, folder: &Path, port: u16) -> Result<Child, String> {
    let failed = |error: std::io::Error| format!("PostgreSQL did not start: {error}");
    let log = File::options().create(true).append(true).open(folder.join("log"));
    let log = log.map_err(failed)?;
    let mut server = as_server_user(programs.join("postgres"))?;
    server.arg("-D").arg(folder.join("data")).arg("-k").arg(folder);
    server.args(["-p", &port.to_string()]);
    // Tests stop the server but never the machine, so it need not wait for the disk.
    for setting in ["listen_addresses=127.0.0.1", "fsync=off"] {
        server.args(["-c", setting]);
    }
    let errors = log.try_clone().map_err(failed)?;
    server.stdin(Stdio::null()).stdout(log).stderr(errors).spawn().map_err(failed)
}

/// A command that runs as a user whom PostgreSQL accepts, which root is not.
fn as_server_user(program: impl AsRef<std::ffi::OsStr>) -> Result<Command, String> {
    let mut command = if !is_root() {
        Command::new(program)
    } else if id(&["-u", "postgres"]).is_some() {
        let mut runuser = Command::new("runuser");
        runuser.args(["-u", "postgres", "--"]).arg(program);
        runuser
    } else {
        return Err("PostgreSQL does not run as root, and there is no user postgres; create one, \
                    or run the tests as another user"
            .to_owned());
    };
    command.current_dir("/");
    Ok(command)
}

fn is_root() -> bool {
    id(&["-u"]).as_deref() == Some("0")
}

fn id(arguments: &[&str]) -> Option<String> {
    let output = Command::new("id").args(arguments).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The folder of the newest installation with all that is needed.
fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("initdb"));
    // Often only a link to some of the programs is on the path: the others are where it leads.
    let on_path = on_path.filter_map(|link| Some(link.canonicalize().ok()?.parent()?.to_owned()));
    let mut versions: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    versions.sort_by_key(|folder| std::cmp::Reverse(number(folder)));
    let installed = versions.into_iter().map(|folder| folder.join("bin"));
    on_path
        .chain(installed)
        .find(|folder| PROGRAMS.iter().all(|program| folder.join(program).is_file()))
}

/// The version in the name of a folder.
fn number(folder: &Path) -> Option<u32> {
    folder.file_name()?.to_str()?.parse().ok()
}

/// Installs PostgreSQL with the package manager of Debian and Ubuntu.
fn install() -> Outcome {
    let by_hand = format!(
        "the tests need PostgreSQL: install its server (initdb, pg_ctl) with your package \
         manager, or set {VARIABLE} to the URL of a database"
    );
    eprintln!("PostgreSQL is needed for the tests and is not here: installing it with apt-get");
    for arguments in [&["update"][..], &["install", "-y", "postgresql"]] {
        let mut apt = Command::new(if is_root() { "env" } else { "sudo" });
        apt.args(if is_root() { &[][..] } else { &["env"] });
        apt.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]).args(arguments);
        run(&mut apt).map_err(|error| format!("{by_hand} ({error})"))?;
    }
    Ok(())
}
