//! Initial designs with their values from a file: runs that start where others did.

use crate::error::{Error, Result};
use crate::instance::{InitialData, Instance};
use serde::Deserialize;
use std::path::Path;
use unyoke_math::Points;

/// One instance's entry in a file; other fields may be there too.
#[derive(Deserialize)]
struct Entry {
    id: u32,
    x: Vec<Vec<f64>>,
    y: Vec<Vec<f64>>,
}

/// Gives every instance its initial data from a file: a JSON list of objects with `id`, `x`
/// (designs) and `y` (values of all objectives there, with their noise).
pub(crate) fn read_initial(path: &Path, instances: &mut [Instance]) -> Result<()> {
    let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
    let entries: Vec<Entry> = serde_json::from_str(&text).map_err(Error::bad_file(path))?;
    for instance in instances {
        let refuse =
            |what: &str| Error::bad_file(path)(format!("instance {}: {what}", instance.id));
        let entry = entries.iter().find(|entry| entry.id == instance.id);
        let entry = entry.ok_or_else(|| refuse("is missing"))?;
        let (inputs, objectives) =
            (instance.problem.parameters.len(), instance.problem.outputs.len());
        let fits = |rows: &[Vec<f64>], width: usize| {
            rows.iter().all(|row| row.len() == width && row.iter().all(|v| v.is_finite()))
        };
        if entry.x.is_empty() || entry.x.len() != entry.y.len() {
            return Err(refuse("x and y must have the same number of rows, at least one"));
        }
        if !fits(&entry.x, inputs) || !fits(&entry.y, objectives) {
            let what = format!("rows need {inputs} numbers in x and {objectives} in y, all finite");
            return Err(refuse(&what));
        }
        instance.initial = Some(InitialData {
            designs: Points::from_rows(inputs, &entry.x)?,
            values: Points::from_rows(objectives, &entry.y)?,
        });
    }
    Ok(())
}
