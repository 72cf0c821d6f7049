//! The PostgreSQL of the tests, which `cargo xtask` starts again whenever it ends.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;

use super::processes::{Process, send};

/// Names the folder of a server that may be restarted.
const FOLDER: &str = "UNYOKE_TEST_POSTGRES_FOLDER";

/// A study of this name in the database of the tests.
pub(crate) fn study(name: &str) -> String {
    let server = std::env::var("UNYOKE_TEST_POSTGRES")
        .expect("`cargo xtask test` starts a PostgreSQL for the tests");
    let separator = if server.contains('?') { '&' } else { '?' };
    format!("{server}{separator}study={name}-{}", std::process::id())
}

/// Whether the server is ours to restart: one that somebody else provides is left alone.
pub(crate) fn is_ours() -> bool {
    std::env::var_os(FOLDER).is_some()
}

/// Stops the server, which is then started again. False if it is just not there.
pub(crate) fn restart(how: Signal) -> bool {
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let text = fs::read_to_string(folder.join("data/postmaster.pid")).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    // The last line says whether it accepts connections.
    let is_ready = lines.get(7).is_some_and(|state| state.trim() == "ready");
    let number = lines.first().and_then(|number| number.trim().parse().ok());
    let held = number.filter(|_| is_ready).and_then(Process::hold);
    if let Some(held) = &held {
        send(held, how);
    }
    held.is_some()
}
