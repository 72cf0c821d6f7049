//! A study in a journal file, to which one program writes while any number read: for file systems
//! that machines share, where SQLite cannot be used.
//!
//! Appending is writing a [`batch`] at the end and waiting for the disk. Before and
//! after, the writer makes sure that it still has the right to write ([`lock`](crate::lock)) and that
//! the path still leads to its file; only then is anything acknowledged.
//!
//! Whoever takes over from a writer that did not finish copies what is complete to a new file and
//! gives that the name of the journal. A writer that only stood still would go on in the old file,
//! which nobody reads any more. And it acknowledges nothing there: had it found its right in place
//! after writing, the copy would have been made later, with what it wrote.
//!
//! Stores of the same file in one process share the right, and what is known of the file.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use unyoke::Record;

use crate::backend::{Backend, Claim, Effects};
use crate::batch::{self, Batch, Damage, HEADER, Kind, Mark, Opening, Row};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::file::{self, Identity};
use crate::host::Host;
use crate::lease::{LateResult, Lease, LeaseStatus};
use crate::lease_table::{self, LeaseTable};
use crate::lock::{Before, Held, Lock, Refusal, Timing};
use crate::text;

/// In the folder of the lock: until when leases last that were renewed.
const RENEWED: &str = "renewed";

/// In the folder of the lock: a journal before it has its name.
const COPY: &str = ".journal-";

/// How often a file is read again that was replaced meanwhile.
const READS: u32 = 5;

/// Whose stores these are.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    host: Host,
    timing: Timing,
}

impl Default for Settings {
    fn default() -> Self {
        Self { host: Host::this(), timing: Timing::default() }
    }
}

/// A journal file. Clones share everything.
#[derive(Debug, Clone)]
pub(crate) struct JournalFile {
    shared: Arc<Shared>,
    clock: Clock,
}

/// What all stores of one file in this process have in common.
#[derive(Debug)]
struct Shared {
    path: PathBuf,
    lock: Lock,
    /// The folder of the lock.
    folder: PathBuf,
    /// Held while something is written.
    writer: Mutex<Option<Writer>>,
    /// Never held while the disk is waited for.
    view: Mutex<View>,
}

/// The right to write, and the file to write to.
#[derive(Debug)]
struct Writer {
    held: Held,
    file: File,
    identity: Identity,
    /// Whether there may be something behind the last complete batch that could not be removed.
    is_torn: bool,
}

/// What is known of the file.
#[derive(Debug, Default)]
struct View {
    identity: Option<Identity>,
    /// Where the last complete batch ends, in bytes.
    end: u64,
    mark: Mark,
    /// Where each record begins.
    offsets: Vec<u64>,
    /// Of everything up to the end.
    checksum: crc32fast::Hasher,
    leases: LeaseTable,
    /// Attempt and end of leases that were renewed, by evaluation.
    renewed: BTreeMap<u64, (u32, i64)>,
    late: Vec<LateResult>,
    /// Whether this process is the one that writes, so that nothing else can be in the file.
    is_ours: bool,
}

/// What a call wants to have written, and what it returns then.
struct Plan<T> {
    batch: Batch,
    done: T,
}

impl JournalFile {
    /// The study in an existing file.
    pub(crate) fn open(path: &Path, settings: Settings) -> Result<Self> {
        let missing = || Error::NoStudy { location: path.display().to_string() };
        let store = Self::at(path, settings)?;
        if store.shared.view().catch_up(&store.shared)?.mark.records == 0 {
            return Err(missing());
        }
        store.shared.check_last()?;
        Ok(store)
    }

    /// A place for a study in a file that has none yet. Nothing is written before the first record.
    pub(crate) fn create(path: &Path, settings: Settings) -> Result<Self> {
        check_creatable(path)?;
        let store = Self::at(path, settings)?;
        if store.shared.view().catch_up(&store.shared)?.mark.records > 0 {
            store.shared.check_last()?;
            return Err(Error::StudyExists { location: store.shared.location() });
        }
        Ok(store)
    }

