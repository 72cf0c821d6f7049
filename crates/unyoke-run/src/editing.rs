//! Single changes of a study file, as somebody would make them in an editor: comments and everything else stay.

use std::fs;
use std::io::Write;
use std::path::Path;

use toml_edit::{DocumentMut, Item, TableLike, Value};
use unyoke::Cost;

use crate::error::{Error, Result};
use crate::study_file::StudyFile;

/// Where a measurement may have its price.
const SECTIONS: [&str; 3] = ["measurements", "objectives", "constraints"];

impl StudyFile {
    /// The file with another price of a measurement, written. The next run follows it.
    pub fn change_price(&self, measurement: &str, price: f64) -> Result<Self> {
        let place = self.problem.measurement_index(measurement)?;
        let mut expected = self.clone();
        expected.problem.measurements[place].cost = Cost::Constant(price);
        self.edit(&expected, |document| {
            let mut sections = SECTIONS.into_iter();
            let section = sections.find(|section| {
                document.get(section).and_then(|all| all.get(measurement)?.get("cost")).is_some()
            })?;
            set(document.get_mut(section)?.get_mut(measurement)?.as_table_like_mut()?, price);
            Some(())
        })
    }

    /// The file with another budget, written; without a cost there is no limit.
    pub fn change_budget(&self, cost: Option<f64>) -> Result<Self> {
        let mut expected = self.clone();
        expected.budget.cost = cost;
        self.edit(&expected, |document| {
            let new = Item::Table(toml_edit::Table::new());
            let budget = document.entry("budget").or_insert(new).as_table_like_mut()?;
            match cost {
                Some(cost) => set(budget, cost),
                None => drop(budget.remove("cost")),
            }
            Some(())
        })
    }

    /// Makes a change, and writes the file if it means what is expected of it and nothing else.
    fn edit(
        &self,
        expected: &Self,
        change: impl FnOnce(&mut DocumentMut) -> Option<()>,
    ) -> Result<Self> {
        let refused = || Error::Refused {
            reason: format!("{} cannot be changed from here; edit it", self.path().display()),
        };
        let document = self.text().parse::<DocumentMut>();
        let mut document = document.map_err(Error::bad_file(self.path()))?;
        change(&mut document).ok_or_else(refused)?;
        let text = document.to_string();
        let changed = Self::parse(self.path(), text.as_bytes())?;
        let is_expected = changed.problem == expected.problem
            && changed.budget == expected.budget
            && changed.run == expected.run
            && changed.config == expected.config;
        if !is_expected {
            return Err(refused());
        }
        if text != self.text() {
            replace(self.path(), text.as_bytes()).map_err(Error::io(self.path()))?;
        }
        Ok(changed)
    }
}

/// Sets `cost` in a table; what is said behind it stays.
fn set(table: &mut dyn TableLike, cost: f64) {
    let mut value = Value::from(cost);
    if let Some(before) = table.get("cost").and_then(Item::as_value) {
        *value.decor_mut() = before.decor().clone();
    }
    match table.get_mut("cost") {
        Some(item) => *item = Item::Value(value),
        None => drop(table.insert("cost", Item::Value(value))),
    }
}

/// Writes a file in full or not at all. Where a link leads to it, it stays where it is.
fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let path = path.canonicalize()?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    fs::set_permissions(file.path(), fs::metadata(&path)?.permissions())?;
    file.persist(&path).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"# the wing
[budget]
cost = 100 # until Friday

[parameters.x]
low = 0
high = 1

[objectives.mass]
direction = "minimise"
cost = 1   # a second

[objectives.drag]
direction = "minimise"

[measurements]
cfd = { outputs = ["drag"], cost = 20 }
"#;

    fn written(text: &str) -> (tempfile::TempDir, StudyFile) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wing.toml");
        fs::write(&path, text).unwrap();
        let file = StudyFile::read(&path).unwrap();
        (folder, file)
    }

    fn now(file: &StudyFile) -> String {
        fs::read_to_string(file.path()).unwrap()
    }

    #[test]
    fn prices_change_where_they_stand_and_nothing_else_does() {
        let (_folder, file) = written(TEXT);
        let changed = file.change_price("mass", 2.5).unwrap();
        assert_eq!(now(&file), TEXT.replace("cost = 1   #", "cost = 2.5   #"));
        let changed = changed.change_price("cfd", 12.0).unwrap();
        assert_eq!(changed.problem.measurements[1].cost, Cost::Constant(12.0));
        assert!(now(&file).contains("cfd = { outputs = [\"drag\"], cost = 12.0 }"));
        assert_eq!(StudyFile::read(file.path()).unwrap().problem, changed.problem);
        assert!(changed.change_price("lift", 1.0).is_err());
        let before = now(&file);
        assert!(changed.change_price("mass", -1.0).is_err() && now(&file) == before);
    }

    #[test]
    fn a_budget_is_changed_taken_away_and_added() {
        let (_folder, file) = written(TEXT);
        let changed = file.change_budget(Some(120.5)).unwrap();
        assert_eq!(now(&file), TEXT.replace("cost = 100", "cost = 120.5"));
        let changed = changed.change_budget(None).unwrap();
        assert_eq!((changed.budget.cost, now(&file).contains("120.5")), (None, false));
        let (_folder, file) = written(&TEXT.replace("[budget]\ncost = 100 # until Friday\n", ""));
        assert_eq!(file.change_budget(Some(7.0)).unwrap().budget.cost, Some(7.0));
        assert_eq!(StudyFile::read(file.path()).unwrap().budget.cost, Some(7.0));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_rights_stay() {
        use std::os::unix::fs::PermissionsExt;
        let (folder, file) = written(TEXT);
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o640)).unwrap();
        let link = folder.path().join("link.toml");
        std::os::unix::fs::symlink(file.path(), &link).unwrap();
        StudyFile::read(&link).unwrap().change_budget(Some(1.0)).unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert!(now(&file).contains("cost = 1.0"));
        assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o777, 0o640);
    }
}
