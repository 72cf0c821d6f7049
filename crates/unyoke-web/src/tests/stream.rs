//! Events as they happen, each once.

use axum::body::Body;
use axum::http::{Method, Request, header};
use futures_util::StreamExt;
use serde_json::json;
use tower::ServiceExt;

use super::setting::{Setting, WRITE, request};

/// An event of a stream.
#[derive(Debug, PartialEq)]
struct Seen {
    event: String,
    id: Option<u64>,
    data: serde_json::Value,
}

/// Reads events until there are so many of a kind.
async fn read(setting: &Setting, request: Request<Body>, kind: &str, count: usize) -> Vec<Seen> {
    let response = setting.app.clone().oneshot(request).await.unwrap();
    assert_eq!(response.headers()[header::CONTENT_TYPE], "text/event-stream");
    let mut chunks = response.into_body().into_data_stream();
    let (mut text, mut seen) = (String::new(), vec![]);
    while seen.iter().filter(|one: &&Seen| one.event == kind).count() < count {
        text += std::str::from_utf8(&chunks.next().await.unwrap().unwrap()).unwrap();
        while let Some((block, rest)) = text.split_once("\n\n") {
            seen.extend(parse(block));
            text = rest.to_owned();
        }
    }
    seen
}

fn parse(block: &str) -> Option<Seen> {
    let field = |name: &str| {
        block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    };
    Some(Seen {
        event: field("event")?.to_owned(),
        id: field("id").map(|id| id.parse().unwrap()),
        data: serde_json::from_str(field("data")?).unwrap(),
    })
}

fn events(query: &str, last: Option<u64>) -> Request<Body> {
    let path = format!("/api/studies/beam/events{query}");
    let mut request = request(Method::GET, &path, Some(WRITE), Body::empty());
    if let Some(last) = last {
        request.headers_mut().insert("last-event-id", last.into());
    }
    request
}

#[test]
fn whoever_was_cut_off_goes_on_exactly_where_that_was() {
    let setting = Setting::new();
    setting.play(3);
    let all = setting.block_on(read(&setting, events("?from=0", None), "record", 7));
    assert_eq!((all[0].event.as_str(), all[0].id), ("hello", Some(0)));
    assert_eq!(all[0].data["position"], 7);
    let ids: Vec<Option<u64>> = all[1..].iter().map(|one| one.id).collect();
    assert_eq!(ids, (1..=7).map(Some).collect::<Vec<_>>());
    assert_eq!(all[1].data["record"]["event"], "created");
    assert_eq!(all[2].data["record"]["by"], "Ann");
    for last in 0..7 {
        let count = 7 - last as usize;
        let rest = setting.block_on(read(&setting, events("", Some(last)), "record", count));
        assert_eq!(rest[1..], all[1 + last as usize..], "from {last}");
    }
    // A position that the study does not have yet: it is another one by now.
    let hello = setting.block_on(read(&setting, events("", Some(99)), "hello", 1));
    assert_eq!((hello[0].id, &hello[0].data), (Some(7), &json!({ "position": 7 })));
}

#[test]
fn what_happens_while_somebody_watches_is_sent_once_and_in_order_whoever_did_it() {
    let setting = Setting::new();
    setting.play(1);
    let file = setting.file();
    let writer = std::thread::spawn(move || {
        let mut study = file.open().unwrap().study;
        for i in 0..30 {
            study
                .queue(
                    unyoke::Design::new()
                        .with("length", 0.2 + 0.05 * f64::from(i))
                        .with("material", "oak"),
                    None,
                )
                .unwrap();
        }
    });
    let seen = setting.block_on(read(&setting, events("?from=3", None), "record", 30));
    writer.join().unwrap();
    let ids: Vec<u64> =
        seen.iter().filter(|one| one.event == "record").filter_map(|one| one.id).collect();
    assert_eq!(ids, (4..=33).collect::<Vec<_>>());
}

#[test]
fn watchers_are_told_when_views_are_ready_and_many_may_watch() {
    let setting = Setting::new();
    setting.play(2);
    setting.block_on(async {
        let watching: Vec<_> = (0..200)
            .map(|_| {
                let (app, request) = (setting.app.clone(), events("", None));
                async move { app.oneshot(request).await.unwrap() }
            })
            .collect();
        let mut streams = vec![];
        for response in futures_util::future::join_all(watching).await {
            assert_eq!(response.status(), 200);
            streams.push(response.into_body().into_data_stream());
        }
        let get =
            request(Method::GET, "/api/studies/beam/next?wait=25", Some(WRITE), Body::empty());
        assert_eq!(setting.app.clone().oneshot(get).await.unwrap().status(), 200);
        for stream in &mut streams {
            let mut text = String::new();
            while !text.contains("event: views") {
                text += std::str::from_utf8(&stream.next().await.unwrap().unwrap()).unwrap();
            }
            assert!(text.contains(r#"{"position":5,"views":["next"]}"#), "{text}");
        }
    });
}