    pub(crate) fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Takes the right to write, unless this process has it.
    pub(crate) fn prepare_to_write(&self) -> Result<()> {
        self.shared.ensure_writer(&mut self.shared.writer())
    }

    /// The store of a path, which shares what others of this process know.
    fn at(path: &Path, settings: Settings) -> Result<Self> {
        static KNOWN: Mutex<BTreeMap<(PathBuf, String), Weak<Shared>>> =
            Mutex::new(BTreeMap::new());
        let path = resolved(path)?;
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, shared| shared.strong_count() > 0);
        let key = (path.clone(), settings.host.name.clone());
        let found = known.get(&key).and_then(Weak::upgrade);
        let shared = found.unwrap_or_else(|| Arc::new(Shared::new(path, settings)));
        known.insert(key, Arc::downgrade(&shared));
        Ok(Self { shared, clock: Clock::system() })
    }
}

/// Fails if no journal can be made there.
pub(crate) fn check_creatable(path: &Path) -> Result<()> {
    file::check_place(&file::full(path)?)
}

/// The file itself where a path leads through links: it will be replaced, not the links.
fn resolved(path: &Path) -> Result<PathBuf> {
    let path = file::full(path)?;
    if let Ok(metadata) = fs::metadata(&path)
        && !metadata.is_file()
    {
        let reason = if metadata.is_dir() { "it is a folder" } else { "it is not a plain file" };
        return Err(Error::NotAStudy { path, reason: reason.to_owned() });
    }
    if let Ok(existing) = fs::canonicalize(&path) {
        return Ok(existing);
    }
    let folder = path.parent().and_then(|folder| fs::canonicalize(folder).ok());
    Ok(match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path,
    })
}

impl Shared {
    fn new(path: PathBuf, Settings { host, timing }: Settings) -> Self {
        let folder = path.with_added_extension("lock");
        let lock = Lock::new(folder.clone(), host, timing);
        Self { path, lock, folder, writer: Mutex::default(), view: Mutex::default() }
    }

    fn location(&self) -> String {
        self.path.display().to_string()
    }

