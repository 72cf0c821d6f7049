//! From a study file to its study: opened where it is kept, or begun.

use std::path::Path;

use unyoke::{Config, Journal, JournalError, Measurement, Problem, Study};
use unyoke_store::{Location, Store};

use crate::error::{Error, Result};
use crate::process::Layout;
use crate::signing::user;
use crate::study_file::StudyFile;

/// A study and, beside it, the store with its leases.
#[derive(Debug, Clone)]
pub struct Opened {
    /// The study.
    pub study: Study<Store>,
    /// Where it is kept.
    pub store: Store,
}

/// A study to look at and, beside it, the store with its leases.
#[derive(Debug, Clone)]
pub struct Looked {
    /// The study, in memory.
    pub study: Study,
    /// Where it is kept.
    pub store: Store,
    /// Whether the file has other wishes than the study had so far; those of the file count here.
    pub amended: bool,
}

impl StudyFile {
    /// The study of this file, which must have been begun.
    pub fn open(&self) -> Result<Opened> {
        self.open_as(user().as_deref())
    }

    fn open_as(&self, by: Option<&str>) -> Result<Opened> {
        let store = Store::open(&self.store)?;
        store.sign_as(by)?;
        let study = Study::open(store.clone())?;
        self.check_problem(&study)?;
        Ok(Opened { study, store })
    }

    /// The study of this file to look at: in memory, so that nothing done to it is written down, and
    /// with the prices and wishes of the file.
    pub fn look(&self) -> Result<Looked> {
        let store = Store::open(&self.store)?;
        let mut study = Study::replay(store.read(0).map_err(unyoke::Error::from)?)?;
        self.check_problem(&study)?;
        let amended = apply_prices_and_wishes(&mut study, &self.problem, &self.config)?;
        Ok(Looked { study, store, amended })
    }

    /// The study of this file as [`StudyFile::look`] has it, with its leases read as well; `None` if it
    /// was not begun yet and could be. Fails with whatever would keep a run from beginning, and
    /// changes nothing.
    pub fn examine(&self) -> Result<Option<Looked>> {
        match self.look() {
            Ok(looked) => {
                // Parts of the store that a replay does not need may be damaged as well.
                looked.store.leases()?;
                looked.store.late()?;
                Ok(Some(looked))
            }
            Err(Error::Store(unyoke_store::Error::NoStudy { .. })) => {
                self.check_creatable().map(|()| None)
            }
            Err(error) => Err(error),
        }
    }

    fn check_creatable(&self) -> Result<()> {
        Store::check_creatable(&self.store)?;
        if !Layout::new(&self.runs).is_empty()? {
            return Err(Error::LeftOver { folder: self.runs.clone() });
        }
        let folder_of = |path: &Path| path.parent().map(Path::to_owned).unwrap_or_default();
        if let Location::File(path) | Location::Journal(path) = &self.store {
            try_to_write(&folder_of(path))?;
        }
        try_to_write(&folder_of(&self.runs))
    }

    /// The study of this file, begun if need be. Costs and wishes that were changed in the file are
    /// from now on those of the study.
    pub fn open_or_create(&self) -> Result<Opened> {
        self.open_or_create_as(user().as_deref())
    }

    /// The same for somebody of this name, if that is known.
    pub fn open_or_create_as(&self, by: Option<&str>) -> Result<Opened> {
        let mut opened = match self.open_as(by) {
            Err(Error::Store(unyoke_store::Error::NoStudy { .. })) => self.create_as(by)?,
            opened => opened?,
        };
        apply_prices_and_wishes(&mut opened.study, &self.problem, &self.config)?;
        Ok(opened)
    }

    fn create_as(&self, by: Option<&str>) -> Result<Opened> {
        if !Layout::new(&self.runs).is_empty()? {
            // Unless somebody else has just begun it, these are of another study.
            return match self.open_as(by) {
                Err(Error::Store(unyoke_store::Error::NoStudy { .. })) => {
                    Err(Error::LeftOver { folder: self.runs.clone() })
                }
                opened => opened,
            };
        }
        Layout::new(&self.runs).forget_counts()?;
        let store = match Store::create(&self.store) {
            Err(unyoke_store::Error::StudyExists { .. }) => return self.open_as(by),
            store => store?,
        };
        store.sign_as(by)?;
        let (problem, config) = (self.problem.clone(), self.initial_config());
        match Study::create(problem, config, self.seed, store.clone()) {
            Err(unyoke::Error::Journal(JournalError::Conflict { .. })) => self.open_as(by),
            study => Ok(Opened { study: study?, store }),
        }
    }

    /// Fails if the file describes another problem than the study has. Prices may differ: they may
    /// change.
    pub fn check_problem<J: Journal>(&self, study: &Study<J>) -> Result<()> {
        let amendment = self.amendment(study).filter(|one| !one.problem_changes.is_empty());
        let Some(amendment) = amendment else { return Ok(()) };
        let (path, location) = (self.path().to_owned(), self.store.to_string());
        let changes = amendment.changes().map(ToString::to_string).collect();
        let refusal = amendment.check(study).err().map(|error| error.to_string());
        Err(Error::OtherProblem { path, location, changes, refusal })
    }
}

/// Fails if nothing can be written to a folder. Rights may come from groups and lists that only the
/// system understands, so it is asked; the file has no name and is gone at once.
fn try_to_write(folder: &Path) -> Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    tempfile::tempfile_in(folder).map(drop).map_err(Error::io(folder))
}

