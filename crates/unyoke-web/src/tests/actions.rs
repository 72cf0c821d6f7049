//! What actions do, once, whoever repeats them.

use axum::body::Body;
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use std::fs;
use std::sync::Arc;
use unyoke::{Cost, Event, Status, Study};
use unyoke_run::StudyFile;
use unyoke_store::Store;

use super::setting::{BEAM, Setting, WRITE, request, serving};

fn study(setting: &Setting) -> Study<Store> {
    Study::open(Store::open(&setting.file().store).unwrap()).unwrap()
}

#[test]
fn a_study_is_begun_asked_and_told_and_the_journal_says_by_whom() {
    let setting = Setting::new();
    assert_eq!(setting.get("/api/studies/beam").json()["position"], 0);
    let asked = setting.act("ask", json!({ "by": "Ann" })).json();
    assert_eq!((&asked["repeated"], &asked["position"]), (&json!(false), &json!(2)));
    assert_eq!(asked["evaluation"]["status"], "pending");
    let status = setting.get("/api/studies/beam/status").json();
    assert_eq!(status["pending"][0]["owner"], "by hand");
    let name = asked["suggestion"]["measurement"].as_str().unwrap();
    let told = setting.act(
        "tell",
        json!({ "by": " Ben ", "evaluation": 0, "values": { name: 1.5 }, "cost": 2.5 }),
    );
    let told = told.json();
    assert_eq!(told["evaluation"]["values"][name]["value"], 1.5);
    let records = setting.records();
    let by: Vec<Option<&str>> = records.iter().map(|record| record.by.as_deref()).collect();
    assert_eq!(by, [Some("Ann"), Some("Ann"), Some("Ben")]);
    assert!(records.iter().all(|record| record.at.is_some()) && records[2].key.is_some());
    let deeds = setting.get("/api/studies/beam/evaluations").json()[0]["deeds"].clone();
    assert_eq!((&deeds[0]["what"], &deeds[0]["by"]), (&json!("asked"), &json!("Ann")));
    assert_eq!((&deeds[1]["what"], &deeds[1]["by"]), (&json!("measured"), &json!("Ben")));
    assert_eq!(study(&setting).spent(), 2.5);
}

#[test]
fn a_request_that_comes_again_is_carried_out_once_also_after_a_restart() {
    let mut setting = Setting::new();
    let ask = json!({ "key": "ask-ask-ask", "by": "Ann" });
    let first = setting.post("ask", &ask).json();
    let again = setting.post("ask", &ask).json();
    assert_eq!((&first["repeated"], &again["repeated"]), (&json!(false), &json!(true)));
    assert_eq!(first["suggestion"]["design"], again["suggestion"]["design"]);
    assert_eq!(first["suggestion"]["evaluation"], again["suggestion"]["evaluation"]);
    setting.restart();
    let measurement = first["suggestion"]["measurement"].as_str().unwrap();
    let tell = json!({ "key": "tell-tell-tell", "evaluation": 0, "values": { measurement: 2.0 } });
    assert_eq!(setting.post("tell", &tell).json()["repeated"], false);
    setting.restart();
    assert_eq!(setting.post("ask", &ask).json()["repeated"], true);
    let told = setting.post("tell", &tell).json();
    assert_eq!(
        (&told["repeated"], &told["evaluation"]["status"]),
        (&json!(true), &json!("completed"))
    );
    let queue = json!({ "key": "queue-queue", "design": { "length": 0.5, "material": "oak" } });
    let queued = [(), ()].map(|()| setting.post("queue", &queue).json());
    assert_eq!((&queued[0]["entry"], &queued[1]["entry"]), (&json!(0), &json!(0)));
    assert_eq!(queued[1]["repeated"], true);
    assert_eq!(setting.records().len(), 4);
    // A key stands for one thing.
    let other = json!({ "key": "ask-ask-ask", "evaluation": 0, "reason": "no" });
    assert_eq!(setting.post("fail", &other).kind(), "conflict");
    assert_eq!(setting.records().len(), 4);
}