    fn writer(&self) -> MutexGuard<'_, Option<Writer>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known. Whoever panicked while it held it had not begun to change it.
    fn view(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The records from a position on, at most so many.
    fn read(&self, from: usize, most: usize) -> Result<Vec<Record>> {
        // Whoever takes over replaces the file, perhaps while it is read.
        for _ in 1..READS {
            match self.read_once(from, most) {
                Err(Error::Moved { .. }) => {}
                read => return read,
            }
        }
        self.read_once(from, most)
    }

    fn read_once(&self, from: usize, most: usize) -> Result<Vec<Record>> {
        let (start, end, identity) = {
            let mut view = self.view();
            view.catch_up(self)?;
            let Some(start) = view.offsets.get(from) else { return Ok(Vec::new()) };
            let end = view.offsets.get(from.saturating_add(most)).copied();
            (*start, end.unwrap_or(view.end), view.identity)
        };
        let bytes = self.bytes(start, end, identity)?;
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let mut records = Vec::new();
        for line in lines {
            let row = Row::parse(0, line);
            let row = row.ok_or_else(|| self.damaged(from + records.len()))?;
            if row.kind == Kind::Record {
                records.push(row.line);
            }
        }
        text::read(&self.location(), from as i64, &records)
    }

    /// A part of the file that is known to be complete.
    fn bytes(&self, start: u64, end: u64, identity: Option<Identity>) -> Result<Vec<u8>> {
        let mut file = File::open(&self.path).map_err(|error| self.unreadable(&error))?;
        let metadata = file.metadata().map_err(|error| self.failed(&error))?;
        if Some(Identity::from(&metadata)) != identity || metadata.len() < end {
            return Err(self.moved());
        }
        let mut read = || -> io::Result<Vec<u8>> {
            let mut bytes = vec![0; usize::try_from(end - start).unwrap_or(usize::MAX)];
            file.seek(SeekFrom::Start(start))?;
            file.read_exact(&mut bytes)?;
            Ok(bytes)
        };
        read().map_err(|error| self.failed(&error))
    }

    /// Fails if this version cannot read the last record: it has the newest format of all.
    fn check_last(&self) -> Result<()> {
        let (start, end, identity) = {
            let view = self.view();
            let Some(start) = view.offsets.last() else { return Ok(()) };
            (*start, view.end, view.identity)
        };
        let bytes = self.bytes(start, end, identity)?;
        let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        match Row::parse(0, line) {
            Some(row) => row.line.check(&self.location()),
            None => Err(self.damaged(self.view().mark.records.saturating_sub(1))),
        }
    }

    /// Writes down what `plan` says, all or nothing, and on disk when this returns. If that is nothing
    /// no right to write is needed.
    fn write<T>(&self, plan: impl Fn(&View) -> Result<Plan<T>>) -> Result<T> {
        let wanted = plan(self.view().catch_up(self)?)?;
        if wanted.batch.is_empty() {
            return Ok(wanted.done);
        }
        let mut slot = self.writer();
        self.ensure_writer(&mut slot)?;
        let Some(writer) = &mut *slot else { return Err(self.moved()) };
        // Others may have written until just now.
        let (Plan { batch, done }, bytes, end) = {
            let view = self.view();
            let wanted = plan(&view)?;
            let bytes = wanted.batch.bytes(view.mark.batches, view.mark.records);
            let bytes = bytes.map_err(|error| self.failed(&error.into()))?;
            (wanted, bytes, view.end)
        };
        if batch.is_empty() {
            return Ok(done);
        }
        writer.append(&bytes, end).map_err(|error| self.failed(&error))?;
        self.check_writer(&mut slot)?;
        self.view().add(&bytes, self)?;
        Ok(done)
    }

    /// Makes sure that we have the right to write and the file in which to do so.
    fn ensure_writer(&self, slot: &mut Option<Writer>) -> Result<()> {
        match self.check_writer(slot) {
            Err(Error::LockLost { .. }) => {}
            checked => checked?,
        }
        let Some(writer) = slot else {
            *slot = Some(self.begin_writing()?);
            return Ok(());
        };
        if writer.is_torn {
            let end = self.view().end;
            writer.cut(end).map_err(|error| self.failed(&error))?;
        }
        Ok(())
    }

    /// Fails if others have the right to write, or the path leads elsewhere.
    fn check_writer(&self, slot: &mut Option<Writer>) -> Result<()> {
        let Some(writer) = slot else { return Ok(()) };
        if !writer.held.is_ours().map_err(|error| self.failed(&error))? {
            *slot = None;
            self.view().is_ours = false;
            let (location, holder) = (self.location(), self.lock.owner());
            return Err(Error::LockLost { location, holder });
        }
        match Identity::of(&self.path) == Some(writer.identity) {
            true => Ok(()),
            false => Err(self.moved()),
        }
    }

    fn begin_writing(&self) -> Result<Writer> {
        check_creatable(&self.path)?;
        let (mut held, before) = self.lock.acquire().map_err(|refusal| self.refused(refusal))?;
        match self.file_to_write(&mut held, before) {
            Ok((file, identity)) => {
                self.view().is_ours = true;
                Ok(Writer { held, file, identity, is_torn: false })
            }
            Err(error) => {
                held.release(before);
                Err(error)
            }
        }
    }

    /// The file, with nothing behind its last complete batch, and nobody else who writes to it.
    fn file_to_write(&self, held: &mut Held, before: Before) -> Result<(File, Identity)> {
        let length = fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        let end = self.view().catch_up(self)?.end;
        if before == Before::Complete && length > end && end > 0 {
            let reason = "it is incomplete, although the program that wrote it ended properly";
            return Err(self.damaged_because(self.view().mark.records, reason));
        }
        if before == Before::Unknown || end == 0 {
            self.replace(held)?;
        }
        held.get_ready().map_err(|error| self.failed(&error))?;
        let file = OpenOptions::new().read(true).write(true).open(&self.path);
        let file = file.map_err(|error| self.failed(&error))?;
        let metadata = file.metadata().map_err(|error| self.failed(&error))?;
        let identity = Identity::from(&metadata);
        if self.view().catch_up(self)?.identity != Some(identity) {
            return Err(self.moved());
        }
        Ok((file, identity))
    }

    /// Gives the name of the journal to a copy of all that is complete in it, or to a new journal.
    fn replace(&self, held: &Held) -> Result<()> {
        let (end, identity) = {
            let view = self.view();
            (view.end, view.identity)
        };
        let bytes = match end {
            0 => HEADER.as_bytes().to_vec(),
            _ => self.bytes(0, end, identity)?,
        };
        let copy = self.folder.join(format!("{COPY}{:016x}", fastrand::u64(..)));
        let write = || -> io::Result<()> {
            let mut file = File::create(&copy)?;
            file.write_all(&bytes)?;
            if let Ok(metadata) = fs::metadata(&self.path) {
                file.set_permissions(metadata.permissions())?;
            }
            file.sync_all()
        };
        write().map_err(|error| self.failed(&error))?;
        if !held.is_ours().map_err(|error| self.failed(&error))? {
            return Err(Error::LockLost { location: self.location(), holder: self.lock.owner() });
        }
        let rename = || fs::rename(&copy, &self.path).and_then(|()| sync_folder_of(&self.path));
        rename().map_err(|error| self.failed(&error))
    }

    /// Writes down until when leases last that were renewed. A computer that loses its power may forget
    /// it; then they end early.
    fn write_renewed(&self, renewed: &BTreeMap<u64, (u32, i64)>) -> io::Result<()> {
        let rows: Vec<(u64, u32, i64)> = renewed
            .iter()
            .map(|(evaluation, (attempt, end))| (*evaluation, *attempt, *end))
            .collect();
        let text = serde_json::to_string(&rows)?;
        let sum = crc32fast::hash(text.as_bytes());
        let unfinished = self.folder.join(format!(".{RENEWED}"));
        fs::write(&unfinished, format!("{sum:08x} {text}\n"))?;
        fs::rename(unfinished, self.folder.join(RENEWED))
    }

    /// Until when leases last that were renewed, as far as that is written down.
    fn read_renewed(&self) -> Option<BTreeMap<u64, (u32, i64)>> {
        let text = fs::read_to_string(self.folder.join(RENEWED)).ok()?;
        let (sum, text) = text.trim_end().split_once(' ')?;
        let is_whole = u32::from_str_radix(sum, 16).ok()? == crc32fast::hash(text.as_bytes());
        let rows: Vec<(u64, u32, i64)> = serde_json::from_str(text).ok().filter(|_| is_whole)?;
        Some(
            rows.into_iter()
                .map(|(evaluation, attempt, end)| (evaluation, (attempt, end)))
                .collect(),
        )
    }

    fn moved(&self) -> Error {
        Error::Moved { path: self.path.clone() }
    }

    fn damaged(&self, position: usize) -> Error {
        self.damaged_because(position, "it is missing, or not what was written")
    }

    fn damaged_because(&self, position: usize, reason: &str) -> Error {
        let (location, position) = (self.location(), position as u64);
        Error::DamagedRecord { location, position, reason: reason.to_owned() }
    }

    fn unreadable(&self, error: &io::Error) -> Error {
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::StaleNetworkFileHandle => self.moved(),
            _ => Error::NoAccess { location: self.location(), reason: error.to_string() },
        }
    }

