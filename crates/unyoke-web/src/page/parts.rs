//! What pages are made of: designs, moments, figures, and what is said while something is computed.

use maud::{Markup, PreEscaped, html};
use std::time::{Duration, UNIX_EPOCH};
use unyoke::{Design, Problem};
use unyoke_draw::Picture;
use unyoke_view::words::{one_line, short};
use unyoke_view::{EvaluationView, words};

use crate::shown::{Deed, Ready, Shown};

/// Figures are laid out for paper; on a screen they may be a little larger.
const ENLARGED: f64 = 1.25;

/// The same where one stands alone.
const ALONE: f64 = 1.6;

/// A class for each so many pixels says how wide a picture may be: the style has them all.
const STEP: f64 = 20.0;

/// Pictures that are not wider fit on the screen of a phone.
const NARROW: f64 = 360.0;

/// Of these, two fit beside each other.
const SMALL: f64 = 180.0;

/// The names of the parameters, in their order.
pub(super) fn parameters(problem: &Problem) -> impl Iterator<Item = &str> {
    problem.parameters.iter().map(unyoke::Parameter::name)
}

/// A design in a line, for tables.
pub(super) fn design_line(problem: &Problem, design: &Design) -> String {
    words::design(&problem.parameters, design)
}

/// A cell for the value of each parameter.
pub(super) fn values_of(problem: &Problem, design: &Design) -> Markup {
    html! { @for one in &problem.parameters { td { (words::parameter(one, design)) } } }
}

/// A design with all digits, for whoever is to make it.
pub(super) fn design_list(problem: &Problem, design: &Design) -> Markup {
    let value = |name: &str| design.get(name).map_or_else(|| "?".to_owned(), ToString::to_string);
    html! {
        dl.design {
            @for name in parameters(problem) {
                div { dt { (name) } dd { (one_line(&value(name))) } }
            }
        }
    }
}

/// A moment: in UTC until the script shows it in the reader's own time.
pub(super) fn moment(at: u64) -> Markup {
    let time = UNIX_EPOCH.checked_add(Duration::from_secs(at.min(LAST)));
    let machine = time.map(|time| humantime::format_rfc3339_seconds(time).to_string());
    let machine = machine.unwrap_or_default();
    let words = machine.replace('T', " ").replace(":00Z", " UTC").replace('Z', " UTC");
    html! { time datetime=(machine) { (words) } }
}

/// The last second of the year 9999: there are no words for later ones.
const LAST: u64 = 253_402_300_799;

/// How long something has been going on, as in "3 min".
pub(super) fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// Who did something and when, as far as that is known.
pub(super) fn deed(deed: &Deed) -> Markup {
    html! {
        @if let Some(by) = &deed.by { (one_line(by)) }
        @if deed.by.is_some() && deed.at.is_some() { ", " }
        @if let Some(at) = deed.at { (moment(at)) }
    }
}

/// Whether it is known who did something, or when.
pub(super) fn is_signed(deed: &Deed) -> bool {
    deed.by.is_some() || deed.at.is_some()
}

/// Who asked for something and when, as far as that is known.
pub(super) fn asked_for(asked: &Deed) -> Markup {
    html! {
        @if is_signed(asked) { "asked for" @if asked.by.is_some() { " by" } " " (deed(asked)) }
    }
}

/// The last of these things that was done to an evaluation.
pub(super) fn last_deed(
    shown: &Shown,
    evaluation: u64,
    wanted: impl Fn(&str) -> bool,
) -> Option<&Deed> {
    let deeds = shown.deeds.get(&evaluation)?;
    deeds.iter().rev().find(|deed| wanted(deed.what))
}

/// Pictures with what they show; nothing without pictures.
pub(super) fn figure(caption: &str, pictures: &[Picture]) -> Markup {
    let enlarged = if pictures.len() == 1 { ALONE } else { ENLARGED };
    let steps = |picture: &Picture| (enlarged * picture.width() / STEP).ceil().clamp(6.0, 48.0);
    let fit = |width: f64| pictures.iter().all(|picture| picture.width() <= width);
    let (narrow, small) = (fit(NARROW), fit(SMALL));
    html! {
        @if !pictures.is_empty() {
            figure.narrow[narrow].small[small] {
                div.scroll.pictures tabindex="0" role="group" aria-label="Figure" {
                    @for picture in pictures {
                        // Text in a picture was escaped when it was drawn.
                        div class={ "w" (steps(picture)) } { (PreEscaped(picture.svg())) }
                    }
                }
                figcaption { (caption) }
            }
        }
    }
}

