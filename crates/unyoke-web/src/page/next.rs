//! What next: the measurement that is worth most per cost, the table it won, and what waits or is paused.

use maud::{Markup, html};
use unyoke::{Cost, Measurement, Obstacle};
use unyoke_view::words::short;
use unyoke_view::{Explanation, GainUnit, OptionView, PausedView, ProspectView, QueuedView};

use super::entries;
use super::parts::{capitalised, design_line, design_list, moment, state};
use crate::shown::Shown;

pub(super) fn content(shown: &Shown) -> Markup {
    html! {
        section data-part="lead" {
            (state(&shown.next, shown.position))
            @if let Some(next) = shown.next.value() { (lead(shown, next)) }
        }
        @if let Some(next) = shown.next.value() {
            @if !next.next.options.is_empty() {
                section data-part="options" { (options(shown, next)) }
            }
            section data-part="worth" { (worth(next)) }
        }
        section data-part="queue" { (queue(shown)) }
        section data-part="pauses" { (pauses(shown)) }
    }
}

/// The suggestion in large letters.
fn lead(shown: &Shown, explanation: &Explanation) -> Markup {
    let next = &explanation.next;
    let (unit, chosen) = (next.gain_unit(), next.chosen.and_then(|i| next.options.get(i)));
    html! {
        div.suggestion {
            p.kicker {
                @match explanation.obstacle {
                    None => "Measure next",
                    Some(Obstacle::Budget) => "Nothing more fits into the budget. With more to spend, measure",
                    Some(Obstacle::Exhausted) => "Every design was evaluated. To measure one again, take",
                }
            }
            p.what { (next.measurement) }
            (design_list(&shown.problem, &next.design))
            dl.facts {
                div { dt { "cost" } dd { (short(next.cost)) } }
                @if let Some(option) = chosen {
                    @let [gain, per_cost] = heads(unit);
                    div { dt { (gain) } dd { (unit.words(option.gain)) } }
                    div { dt { (per_cost) } dd { (unit.words(option.gain_per_cost)) } }
                    @if let Some(cost) = option.break_even_cost {
                        div { dt { "break-even cost" } dd { (short(cost)) } }
                    }
                }
            }
            @for note in &next.notes { p.note { (capitalised(note)) } }
            @if shown.visitor.may_write && explanation.possible {
                (entries::form("ask", "Ask for it", &html! {
                    input type="hidden" name="then" value={ "/studies/" (shown.id) "/bench" };
                }))
            }
        }
    }
}

fn heads(unit: GainUnit) -> [&'static str; 2] {
    match unit.heads() {
        ["expected gain", _] => ["expected gain", "gain per cost"],
        _ => ["gain, of the front's range", "gain per unit of cost"],
    }
}

/// The table with prices that can be changed for a look. Without a script the form loads the page with these prices.
fn options(shown: &Shown, explanation: &Explanation) -> Markup {
    let next = &explanation.next;
    let unit = next.gain_unit();
    let [gain, per_cost] = heads(unit);
    let range = next.prospect.as_ref().map(|prospect| prospect.range).filter(|range| *range > 0.0);
    html! {
        h2 { "What each measurement is worth" }
        p {
            "The best design that was found for each measurement. Change a price to see what would come first; this does \
             not change the study. At its break-even cost an option is worth as much per unit of cost as the best of the others."
        }
        form.prices id="prices" method="get" data-range=[range] {
            div.scroll tabindex="0" role="region" aria-label="What each measurement is worth" {
                table {
                    thead { tr {
                        th scope="col" { "measurement" }
                        th scope="col" { (gain) }
                        th scope="col" { "cost" }
                        th scope="col" { (per_cost) }
                        th scope="col" { "break-even cost" }
                        th.text scope="col" { "best design" }
                    } }
                    tbody {
                        @for (i, option) in next.options.iter().enumerate() {
                            (option_row(shown, unit, option, (i, next.chosen == Some(i))))
                        }
                    }
                }
            }
            p.verdict id="verdict" role="status" {
                @if !shown.prices.is_empty() { "With these prices, " (next.measurement) " comes first." }
            }
            div.buttons {
                button type="submit" { "Compare" }
                a.button id="reset" href={ "/studies/" (shown.id) "/next" } { "Prices of the study" }
                @if shown.visitor.may_write {
                    button.needs-script type="button" id="keep" hidden { "Use these prices from now on" }
                }
            }
        }
    }
}

