//! What the standard library lacks: process groups, and waiting for several things at once.
//!
//! The only file that names `rustix`.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::Child;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getppid, kill_process_group, waitid};

/// A process that leads a group, and all that belongs to the group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group(Pid);

impl Group {
    /// The group of a process that was started as its leader.
    pub(crate) fn of(child: &Child) -> Self {
        Self(Pid::from_child(child))
    }

    /// Asks all of it to end.
    pub(super) fn ask_to_end(self) -> io::Result<()> {
        Ok(kill_process_group(self.0, Signal::TERM)?)
    }

    /// Ends all of it.
    pub(crate) fn kill(self) -> io::Result<()> {
        Ok(kill_process_group(self.0, Signal::KILL)?)
    }

    /// Returns when its leader, a child of ours, has ended. It is not reaped: as long as it is a
    /// zombie, nobody else can get the number of its group.
    pub(super) fn await_leader(self) {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(self.0), options), Err(Errno::INTR)) {}
    }
}

/// A process that was found, and cannot become another while this is held.
#[derive(Debug)]
pub(super) struct Process {
    #[cfg(target_os = "linux")]
    held: std::os::fd::OwnedFd,
}

#[cfg(target_os = "linux")]
impl Process {
    /// The process with a number, if there is one.
    pub(super) fn hold(number: i32) -> Option<Self> {
        use rustix::process::{PidfdFlags, pidfd_open};
        let number = Pid::from_raw(number)?;
        Some(Self { held: pidfd_open(number, PidfdFlags::empty()).ok()? })
    }

    pub(super) fn kill(&self) -> io::Result<()> {
        Ok(rustix::process::pidfd_send_signal(&self.held, Signal::KILL)?)
    }
}

#[cfg(not(target_os = "linux"))]
impl Process {
    /// Elsewhere processes cannot be held.
    pub(super) fn hold(_: i32) -> Option<Self> {
        None
    }

    pub(super) fn kill(&self) -> io::Result<()> {
        Ok(())
    }
}

/// From now on this process, and the program it becomes, is killed when its parent ends. False if
/// the parent, which has this number, has ended before.
pub(super) fn die_with_parent(parent: &str) -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    let now = getppid().map(|parent| parent.as_raw_nonzero().to_string());
    Ok(now.as_deref() == Some(parent))
}

/// The number of the user who runs this program.
pub(crate) fn user_id() -> u32 {
    rustix::process::getuid().as_raw()
}

/// What this machine is called, in letters that suit the name of a file; for people only.
pub(crate) fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = name.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default();
    let letter = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = name.trim().chars().take(64).map(letter).collect();
    if name.is_empty() { "host".to_owned() } else { name }
}

/// Takes room for so many bytes of a file on the disk, at once where the file system can do that.
pub(super) fn allocate(file: &mut File, bytes: usize) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    match rustix::fs::fallocate(&*file, rustix::fs::FallocateFlags::empty(), 0, bytes as u64) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INTR) => {}
        taken => return Ok(taken?),
    }
    // Only what has been written to the disk surely has its room.
    file.write_all(&vec![b' '; bytes]).and_then(|()| file.sync_all())
}

/// From now on, reading fails rather than waits if there is nothing to read.
pub(super) fn never_block(source: impl AsFd) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(source, true)?)
}

/// Waits until something can be read from one of them, or less than a second is over. It may
/// return early: whoever calls looks what has happened.
pub(super) fn await_any<'a>(sources: impl IntoIterator<Item = BorrowedFd<'a>>, pause: Duration) {
    let polled = |source| PollFd::from_borrowed_fd(source, PollFlags::IN);
    let mut polled: Vec<PollFd<'_>> = sources.into_iter().map(polled).collect();
    let time = Timespec { tv_sec: 0, tv_nsec: pause.subsec_nanos().into() };
    let _ = poll(&mut polled, Some(&time));
}
