//! The front: what is predicted with its uncertainty, what was measured beside it, and sliders that pick a design.

use maud::{Markup, html};
use std::collections::BTreeMap;
use unyoke_view::words::short;
use unyoke_view::{
    EvaluationView, FrontView, MeasuredFrontView, OutputView, PointView, StudyReport, design_key,
};

use super::entries;
use super::parts::{figure, parameters, state, values_of};
use crate::shown::Shown;

/// Designs that were measured in full, of which so many are listed at most: the latest.
const MOST: usize = 300;

pub(super) fn content(shown: &Shown) -> Markup {
    let report = shown.report.value();
    html! {
        div data-part="state" { (state(&shown.report, shown.position)) }
        @if let Some((report, front)) = report.and_then(|report| Some((report, report.front.as_ref()?))) {
            section data-part="front" {
                (chooser(shown, front))
                (pictures(report))
                (front_table(shown, report, front))
                @if let Some(measured) = &report.measured_front { (measured_table(shown, report, measured)) }
            }
            @if let Some(confirmation) = report.confirmation.as_ref().filter(|one| !one.values.is_empty()) {
                section data-part="confirmation" {
                    h2 { "How predictions held up" }
                    p { "Of the latest designs that were measured to confirm them: " (confirmation.sentence()) "." }
                }
            }
        }
    }
}

/// Sliders that choose a design of the front; nothing to choose with one objective. Hidden until the script shows it.
fn chooser(shown: &Shown, front: &FrontView) -> Markup {
    let objectives: Vec<&OutputView> = front.objectives().collect();
    html! {
        @if objectives.len() > 1 && front.points.len() > 1 {
            div.chooser hidden {
                p { "How important is each objective to you? The design that suits best is selected in all figures and tables." }
                div.sliders {
                    @for (i, objective) in objectives.iter().enumerate() {
                        label for={ "weight-" (i) } {
                            span { (objective.title()) }
                            input id={ "weight-" (i) } type="range" min="0" max="100" value="50";
                            output for={ "weight-" (i) } { "50" }
                        }
                    }
                }
                p.choice aria-live="polite" {}
                div.buttons {
                    button type="button" id="search" data-study=(shown.id) { "Search all designs with these weights" }
                }
                div id="found" aria-live="polite" {}
                @if shown.visitor.may_write {
                    template id="queue-found" {
                        (entries::form("queue", "Queue this design", &html! {
                            input type="hidden" name="design" data-kind="json";
                        }))
                    }
                }
            }
        }
    }
}

fn pictures(report: &StudyReport) -> Markup {
    let trade_offs = report.trade_offs_pictures();
    let caption = "The best trade-offs as far as is known. Bars reach one standard deviation to each side where a value is predicted. \
                   Point at a mark to see its values, select it to find the design everywhere.";
    let beside = "What was measured: designs at which every objective was. Filled marks are the measured front, which no other of them beats.";
    let beside = [beside.to_owned()].into_iter().chain(report.drawn_note());
    let beside = beside.collect::<Vec<_>>().join(" ");
    let designs = "A line for each design of the front, light to dark in the order of the first objective. Parameters run from \
                   their lower bound on the left to the upper on the right, outputs (blue) from the lowest expected value to the highest.";
    html! {
        div.beside {
            (figure(caption, &trade_offs))
            (figure(&beside, &report.measured_front_pictures()))
            (figure(designs, &report.designs_pictures()))
        }
    }
}

fn front_table(shown: &Shown, report: &StudyReport, front: &FrontView) -> Markup {
    let shares = front.shares(|name| report.log_outputs.iter().any(|log| log == name));
    let share_of = |point: &PointView| {
        let place = front.points.iter().position(|one| std::ptr::eq(one, point));
        let shares = place.map(|place| shares[place].clone()).unwrap_or_default();
        let texts: Vec<String> = shares.iter().map(|share| format!("{share:.5}")).collect();
        texts.join(" ")
    };
    html! {
        h2 { "Designs of the front" }
        p { "Expected values ± one standard deviation. Each is marked as measured at this very design, or as predicted." }
        div.scroll tabindex="0" role="region" aria-label="Designs of the front" {
            table {
                thead { tr {
                    th scope="col" { "design" }
                    @for output in &front.outputs { th scope="col" { (output.title()) } }
                    @if front.has_feasibility() { th scope="col" { "feasible" } }
                    @for name in &front.parameters { th scope="col" { (name) } }
                } }
                tbody {
                    @for (i, point) in front.sorted().into_iter().enumerate() {
                        tr data-key=(design_key(&point.design)) data-row={ "p" (i + 1) } data-shares=(share_of(point)) {
                            th scope="row" { (i + 1) }
                            @for output in &front.outputs { (forecast(point, output)) }
                            @if front.has_feasibility() { td { (point.likely()) } }
                            (values_of(&shown.problem, &point.design))
                        }
                    }
                }
            }
        }
    }
}

/// What is known of an output at a design, and from where.
fn forecast(point: &PointView, output: &OutputView) -> Markup {
    let is_measured = point.outputs.get(&output.name).is_some_and(|one| !one.measured.is_empty());
    let text = point.expected(output);
    let number = text.trim_end_matches(" *");
    html! {
        td.forecast {
            (number) " "
            @match (&output.formula, is_measured) {
                (Some(_), _) => span.tag { "formula" },
                (None, true) => span.tag.measured { "measured" },
                (None, false) => span.tag.predicted { "predicted" },
            }
        }
    }
}

/// Designs at which every objective was measured; those of the measured front are marked.
fn measured_table(shown: &Shown, report: &StudyReport, front: &MeasuredFrontView) -> Markup {
    let last = last_evaluations(&report.evaluations);
    let objectives: Vec<&OutputView> = front.outputs.iter().filter(|o| o.is_objective()).collect();
    let is_on_front = |key: &str| front.points.iter().any(|point| design_key(&point.design) == key);
    let listed = &report.measured[report.measured.len().saturating_sub(MOST)..];
    html! {
        h2 { "What was measured" }
        @if listed.is_empty() {
            p.state { "No design has all objectives measured yet." }
        } @else {
            p {
                "Designs at which every objective was measured"
                @if listed.len() < report.measured.len() { ", the latest " (listed.len()) " of " (report.measured.len()) }
                ". Those of the measured front are feasible, and none is better than another in everything."
            }
            div.scroll.list tabindex="0" role="region" aria-label="What was measured" {
                table {
                    thead { tr {
                        th scope="col" { "last evaluation" }
                        @for output in &objectives { th scope="col" { (output.title()) } }
                        th.text scope="col" { "measured front" }
                        @for name in parameters(&shown.problem) { th scope="col" { (name) } }
                    } }
                    tbody {
                        @for one in listed.iter().rev() {
                            @let key = design_key(&one.design);
                            @let number = last.get(&key).copied().unwrap_or_default();
                            tr data-key=(key) data-row={ "e" (number) } {
                                th scope="row" { (number) }
                                @for value in &one.values { td { (short(*value)) } }
                                td.text { @if is_on_front(&key) { span.tag.measured { "yes" } } }
                                (values_of(&shown.problem, &one.design))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn last_evaluations(evaluations: &[EvaluationView]) -> BTreeMap<String, u64> {
    evaluations.iter().map(|one| (design_key(&one.design), one.evaluation)).collect()
}
