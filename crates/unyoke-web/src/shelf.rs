//! The studies that are served: where they are, how they stand, and what is new.
//!
//! A study is opened when somebody first looks at it and kept as the replay of its journal, which new records are
//! added to, until nobody has looked at it for a while. Looking takes no lock on it. Everything here blocks: it is called on threads for that.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::broadcast;
use unyoke::{Event, Journal, JournalError, MemoryJournal, Record, Stop, Study};
use unyoke_run::{
    Budget, Layout, MeasurementRun, RunSettings, StudyFile, Working, apply_prices_and_wishes,
    working,
};
use unyoke_store::{Location, Store};

use crate::error::{Error, Result};
use crate::shown::{Deed, StudyCard};

/// Between two looks at the journal of a study that somebody watches.
const LOOK: Duration = Duration::from_millis(50);

/// Between two looks at who works on what.
const LEASES: Duration = Duration::from_secs(1);

/// Before a store that cannot be read is tried again.
const TROUBLE: Duration = Duration::from_secs(2);

/// How long a list of studies holds.
const LIST: Duration = Duration::from_secs(3);

/// Records of a journal that are read at once.
const PIECE: usize = 500;

/// What those who watch are sent at most before they must read the journal instead.
const TIDINGS: usize = 256;

/// Where studies are, as somebody named it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    File(PathBuf),
    Folder(PathBuf),
    Store(Location),
    Database(String),
}

impl Place {
    fn parse(text: &str) -> Result<Self> {
        let is_postgres = text.starts_with("postgres://") || text.starts_with("postgresql://");
        if is_postgres && !text.contains("study=") {
            return Ok(Self::Database(text.to_owned()));
        }
        if is_postgres || text.starts_with("file:") || text.ends_with(".db") {
            return Ok(Self::Store(Location::parse(text)?));
        }
        let path = PathBuf::from(text);
        Ok(if path.is_dir() { Self::Folder(path) } else { Self::File(path) })
    }

    /// The studies that are there now.
    fn studies(&self) -> Result<Vec<Origin>> {
        Ok(match self {
            Self::File(path) => vec![Origin::File(path.clone())],
            Self::Store(location) => vec![Origin::Store(location.clone())],
            Self::Folder(path) => study_files(path)?.into_iter().map(Origin::File).collect(),
            Self::Database(url) => Store::studies(url)?.into_iter().map(Origin::Store).collect(),
        })
    }
}

/// The study files in a folder, and those called `study.toml` in the folders below it.
fn study_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |source| Error::File { path: folder.to_owned(), source };
    let mut files = vec![];
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let below = path.join("study.toml");
        if path.extension().is_some_and(|end| end == "toml") && is_study_file(&path) {
            files.push(path);
        } else if path.is_dir() && is_study_file(&below) {
            files.push(below);
        }
    }
    files.sort();
    Ok(files)
}

/// Whether a file is one: other programs have files of this kind as well.
fn is_study_file(path: &Path) -> bool {
    let text = fs::read_to_string(path).unwrap_or_default();
    let begins = |line: &str| {
        let line = line.trim_start();
        line.starts_with("[parameters") || line.starts_with("[objectives")
    };
    text.lines().any(begins)
}

/// Where a study comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    File(PathBuf),
    Store(Location),
}

impl Origin {
    /// What its address is made of.
    fn name(&self) -> String {
        let stem = |path: &Path| {
            path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
        };
        match self {
            Self::File(path) if stem(path) == "study" => {
                let full = path.canonicalize().unwrap_or_else(|_| path.clone());
                full.parent().map_or_else(|| "study".to_owned(), stem)
            }
            Self::File(path) | Self::Store(Location::File(path) | Location::Journal(path)) => {
                stem(path)
            }
            Self::Store(Location::Postgres(url)) => url.study().to_owned(),
        }
    }

    fn store(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Store(location) => location.to_string(),
        }
    }
}