/// Makes the prices of `problem` and the wishes in `config` those of the study; whether these wishes are
/// new. Whatever else differs stays as it was begun.
pub fn apply_prices_and_wishes<J: Journal>(
    study: &mut Study<J>,
    problem: &Problem,
    config: &Config,
) -> Result<bool> {
    for Measurement { name, cost, .. } in &problem.measurements {
        if study.cost(name)? != cost {
            study.set_cost(name, cost.clone())?;
        }
    }
    let wishes = config.wishes();
    let is_new = study.config().wishes() != wishes;
    if is_new {
        study.amend(wishes)?;
    }
    Ok(is_new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::TempDir;
    use unyoke::Cost;

    const TEXT: &str = "
        [parameters.x]
        low = 0
        high = 1

        [objectives.mass]
        goal = \"minimise\"
        cost = 1
    ";

    fn file(folder: &TempDir, text: &str) -> StudyFile {
        StudyFile::parse(folder.path().join("beam.toml"), text.as_bytes()).unwrap()
    }

    #[test]
    fn a_study_is_begun_beside_its_file_and_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(&folder, TEXT);
        let missing = file.open().unwrap_err();
        assert!(matches!(missing, Error::Store(unyoke_store::Error::NoStudy { .. })));
        let evaluation = file.open_or_create().unwrap().study.ask().unwrap().evaluation;
        assert!(folder.path().join("beam.db").exists());
        assert_eq!(file.open().unwrap().study.evaluations()[0].id, evaluation);
        assert_eq!(file.open_or_create().unwrap().study.evaluations().len(), 1);
    }

    #[test]
    fn a_changed_cost_is_taken_over_and_another_problem_refused() {
        let folder = tempfile::tempdir().unwrap();
        file(&folder, TEXT).open_or_create().unwrap();
        let costlier = file(&folder, &TEXT.replace("cost = 1", "cost = 2.5"));
        assert_eq!(costlier.look().unwrap().study.cost("mass").unwrap(), &Cost::Constant(2.5));
        assert_eq!(
            costlier.open().unwrap().study.cost("mass").unwrap(),
            &Cost::Constant(1.0),
            "only looked at"
        );
        assert_eq!(
            costlier.open_or_create().unwrap().study.cost("mass").unwrap(),
            &Cost::Constant(2.5)
        );
        for (from, to, differs) in [
            ("high = 1", "high = 2", &["parameter \"x\" high from 1.0 to 2.0"][..]),
            (
                "minimise",
                "maximise",
                &["objective \"mass\" direction from \"minimise\" to \"maximise\""],
            ),
            (
                "mass",
                "drag",
                &[
                    "objective \"mass\" is removed",
                    "objective \"drag\" is new",
                    "measurement \"mass\" is removed",
                    "measurement \"drag\" is new",
                ],
            ),
        ] {
            let other = file(&folder, &TEXT.replace(from, to));
            let refused = other.open_or_create().unwrap_err();
            assert!(
                matches!(&refused, Error::OtherProblem { changes, .. } if changes == differs),
                "{refused}"
            );
        }
    }

    #[test]
    fn what_would_keep_a_run_from_beginning_is_found_without_a_trace() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(&folder, TEXT);
        assert!(file.examine().unwrap().is_none());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "it left something behind");
        fs::create_dir_all(file.runs.join("000000/1")).unwrap();
        assert!(matches!(file.examine(), Err(Error::LeftOver { .. })));
        fs::remove_dir_all(&file.runs).unwrap();
        file.open_or_create().unwrap().study.ask().unwrap();
        assert_eq!(file.examine().unwrap().unwrap().study.evaluations().len(), 1);
        let nowhere =
            TEXT.replacen("[parameters", "[study]\nstore = \"no/such/x.db\"\n[parameters", 1);
        assert!(super::tests::file(&folder, &nowhere).examine().is_err());
    }

    #[test]
    fn wishes_that_were_changed_in_the_file_count_from_now_on_and_are_written_once() {
        let folder = tempfile::tempdir().unwrap();
        let begun = file(&folder, TEXT).open_or_create().unwrap().study;
        let position = begun.position();
        let wanting = TEXT.replacen("cost", "enough = 5\ncost", 1);
        let changed = file(&folder, &wanting);
        let looked = changed.look().unwrap();
        assert!(looked.amended && !looked.study.config().enough.is_empty());
        // Looking wrote nothing.
        assert_eq!(file(&folder, TEXT).open().unwrap().study.position(), position);
        for _ in 0..2 {
            let study = changed.open_or_create().unwrap().study;
            assert_eq!(study.config().wishes(), changed.config.wishes());
            assert_eq!(study.position(), position + 1);
        }
        assert!(!changed.look().unwrap().amended);
        assert_eq!(file(&folder, TEXT).open_or_create().unwrap().study.position(), position + 2);
    }

    #[test]
    fn attempts_of_a_deleted_study_are_not_taken_for_those_of_a_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(&folder, TEXT);
        fs::create_dir_all(file.runs.join("000000/1")).unwrap();
        assert!(matches!(file.open_or_create().unwrap_err(), Error::LeftOver { .. }));
        fs::remove_dir_all(&file.runs).unwrap();
        assert!(file.open_or_create().is_ok());
    }
}