    fn refused(&self, refusal: Refusal) -> Error {
        let location = self.location();
        match refusal {
            Refusal::Held(holder) => Error::Locked { location, holder },
            Refusal::Interrupted(holder) => {
                Error::LockStuck { location, holder, folder: self.folder.clone() }
            }
            Refusal::Io(error) => self.failed(&error),
        }
    }

    /// What the system said, in terms of what a caller can do about it.
    fn failed(&self, error: &io::Error) -> Error {
        let (location, reason) = (self.location(), error.to_string());
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                Error::Full { location }
            }
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                Error::ReadOnly { location, reason }
            }
            ErrorKind::StaleNetworkFileHandle => self.moved(),
            _ => Error::Failed { location, reason },
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let writer = self.writer.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(Writer { held, file, is_torn, .. }) = writer.take() {
            drop(file);
            held.release(if is_torn { Before::Unknown } else { Before::Complete });
        }
    }
}

impl Writer {
    /// Writes `bytes` at `end` and waits for the disk. If that fails, the file ends there again.
    fn append(&mut self, bytes: &[u8], end: u64) -> io::Result<()> {
        let mut write = || -> io::Result<()> {
            self.file.seek(SeekFrom::Start(end))?;
            self.file.write_all(bytes)?;
            self.file.sync_data()
        };
        write().inspect_err(|_| {
            // If not even this works, it is tried again before anything else is written.
            let _ = self.cut(end);
        })
    }