/// All studies that are served.
#[derive(Debug)]
pub(crate) struct Shelf {
    places: Vec<Place>,
    list: Mutex<List>,
}

#[derive(Debug, Default)]
struct List {
    studies: Vec<Arc<Served>>,
    looked: Option<Instant>,
}

impl Shelf {
    /// The studies at these places; at least one of them must be there.
    pub(crate) fn new(places: &[String]) -> Result<Self> {
        let places = places.iter().map(|text| Place::parse(text)).collect::<Result<Vec<_>>>()?;
        let shelf = Self { places, list: Mutex::default() };
        let mut list = shelf.list();
        for place in &shelf.places {
            list.add(place.studies()?);
        }
        // A file that somebody named must be right; one in a folder says what is wrong with it.
        let is_named = |place: &Place| matches!(place, Place::File(_));
        for served in list.studies.iter().filter(|_| shelf.places.iter().all(is_named)) {
            served.terms()?;
        }
        if list.studies.is_empty() {
            let place = shelf.places.iter().map(Place::text).collect::<Vec<_>>().join(", ");
            let reason = "there is no study; `unyoke init` writes a study file".to_owned();
            return Err(Error::NoStudy { place, reason });
        }
        list.looked = Some(Instant::now());
        drop(list);
        Ok(shelf)
    }

    /// All studies, those that are new included. What has gone stays, and says so.
    pub(crate) fn studies(&self) -> Vec<Arc<Served>> {
        let mut list = self.list();
        if list.looked.is_none_or(|looked| looked.elapsed() > LIST) {
            let changing = |place: &&Place| matches!(place, Place::Folder(_) | Place::Database(_));
            for place in self.places.iter().filter(changing) {
                // A database that cannot be reached now has the studies that it had.
                list.add(place.studies().unwrap_or_default());
            }
            list.looked = Some(Instant::now());
        }
        list.studies.clone()
    }

    /// The studies that were found so far.
    pub(crate) fn known(&self) -> Vec<Arc<Served>> {
        self.list().studies.clone()
    }

    /// The study of an address.
    pub(crate) fn study(&self, id: &str) -> Option<Arc<Served>> {
        let known = self.list().studies.iter().find(|study| study.id == id).cloned();
        known.or_else(|| self.studies().into_iter().find(|study| study.id == id))
    }

    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    fn text(&self) -> String {
        match self {
            Self::File(path) | Self::Folder(path) => path.display().to_string(),
            Self::Store(location) => location.to_string(),
            Self::Database(_) => "the database".to_owned(),
        }
    }
}

impl List {
    fn add(&mut self, origins: Vec<Origin>) {
        for origin in origins {
            if self.studies.iter().any(|study| study.origin == origin) {
                continue;
            }
            let slug = slug(&origin.name());
            let is_taken = |id: &str| self.studies.iter().any(|study| study.id == id);
            let mut numbered =
                (1..).map(|n| if n == 1 { slug.clone() } else { format!("{slug}-{n}") });
            let id = numbered.find(|id| !is_taken(id)).unwrap_or_default();
            self.studies.push(Arc::new(Served::new(id, origin)));
        }
    }
}

/// A name as it can stand in addresses.
fn slug(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let slug: String = name.chars().map(plain).take(60).collect();
    let words: Vec<&str> = slug.split('-').filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "study".to_owned() } else { words.join("-") }
}

/// What a study file says beside the problem.
#[derive(Debug)]
pub(crate) struct Terms {
    /// As people call the study.
    pub(crate) name: String,
    pub(crate) location: Location,
    /// The file, if there is one.
    pub(crate) file: Option<StudyFile>,
    pub(crate) budget: Budget,
    pub(crate) run: RunSettings,
    pub(crate) stop: Option<Stop>,
    /// Where its attempts are, if that is known.
    pub(crate) layout: Option<Layout>,
}