#[test]
fn many_at_once_with_the_same_key_leave_one_record() {
    let setting = Setting::new();
    setting.play(1);
    let before = setting.records().len();
    let file = setting.path().display().to_string();
    // Two servers, as after a restart while the old one still lives.
    let apps = [(), ()].map(|()| serving(std::slice::from_ref(&file), true));
    let queue =
        json!({ "key": "same-same-same", "design": { "length": 0.7, "material": "steel" } });
    let statuses: Vec<StatusCode> = setting.block_on(async {
        let mut tasks = vec![];
        for i in 0..20 {
            let request = super::setting::request(
                axum::http::Method::POST,
                "/api/studies/beam/queue",
                Some(super::setting::WRITE),
                axum::body::Body::from(queue.to_string()),
            );
            let app = apps[i % 2].clone();
            tasks.push(tokio::spawn(tower::ServiceExt::oneshot(app, request)));
        }
        let mut statuses = vec![];
        for task in tasks {
            statuses.push(task.await.unwrap().unwrap().status());
        }
        statuses
    });
    let is_fine = |status: &StatusCode| [200, 503].contains(&status.as_u16());
    assert!(statuses.iter().all(is_fine), "{statuses:?}");
    assert!(statuses.contains(&StatusCode::OK));
    assert_eq!(setting.records().len(), before + 1);
    assert_eq!(setting.post("queue", &queue).json()["repeated"], true);
}

#[test]
fn two_writers_lose_and_double_nothing() {
    let setting = Setting::new();
    setting.act("ask", json!({}));
    let file = setting.path().display().to_string();
    let apps = Arc::new([(), ()].map(|()| serving(std::slice::from_ref(&file), true)));
    setting.block_on(async {
        let mut tasks = vec![];
        for i in 0..40_usize {
            let length = 0.2 + 0.04 * i as f64;
            let body = json!({ "key": format!("writer-{i:04}"), "design": { "length": length, "material": "oak" } });
            let request = super::setting::request(
                axum::http::Method::POST,
                "/api/studies/beam/queue",
                Some(super::setting::WRITE),
                axum::body::Body::from(body.to_string()),
            );
            tasks.push(tokio::spawn(tower::ServiceExt::oneshot(apps[i % 2].clone(), request)));
        }
        for task in tasks {
            assert_eq!(task.await.unwrap().unwrap().status(), StatusCode::OK);
        }
    });
    let keys: std::collections::BTreeSet<String> =
        setting.records().into_iter().filter_map(|record| record.key).collect();
    assert_eq!(keys.iter().filter(|key| key.starts_with("writer-")).count(), 40);
    assert_eq!(study(&setting).queued().unwrap().len(), 40);
}