fn option_row(
    shown: &Shown,
    unit: GainUnit,
    option: &OptionView,
    (place, best): (usize, bool),
) -> Markup {
    let name = option.measurements.join(" + ");
    // Only a single price that is a number can become the study's own.
    let own = match &option.measurements[..] {
        [one] => shown.status.measurements.iter().find(|m| m.name == *one),
        _ => None,
    };
    let is_constant = own.is_some_and(|m| matches!(m.cost, Cost::Constant(_)));
    html! {
        tr.best[best] data-name=(name) data-gain=(option.gain) data-cost=(option.cost)
            data-measurement=[own.filter(|_| is_constant).map(|m| m.name.as_str())] {
            th scope="row" { (name) " " span.tag hidden[!best] { "first" } }
            td { (unit.words(option.gain)) }
            td {
                input.price id={ "price-" (place) } name=[own.map(|m| format!("price.{}", m.name))] type="number" step="any" min="0"
                    inputmode="decimal" value=(option.cost) aria-label={ "Cost of " (name) } readonly[own.is_none()];
            }
            td.ratio { (unit.words(option.gain_per_cost)) }
            td.even { (option.break_even_cost.map_or_else(|| "–".to_owned(), short)) }
            td.text { (design_line(&shown.problem, &option.design)) }
        }
    }
}

/// What is still to be gained.
fn worth(explanation: &Explanation) -> Markup {
    let sentences = explanation.next.prospect.as_ref().map(ProspectView::sentences);
    let appraisal = explanation.next.appraisal.as_ref().map(|one| one.sentence());
    let sentences: Vec<String> = sentences.into_iter().flatten().chain(appraisal).collect();
    html! {
        @if !sentences.is_empty() {
            h2 { "Is it worth continuing?" }
            @for sentence in &sentences { p { (capitalised(sentence)) } }
        }
    }
}

/// Designs of people's own that wait.
fn queue(shown: &Shown) -> Markup {
    html! {
        h2 { "Queue" }
        @if shown.status.queue.is_empty() {
            p.muted { "No design of your own waits. " a href={ "/studies/" (shown.id) "/bench#queue" } { "Queue one" } "." }
        } @else {
            p { "These designs come first, in this order." }
            ul.rows { @for queued in &shown.status.queue { (queued_row(shown, queued)) } }
        }
    }
}

fn queued_row(shown: &Shown, queued: &QueuedView) -> Markup {
    html! {
        li {
            div.grow { b { (queued.measurements.join(", ")) } " at " (design_line(&shown.problem, &queued.design)) }
            @if shown.visitor.may_write {
                (entries::form("unqueue", "Remove", &html! {
                    input type="hidden" name="entry" data-kind="integer" value=(queued.entry);
                }))
            }
        }
    }
}

/// Which measurements cannot be made now, and forms that change it.
fn pauses(shown: &Shown) -> Markup {
    let paused = |name: &str| shown.status.paused.iter().find(|one| one.measurement == name);
    html! {
        h2 { "Measurements" }
        ul.rows {
            @for (i, Measurement { name, .. }) in shown.problem.measurements.iter().enumerate() {
                li {
                    div.grow {
                        b { (name) }
                        @match paused(name) {
                            Some(pause) => { " " span.tag.warning { "paused" } " " (pause_words(pause)) },
                            None => span.muted { " can be made" },
                        }
                    }
                    @if shown.visitor.may_write {
                        @match paused(name) {
                            Some(_) => (entries::form("resume", "Resume", &named(name))),
                            None => (pause_form(name, i)),
                        }
                    }
                }
            }
        }
    }
}

fn named(measurement: &str) -> Markup {
    html! { input type="hidden" name="measurement" data-kind="text" value=(measurement); }
}

fn pause_words(pause: &PausedView) -> Markup {
    html! {
        @match pause.until {
            Some(until) => { "until " (moment(until)) },
            None => "until it is resumed",
        }
        @if let Some(reason) = &pause.reason { ": " (reason) }
    }
}

fn pause_form(name: &str, place: usize) -> Markup {
    let id = format!("pause-{place}");
    entries::folded(
        &id,
        "Pause…",
        &entries::form(
            "pause",
            "Pause",
            &html! {
                (named(name))
                label for={ (id) "-reason" } { "Why (may be empty)" }
                input id={ (id) "-reason" } name="reason" type="text" maxlength="500" data-kind="text";
                label for={ (id) "-until" } { "Until (empty: until it is resumed)" }
                input id={ (id) "-until" } name="until" type="datetime-local" data-kind="time";
            },
        ),
    )
}