impl Terms {
    fn of_file(file: StudyFile, name: String) -> Self {
        Self {
            name: file.name.clone().unwrap_or(name),
            location: file.store.clone(),
            budget: file.budget.clone(),
            run: file.run.clone(),
            stop: file.stop.clone(),
            layout: Some(Layout::new(&file.runs)),
            file: Some(file),
        }
    }

    /// Whether a measurement is made by somebody, as far as the file says.
    pub(crate) fn is_by_hand(&self, measurement: &str) -> Option<bool> {
        let mut runs = self.run.measurements.iter();
        runs.find(|run| run.measurement == measurement).map(MeasurementRun::is_by_hand)
    }

    /// Of a study that nothing is known of but where it is.
    fn of_store(location: Location, name: String) -> Self {
        let run = RunSettings { slots: 1, trials: 3, confirm: None, measurements: vec![] };
        let budget = Budget::default();
        Self { name, location, file: None, budget, run, stop: None, layout: None }
    }
}

/// A study as it stands at a moment.
#[derive(Debug, Clone)]
pub(crate) struct Glance {
    pub(crate) study: Arc<Study<Pages>>,
    pub(crate) terms: Arc<Terms>,
    /// Where it is kept; `None` before it was begun.
    pub(crate) store: Option<Store>,
    /// What was done to each evaluation.
    pub(crate) deeds: Arc<BTreeMap<u64, Vec<Deed>>>,
    /// How many records the journal has.
    pub(crate) position: u64,
    /// Counts changes of the study file.
    pub(crate) edition: u64,
    /// What people should know.
    pub(crate) notes: Vec<String>,
}

/// The journal of a study that is only looked at.
#[derive(Debug, Clone)]
pub(crate) enum Pages {
    /// As it is kept. What has just been read is not read again.
    Kept(Store, Arc<Mutex<Option<Fresh>>>),
    /// A copy, which may be written to.
    Copied(MemoryJournal),
}

/// Records, and where they begin.
type Fresh = (u64, Vec<Record>);

impl Journal for Pages {
    fn read(&self, from: u64) -> Result<Vec<Record>, JournalError> {
        match self {
            Self::Kept(store, fresh) => {
                let mut fresh = fresh.lock().unwrap_or_else(PoisonError::into_inner);
                match fresh.take_if(|(at, _)| *at == from) {
                    Some((_, records)) => Ok(records),
                    None => store.read(from),
                }
            }
            Self::Copied(journal) => journal.read(from),
        }
    }

    fn append(&mut self, at: u64, records: &[Record]) -> Result<(), JournalError> {
        match self {
            Self::Kept(..) => {
                Err(JournalError::Storage { reason: "this is only looked at".to_owned() })
            }
            Self::Copied(journal) => journal.append(at, records),
        }
    }
}

/// News for those who watch a study.
#[derive(Debug, Clone)]
pub(crate) enum Tiding {
    /// A record was added.
    Record {
        /// How many there are with it.
        position: u64,
        /// As it is sent.
        json: Arc<str>,
    },
    /// Views that take long are ready.
    Views {
        /// From so many records.
        position: u64,
        names: &'static [&'static str],
    },
    /// Others work on evaluations than before.
    Live,
    /// The study cannot be read now.
    Trouble(Arc<str>),
}

/// A study that is served.
#[derive(Debug)]
pub(crate) struct Served {
    /// As it stands in addresses.
    pub(crate) id: String,
    origin: Origin,
    state: Mutex<State>,
    tidings: broadcast::Sender<Tiding>,
    watch: Mutex<Watch>,
    /// Keys of requests that are being carried out.
    under_way: Mutex<BTreeSet<String>>,
}

/// Whether somebody watches, and a thread looks for them.
#[derive(Debug, Default)]
struct Watch {
    listeners: usize,
    is_running: bool,
}

#[derive(Debug, Default)]
struct State {
    terms: Option<Read>,
    opened: Option<Glance>,
    /// When somebody last looked at it.
    looked: Option<Instant>,
    edition: u64,
    /// So many records were announced to those who watch.
    announced: Option<u64>,
    /// Why it could not be looked at last time.
    trouble: Option<String>,
}

