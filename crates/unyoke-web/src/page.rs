//! Pages as HTML, made from [`Shown`] alone: readable without a script.
//!
//! [`study`] is a page of a study; each view has a file. What a page is made of is in `parts`, what stands around it in
//! `frame`. Elements with `data-part` are replaced by the script when a newer page has others in their place.

mod frame;
mod parts;
mod entries;
mod next;
mod front;
mod designs;
mod spending;
mod live;
mod bench;
mod models;
mod others;

pub(crate) use others::{failure, login, studies};

use maud::Markup;

use crate::shown::{Shown, View};

/// A page of a study.
pub(crate) fn study(view: View, shown: &Shown) -> Markup {
    let content = match view {
        View::Next => next::content(shown),
        View::Front => front::content(shown),
        View::Designs => designs::content(shown),
        View::Spending => spending::content(shown),
        View::Live => live::content(shown),
        View::Bench => bench::content(shown),
        View::Models => models::content(shown),
    };
    frame::of_study(view, shown, &content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shown::{Deed, LiveView, Ready, Visitor};
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use unyoke::{Design, Problem, Study};
    use unyoke_view::{Background, Custody, Plan, StudyReport, Worker, explanation};

    const NASTY: &str = "</main><script>alert(1)</script>\" onload='x'";

    fn study() -> Study {
        let builder = Problem::builder().continuous(NASTY, 0.0, 1.0).continuous("y", 1.0, 2.0);
        let builder = builder.categorical("kind", ["a", NASTY]);
        let problem = builder.minimise(NASTY, 1.0).maximise("gloss", 3.0).build().unwrap();
        let mut study = Study::new(problem).unwrap();
        for i in 0..8 {
            let x = f64::from(i) / 7.0;
            let at = || Design::new().with(NASTY, x).with("y", 1.0 + x * x).with("kind", NASTY);
            study.tell_result(at(), NASTY, x).unwrap();
            study.tell_result(at(), "gloss", x * (1.0 - x)).unwrap();
        }
        for _ in 0..3 {
            study.ask().unwrap();
        }
        study.tell_failure(16, NASTY).unwrap();
        study
    }

    fn shown(study: &Study, visitor: Visitor) -> Shown {
        let owner = |owner: &str| {
            let owner = Some(owner.into());
            Worker { owner, attempt: 2, since: Some(5), job: None }
        };
        let workers = BTreeMap::from([(17, owner("by hand")), (18, owner(NASTY))]);
        let custody = Custody { workers, late_results: 0, now: 100 };
        let plan = Plan { name: Some(NASTY.into()), budget: Some(50.0), ..Plan::default() };
        let status = unyoke_view::status(study, plan, &custody).unwrap();
        let live = status.pending.iter().map(|pending| LiveView {
            pending: pending.clone(),
            elapsed: Some(95),
            job: Some(NASTY.into()),
            has_log: true,
            can_stop: true,
            by_hand: pending.owner.as_deref() == Some("by hand"),
        });
        let next = study.suggest().unwrap();
        let report = StudyReport::new(study, &[], Background::default(), Some(&next)).unwrap();
        let done = Deed { position: 3, what: "failed", by: Some(NASTY.into()), at: Some(7) };
        Shown {
            visitor,
            studies: vec![],
            id: "study".into(),
            position: 20,
            problem: Arc::new(study.problem().clone()),
            live: Arc::new(live.collect()),
            status: Arc::new(status),
            evaluations: Arc::new(study.clone()),
            deeds: Arc::new(BTreeMap::from([(16, vec![done])])),
            next: Ready::Done {
                value: Arc::new(explanation(study, Some(&next), None).unwrap()),
                position: 20,
            },
            prices: BTreeMap::new(),
            report: Ready::Done { value: Arc::new(report), position: 19 },
            query: BTreeMap::from([("page".to_owned(), "99".to_owned())]),
            notes: vec![NASTY.into()],
            now: 100,
        }
    }

    #[test]
    fn no_text_becomes_markup_and_nothing_needs_what_the_policy_forbids() {
        let shown = shown(&study(), Visitor { may_write: true });
        for view in View::ALL {
            let html = study_page(view, &shown);
            // The report's script and the page's own, each from a file.
            assert_eq!(html.matches("<script").count(), 2, "{view:?}");
            assert_eq!(html.matches("</main>").count(), 1, "{view:?}");
            assert!(!html.contains(" style=") && !html.contains("<style"), "{view:?}");
            assert!(!html.contains("\" onload="), "{view:?}");
        }
    }

    fn study_page(view: View, shown: &Shown) -> String {
        super::study(view, shown).into_string()
    }

    #[test]
    fn ids_are_there_once_and_every_label_has_its_field() {
        let shown = shown(&study(), Visitor { may_write: true });
        for view in View::ALL {
            let html = study_page(view, &shown);
            let values = |name: &str| -> Vec<String> {
                let begin = format!(" {name}=\"");
                let parts = html.split(begin.as_str()).skip(1);
                parts.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
            };
            let ids = values("id");
            let once: std::collections::BTreeSet<&String> = ids.iter().collect();
            assert_eq!(once.len(), ids.len(), "{view:?}");
            for field in values("for") {
                assert!(ids.contains(&field), "{view:?}: {field}");
            }
        }
    }

    #[test]
    fn only_those_who_may_write_are_offered_actions() {
        let study = study();
        let (reader, writer) = (Visitor { may_write: false }, Visitor { may_write: true });
        let actions = |visitor| -> Vec<String> {
            let shown = shown(&study, visitor);
            let pages = View::ALL.map(|view| study_page(view, &shown)).concat();
            let named = pages.split(" data-action=\"").skip(1);
            let names = named.filter_map(|rest| rest.split('"').next());
            let once: std::collections::BTreeSet<&str> = names.collect();
            once.into_iter().map(str::to_owned).collect()
        };
        assert!(actions(reader).is_empty());
        // Nothing is queued or paused in this study: there is nothing to take out or to resume.
        let all = "ask budget correct fail pause price queue retract retry stop tell withdraw";
        assert_eq!(actions(writer).join(" "), all);
    }

    #[test]
    fn what_is_not_computed_yet_is_said_and_waited_for() {
        let mut shown = shown(&study(), Visitor::default());
        (shown.next, shown.report) = (Ready::Computing, Ready::Nothing("no values yet".into()));
        let next = study_page(View::Next, &shown);
        assert!(next.contains("This is being computed") && next.contains("http-equiv=\"refresh\""));
        let front = study_page(View::Front, &shown);
        assert!(front.contains("No values yet.") && !front.contains("http-equiv"));
    }
}
