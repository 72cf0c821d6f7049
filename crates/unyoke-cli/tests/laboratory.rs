//! The study of `docs/laboratory.md`, typed into the program as the page has it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;

use place::Place;
use std::collections::BTreeMap;

const PAGE: &str = include_str!("../../../docs/laboratory.md");

/// The commands of the page with the first line that it shows of their output, if it shows any.
fn commands() -> Vec<(Vec<String>, Option<&'static str>)> {
    let blocks = PAGE.split("```text\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut found = vec![];
    for block in blocks {
        let lines: Vec<&str> = block.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            let Some(command) = line.strip_prefix("$ unyoke ") else { continue };
            let words = command.split(' ').map(str::to_owned).collect();
            let shown = lines.get(i + 1).filter(|next| !next.starts_with('$') && **next != "…");
            found.push((words, shown.copied()));
        }
    }
    found
}

/// The line without numbers, places and names of outputs, which later versions may choose otherwise.
fn kind(line: &str) -> String {
    let line = line.replace("gloss", "OUTPUT").replace("hardness", "OUTPUT");
    let word = |word: &str| -> String {
        if word.contains('/') {
            return "PATH".to_owned();
        }
        let mut masked = String::new();
        for c in word.chars() {
            match c.is_ascii_digit() || c == '.' {
                true if masked.ends_with('#') => {}
                true => masked.push('#'),
                false => masked.push(c),
            }
        }
        masked
    };
    line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_commands_of_the_page_do_what_it_says() {
    let (_, rest) = PAGE.split_once("```toml\n").unwrap();
    let place = Place::new(rest.split("```").next().unwrap());
    let commands = commands();
    assert!(commands.len() > 20, "{}", commands.len());
    for (words, shown) in commands {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let said = place.text(&words);
        let Some(shown) = shown else { continue };
        let is_there = said.lines().any(|line| kind(line) == kind(shown));
        assert!(is_there, "{words:?} should say {shown:?}, but says\n{said}");
    }
    let status = place.json(&["status"]);
    // Which output the last ones measure is for the engine to choose.
    let mut rows = place.evaluations();
    rows.retain(|row| row["status"] == "completed");
    let price =
        |row: &BTreeMap<String, String>| if row["measurement"] == "gloss" { 3.0 } else { 1.0 };
    let spent: f64 = rows.iter().map(price).sum();
    let hardness = rows.iter().filter_map(|row| row["hardness"].parse::<f64>().ok());
    let best = hardness.fold(0.0, f64::max);
    assert_eq!(rows.len(), 12);
    assert_eq!((&status["spent"], &status["outputs"][0]["best"]), (&spent.into(), &best.into()));
    assert_eq!(status["corrections"].as_array().unwrap().len(), 1);
}