/// A study file as it was read.
#[derive(Debug)]
struct Read {
    terms: Arc<Terms>,
    stamp: Option<(SystemTime, u64)>,
    /// Why its present content cannot be used.
    trouble: Option<String>,
}

impl Served {
    fn new(id: String, origin: Origin) -> Self {
        let (tidings, _) = broadcast::channel(TIDINGS);
        Self {
            id,
            origin,
            state: Mutex::default(),
            tidings,
            watch: Mutex::default(),
            under_way: Mutex::default(),
        }
    }

    /// The study as it stands now.
    pub(crate) fn look(&self) -> Result<Glance> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.looked = Some(Instant::now());
        let looked = self.look_at(&mut state);
        state.trouble = looked.as_ref().err().map(ToString::to_string);
        looked
    }

    fn look_at(&self, state: &mut State) -> Result<Glance> {
        let terms = state.read_terms(&self.origin)?;
        let known = state.opened.take();
        if known.as_ref().is_some_and(|known| !Arc::ptr_eq(&known.terms, &terms)) {
            state.edition += 1;
        }
        let edition = state.edition;
        let known = known.filter(|known| known.edition == edition && known.store.is_some());
        let (glance, new) = match known {
            Some(known) => look(known)?,
            None => open(terms, edition, state.announced)?,
        };
        if let Some(before) = state.announced {
            self.announce(before, &new);
        }
        state.announced = Some(glance.position);
        state.opened = Some(glance.clone());
        let trouble = state.terms.as_ref().and_then(|read| read.trouble.clone());
        let notes = glance.notes.iter().cloned().chain(trouble).collect();
        Ok(Glance { notes, ..glance })
    }

    /// What its file says now, without looking at the study.
    pub(crate) fn terms(&self) -> Result<Arc<Terms>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.read_terms(&self.origin)
    }

    /// Closes the study; the next look opens it. A journal file that this program has written to is then free
    /// for others.
    pub(crate) fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).opened = None;
    }

    /// Closes the study if nobody watches it, or has looked at it for so long. Whether it is closed.
    pub(crate) fn close_unused(&self, unused: Duration) -> bool {
        let is_watched = self.watch.lock().unwrap_or_else(PoisonError::into_inner).listeners > 0;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_watched && state.looked.is_none_or(|looked| looked.elapsed() >= unused) {
            state.opened = None;
        }
        state.opened.is_none()
    }

    /// The study in the list of all. It is not opened for that: there may be many.
    pub(crate) fn card(&self) -> StudyCard {
        let trouble = self.terms().err().map(|error| error.to_string());
        let card = self.quick_card();
        StudyCard { trouble: trouble.or(card.trouble.clone()), ..card }
    }

    /// Its name and place, without opening it.
    pub(crate) fn quick_card(&self) -> StudyCard {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let terms = state.terms.as_ref().map(|read| &read.terms);
        StudyCard {
            id: self.id.clone(),
            name: terms.map_or_else(|| self.origin.name(), |terms| terms.name.clone()),
            store: terms.map_or_else(|| self.origin.store(), |terms| terms.location.to_string()),
            position: state.opened.as_ref().map(|glance| glance.position),
            trouble: state.trouble.clone(),
        }
    }

    /// Marks a request as under way, until what is returned is dropped. `None` if it is already.
    pub(crate) fn begin(self: &Arc<Self>, key: &str) -> Option<UnderWay> {
        let mut keys = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = keys.insert(key.to_owned());
        is_new.then(|| UnderWay { served: Arc::clone(self), key: key.to_owned() })
    }

    /// Tells those who watch.
    pub(crate) fn tell(&self, tiding: Tiding) {
        // Nobody may be there.
        let _ = self.tidings.send(tiding);
    }

    fn announce(&self, from: u64, records: &[Record]) {
        if self.tidings.receiver_count() == 0 {
            return;
        }
        for (position, record) in (from + 1..).zip(records) {
            self.tell(Tiding::Record { position, json: record_json(position, record) });
        }
    }

    /// Watches the study from now on, until the listener is dropped.
    pub(crate) fn listen(self: &Arc<Self>) -> Listener {
        let tidings = self.tidings.subscribe();
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        watch.listeners += 1;
        if !watch.is_running {
            let served = Arc::clone(self);
            let thread = std::thread::Builder::new().name("watch".to_owned());
            // Without a thread, news come when somebody looks.
            watch.is_running = thread.spawn(move || served.watch()).is_ok();
        }
        drop(watch);
        Listener { served: Arc::clone(self), tidings }
    }

    /// Whether somebody watches; if not, whoever comes next begins a new thread.
    fn is_watched(&self) -> bool {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        watch.is_running = watch.listeners > 0;
        watch.is_running
    }

    /// Looks at the journal again and again as long as somebody listens.
    fn watch(&self) {
        let (mut since, mut live) = (Instant::now(), None);
        while self.is_watched() {
            let looked = self.look();
            let pause = match &looked {
                Ok(_) => LOOK,
                Err(error) => {
                    self.tell(Tiding::Trouble(error.to_string().into()));
                    TROUBLE
                }
            };
            if since.elapsed() >= LEASES {
                since = Instant::now();
                let now = looked.ok().and_then(|glance| glance.working().ok());
                if now.is_some() && live.is_some() && now != live {
                    self.tell(Tiding::Live);
                }
                live = now.or(live);
            }
            std::thread::sleep(pause);
        }
    }
}

