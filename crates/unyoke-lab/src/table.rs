//! Runs as tables in files: a row per evaluation.

use crate::error::{Error, Result};
use crate::method::Method;
use std::io::Write;
use std::path::Path;

/// One evaluation of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The instance's number.
    pub instance: u32,
    /// Who chose.
    pub method: Method,
    /// Counted from one.
    pub step: usize,
    /// Name of the objective that was evaluated.
    pub objective: String,
    /// Values of the parameters, in their order.
    pub design: Vec<f64>,
    /// What came out, with noise.
    pub value: f64,
    /// Cost of this evaluation.
    pub cost: f64,
    /// Cost of all so far.
    pub cumulative_cost: f64,
    /// How good the recommendation is now; empty while it cannot be judged.
    pub metrics: Option<Metrics>,
    /// Time to choose, seconds.
    pub suggest_seconds: f64,
    /// Time to measure, seconds.
    pub metrics_seconds: f64,
}

/// How good a recommendation is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metrics {
    /// Expected loss of a decision maker, Eq. (17).
    pub bayesian_regret: f64,
    /// Hypervolume that the true image of the recommendation lacks.
    pub hypervolume_regret: f64,
    /// Hypervolume of the values observed at designs where every objective was.
    pub observed_hypervolume: f64,
}

/// The columns of a file of runs.
const COLUMNS: [&str; 13] = [
    "instance",
    "algorithm",
    "step",
    "objective",
    "design",
    "value",
    "cost",
    "cumulative_cost",
    "bayesian_regret",
    "hypervolume_regret",
    "observed_hypervolume",
    "suggest_seconds",
    "metrics_seconds",
];

impl Row {
    /// The cells of this row. Numbers are written so that they are read back to the bit.
    fn cells(&self) -> [String; COLUMNS.len()] {
        let design: Vec<String> = self.design.iter().map(f64::to_string).collect();
        let metric = |of: fn(&Metrics) -> f64| {
            self.metrics.as_ref().map(|metrics| of(metrics).to_string()).unwrap_or_default()
        };
        [
            self.instance.to_string(),
            self.method.name().to_owned(),
            self.step.to_string(),
            self.objective.clone(),
            design.join(" "),
            self.value.to_string(),
            self.cost.to_string(),
            self.cumulative_cost.to_string(),
            metric(|m| m.bayesian_regret),
            metric(|m| m.hypervolume_regret),
            metric(|m| m.observed_hypervolume),
            format!("{:.6}", self.suggest_seconds),
            format!("{:.6}", self.metrics_seconds),
        ]
    }

    /// The row that `cells` stand for, or what is wrong with them.
    fn from_cells(cells: &csv::StringRecord) -> Result<Self, String> {
        let text = |i: usize| cells.get(i).ok_or_else(|| format!("{} is missing", COLUMNS[i]));
        let number = |i: usize| -> Result<f64, String> {
            let text = text(i)?;
            text.parse().map_err(|_| format!("{} is not a number: {text:?}", COLUMNS[i]))
        };
        let whole = |i: usize| -> Result<usize, String> {
            let text = text(i)?;
            text.parse().map_err(|_| format!("{} is not a whole number: {text:?}", COLUMNS[i]))
        };
        let coordinate = |word: &str| {
            word.parse::<f64>().map_err(|_| format!("design has a wrong number: {word:?}"))
        };
        let metrics = match text(8)? {
            "" => None,
            _ => Some(Metrics {
                bayesian_regret: number(8)?,
                hypervolume_regret: number(9)?,
                observed_hypervolume: number(10)?,
            }),
        };
        Ok(Self {
            instance: u32::try_from(whole(0)?).map_err(|e| format!("instance: {e}"))?,
            method: text(1)?.parse().map_err(|e: Error| e.to_string())?,
            step: whole(2)?,
            objective: text(3)?.to_owned(),
            design: text(4)?.split_whitespace().map(coordinate).collect::<Result<_, _>>()?,
            value: number(5)?,
            cost: number(6)?,
            cumulative_cost: number(7)?,
            metrics,
            suggest_seconds: number(11)?,
            metrics_seconds: number(12)?,
        })
    }
}

/// Writes a finished run, all of it or nothing: a reader never sees half a file.
pub(crate) fn write_run(path: &Path, rows: &[Row]) -> Result<()> {
    let mut table = csv::Writer::from_writer(Vec::new());
    let written = table
        .write_record(COLUMNS)
        .and_then(|()| rows.iter().try_for_each(|row| table.write_record(row.cells())));
    written.map_err(Error::bad_file(path))?;
    let bytes = table.into_inner().map_err(Error::bad_file(path))?;
    write_whole(path, &bytes)
}

/// Replaces a file by `bytes` in one step.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
    let write = || {
        let mut file = tempfile::Builder::new().prefix(".writing-").tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)
    };
    write().map(drop).map_err(Error::io(path))
}

/// Reads a finished run.
pub fn read_run(path: &Path) -> Result<Vec<Row>> {
    let mut table = csv::Reader::from_path(path).map_err(Error::bad_file(path))?;
    let header = table.headers().map_err(Error::bad_file(path))?;
    if header.iter().ne(COLUMNS) {
        let reason = format!("the columns are not {}", COLUMNS.join(","));
        return Err(Error::BadFile { path: path.to_owned(), reason });
    }
    let row = |(i, record): (usize, csv::Result<csv::StringRecord>)| {
        let record = record.map_err(Error::bad_file(path))?;
        let reason = |reason: String| format!("line {}: {reason}", i + 2);
        Row::from_cells(&record).map_err(reason).map_err(Error::bad_file(path))
    };
    table.records().enumerate().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        Row {
            instance: 7,
            method: Method::ImprovedCMokg,
            step: 3,
            objective: "f1".to_owned(),
            design: vec![0.1, 1.0 / 3.0],
            value: -1.0 / 7.0,
            cost: 10.0,
            cumulative_cost: 76.0,
            metrics: Some(Metrics {
                bayesian_regret: 0.1 + 0.2,
                hypervolume_regret: 1e-17,
                observed_hypervolume: 3.0,
            }),
            suggest_seconds: 0.25,
            metrics_seconds: 0.5,
        }
    }

    #[test]
    fn a_run_is_read_back_to_the_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/in/7.csv");
        let rows = vec![Row { metrics: None, ..row() }, row()];
        write_run(&path, &rows).unwrap();
        assert_eq!(read_run(&path).unwrap(), rows);
        let left: Vec<_> = std::fs::read_dir(path.parent().unwrap()).unwrap().collect();
        assert_eq!(left.len(), 1, "no temporary file is left");
    }

    #[test]
    fn a_damaged_file_is_named_with_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("7.csv");
        write_run(&path, &[row()]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap().replace("-0.14", "x0.14");
        std::fs::write(&path, text).unwrap();
        let message = read_run(&path).unwrap_err().to_string();
        assert!(message.contains("7.csv") && message.contains("line 2: value"), "{message}");
        std::fs::write(&path, "a,b\n1,2\n").unwrap();
        assert!(read_run(&path).unwrap_err().to_string().contains("columns"));
    }
}
