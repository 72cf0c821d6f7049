//! The Python package: its wheel, with the module and the program, and its tests.

use crate::command::{Outcome, cargo, root, run};
use crate::postgres::Postgres;
use crate::slurm::Slurm;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the tests need beside the package itself.
const NEEDED: [&str; 13] = [
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "matplotlib",
    "pytest",
    "mypy",
    "tqdm",
    "nbclient",
    "ipykernel",
    "distributed",
    "optuna",
    "cloudpickle",
];

/// What the long tests need as well. BoTorch, Ax and BayBE bring PyTorch, which from PyPI has gigabytes
/// for graphics cards; `PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu` avoids them.
const NEEDED_LONG: [&str; 4] = ["ray", "botorch", "ax-platform", "baybe"];

/// Tells tests where the example of `unyoke-view` is that they compare Python with.
const STEPS: &str = "UNYOKE_TEST_STEPS";

/// Tells tests where the wheel is, which they install into a fresh environment.
const WHEEL: &str = "UNYOKE_TEST_WHEEL";

/// The largest wheel that is acceptable, in bytes.
const LARGEST: u64 = 15_000_000;

/// How the wheel is compiled.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Profile {
    /// As for tests, of which most is compiled already.
    Dev,
    /// As for users.
    Release,
}

impl Profile {
    /// What Cargo calls it, and the folder of what it builds.
    fn name_and_folder(self) -> (&'static str, &'static str) {
        match self {
            Self::Dev => ("dev", "debug"),
            Self::Release => ("release", "release"),
        }
    }
}

/// Builds the wheel for users, in `target/wheels`.
pub(crate) fn wheel() -> Outcome {
    let wheel = build(Profile::Release)?;
    let size = fs::metadata(&wheel).map_err(|error| error.to_string())?.len();
    eprintln!("{}: {:.1} MB", wheel.display(), size as f64 / 1e6);
    if size > LARGEST {
        Err(format!("the wheel has {size} bytes, more than {LARGEST}"))
    } else {
        Ok(())
    }
}

/// Builds the wheel, installs it into an environment of its own and runs the tests there.
pub(crate) fn test() -> Outcome {
    let environment = environment("python-env")?;
    let wheel = prepare(&environment, Profile::Dev, &NEEDED)?;
    let mypy = ["-m", "mypy"];
    run(Command::new(environment.join("bin/python")).args(mypy).current_dir(package()))?;
    let (server, cluster) = (Postgres::start()?, cluster()?);
    let mut tests = pytest(&environment, &["-m", "not long"]);
    tests.env(STEPS, steps(Profile::Dev)?).env(WHEEL, wheel);
    if let Some(cluster) = &cluster {
        cluster.show(&mut tests);
    }
    run(server.show(&mut tests))
}

/// Slurm, of which there are packages for Linux only.
fn cluster() -> Result<Option<Slurm>, String> {
    cfg!(target_os = "linux").then(Slurm::start).transpose()
}

/// The tests that install much or take long: Ray, BoTorch, Ax, BayBE, and figures of `docs/python.md`.
///
/// They have an environment of their own, so that the other tests never depend on what they install.
/// Arguments are those of pytest, such as `-k ray`.
pub(crate) fn test_long(arguments: &[&str]) -> Outcome {
    let needed: Vec<&str> = NEEDED.iter().chain(&NEEDED_LONG).copied().collect();
    let environment = environment("python-long-env")?;
    prepare(&environment, Profile::Release, &needed)?;
    let steps = steps(Profile::Release)?;
    let arguments = [&["-m", "long", "-s"], arguments].concat();
    run(pytest(&environment, &arguments).env(STEPS, steps))
}

fn package() -> PathBuf {
    root().join("python")
}

/// The tests with what is installed: `-P` keeps Python from taking the sources instead.
fn pytest(environment: &Path, arguments: &[&str]) -> Command {
    let mut pytest = Command::new(environment.join("bin/python"));
    pytest.args(["-P", "-m", "pytest"]).args(arguments).current_dir(package());
    pytest
}

/// Puts what tests need into an environment, then the wheel. Returns the wheel.
fn prepare(environment: &Path, profile: Profile, needed: &[&str]) -> Result<PathBuf, String> {
    let pip = || {
        let mut pip = Command::new(environment.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        pip
    };
    run(pip().args(needed))?;
    let wheel = build(profile)?;
    // The same version may hold something else than the last time.
    run(pip().args(["--force-reinstall", "--no-deps"]).arg(&wheel))?;
    Ok(wheel)
}

/// A virtual environment of that name, made if need be.
pub(crate) fn environment(name: &str) -> Result<PathBuf, String> {
    let environment = root().join("target").join(name);
    if !environment.join("bin/python").exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&environment)).map_err(|error| {
            format!(
                "{error}; Python 3.11 or newer with venv is needed (apt-get install python3-venv)"
            )
        })?;
    }
    Ok(environment)
}

/// Builds the program, then the wheel around it. Returns the wheel.
fn build(profile: Profile) -> Result<PathBuf, String> {
    let (name, folder) = profile.name_and_folder();
    // Both packages are named so that features are the same as below, and nothing is compiled twice.
    let packages = ["--package=unyoke-cli", "--package=unyoke-python", "--bin=unyoke"];
    run(cargo(&["build", "--profile", name]).args(packages))?;
    let scripts = package().join("unyoke.data/scripts");
    install_program(&root().join("target").join(folder).join("unyoke"), &scripts)?;
    let environment = environment("python-env")?;
    let python = environment.join("bin/python");
    let install =
        ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "maturin>=1.9.4,<2"];
    run(Command::new(&python).args(install))?;
    let out = root().join("target/wheels").join(name);
    // Only what is built now is found there afterwards.
    let _ = fs::remove_dir_all(&out);
    let mut maturin = Command::new(&python);
    maturin.args(["-m", "maturin", "build", "--profile", name, "--out"]).arg(&out);
    if profile == Profile::Release {
        maturin.arg("--strip");
    }
    maturin.args(["--interpreter"]).arg(&python).env_remove("PYO3_NO_PYTHON");
    run(maturin.current_dir(package()))?;
    let wheels = fs::read_dir(&out).map_err(|error| error.to_string())?;
    let mut wheels = wheels.filter_map(|entry| Some(entry.ok()?.path()));
    wheels
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .ok_or_else(|| format!("there is no wheel in {}", out.display()))
}

/// Builds the example that is driven by lines of text. Returns its path.
fn steps(profile: Profile) -> Result<PathBuf, String> {
    let (name, folder) = profile.name_and_folder();
    // The same features as above.
    let packages = ["--package=unyoke-cli", "--package=unyoke-python", "--package=unyoke-view"];
    run(cargo(&["build", "--profile", name, "--example=steps"]).args(packages))?;
    Ok(root().join("target").join(folder).join("examples/steps"))
}

/// Puts the program where maturin looks for scripts, without what only debuggers read.
fn install_program(program: &Path, scripts: &Path) -> Outcome {
    fs::create_dir_all(scripts).map_err(|error| format!("{}: {error}", scripts.display()))?;
    let installed = scripts.join("unyoke");
    fs::copy(program, &installed).map_err(|error| format!("{}: {error}", program.display()))?;
    // Without it the wheel is larger and works as well.
    let _ = Command::new("strip").arg(&installed).status();
    Ok(())
}