/// A request that is being carried out.
#[derive(Debug)]
pub(crate) struct UnderWay {
    served: Arc<Served>,
    key: String,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let keys = self.served.under_way.lock();
        keys.unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

/// Somebody who watches a study.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) served: Arc<Served>,
    pub(crate) tidings: broadcast::Receiver<Tiding>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut watch = self.served.watch.lock().unwrap_or_else(PoisonError::into_inner);
        watch.listeners = watch.listeners.saturating_sub(1);
    }
}

/// A record as it is sent.
pub(crate) fn record_json(position: u64, record: &Record) -> Arc<str> {
    serde_json::json!({ "position": position, "record": record }).to_string().into()
}

impl Glance {
    /// Who works on what.
    pub(crate) fn working(&self) -> Result<BTreeMap<u64, Working>> {
        let Some(store) = &self.store else { return Ok(BTreeMap::new()) };
        // Without a layout there are no attempts here.
        let nowhere = Layout::new("");
        Ok(working(self.terms.layout.as_ref().unwrap_or(&nowhere), store)?)
    }

    /// A copy of the study in memory, which may be changed.
    pub(crate) fn copy(&self) -> Result<Study<Pages>> {
        let records = match &self.store {
            Some(store) => store.read(0)?,
            None => return Ok(Study::clone(&self.study)),
        };
        let known = usize::try_from(self.position).unwrap_or(usize::MAX).min(records.len());
        copied(&records[..known], &self.terms)
    }
}

impl State {
    /// What the study file says, read again if it has changed.
    fn read_terms(&mut self, origin: &Origin) -> Result<Arc<Terms>> {
        let name = || origin.name();
        let path = match origin {
            Origin::File(path) => path,
            Origin::Store(location) => {
                let terms = || Arc::new(Terms::of_store(location.clone(), name()));
                let read = || Read { terms: terms(), stamp: None, trouble: None };
                return Ok(Arc::clone(&self.terms.get_or_insert_with(read).terms));
            }
        };
        let stamp = fs::metadata(path).ok().and_then(|m| Some((m.modified().ok()?, m.len())));
        if let Some(read) = &self.terms
            && read.stamp == stamp
        {
            return Ok(Arc::clone(&read.terms));
        }
        match (StudyFile::read(path), &mut self.terms) {
            (Ok(file), _) => {
                let terms = Arc::new(Terms::of_file(file, name()));
                self.terms = Some(Read { terms: Arc::clone(&terms), stamp, trouble: None });
                Ok(terms)
            }
            // People save files that are half done; what was read before holds meanwhile.
            (Err(error), Some(read)) => {
                read.stamp = stamp;
                read.trouble = Some(format!(
                    "the study file has changed and cannot be read, so what it said before still counts: {error}"
                ));
                Ok(Arc::clone(&read.terms))
            }
            (Err(error), None) => Err(error.into()),
        }
    }
}