    /// Removes what is behind `end`.
    fn cut(&mut self, end: u64) -> io::Result<()> {
        self.is_torn = true;
        self.file.set_len(end)?;
        self.file.sync_all()?;
        self.is_torn = false;
        Ok(())
    }
}

impl View {
    /// Reads what others have written since.
    fn catch_up(&mut self, shared: &Shared) -> Result<&Self> {
        if self.is_ours {
            return Ok(self);
        }
        let mut file = match File::open(&shared.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound && self.end == 0 => return Ok(self),
            Err(error) => return Err(shared.unreadable(&error)),
        };
        let metadata = file.metadata().map_err(|error| shared.failed(&error))?;
        let identity = Some(Identity::from(&metadata));
        let is_known = self.identity == identity && self.end > 0 && metadata.len() >= self.end;
        let mut read_from = |start: u64| -> Result<Vec<u8>> {
            let mut bytes = Vec::new();
            let read = file.seek(SeekFrom::Start(start)).and_then(|_| file.read_to_end(&mut bytes));
            read.map_err(|error| shared.failed(&error))?;
            Ok(bytes)
        };
        if !is_known || self.add(&read_from(self.end)?, shared).is_err() {
            // The file was replaced, or what was seen of it was taken back: then all of it counts.
            let again = Self::read_all(&read_from(0)?, self, shared)?;
            *self = Self { identity, ..again };
        }
        if let Some(renewed) = shared.read_renewed() {
            self.renewed = renewed;
            for (evaluation, (attempt, end)) in &self.renewed {
                self.leases.set_end(*evaluation, *attempt, *end);
            }
        }
        Ok(self)
    }

    /// A view of a whole file, which must begin with all that was `known` of it.
    fn read_all(bytes: &[u8], known: &Self, shared: &Shared) -> Result<Self> {
        let mut view = Self::default();
        match batch::identify(bytes) {
            Opening::Nothing => {}
            Opening::Journal => {
                view.checksum.update(HEADER.as_bytes());
                view.end = HEADER.len() as u64;
                view.add(&bytes[HEADER.len()..], shared)?;
            }
            Opening::Newer(found) => {
                return Err(Error::NewerLayout { location: shared.location(), found, known: 1 });
            }
            Opening::Other(reason) => {
                let path = shared.path.clone();
                return Err(Error::NotAStudy { path, reason: reason.to_owned() });
            }
        }
        let before = usize::try_from(known.end).unwrap_or(usize::MAX);
        let is_longer = known.end <= view.end;
        if is_longer && crc32fast::hash(&bytes[..before]) == known.checksum.clone().finalize() {
            return Ok(view);
        }
        Err(shared.moved())
    }

