//! What a command left running when its supervisor died.
//!
//! It is known by its environment, which names the folder of the attempt: a number may belong to
//! another process by now, and standard input may be closed or redirected. Only Linux shows the
//! environment of a process; elsewhere nothing is found here.

use std::fs;
use std::path::Path;

use super::folder;
use super::system::Process;

/// How often it is looked for processes that were just being started.
const ROUNDS: usize = 16;

/// The variable by which the processes of an attempt are known.
pub(super) const MARK: &str = "UNYOKE_DESIGN";

/// Whether anything of the attempt still runs.
pub(super) fn exists(folder: &Path) -> bool {
    !find(folder).is_empty()
}

/// Kills what still runs of the attempt. False if there was nothing that could be found.
pub(super) fn kill(folder: &Path) -> bool {
    let mut found_any = false;
    for _ in 0..ROUNDS {
        let found = find(folder);
        if found.is_empty() {
            break;
        }
        found_any = true;
        // One that cannot be killed has ended, or is another user's.
        found.iter().for_each(|process| drop(process.kill()));
    }
    found_any
}

/// The processes of the attempt.
fn find(folder: &Path) -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return vec![] };
    let design = folder.join(folder::DESIGN);
    let mark = [MARK.as_bytes(), b"=", design.as_os_str().as_encoded_bytes()].concat();
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let marked = |number: i32| {
        // Held first and looked at then: it cannot become another in between.
        let process = Process::hold(number)?;
        let environment = fs::read(format!("/proc/{number}/environ")).ok()?;
        environment.split(|byte| *byte == 0).any(|line| line == mark).then_some(process)
    };
    numbers
        .filter(|number| *number != std::process::id().cast_signed())
        .filter_map(marked)
        .collect()
}