/// The study as it stands, from how it stood, and the records that are new.
fn look(mut known: Glance) -> Result<(Glance, Vec<Record>)> {
    let Some(store) = known.store.clone() else { return Ok((known, vec![])) };
    let new = store.read(known.position)?;
    if new.is_empty() {
        return Ok((known, new));
    }
    let (from, terms) = (known.position, Arc::clone(&known.terms));
    note_deeds(Arc::make_mut(&mut known.deeds), from, &new);
    known.position += new.len() as u64;
    let is_copied = matches!(known.study.journal(), Pages::Copied(_));
    if !is_copied {
        let study = Arc::make_mut(&mut known.study);
        hand_over(study, from, new.clone());
        study.refresh()?;
    }
    if is_copied || differs(&known.study, &terms)? {
        known.study = Arc::new(shown(replayed(&store, |_, _| {})?, &store, &terms)?);
    }
    known.notes = standing_notes(&known.study, &terms);
    Ok((known, new))
}

/// Opens a study; the records from `announced` on are new.
fn open(terms: Arc<Terms>, edition: u64, announced: Option<u64>) -> Result<(Glance, Vec<Record>)> {
    let store = match (Store::open(&terms.location), &terms.file) {
        (Err(unyoke_store::Error::NoStudy { .. }), Some(file)) => {
            return Ok((unbegun(&terms, file, edition)?, vec![]));
        }
        (store, _) => store?,
    };
    let (mut deeds, mut new) = (BTreeMap::new(), vec![]);
    let study = replayed(&store, |from, records| {
        note_deeds(&mut deeds, from, records);
        let is_new = |position: u64| announced.is_some_and(|announced| position >= announced);
        let numbered = (from..).zip(records).filter(|(position, _)| is_new(*position));
        new.extend(numbered.map(|(_, record)| record.clone()));
    })?;
    let position = study.position();
    let study = Arc::new(shown(study, &store, &terms)?);
    let notes = standing_notes(&study, &terms);
    let (store, deeds) = (Some(store), Arc::new(deeds));
    Ok((Glance { study, terms, store, deeds, position, edition, notes }, new))
}

/// A study that was not begun yet, as it would begin.
fn unbegun(terms: &Arc<Terms>, file: &StudyFile, edition: u64) -> Result<Glance> {
    let journal = Pages::Copied(MemoryJournal::default());
    let study = Study::create(file.problem.clone(), file.initial_config(), file.seed, journal)?;
    let notes = vec!["the study has not begun: nothing was asked for or imported".to_owned()];
    let (study, terms, deeds) = (Arc::new(study), Arc::clone(terms), Arc::default());
    Ok(Glance { study, terms, store: None, deeds, position: 0, edition, notes })
}

/// The study of a store. Its records are read in pieces, each shown to `see` with its position: one after the other,
/// they need little room.
fn replayed(store: &Store, mut see: impl FnMut(u64, &[Record])) -> Result<Study<Pages>> {
    let first = store.read_at_most(0, PIECE)?;
    let (mut count, mut from) = (first.len(), 0);
    see(from, &first);
    let fresh = Arc::new(Mutex::new(Some((from, first))));
    let mut study = Study::open(Pages::Kept(store.clone(), fresh))?;
    while count == PIECE {
        from += count as u64;
        let piece = store.read_at_most(from, PIECE)?;
        count = piece.len();
        see(from, &piece);
        hand_over(&study, from, piece);
        study.refresh()?;
    }
    Ok(study)
}