    /// Adds the complete batches in `bytes`, which stand behind what is known.
    fn add(&mut self, bytes: &[u8], shared: &Shared) -> Result<()> {
        let found = batch::scan(bytes, self.mark);
        let found = found.map_err(|Damage { position }| shared.damaged(position))?;
        let damaged = || {
            let reason = "what it says of leases and late results cannot be read".to_owned();
            Error::Damaged { location: shared.location(), reason }
        };
        let (mut leases, mut late, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
        for row in &found.rows {
            match row.kind {
                Kind::Record => offsets.push(self.end + row.offset as u64),
                Kind::Lease => leases.push(row.lease().ok_or_else(damaged)?),
                Kind::Late => late.push(row.late().ok_or_else(damaged)?),
            }
        }
        leases.into_iter().for_each(|last| self.leases.set(last));
        self.late.extend(late);
        self.offsets.extend(offsets);
        self.checksum.update(&bytes[..found.end]);
        self.end += found.end as u64;
        self.mark = found.mark;
        Ok(())
    }
}

impl Backend for JournalFile {
    fn read_at_most(&self, from: u64, most: usize) -> Result<Vec<Record>> {
        usize::try_from(from).map_or(Ok(Vec::new()), |from| self.shared.read(from, most))
    }

    fn append_with(&self, at: u64, records: &[Record], effects: &Effects) -> Result<Vec<Lease>> {
        // What is beyond the range of positions conflicts with whatever is there.
        let first = i64::try_from(at).unwrap_or(i64::MAX);
        let lines = text::write(&self.shared.location(), first, records)?;
        self.shared.write(|view| {
            let found = view.mark.records as u64;
            if found != at {
                return Err(Error::Conflict { expected: at, found });
            }
            let leases = view.leases.effects(self.clock.now(), effects);
            let claimed = leases.iter().filter(|last| last.expires.is_some()).cloned().collect();
            let batch = Batch { records: lines.clone(), leases, late: None };
            Ok(Plan { batch, done: lease_table::leases(claimed) })
        })
    }

    fn claim(&self, wanted: &Claim<'_>) -> Result<Vec<Lease>> {
        self.shared.write(|view| {
            let leases = view.leases.claims(self.clock.now(), wanted);
            let done = lease_table::leases(leases.clone());
            Ok(Plan { batch: Batch { leases, ..Batch::default() }, done })
        })
    }

    fn renew(&self, leases: &[Lease], ttl: Duration) -> Result<Vec<Lease>> {
        if self.shared.view().catch_up(&self.shared)?.leases.kept(leases).is_empty() {
            return Ok(leases.to_vec());
        }
        let mut slot = self.shared.writer();
        self.shared.ensure_writer(&mut slot)?;
        let end = lease_table::end(self.clock.now(), ttl);
        let (mut renewed, kept) = {
            let view = self.shared.view();
            (view.renewed.clone(), view.leases.kept(leases))
        };
        // What has ended since stays out, so that this does not grow with the study.
        renewed.retain(|_, (_, end)| *end > self.clock.now());
        renewed.extend(kept.iter().map(|lease| (lease.evaluation, (lease.attempt, end))));
        self.shared.write_renewed(&renewed).map_err(|error| self.shared.failed(&error))?;
        let mut view = self.shared.view();
        for Lease { evaluation, attempt, .. } in &kept {
            view.leases.set_end(*evaluation, *attempt, end);
        }
        view.renewed = renewed;
        Ok(view.leases.lost(leases))
    }

    fn release(&self, lease: &Lease) -> Result<()> {
        self.shared.write(|view| {
            let leases = view.leases.release(lease).into_iter().collect();
            Ok(Plan { batch: Batch { leases, ..Batch::default() }, done: () })
        })
    }