#[test]
fn results_are_failed_withdrawn_skipped_corrected_retracted_and_retried() {
    let setting = Setting::new();
    let status = |answer: super::setting::Answer| {
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
        answer.json()["evaluation"]["status"].as_str().unwrap().to_owned()
    };
    let ask = || setting.act("ask", json!({})).json()["suggestion"].clone();
    let first = ask();
    let name = first["measurement"].as_str().unwrap().to_owned();
    assert_eq!(
        status(setting.act("fail", json!({ "evaluation": 0, "reason": "it broke" }))),
        "failed"
    );
    assert_eq!(status(setting.act("retry", json!({ "evaluation": 0 }))), "pending");
    assert_eq!(
        status(setting.act("tell", json!({ "evaluation": 0, "values": { &name: 35 } }))),
        "completed"
    );
    let again = setting.act("tell", json!({ "evaluation": 0, "values": { &name: 36 } }));
    assert_eq!(again.kind(), "conflict");
    let corrected = setting.act("correct", json!({
        "evaluation": 0, "values": { &name: { "value": 3.5, "sd": 0.1 } }, "design": { "length": 0.9 },
    }));
    let corrected = corrected.json()["evaluation"].clone();
    assert_eq!(corrected["values"][&name], json!({ "value": 3.5, "sd": 0.1 }));
    assert_eq!(corrected["design"]["length"], 0.9);
    assert_eq!(corrected["superseded"][0]["values"][&name]["value"], 35.0);
    assert_eq!(
        status(setting.act("retract", json!({ "evaluation": 0, "reason": "wrong mesh" }))),
        "retracted"
    );
    let second = ask();
    let withdraw = json!({ "evaluation": second["evaluation"] });
    assert_eq!(status(setting.act("withdraw", withdraw)), "withdrawn");
    let third = ask();
    assert_eq!(
        status(setting.act("skip", json!({ "evaluation": third["evaluation"] }))),
        "withdrawn"
    );
    let fourth = ask();
    let by_hand = setting.act("stop", json!({ "evaluation": fourth["evaluation"] }));
    assert!(by_hand.status == 422 && by_hand.text().contains("by hand"), "{}", by_hand.text());
    assert_eq!(setting.act("withdraw", json!({ "evaluation": 99 })).status, StatusCode::NOT_FOUND);
    let replayed = study(&setting);
    assert!(matches!(replayed.evaluations()[0].status, Status::Retracted(_)));
}

