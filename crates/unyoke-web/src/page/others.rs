//! Pages that belong to no study: the list of studies, the question for a token, and why there is no other page.

use maud::{Markup, html};

use super::frame;
use crate::shown::{FailurePage, Login, StudyCard, StudyList};

/// The list of all studies.
pub(crate) fn studies(list: &StudyList) -> Markup {
    let content = html! {
        @if list.studies.is_empty() { p.state { "No study is served." } }
        ul.cards {
            @for study in &list.studies { (card(study)) }
        }
    };
    frame::plain("Studies", &content)
}

fn card(study: &StudyCard) -> Markup {
    html! {
        li.card {
            @match &study.trouble {
                None => h2 { a href={ "/studies/" (study.id) "/next" } { (study.name) } },
                Some(_) => h2 { (study.name) },
            }
            p.muted { (study.store) }
            @if let Some(trouble) = &study.trouble { p.warning { (trouble) } }
        }
    }
}

/// Asks for a token.
pub(crate) fn login(login: &Login) -> Markup {
    let content = html! {
        p { "Open the link that " code { "unyoke serve" } " has printed, or enter the token from it." }
        form.entry method="post" action="/login" {
            input type="hidden" name="to" value=(login.to);
            label for="token" { "Token" }
            input id="token" name="token" type="password" required autocomplete="current-password";
            @if login.failed { p.error role="alert" { "This is not a token of this server." } }
            button type="submit" { "Open" }
        }
    };
    frame::plain("Sign in", &content)
}

/// Says why there is no other page.
pub(crate) fn failure(failure: &FailurePage) -> Markup {
    let content = html! {
        p.state.warning { (failure.message) }
        p { a href="/" { "All studies" } }
    };
    frame::plain(&failure.title, &content)
}