/// The study with the prices and wishes of its file.
fn shown(study: Study<Pages>, store: &Store, terms: &Terms) -> Result<Study<Pages>> {
    if differs(&study, terms)? { copied(&store.read(0)?, terms) } else { Ok(study) }
}

/// The same in memory.
fn copied(records: &[Record], terms: &Terms) -> Result<Study<Pages>> {
    let mut journal = MemoryJournal::default();
    journal.append(0, records)?;
    let mut study = Study::open(Pages::Copied(journal))?;
    if let Some(file) = terms.file.as_ref().filter(|file| file.check_problem(&study).is_ok()) {
        apply_prices_and_wishes(&mut study, &file.problem, &file.config)?;
    }
    Ok(study)
}

/// Whether the file has other prices or wishes than the study, which the next run will follow.
fn differs(study: &Study<Pages>, terms: &Terms) -> Result<bool> {
    let Some(file) = &terms.file else { return Ok(false) };
    if file.check_problem(study).is_err() {
        return Ok(false);
    }
    for measurement in &file.problem.measurements {
        if study.cost(&measurement.name)? != &measurement.cost {
            return Ok(true);
        }
    }
    Ok(study.config().wishes() != file.config.wishes())
}

fn standing_notes(study: &Study<Pages>, terms: &Terms) -> Vec<String> {
    let other = terms.file.as_ref().and_then(|file| file.check_problem(study).err());
    other.map(|error| error.to_string()).into_iter().collect()
}

/// Lets a study take in records that were read before.
fn hand_over(study: &Study<Pages>, from: u64, records: Vec<Record>) {
    if let Pages::Kept(_, fresh) = study.journal() {
        *fresh.lock().unwrap_or_else(PoisonError::into_inner) = Some((from, records));
    }
}

/// Notes what records did to which evaluations.
fn note_deeds(deeds: &mut BTreeMap<u64, Vec<Deed>>, from: u64, records: &[Record]) {
    // The few who write are named again and again.
    let mut names: BTreeSet<Arc<str>> = BTreeSet::new();
    for (position, record) in (from + 1..).zip(records) {
        let Some((evaluation, what)) = subject(&record.event) else { continue };
        let by = record.by.as_deref().map(|by| match names.get(by) {
            Some(name) => Arc::clone(name),
            None => {
                let name: Arc<str> = by.into();
                names.insert(Arc::clone(&name));
                name
            }
        });
        let own: &mut Vec<Deed> = deeds.entry(evaluation).or_default();
        // Few evaluations have more than two.
        own.reserve_exact(1);
        own.push(Deed { position, what, by, at: record.at });
    }
}

/// The evaluation that an event is about, and what it did to it.
pub(crate) fn subject(event: &Event) -> Option<(u64, &'static str)> {
    Some(match event {
        Event::Asked { evaluation, .. }
        | Event::ConfirmationAsked { evaluation, .. }
        | Event::QueuedAsked { evaluation, .. } => (*evaluation, "asked"),
        Event::Measured { evaluation, .. } | Event::Told { evaluation, .. } => {
            (*evaluation, "measured")
        }
        Event::Added { evaluation, .. } | Event::Imported { evaluation, .. } => {
            (*evaluation, "imported")
        }
        Event::Failed { evaluation, .. } => (*evaluation, "failed"),
        Event::Retried { evaluation } => (*evaluation, "retried"),
        Event::Withdrawn { evaluation } => (*evaluation, "withdrawn"),
        Event::Skipped { evaluation } => (*evaluation, "skipped"),
        Event::Corrected { evaluation, .. } => (*evaluation, "corrected"),
        Event::Retracted { evaluation, .. } => (*evaluation, "retracted"),
        _ => return None,
    })
}