#[test]
fn values_of_all_outputs_are_wanted_or_a_reason() {
    let both = BEAM.replace("cost = 1\n", "").replace("cost = 20\n", "")
        + "\n[measurements.fem]\noutputs = [\"mass\", \"deflection\"]\ncost = 5\n";
    let setting = Setting::of(&both.replace("cost = 000", "cost = 1000"), true);
    setting.act("ask", json!({}));
    let half = setting.act("tell", json!({ "evaluation": 0, "values": { "mass": 1 } }));
    assert_eq!(half.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(half.text().contains("deflection"), "{}", half.text());
    let with_reason = json!({ "evaluation": 0, "values": { "mass": 1 }, "missing": "no light" });
    assert_eq!(setting.act("tell", with_reason).status, StatusCode::OK);
    setting.act("ask", json!({}));
    for wrong in [
        json!({ "lift": 1 }),
        json!({ "mass": "1" }),
        json!({}),
        json!({ "mass": { "value": 1, "s": 2 } }),
    ] {
        let answer = setting.act("tell", json!({ "evaluation": 1, "values": wrong }));
        assert!(answer.status.is_client_error(), "{wrong}: {}", answer.status);
    }
}

#[test]
fn measurements_are_paused_and_designs_queued() {
    let setting = Setting::new();
    let queue =
        json!({ "design": { "length": "0.5", "material": "steel" }, "measurement": "deflection" });
    assert_eq!(setting.act("queue", queue).json()["entry"], 0);
    let paused =
        setting.act("pause", json!({ "measurement": "deflection", "reason": "the rig is down" }));
    assert_eq!(paused.status, StatusCode::OK);
    let status = setting.get("/api/studies/beam/status").json();
    assert_eq!(status["paused"][0]["reason"], "the rig is down");
    assert_eq!(status["queue"][0]["measurements"], json!(["deflection"]));
    assert_eq!(setting.act("ask", json!({})).json()["suggestion"]["measurement"], "mass");
    let only = setting.act("ask", json!({ "measurements": ["deflection"] }));
    assert!(only.status == 422 && only.text().contains("paused"), "{}", only.text());
    setting.act("resume", json!({ "measurement": "deflection" }));
    let asked = setting.act("ask", json!({})).json();
    assert_eq!(asked["suggestion"]["design"], json!({ "length": 0.5, "material": "steel" }));
    let fixed = setting.act("ask", json!({ "fix": { "material": "oak" } })).json();
    assert_eq!(fixed["suggestion"]["design"]["material"], "oak");
    assert_eq!(
        setting.act("queue", json!({ "design": { "length": 1.0, "material": "oak" } })).json()["entry"],
        1
    );
    assert_eq!(setting.act("unqueue", json!({ "entry": 1 })).status, StatusCode::OK);
    assert!(
        setting.act("pause", json!({ "measurement": "mass", "until": 1 })).status.is_client_error()
    );
    for wrong in [
        json!({ "length": 9 }),
        json!({ "length": 0.5, "material": "pine" }),
        json!({ "width": 1 }),
    ] {
        assert_eq!(setting.act("queue", json!({ "design": wrong })).status, 422, "{wrong}");
    }
}

#[test]
fn prices_and_the_budget_change_in_the_study_and_in_its_file() {
    let text = BEAM.replace("cost = 20\n", "cost = 20 # a day\n");
    let setting = Setting::of(&text, true);
    setting.play(1);
    assert_eq!(
        setting.act("price", json!({ "measurement": "deflection", "cost": 7.5 })).status,
        200
    );
    assert!(fs::read_to_string(setting.path()).unwrap().contains("cost = 7.5 # a day"));
    assert_eq!(study(&setting).cost("deflection").unwrap(), &Cost::Constant(7.5));
    assert_eq!(setting.act("budget", json!({ "cost": 55 })).status, 200);
    let status = setting.get("/api/studies/beam/status").json();
    assert_eq!(status["budget"], 55.0);
    assert_eq!(setting.file().budget.cost, Some(55.0));
    let last = setting.records().pop().unwrap().event;
    assert_eq!(last, Event::BudgetChanged { cost: Some(55.0) });
    assert_eq!(setting.act("budget", json!({ "cost": null })).status, 200);
    assert_eq!(StudyFile::read(setting.path()).unwrap().budget.cost, None);
    for wrong in [json!(0), json!(-1), json!("1"), Value::Null] {
        let answer = setting.act("price", json!({ "measurement": "mass", "cost": wrong }));
        assert!(answer.status.is_client_error(), "{wrong}");
    }
    assert!(
        setting.act("price", json!({ "measurement": "lift", "cost": 1 })).status.is_client_error()
    );
}

#[test]
fn other_prices_rank_what_is_next_anew_and_change_nothing() {
    let setting = Setting::new();
    setting.play(10);
    let before = setting.records().len();
    let next = setting.get("/api/studies/beam/next?wait=25");
    assert_eq!(next.status, StatusCode::OK, "{}", next.text());
    assert_eq!(next.headers["unyoke-position"], before.to_string());
    assert_eq!(next.json()["options"].as_array().unwrap().len(), 2);
    for (query, wanted) in [
        ("price.mass=1e6&price.deflection=1e-6", "deflection"),
        ("price.mass=1e-6&price.deflection=1e6", "mass"),
    ] {
        let what_if = setting.get(&format!("/api/studies/beam/next?wait=25&{query}"));
        assert_eq!(what_if.status, StatusCode::OK, "{}", what_if.text());
        assert_eq!(what_if.json()["measurement"], wanted, "{query}");
    }
    for wrong in ["price.mass=0", "price.mass=x", "price.lift=1", "price.mass=NaN", "wait=-1"] {
        let answer = setting.get(&format!("/api/studies/beam/next?{wrong}"));
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{wrong}");
    }
    assert_eq!(setting.records().len(), before);
    assert_eq!(study(&setting).cost("mass").unwrap(), &Cost::Constant(1.0));
}

#[test]
fn views_are_those_that_the_command_line_prints() {
    let setting = Setting::new();
    setting.play(8);
    let looked = setting.file().look().unwrap();
    let same = |path: &str, expected: Value| {
        let answer = setting.get(&format!("/api/studies/beam/{path}"));
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text());
        assert_eq!(answer.json(), expected, "{path}");
    };
    let json = |view: &dyn erased::Json| view.json();
    let study = &looked.study;
    same("front?wait=25", json(&unyoke_view::front(study, unyoke_view::ROWS, None).unwrap()));
    same(
        "front?wait=25&points=3&cautious=0.9",
        json(&unyoke_view::front(study, 3, Some(0.9)).unwrap()),
    );
    same(
        "best?wait=25&weights=1,2",
        json(&unyoke_view::best_for(study, &[1.0, 2.0], None).unwrap()),
    );
    same("measured-front?wait=25", json(&unyoke_view::measured_front(study).unwrap()));
    same("models?wait=25", json(&unyoke_view::models(study).unwrap()));
    let design = unyoke::Design::new().with("length", 0.5).with("material", "oak");
    same(
        "design?wait=25&length=0.5&material=oak",
        json(&unyoke_view::explain_designs(study, &[design]).unwrap()[0]),
    );
    let report = setting.get("/api/studies/beam/report?wait=25").json();
    assert!(report["effects"]["effects"].as_array().is_some_and(|all| !all.is_empty()));
    let svg = setting.get("/api/studies/beam/figures/trade-offs.svg?wait=25");
    assert_eq!(svg.headers["content-type"], "image/svg+xml");
    assert!(svg.text().starts_with("<svg"), "{}", svg.text());
    assert_eq!(setting.get("/api/studies/beam/figures/nothing.svg").status, StatusCode::NOT_FOUND);
    assert_eq!(
        setting.get("/api/studies/beam/figures/trade-offs-9.svg?wait=25").status,
        StatusCode::NOT_FOUND
    );
    for wrong in [
        "best?weights=1",
        "best?weights=0,0",
        "best?weights=-1,1",
        "front?cautious=2",
        "design?length=1",
    ] {
        let answer = setting.get(&format!("/api/studies/beam/{wrong}"));
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{wrong}");
    }
}

