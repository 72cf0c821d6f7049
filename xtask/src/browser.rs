//! The tests of the pages in a real browser, and their screenshots.

use crate::command::{Outcome, cargo, root, run};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the tests need from PyPI: no browser is downloaded with it.
const NEEDED: [&str; 2] = ["playwright>=1.49,<2", "pytest>=8"];

/// Finds what keeps people from using a page who cannot see or point.
const AXE: &str = "axe-core@4";

/// The names under which systems know the browser.
const BROWSERS: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Runs the tests; arguments are those of pytest.
pub(crate) fn test(arguments: &[&str]) -> Outcome {
    let mut pytest = python(&["-m", "pytest"])?;
    run(pytest.args(arguments))
}

/// Makes screenshots of all views, below `folder` or `target/screenshots`.
pub(crate) fn screenshots(folder: Option<&str>) -> Outcome {
    let folder = folder.map_or_else(|| root().join("target/screenshots"), PathBuf::from);
    let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
    let mut script = python(&["screenshots.py"])?;
    run(script.arg(&folder))?;
    eprintln!("screenshots are in {}", folder.display());
    Ok(())
}

/// Python with what it needs to drive a browser, in the folder of the tests.
fn python(arguments: &[&str]) -> Result<Command, String> {
    let environment = environment()?;
    let (browser, axe) = (browser()?, axe(&environment)?);
    // The packages that the tests of the Python package build as well, so that nothing is compiled twice.
    let packages = ["--package=unyoke-cli", "--package=unyoke-python", "--bin=unyoke"];
    run(cargo(&["build"]).args(packages))?;
    let mut python = Command::new(environment.join("bin/python"));
    python.args(arguments).current_dir(root().join("crates/unyoke-web/browser"));
    python.env("UNYOKE_PROGRAM", root().join("target/debug/unyoke"));
    python
        .env("UNYOKE_CHROMIUM", browser)
        .env("UNYOKE_AXE", axe)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(python)
}

/// A virtual environment with Playwright, made if need be.
fn environment() -> Result<PathBuf, String> {
    let environment = root().join("target/browser-env");
    if !environment.join("bin/playwright").exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&environment)).map_err(|error| {
            format!(
                "{error}; Python 3.11 or newer with venv is needed (apt-get install python3-venv)"
            )
        })?;
        let mut pip = Command::new(environment.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        run(pip.args(NEEDED))?;
    }
    Ok(environment)
}

/// The script of axe-core, fetched if need be.
fn axe(environment: &Path) -> Result<PathBuf, String> {
    let script = environment.join("node_modules/axe-core/axe.min.js");
    if !script.exists() {
        let npm = ["install", "--silent", "--no-audit", "--no-fund", "--no-save", "--prefix"];
        run(Command::new("npm").args(npm).arg(environment).arg(AXE))
            .map_err(|error| format!("{error}; npm is needed (apt-get install npm)"))?;
    }
    Ok(script)
}

/// The browser of the system, installed if there is none.
fn browser() -> Result<PathBuf, String> {
    if let Some(found) = find_browser() {
        return Ok(found);
    }
    let install = || run(Command::new("apt-get").args(["install", "-y", "-q", "chromium"]));
    install().or_else(|_| {
        run(Command::new("apt-get").args(["update", "-q"]))?;
        install()
    })?;
    find_browser().ok_or_else(|| "Chromium is needed for the tests of the pages".to_owned())
}

fn find_browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let all = BROWSERS.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    all.into_iter().find(|path| {
        let answer = Command::new(path)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        answer.is_ok_and(|status| status.success())
    })
}