/// What is said of something that takes long to compute, beside what is shown of it.
pub(super) fn state<T>(ready: &Ready<T>, position: u64) -> Markup {
    html! {
        @match ready {
            Ready::Done { .. } if ready.is_current(position) => {},
            Ready::Done { .. } => p.state { "New results have arrived; this is being computed again." },
            Ready::Computing => p.state { "This is being computed…" },
            Ready::Nothing(why) => p.state { (capitalised(why)) },
            Ready::Failed(why) => p.state.warning role="alert" { "This could not be computed: " (why) },
        }
    }
}

/// The sentence with a capital letter and a full stop.
pub(super) fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    let text: String = first.chain(letters).collect();
    if text.ends_with(['.', '!', '?', '…']) { text } else { text + "." }
}

/// What an evaluation gave, or what became of it.
pub(super) fn outcome(evaluation: &EvaluationView) -> String {
    let value = |name: &String| {
        let reading = evaluation.values.get(name)?;
        let text = words::reading(reading.value, reading.sd);
        Some(if evaluation.outputs.len() > 1 { format!("{name} {text}") } else { text })
    };
    let values: Vec<String> = evaluation.outputs.iter().filter_map(value).collect();
    match (values.is_empty(), &evaluation.reason) {
        (false, _) => values.join(", "),
        (true, Some(reason)) => format!("{}: {}", evaluation.status.word(), one_line(reason)),
        (true, None) => evaluation.status.word().to_owned(),
    }
}

/// What was measured, by the name of the measurement or of its outputs.
pub(super) fn measured(evaluation: &EvaluationView) -> String {
    evaluation.measurement.clone().unwrap_or_else(|| evaluation.outputs.join(", "))
}

/// The latest evaluations one by one, which figures point at.
pub(super) fn evaluations(shown: &Shown, most: usize) -> Markup {
    let all = shown.evaluations.count();
    let listed: Vec<EvaluationView> = shown.evaluations.latest().take(most).collect();
    html! {
        @if !listed.is_empty() {
            details.more id="evaluations" {
                summary {
                    @if (listed.len() as u64) < all {
                        "The latest " (listed.len()) " of " (all) " evaluations"
                    } @else { "All " (all) " evaluations" }
                }
                div.scroll.list tabindex="0" role="region" aria-label="Evaluations" {
                    table {
                        thead { tr {
                            th scope="col" { "evaluation" }
                            th.text scope="col" { "measured" }
                            th.text scope="col" { "result" }
                            th scope="col" { "cost" }
                            th.text scope="col" { "phase" }
                            @for name in parameters(&shown.problem) { th scope="col" { (name) } }
                        } }
                        tbody {
                            @for one in &listed { (evaluation_row(shown, one)) }
                        }
                    }
                }
            }
        }
    }
}

fn evaluation_row(shown: &Shown, one: &EvaluationView) -> Markup {
    html! {
        tr data-key=(unyoke_view::design_key(&one.design)) data-row={ "e" (one.evaluation) } {
            th scope="row" { (one.evaluation) }
            td.text { (measured(one)) }
            td.text { (outcome(one)) }
            td { (short(one.spent)) }
            td.text { (one.origin.phase()) }
            (values_of(&shown.problem, &one.design))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units() {
        let seconds = [0, 59, 61, 3_725, 90_000];
        let words = ["0 s", "59 s", "1 min 1 s", "1 h 2 min", "1 d 1 h"];
        assert_eq!(seconds.map(duration), words);
    }

    #[test]
    fn moments_are_told_to_the_minute_where_they_are_and_no_time_is_too_late() {
        let text = |at| moment(at).into_string();
        assert!(text(0).contains("1970-01-01 00:00 UTC"), "{}", text(0));
        assert!(text(61).contains("1970-01-01 00:01:01 UTC"), "{}", text(61));
        assert!(text(u64::MAX).contains("9999-12-31"), "{}", text(u64::MAX));
    }

    #[test]
    fn sentences_begin_and_end_as_sentences_do() {
        assert_eq!(capitalised("nothing yet"), "Nothing yet.");
        assert_eq!(capitalised("Über alles!"), "Über alles!");
    }
}