/// Views of any type as JSON.
mod erased {
    pub(super) trait Json {
        fn json(&self) -> serde_json::Value;
    }

    impl<T: serde::Serialize> Json for T {
        fn json(&self) -> serde_json::Value {
            serde_json::to_value(self).unwrap()
        }
    }
}

#[test]
fn what_others_do_and_what_changes_in_the_file_is_seen_at_once() {
    let setting = Setting::new();
    setting.play(1);
    let mut opened = setting.file().open_or_create().unwrap();
    let asked = opened.study.ask().unwrap();
    let status = setting.get("/api/studies/beam/status").json();
    assert_eq!(status["pending"][0]["evaluation"], asked.evaluation);
    assert_eq!(status["pending"][0]["owner"], Value::Null);
    let text = BEAM.replace("cost = 1000", "cost = 77.25").replace("cost = 20", "cost = 21.75");
    fs::write(setting.path(), text).unwrap();
    let status = setting.get("/api/studies/beam/status").json();
    assert_eq!(
        (&status["budget"], &status["measurements"][1]["cost"]),
        (&json!(77.25), &json!(21.75))
    );
    fs::write(setting.path(), "[parameters.x").unwrap();
    let study = setting.get("/api/studies/beam").json();
    assert!(study["notes"][0].as_str().unwrap().contains("cannot be read"), "{study}");
    assert_eq!(setting.get("/api/studies/beam/status").json()["budget"], 77.25);
    // Bounds that were changed must be amended first.
    fs::write(setting.path(), BEAM.replace("high = 2.0", "high = 3.0")).unwrap();
    let study = setting.get("/api/studies/beam").json();
    assert!(study["notes"][0].as_str().unwrap().contains("unyoke amend"), "{study}");
    assert_eq!(setting.act("ask", json!({})).status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(setting.get("/studies/beam/next").status, StatusCode::OK);
}

#[test]
fn logs_are_read_in_pieces_and_nothing_outside_the_study_is() {
    let setting = Setting::new();
    setting.play(1);
    let runs = setting.file().runs;
    let attempt = runs.join("000000/1");
    fs::create_dir_all(&attempt).unwrap();
    fs::write(attempt.join("stderr"), "ä".repeat(20_000)).unwrap();
    let log = |query: &str| setting.get(&format!("/api/studies/beam/evaluations/0/log?{query}"));
    let tail = log("").json();
    assert_eq!((&tail["size"], &tail["to"]), (&json!(40_000), &json!(40_000)));
    assert_eq!(tail["from"], 40_000 - (16 << 10));
    let part = log("from=0").json();
    assert_eq!((&part["from"], &part["to"]), (&json!(0), &json!(40_000)));
    assert_eq!(log("from=40000").json()["text"], "");
    assert_eq!(log("stream=stdout").status, StatusCode::NOT_FOUND);
    for wrong in ["stream=../stderr", "stream=/etc/passwd", "from=-1", "from=x"] {
        assert_eq!(log(wrong).status, StatusCode::BAD_REQUEST, "{wrong}");
    }
    // A command may have put a link there.
    let secret = setting.folder.path().join("secret");
    fs::write(&secret, "TOP SECRET").unwrap();
    fs::remove_file(attempt.join("stderr")).unwrap();
    std::os::unix::fs::symlink(&secret, attempt.join("stderr")).unwrap();
    assert_eq!(log("").status, StatusCode::NOT_FOUND);
    fs::create_dir_all(runs.join("elsewhere")).unwrap();
    fs::write(runs.join("elsewhere/stderr"), "TOP SECRET").unwrap();
    fs::remove_dir_all(&attempt).unwrap();
    std::os::unix::fs::symlink(runs.join("elsewhere"), &attempt).unwrap();
    assert_eq!(log("").status, StatusCode::NOT_FOUND);
}

#[test]
fn a_field_that_nobody_knows_or_that_comes_twice_is_refused() {
    let setting = Setting::new();
    setting.play(1);
    let before = setting.records().len();
    let tell =
        json!({ "key": "tell-tell-tell", "evaluation": 0, "values": { "mass": 1.0 }, "costs": 2 });
    let refused = setting.post("tell", &tell);
    assert_eq!(refused.kind(), "bad_request");
    assert!(refused.text().contains("unknown field `costs`"), "{}", refused.text());
    for text in [
        r#"{"key": "skip-skip", "evaluation": 0, "evaluation": 1}"#,
        r#"{"key": "skip-skip", "key": "skip-skip", "evaluation": 0}"#,
        r#"{"evaluation": 0}"#,
        r#"{"key": "skip-skip"}"#,
        r#"["skip-skip", 0]"#,
    ] {
        let body = Body::from(text);
        let skip = request(Method::POST, "/api/studies/beam/skip", Some(WRITE), body);
        assert_eq!(setting.send(skip).kind(), "bad_request", "{text}");
    }
    assert_eq!(setting.records().len(), before);
}

#[test]
fn the_description_of_every_action_has_all_fields_of_its_request() {
    let setting = Setting::new();
    let (api, page) = (setting.get("/api/openapi.json").json(), setting.get("/api/docs").text());
    let of = |schema: &Value| {
        let name = schema["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
        api["components"]["schemas"][name].clone()
    };
    for (path, operations) in api["paths"].as_object().unwrap() {
        let Some(operation) = operations.get("post") else { continue };
        let sent = of(&operation["requestBody"]["content"]["application/json"]["schema"]);
        let parts: Vec<Value> = sent["allOf"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| if part.get("$ref").is_some() { of(part) } else { part.clone() })
            .collect();
        let fields: Vec<&String> =
            parts.iter().flat_map(|part| part["properties"].as_object().unwrap().keys()).collect();
        assert!(
            fields.len() > 2
                && ["key", "by"].iter().all(|own| fields.contains(&&(*own).to_owned())),
            "{path}: {fields:?}"
        );
        let shown = page.split(path.as_str()).nth(1).unwrap().split("<h2>").next().unwrap();
        for field in fields {
            assert!(shown.contains(&format!("<code>{field}</code>")), "{path}: {field}");
        }
    }
}