    fn take_over(&self, lease: &Lease, owner: &str, ttl: Duration) -> Result<Option<Lease>> {
        self.shared.write(|view| {
            let end = lease_table::end(self.clock.now(), ttl);
            let taken = view.leases.take_over(lease, owner, end);
            let done = taken.as_ref().map(|last| last.lease.clone());
            let leases = taken.into_iter().collect();
            Ok(Plan { batch: Batch { leases, ..Batch::default() }, done })
        })
    }

    fn release_owner(&self, owner: &str) -> Result<()> {
        self.shared.write(|view| {
            let leases = view.leases.release_owner(owner);
            Ok(Plan { batch: Batch { leases, ..Batch::default() }, done: () })
        })
    }

    fn leases(&self) -> Result<Vec<LeaseStatus>> {
        Ok(self.shared.view().catch_up(&self.shared)?.leases.statuses(self.clock.now()))
    }

    fn keep_late(&self, late: &LateResult) -> Result<()> {
        self.shared.write(|_| {
            let batch = Batch { late: Some(late.clone()), ..Batch::default() };
            Ok(Plan { batch, done: () })
        })
    }

    fn late(&self) -> Result<Vec<LateResult>> {
        Ok(self.shared.view().catch_up(&self.shared)?.late.clone())
    }
}

/// Makes a name in a folder outlast the computer, where folders can be waited for.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
            Ok(())
        }
        #[cfg(not(unix))]
        Err(_) => Ok(()),
        synced => synced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;
    use unyoke::Event;

    const MINUTE: Duration = Duration::from_secs(60);

    fn record(evaluation: u64) -> Record {
        Event::Withdrawn { evaluation }.into()
    }

    fn records(count: u64) -> Vec<Record> {
        (0..count).map(record).collect()
    }

    fn path(folder: &TempDir) -> PathBuf {
        folder.path().join("study.journal")
    }

    /// A machine whose owners give no sign of life in the time of a test.
    fn silent(host: &str) -> Settings {
        let (beat, silence) = (Duration::from_secs(3600), Duration::from_millis(300));
        let timing = Timing { beat, silence, patience: Duration::from_millis(50) };
        Settings { host: Host::named(host), timing }
    }

    /// A machine whose owners give signs of life all the time, and wait long for those of others.
    fn lively(host: &str) -> Settings {
        let (beat, silence) = (Duration::from_millis(20), Duration::from_secs(60));
        let timing = Timing { beat, silence, patience: Duration::from_millis(50) };
        Settings { host: Host::named(host), timing }
    }

    impl JournalFile {
        fn append(&self, at: u64) -> Result<()> {
            self.append_with(at, &[record(at)], &Effects::default()).map(drop)
        }
    }

    #[test]
    fn of_writers_on_two_machines_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let here = JournalFile::create(&path(&folder), lively("a")).unwrap();
        here.append(0).unwrap();
        let there = JournalFile::open(&path(&folder), lively("b")).unwrap();
        let refusal = there.append(1).unwrap_err();
        let told = |holder: &str| holder.contains(" on a, since 20");
        assert!(matches!(&refusal, Error::Locked { holder, .. } if told(holder)), "{refusal}");
        here.append(1).unwrap();
        assert_eq!(there.read(0).unwrap(), records(2), "it can read meanwhile");
        drop(here);
        there.append(2).unwrap();
        assert_eq!(there.read(0).unwrap(), records(3));
    }

    #[test]
    fn a_writer_that_stood_still_harms_nothing_and_acknowledges_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let sleeper = JournalFile::create(&path(&folder), silent("a")).unwrap();
        sleeper.append(0).unwrap();
        let other = JournalFile::open(&path(&folder), silent("b")).unwrap();
        other.append(1).unwrap();
        {
            // It had just made sure that it has the right to write when it fell asleep.
            let (mut slot, end) = (sleeper.shared.writer(), sleeper.shared.view().end);
            let lines = text::write("", 1, &[record(77)]).unwrap();
            let batch = Batch { records: lines, ..Batch::default() };
            slot.as_mut().unwrap().append(&batch.bytes(1, 1).unwrap(), end).unwrap();
            let lost = sleeper.shared.check_writer(&mut slot);
            assert!(
                matches!(&lost, Err(Error::LockLost { holder, .. }) if holder.contains(" on b,"))
            );
        }
        other.append(2).unwrap();
        for store in [&other, &sleeper, &JournalFile::open(&path(&folder), silent("c")).unwrap()] {
            assert_eq!(store.read(0).unwrap(), records(3));
        }
        drop(other);
        sleeper.append(3).unwrap();
        assert_eq!(sleeper.read(0).unwrap(), records(4));
    }

    #[test]
    fn whoever_is_taken_over_finds_out_before_it_writes_again() {
        let folder = tempfile::tempdir().unwrap();
        let sleeper = JournalFile::create(&path(&folder), silent("a")).unwrap();
        sleeper.append(0).unwrap();
        let lease = sleeper.claim(&Claim { evaluations: &[5], most: 1, owner: "ann", ttl: MINUTE });
        let lease = lease.unwrap().remove(0);
        let other = JournalFile::open(&path(&folder), lively("b"));
        // It takes over by force: as people do who know better.
        fs::remove_dir_all(&sleeper.shared.folder).unwrap();
        let other = other.unwrap();
        let taken = other.take_over(&lease, "bob", MINUTE).unwrap().unwrap();
        assert_eq!(taken.attempt, 2);
        let renew = || sleeper.renew(std::slice::from_ref(&lease), MINUTE);
        assert!(matches!(renew(), Err(Error::Locked { .. })), "it did not know yet");
        assert_eq!(renew(), Ok(vec![lease.clone()]), "the lease is lost as well");
        assert!(matches!(sleeper.append(1), Err(Error::Locked { .. })));
        other.append(1).unwrap();
        assert_eq!(sleeper.append(1), Err(Error::Conflict { expected: 1, found: 2 }));
    }

    #[test]
    fn renewed_leases_are_seen_by_others_and_outlast_the_writer() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::by_hand();
        let open = |host| {
            let store = JournalFile::open(&path(&folder), silent(host)).unwrap();
            store.with_clock(clock.clone())
        };
        let first = JournalFile::create(&path(&folder), silent("a")).unwrap();
        first.append(0).unwrap();
        let first = first.with_clock(clock.clone());
        let wanted = Claim { evaluations: &[1, 2], most: 2, owner: "ann", ttl: MINUTE };
        let leases = first.claim(&wanted).unwrap();
        clock.advance(MINUTE / 2);
        assert_eq!(first.renew(&leases[..1], MINUTE), Ok(vec![]));
        clock.advance(MINUTE * 3 / 4);
        let live = |store: &JournalFile| -> Vec<bool> {
            store.leases().unwrap().iter().map(LeaseStatus::is_live).collect()
        };
        assert_eq!(live(&open("b")), [true, false]);
        drop(first);
        let second = open("b");
        assert_eq!(live(&second), [true, false]);
        assert_eq!(second.claim(&wanted).unwrap().len(), 1);
        second.release(&leases[0]).unwrap();
        assert_eq!(live(&open("c")), [false, true], "a renewal does not outlast the release");
    }

    #[test]
    fn a_journal_behind_a_link_stays_behind_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = JournalFile::create(&path(&folder), silent("a")).unwrap();
        store.append(0).unwrap();
        drop(store);
        #[cfg(unix)]
        {
            let link = folder.path().join("link");
            std::os::unix::fs::symlink(path(&folder), &link).unwrap();
            fs::remove_dir_all(folder.path().join("study.journal.lock")).unwrap();
            JournalFile::open(&link, silent("a")).unwrap().append(1).unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            let direct = JournalFile::open(&path(&folder), silent("b")).unwrap();
            assert_eq!(direct.read(0).unwrap(), records(2));
        }
    }
}
