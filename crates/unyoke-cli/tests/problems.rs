//! The study files of `docs/problems.md`, each checked by the program.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;

use place::Place;

const PAGE: &str = include_str!("../../../docs/problems.md");

/// The blocks of the page in this language.
fn blocks(language: &str) -> Vec<&'static str> {
    let begin = format!("```{language}\n");
    PAGE.split(&begin).skip(1).map(|rest| rest.split_once("```").unwrap().0).collect()
}

/// A block with the parts of the first one that it lacks.
fn completed(block: &str) -> String {
    let (parameters, objective) = blocks("toml")[0].split_once("[objectives").unwrap();
    let mut text = block.to_owned();
    if !block.contains("[parameters.") {
        text.push_str(&format!("\n{parameters}"));
    }
    // A formula alone would leave nothing to measure.
    if !block.contains("cost = ") {
        text.push_str(&format!("\n[objectives{objective}"));
    }
    text
}

#[test]
fn every_study_file_on_the_page_is_valid() {
    let place = Place::new("");
    assert!(blocks("toml").len() >= 10, "the blocks were not found");
    for block in blocks("toml") {
        place.write("study.toml", &completed(block));
        let printed = place.run(&["check"]);
        assert!(printed.status.success(), "{block}\n{}", place::stderr(&printed));
    }
}
