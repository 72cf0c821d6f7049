//! What models believe: each parameter alone, two at a time with the standard deviation, and how far that can be trusted.

use maud::{Markup, html};
use unyoke_view::{ContourView, EffectsView, ModelView, OutputView, StudyReport};

use super::parts::{design_line, evaluations, figure, state};
use crate::shown::Shown;

/// Evaluations that figures can point at.
const LISTED: usize = 300;

pub(super) fn content(shown: &Shown) -> Markup {
    html! {
        div data-part="state" { (state(&shown.report, shown.position)) }
        @if let Some(report) = shown.report.value() {
            section data-part="trust" { (trust(shown, report)) }
            @if let Some(effects) = report.effects.as_ref().filter(|effects| !effects.effects.is_empty()) {
                @let output = chosen_output(shown, report, effects);
                section data-part="choice" { (choice(shown, report, effects, output)) }
                @if let Some(output) = output {
                    section data-part="slices" { (slices(report, output)) }
                    section data-part="contours" { (contours(shown, report, effects, output)) }
                }
            }
        }
    }
}

/// Each value predicted from all the others.
fn trust(shown: &Shown, report: &StudyReport) -> Markup {
    let models: Vec<&ModelView> = report.next.models.iter().collect();
    html! {
        h2 { "Can the models be trusted?" }
        div.scroll.wrap tabindex="0" role="region" aria-label="Models" {
            table {
                thead { tr { @for (i, head) in ModelView::HEAD.iter().enumerate() { th.text[i > 3] scope="col" { (head) } } } }
                tbody {
                    @for model in models {
                        tr {
                            @for (i, cell) in model.cells().into_iter().enumerate() {
                                @if i == 0 { th scope="row" { (cell) } } @else { td.text[i > 3] { (cell) } }
                            }
                        }
                    }
                }
            }
        }
        p.muted {
            "Explained: the share of the variance that predictions from the other values explain. Error / stated: how large their errors are \
             compared with the standard deviations stated; about 1 is right."
        }
        (figure("Observed against predicted: each value as its model predicts it from all the others, with one standard deviation. About two \
                 of three bars should cross the line.", &report.predictions_pictures()))
        (evaluations(shown, LISTED))
    }
}

/// The output that the address names, or the first of which there are slices.
fn chosen_output<'r>(
    shown: &Shown,
    report: &'r StudyReport,
    effects: &EffectsView,
) -> Option<&'r OutputView> {
    let has_slices =
        |output: &&OutputView| effects.effects.iter().any(|one| one.output == output.name);
    let wanted = shown.query.get("output");
    let named =
        report.outputs.iter().filter(has_slices).find(|output| Some(&output.name) == wanted);
    named.or_else(|| report.outputs.iter().find(has_slices))
}

/// The contour that the address names, or that of the parameters that matter most.
fn chosen_contour<'r>(
    shown: &Shown,
    effects: &'r EffectsView,
    output: &OutputView,
) -> Option<&'r ContourView> {
    let own = || effects.contours.iter().filter(|one| one.output == output.name);
    let pair = shown.query.get("pair");
    own().find(|one| Some(&pair_name(one)) == pair).or_else(|| own().next())
}

fn pair_name(contour: &ContourView) -> String {
    contour.parameters.join(" and ")
}

/// Which output and which two parameters: a form that works without a script.
fn choice(
    shown: &Shown,
    report: &StudyReport,
    effects: &EffectsView,
    output: Option<&OutputView>,
) -> Markup {
    let contour = output.and_then(|output| chosen_contour(shown, effects, output));
    let pairs = effects
        .contours
        .iter()
        .filter(|one| output.is_some_and(|output| output.name == one.output));
    let has_slices =
        |output: &&OutputView| effects.effects.iter().any(|one| one.output == output.name);
    html! {
        h2 { "What parameters do" }
        form.choices method="get" data-auto {
            div {
                label for="output" { "Output" }
                select id="output" name="output" {
                    @for one in report.outputs.iter().filter(has_slices) {
                        option value=(one.name) selected[output.is_some_and(|output| output.name == one.name)] { (one.title()) }
                    }
                }
            }
            @if contour.is_some() {
                div {
                    label for="pair" { "Two parameters together" }
                    select id="pair" name="pair" {
                        @for one in pairs {
                            option selected[contour == Some(one)] { (pair_name(one)) }
                        }
                    }
                }
            }
            button type="submit" { "Show" }
        }
        p.muted {
            "Slices through one design of the front, the most balanced one: " (design_line(&shown.problem, &effects.design))
            ". They are not averages: elsewhere a parameter may do something else."
        }
    }
}

fn slices(report: &StudyReport, output: &OutputView) -> Markup {
    let line = if output.is_objective() { "" } else { " The dashed line is the limit." };
    let caption = format!(
        "{} as one parameter varies: expected value, the interval that should hold the true value in nine cases of ten, and the design \
         itself (circle). The parameters that change it most come first.{line}",
        output.title()
    );
    figure(&caption, &report.effects_pictures(output))
}

fn contours(
    shown: &Shown,
    report: &StudyReport,
    effects: &EffectsView,
    output: &OutputView,
) -> Markup {
    let Some(contour) = chosen_contour(shown, effects, output) else { return html! {} };
    let caption = format!(
        "{} as {} vary together: what is expected, and its standard deviation. The circle is the design.",
        output.title(),
        pair_name(contour)
    );
    figure(&caption, &report.contour_pictures(contour))
}
