//! Runs the benchmarks and prints their medians as one Markdown table.

use crate::command::{Outcome, cargo, root, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Runs all benchmarks, or those whose name contains `filter`.
pub(crate) fn all(filter: Option<&str>) -> Outcome {
    let start = SystemTime::now();
    // Only packages with benchmarks: the test harness of others would not know their flags.
    let packages = ["--package", "unyoke-math", "--package", "unyoke"];
    let mut bench = cargo(&["bench", "--benches"]);
    bench.args(packages).args(["--", "--noplot"]);
    run(bench.args(filter))?;
    let mut rows = Vec::new();
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from);
    collect(&target.join("criterion"), start, &mut rows)?;
    rows.sort_by_key(|row| row.order);
    let mut table = String::from("\n| what | median | 95 % interval |\n|---|---|---|\n");
    for row in rows {
        let [low, high] = row.interval.map(duration);
        table += &format!("| {} | {} | {low} to {high} |\n", row.name, duration(row.median));
    }
    #[allow(clippy::print_stdout, reason = "the table is what was asked for")]
    {
        println!("{table}");
    }
    Ok(())
}

/// One benchmark's result, in nanoseconds.
struct Row {
    order: SystemTime,
    name: String,
    median: f64,
    interval: [f64; 2],
}

/// Finds the results written since `start` below a folder of Criterion's.
fn collect(folder: &Path, start: SystemTime, rows: &mut Vec<Row>) -> Outcome {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.ends_with("new") {
            rows.extend(read(&path).filter(|row| row.order >= start));
        } else if path.is_dir() {
            collect(&path, start, rows)?;
        }
    }
    Ok(())
}

fn read(folder: &Path) -> Option<Row> {
    let estimates = folder.join("estimates.json");
    let order = fs::metadata(&estimates).ok()?.modified().ok()?;
    let json = |file: &Path| {
        fs::read_to_string(file)
            .ok()
            .and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok())
    };
    let name = json(&folder.join("benchmark.json"))?["full_id"].as_str()?.to_owned();
    let values = json(&estimates)?;
    let interval = &values["median"]["confidence_interval"];
    Some(Row {
        order,
        name,
        median: values["median"]["point_estimate"].as_f64()?,
        interval: [interval["lower_bound"].as_f64()?, interval["upper_bound"].as_f64()?],
    })
}

/// Nanoseconds in the unit a person would use.
fn duration(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        n if n < 1e3 => (n, "ns"),
        n if n < 1e6 => (n / 1e3, "µs"),
        n if n < 1e9 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    let digits = if value < 10.0 {
        2
    } else if value < 100.0 {
        1
    } else {
        0
    };
    format!("{value:.digits$} {unit}")
}
