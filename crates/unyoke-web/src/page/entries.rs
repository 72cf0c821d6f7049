//! Forms by which people act on a study. They are sent by the script, each with a key of its own, and kept in the
//! browser until the server has answered; without a script they are not shown.

use maud::{Markup, html};
use unyoke::{Measurement, Parameter, Problem};
use unyoke_view::words::{short, value};
use unyoke_view::{EvaluationView, ReadingView};

use crate::shown::Shown;

/// A form of an action. `fields` come before the button.
pub(super) fn form(action: &str, button: &str, fields: &Markup) -> Markup {
    html! {
        form.entry.needs-script data-action=(action) autocomplete="off" {
            (fields)
            p.error role="alert" hidden {}
            button type="submit" { (button) }
        }
    }
}

/// The same behind words that must be pressed first, for what should not happen by accident.
pub(super) fn folded(id: &str, words: &str, form: &Markup) -> Markup {
    html! { details.folded.needs-script id=(id) { summary { (words) } (form) } }
}

/// The evaluation that a form is about.
pub(super) fn about(evaluation: u64) -> Markup {
    html! { input type="hidden" name="evaluation" data-kind="integer" value=(evaluation); }
}

/// A form without fields about an evaluation.
pub(super) fn simple(action: &str, button: &str, evaluation: u64, words: &str) -> Markup {
    form(action, button, &html! { (about(evaluation)) @if !words.is_empty() { p { (words) } } })
}

/// Fields for the values of a measurement, empty or with what was recorded.
pub(super) fn values(
    shown: &Shown,
    outputs: &[String],
    id: &str,
    known: &EvaluationView,
) -> Markup {
    html! {
        @for (i, output) in outputs.iter().enumerate() {
            @let reading = known.values.get(output);
            @let range = seen(shown, output);
            label.number for={ (id) "-value-" (i) } { (output) }
            input.value id={ (id) "-value-" (i) } name={ "values." (output) } type="number" step="any"
                inputmode="decimal" required[outputs.len() == 1] data-kind="number"
                value=[reading.map(|one| one.value)]
                data-low=[range.map(|[low, _]| low)] data-high=[range.map(|[_, high]| high)];
        }
    }
}

/// Fields that are rarely needed: standard errors, what it really cost, where it was really made.
pub(super) fn rarely(
    problem: &Problem,
    outputs: &[String],
    id: &str,
    known: &EvaluationView,
) -> Markup {
    let sd = |output: &String| known.values.get(output).and_then(|one: &ReadingView| one.sd);
    html! {
        details.rarely id={ (id) "-rarely" } {
            summary { "Standard error, real cost, made differently" }
            @for (i, output) in outputs.iter().enumerate() {
                label for={ (id) "-sd-" (i) } { "Standard error of " (output) }
                input id={ (id) "-sd-" (i) } name={ "sd." (output) } type="number" step="any" min="0"
                    inputmode="decimal" data-kind="number" value=[sd(output)];
            }
            @if outputs.len() > 1 {
                label for={ (id) "-missing" } { "Why a value is missing, if one is" }
                input id={ (id) "-missing" } name="missing" type="text" maxlength="500" data-kind="text"
                    value=[known.reason.as_deref()];
            }
            label for={ (id) "-cost" } { "What it really cost, if not " (short(known.cost)) }
            input id={ (id) "-cost" } name="cost" type="number" step="any" min="0" inputmode="decimal" data-kind="number";
            fieldset {
                legend { "Made differently: only what was different" }
                (design(problem, &format!("{id}-at"), "design", Wanted::SomeOfIt(known)))
            }
        }
    }
}

/// What is asked for of a design.
pub(super) enum Wanted<'e> {
    /// All parameters.
    All,
    /// What differs from the design of an evaluation.
    SomeOfIt(&'e EvaluationView),
}

/// Fields for the parameters of a design.
pub(super) fn design(problem: &Problem, id: &str, name: &str, wanted: Wanted<'_>) -> Markup {
    let planned = |parameter: &Parameter| match &wanted {
        Wanted::All => None,
        Wanted::SomeOfIt(evaluation) => evaluation.design.get(parameter.name()).map(value),
    };
    let is_required = matches!(wanted, Wanted::All);
    html! {
        @for (i, parameter) in problem.parameters.iter().enumerate() {
            @let field = format!("{id}-{i}");
            @let name = format!("{name}.{}", parameter.name());
            label for=(field) { (parameter.name()) " " span.hint { (bounds(parameter)) } }
            @match parameter {
                Parameter::Categorical { choices, .. } => {
                    select id=(field) name=(name) data-kind="text" required[is_required] {
                        option value="" { (planned(parameter).map_or_else(|| "choose".to_owned(), |now| format!("as planned: {now}"))) }
                        @for choice in choices { option value=(choice) { (choice) } }
                    }
                },
                Parameter::Integer { .. } => { input id=(field) name=(name) type="number" step="1" inputmode="numeric"
                    data-kind="integer" required[is_required] placeholder=[planned(parameter)]; },
                Parameter::Continuous { .. } => { input id=(field) name=(name) type="number" step="any" inputmode="decimal"
                    data-kind="number" required[is_required] placeholder=[planned(parameter)]; },
            }
        }
    }
}

/// The values that a parameter may have.
fn bounds(parameter: &Parameter) -> String {
    match parameter {
        Parameter::Continuous { low, high, step: Some(step), .. } => {
            format!("{} to {} in steps of {}", short(*low), short(*high), short(*step))
        }
        Parameter::Continuous { low, high, .. } => format!("{} to {}", short(*low), short(*high)),
        Parameter::Integer { low, high, .. } => format!("{low} to {high}"),
        Parameter::Categorical { .. } => String::new(),
    }
}

/// A choice among measurements, the first entry being none of them.
pub(super) fn measurement(problem: &Problem, id: &str, name: &str, none: &str) -> Markup {
    html! {
        select id=(id) name=(name) data-kind="text" {
            option value="" { (none) }
            @for Measurement { name, .. } in &problem.measurements { option value=(name) { (name) } }
        }
    }
}

/// The least and the greatest value of an output so far, where there are at least three: a value far from them is asked
/// about before it is sent.
fn seen(shown: &Shown, output: &str) -> Option<[f64; 2]> {
    let values = shown.evaluations.latest().filter_map(|e| Some(e.values.get(output)?.value));
    let values: Vec<f64> = values.collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (values.len() >= 3).then_some([low, high])
}
