//! `unyoke check` finds whatever would stop a run, and changes nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;

use std::fs;

use place::{Place, TWO};

fn set_mode(path: &std::path::Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_damaged_study_is_not_called_valid() {
    let place = Place::new(TWO);
    assert!(place.text(&["check"]).contains("is valid"));
    assert!(!place.path("study.db").exists());
    place.text(&["run", "--no-report", "--cost", "5"]);
    let said = place.text(&["check"]);
    assert!(said.contains("is valid") && said.contains("which holds 2 evaluations"), "{said}");

    let sound = fs::read(place.path("study.db")).unwrap();
    let mut torn = sound.clone();
    for byte in &mut torn[4096..8192] {
        *byte = 0xaa;
    }
    let length = sound.len();
    let contents: [(&str, &[u8]); 3] =
        [("torn", &torn), ("cut", &sound[..length / 2]), ("other", &[b'x'; 4096])];
    for (what, content) in contents {
        fs::write(place.path("study.db"), content).unwrap();
        let said = place.fails(&["check"], 4);
        assert!(said.contains("study.db"), "{what}: {said}");
        let listed = place.run(&["check", "--json"]);
        assert_eq!(listed.status.code(), Some(4), "{what}");
        let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
        assert_eq!(listed["ok"], false, "{what}");
        assert!(listed["error"].as_str().unwrap().contains("study.db"), "{what}: {listed}");
    }

    // A journal that contradicts itself is found by replaying it.
    fs::write(place.path("study.db"), &sound).unwrap();
    let journal = unyoke_store::Location::File(place.path("study.db"));
    let mut store = unyoke_store::Store::open(&journal).unwrap();
    let at = unyoke::Journal::read(&store, 0).unwrap().len() as u64;
    let nonsense = unyoke::Event::Told { evaluation: 99, value: 1.0 };
    unyoke::Journal::append(&mut store, at, &[nonsense.into()]).unwrap();
    drop(store);
    assert!(place.fails(&["check"], 4).contains("evaluation 99"));
}

#[test]
fn a_place_where_no_study_can_be_kept_is_not_called_valid() {
    let place = Place::new(TWO);
    let elsewhere = |name: &str, store: &str| {
        place.write(name, &format!("[study]\nstore = \"{store}\"\n{TWO}"));
    };
    elsewhere("nowhere.toml", "no/such/folder/study.db");
    assert!(place.fails(&["check", "nowhere.toml"], 4).contains("no/such/folder"));
    elsewhere("far.toml", "postgres://nobody:secret@127.0.0.1:1/x?study=s");
    let said = place.fails(&["check", "far.toml"], 4);
    assert!(said.contains("cannot be reached") && !said.contains("secret"), "{said}");
    fs::create_dir(place.path("locked")).unwrap();
    elsewhere("locked.toml", "locked/study.db");
    set_mode(&place.path("locked"), 0o555);
    let said = place.fails(&["check", "locked.toml"], 4);
    set_mode(&place.path("locked"), 0o755);
    assert!(said.contains("locked"), "{said}");
    assert!(place.text(&["check", "locked.toml"]).contains("is valid"));
    assert_eq!(fs::read_dir(place.path("locked")).unwrap().count(), 0);
}

#[test]
fn what_would_make_a_later_ask_fail_is_a_mistake_in_the_file() {
    let place = Place::new(TWO);
    let hyper = "cost = 4\nhyper = { lengthscales = [1, 1], outputscale = 1, noise = 0, mean = 0 }";
    place.write("lengths.toml", &TWO.replace("cost = 4", hyper));
    let said = place.fails(&["check", "lengths.toml"], 3);
    assert!(
        said.contains("lengths.toml:") && said.contains("lengthscales needs 1 number"),
        "{said}"
    );
    let many: String =
        (0..1001).map(|i| format!("[parameters.p{i}]\nlow = 0\nhigh = 1\n")).collect();
    place.write("many.toml", &TWO.replace("[parameters.x]", &format!("{many}[parameters.x]")));
    let said = place.fails(&["check", "many.toml"], 3);
    assert!(said.contains("parameters are 1002, but at most 1000"), "{said}");
    for command in ["ask", "run"] {
        place.fails(&[command, "many.toml"], 3);
    }
}

#[test]
fn values_inside_a_shell_script_are_warned_of() {
    let place = Place::new(&TWO.replace("\"echo\", \"{x}\"", "\"sh\", \"-ec\", \"echo {x}\""));
    let said = place.text(&["check"]);
    assert!(said.contains("warning: mass: {x} stands inside a shell script"), "{said}");
    assert!(said.contains("$1"), "{said}");
    let warned = place.json(&["check"])["warnings"].as_array().unwrap().len();
    assert_eq!(warned, 1);
    let safe = "\"sh\", \"-c\", \"echo $1\", \"sh\", \"{x}\"";
    let place = Place::new(&TWO.replace("\"echo\", \"{x}\"", safe));
    assert!(!place.text(&["check"]).contains("warning"));
}
