//! What every kind of store promises, tried on each of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod places;

use places::{File, JournalFile, Memory, Place, Postgres, measured, parts, record, told};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use unyoke::{Config, Design, Event, FORMAT, Journal, JournalError, Problem, Record, Study};
use unyoke_store::{Error, Lease, LeaseState, Store};

const MINUTE: Duration = Duration::from_secs(60);

/// Makes a test of each function for each kind of place.
macro_rules! promises {
    ($($name:ident)*) => {
        mod memory { $(#[test] fn $name() { super::$name::<super::Memory>(); })* }
        mod sqlite { $(#[test] fn $name() { super::$name::<super::File>(); })* }
        mod journal { $(#[test] fn $name() { super::$name::<super::JournalFile>(); })* }
        mod postgres { $(#[test] fn $name() { super::$name::<super::Postgres>(); })* }
    };
}

promises! {
    records_are_read_from_any_position
    only_the_first_of_two_writers_at_a_position_succeeds
    records_appended_together_are_seen_together
    eight_writers_lose_nothing
    clones_in_several_threads_lose_nothing
    a_reopened_store_goes_on
    numbers_keep_every_bit
    records_of_format_1_are_kept_beside_those_of_today
    ten_thousand_records_are_kept
    any_text_is_kept
    eight_workers_claim_each_evaluation_once
    of_eight_workers_with_the_same_list_each_gets_other_evaluations
    the_first_free_evaluations_of_a_list_are_claimed
    what_a_worker_asks_for_is_claimed_in_the_same_step
    what_a_worker_settles_is_released_in_the_same_step
    a_signed_record_says_who_and_when_and_others_stay_as_they_are
    a_live_lease_keeps_everybody_else_out
    an_expired_lease_is_taken_over_as_the_next_attempt
    a_lease_of_no_time_is_expired_at_once
    a_renewed_lease_lasts_from_then_on
    an_expired_lease_is_renewed_unless_somebody_took_over
    many_leases_are_renewed_at_once_and_those_lost_are_named
    all_leases_of_an_owner_are_released_at_once
    a_lease_changes_hands_once_and_is_never_free
    a_lost_lease_can_do_nothing
    a_released_evaluation_is_free_at_once
    leases_outlast_the_store
    all_leases_are_listed_with_their_state
    extreme_numbers_and_times_are_kept
    late_results_are_kept_beside_the_journal
    a_text_that_not_all_can_keep_is_refused_by_all
    a_study_goes_on_as_it_would_in_memory
}

fn records_are_read_from_any_position<P: Place>() {
    let place = P::new();
    let mut store = place.create();
    let records = [0, 1, 2].map(|number| record(number, "me"));
    assert!(store.read(0).unwrap().is_empty());
    store.append(0, &records[..2]).unwrap();
    store.append(2, &records[2..]).unwrap();
    for from in 0..=3 {
        assert_eq!(store.read(from).unwrap(), records[from as usize..]);
    }
    for (from, most) in (0..4).flat_map(|from| (0..5).map(move |most| (from, most))) {
        let piece = &records[from.min(3)..(from + most).min(3)];
        assert_eq!(store.read_at_most(from as u64, most).unwrap(), piece);
    }
    for beyond in [4, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX] {
        assert!(store.read(beyond).unwrap().is_empty());
    }
}

fn only_the_first_of_two_writers_at_a_position_succeeds<P: Place>() {
    let place = P::new();
    let mut mine = place.create();
    mine.append(0, &[record(0, "me"), record(1, "me")]).unwrap();
    let mut yours = place.open();
    for at in [0, 1, 3, i64::MAX as u64 + 1, u64::MAX] {
        let conflict = JournalError::Conflict { expected: at, found: 2 };
        assert_eq!(yours.append(at, &[record(8, "you"), record(9, "you")]), Err(conflict.clone()));
        assert_eq!(yours.append(at, &[]), Err(conflict));
    }
    assert_eq!(yours.append(2, &[]), Ok(()));
    assert_eq!(mine.read(0).unwrap(), [record(0, "me"), record(1, "me")]);
}

fn records_appended_together_are_seen_together<P: Place>() {
    let place = P::new();
    let mut store = place.create();
    let batch = |at: u64| -> Vec<Record> { (at..at + 7).map(|i| record(i, "me")).collect() };
    store.append(0, &batch(0)).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let reader = place.open();
            let done = &done;
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    assert_eq!(reader.read(0).unwrap().len() % 7, 0);
                }
            });
        }
        for at in (7..7 * 30).step_by(7) {
            store.append(at, &batch(at)).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(store.read(0).unwrap().len(), 7 * 30);
}

/// Appends, as people do who read, decide and find that somebody else was faster.
fn append_fifty(mut store: Store, writer: &str) {
    let mut at = 0;
    for number in 0..50 {
        loop {
            at += store.read(at).unwrap().len() as u64;
            match store.append(at, &[record(number, writer)]) {
                Ok(()) => break,
                Err(JournalError::Conflict { expected, found }) => assert!(found > expected),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// All of what eight writers appended is there, once, and in the order of each.
fn check_eight_times_fifty(records: &[Record]) {
    assert_eq!(records.len(), 1 + 8 * 50);
    for writer in 0..8 {
        let name = format!("writer {writer}");
        let theirs = records.iter().map(parts).filter(|(_, who)| *who == name);
        assert!(theirs.map(|(number, _)| number).eq(0..50), "{name}");
    }
}

fn eight_writers_lose_nothing<P: Place>() {
    let place = P::new();
    let store = place.begin();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let store = place.open();
            scope.spawn(move || append_fifty(store, &format!("writer {writer}")));
        }
    });
    check_eight_times_fifty(&store.read(0).unwrap());
    assert_eq!(place.open().read(0).unwrap(), store.read(0).unwrap());
}

fn clones_in_several_threads_lose_nothing<P: Place>() {
    let place = P::new();
    let store = place.begin();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let store = store.clone();
            scope.spawn(move || append_fifty(store, &format!("writer {writer}")));
        }
    });
    check_eight_times_fifty(&store.read(0).unwrap());
}

fn a_reopened_store_goes_on<P: Place>() {
    let place = P::new();
    drop(place.begin());
    for at in 1..5 {
        let mut store = place.open();
        assert_eq!(store.read(0).unwrap().len() as u64, at);
        store.append(at, &[record(at, "me")]).unwrap();
    }
}

fn numbers_keep_every_bit<P: Place>() {
    let place = P::new();
    let mut store = place.begin();
    let values = [0.1 + 0.2, 5e-324, f64::MIN_POSITIVE, f64::MAX, -0.0, 1e22, 1.0 / 3.0, -1e-300];
    store.append(1, &values.map(|value| measured(u64::MAX, value))).unwrap();
    for (record, value) in place.open().read(1).unwrap().iter().zip(values) {
        let Event::Measured { evaluation: u64::MAX, values: back, .. } = &record.event else {
            panic!("{record:?}")
        };
        assert_eq!(back["f"].value.to_bits(), value.to_bits());
    }
}

fn records_of_format_1_are_kept_beside_those_of_today<P: Place>() {
    let place = P::new();
    let mut store = place.create();
    store.append(0, &[told(0, 0.5), told(1, 0.25)]).unwrap();
    let mut later = place.open();
    assert_eq!(later.read(0).unwrap(), [told(0, 0.5), told(1, 0.25)]);
    later.append(2, &[measured(2, 0.125)]).unwrap();
    let records = place.open().read(0).unwrap();
    assert_eq!(records, [told(0, 0.5), told(1, 0.25), measured(2, 0.125)]);
    let formats: Vec<u32> = records.iter().map(|record| record.format).collect();
    assert_eq!(formats, [1, 1, FORMAT]);
}

fn ten_thousand_records_are_kept<P: Place>() {
    let place = P::new();
    let mut store = place.create();
    let records: Vec<Record> = (0..10_000).map(|number| record(number, "me")).collect();
    for (at, part) in records.chunks(1000).enumerate() {
        store.append(at as u64 * 1000, part).unwrap();
    }
    let reopened = place.open();
    assert_eq!(reopened.read(0).unwrap(), records);
    assert_eq!(reopened.read(9_999).unwrap(), records[9_999..]);
}

fn any_text_is_kept<P: Place>() {
    let place = P::new();
    let mut store = place.begin();
    let long = "é".repeat(1_000_000);
    for (at, text) in
        (1..).zip(["", "🦀 ü 漢字 \u{202e}abc", "a\0b\r\n\t\"'\\;--", "\u{10ffff}", &long])
    {
        store.append(at, &[record(at, text)]).unwrap();
        assert_eq!(place.open().read(at).unwrap(), [record(at, text)]);
    }
    let lease = store.claim(1, "Änne's 🖥 \"one\"", MINUTE).unwrap().unwrap();
    assert_eq!(place.open().leases().unwrap()[0].lease, lease);
}

fn eight_workers_claim_each_evaluation_once<P: Place>() {
    let place = P::new();
    let store = place.begin();
    let mut claimed: Vec<u64> = std::thread::scope(|scope| {
        let claim_all = |worker: u64| {
            let store = place.open();
            move || -> Vec<u64> {
                let owner = format!("worker {worker}");
                // Each begins elsewhere, so that they meet on many evaluations and not one.
                let order = (0..100).map(|i| (i + 13 * worker) % 100);
                order.filter(|&e| store.claim(e, &owner, MINUTE).unwrap().is_some()).collect()
            }
        };
        let workers: Vec<_> = (0..8).map(|worker| scope.spawn(claim_all(worker))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    claimed.sort_unstable();
    assert!(claimed.into_iter().eq(0..100));
    let leases = store.leases().unwrap();
    assert_eq!(leases.len(), 100);
    assert!(leases.iter().all(|status| status.is_live() && status.lease.attempt == 1));
}

fn of_eight_workers_with_the_same_list_each_gets_other_evaluations<P: Place>() {
    let place = P::new();
    let store = place.begin();
    let list: Vec<u64> = (0..100).collect();
    let calls = AtomicUsize::new(0);
    let mut claimed: Vec<u64> = std::thread::scope(|scope| {
        let claim_all = |worker: u64| {
            let (store, list, calls) = (place.open(), &list, &calls);
            move || -> Vec<u64> {
                let (owner, mut mine) = (format!("worker {worker}"), vec![]);
                loop {
                    calls.fetch_add(1, Ordering::Relaxed);
                    let leases = store.claim_free(list, 1, &owner, MINUTE).unwrap();
                    // Nothing is only ever said when there is nothing.
                    let Some(lease) = leases.first() else { return mine };
                    mine.push(lease.evaluation);
                }
            }
        };
        let workers: Vec<_> = (0..8).map(|worker| scope.spawn(claim_all(worker))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    claimed.sort_unstable();
    assert!(claimed.into_iter().eq(0..100));
    assert!(store.leases().unwrap().iter().all(|status| status.lease.attempt == 1));
    assert!(calls.into_inner() <= 100 + 8, "one call for each claim, and one that finds nothing");
}

fn the_first_free_evaluations_of_a_list_are_claimed<P: Place>() {
    let place = P::new();
    let store = place.begin();
    let claimed = |list: &[u64], most: usize, owner: &str| -> Vec<(u64, u32)> {
        let leases = store.claim_free(list, most, owner, MINUTE).unwrap();
        assert!(leases.iter().all(|lease| lease.owner == owner));
        leases.iter().map(|lease| (lease.evaluation, lease.attempt)).collect()
    };
    store.claim(5, "ann", MINUTE).unwrap();
    store.claim(6, "ann", Duration::ZERO).unwrap();
    let released = store.claim(7, "ann", MINUTE).unwrap().unwrap();
    store.release(&released).unwrap();
    assert_eq!(claimed(&[9, 5, 6, 7, 8], 3, "bob"), [(9, 1), (6, 2), (7, 2)], "in this order");
    assert_eq!(claimed(&[9, 5, 6, 7, 8], 9, "cem"), [(8, 1)]);
    assert_eq!(claimed(&[9, 5, 6, 7, 8], 9, "bob"), []);
    assert_eq!(claimed(&[], 9, "bob"), []);
    assert_eq!(claimed(&[1, 2], 0, "bob"), []);
    assert_eq!(claimed(&[u64::MAX, 2, u64::MAX, 2], 9, "bob"), [(u64::MAX, 1), (2, 1)]);
    assert_eq!(store.leases().unwrap().len(), 7);
}

fn asked(evaluation: u64) -> Record {
    let (design, measurement) = (Design::new().with("x", 0.5), "f".to_owned());
    Event::Asked { evaluation, design, measurement, cost: 1.0, initial: true }.into()
}

fn what_a_worker_asks_for_is_claimed_in_the_same_step<P: Place>() {
    let place = P::new();
    let (mut study, other) = (place.begin(), place.open());
    let store = study.clone();
    study.append(1, &[asked(0)]).unwrap();
    assert!(store.leases().unwrap().is_empty(), "nobody said that they work");
    store.work_as("ann", MINUTE).unwrap();
    assert!(study.append(1, &[asked(1)]).is_err());
    assert_eq!(store.leases().unwrap().len(), 0, "somebody else was faster");
    study.append(2, &[asked(1), asked(2)]).unwrap();
    assert_eq!(other.claim_free(&[1, 2], 2, "bob", MINUTE).unwrap(), []);
    let lease = store.claim(1, "ann", MINUTE).unwrap().unwrap();
    assert_eq!(lease, Lease { evaluation: 1, attempt: 1, owner: "ann".into() });
    assert_eq!(store.claim(1, "ann", MINUTE).unwrap(), None, "only once");
    place.pass(MINUTE * 2);
    assert_eq!(other.claim(2, "bob", MINUTE).unwrap().unwrap().attempt, 2);
    assert_eq!(store.claim(2, "ann", MINUTE).unwrap(), None, "it was waited too long");
}

fn a_signed_record_says_who_and_when_and_others_stay_as_they_are<P: Place>() {
    let place = P::new();
    let mut study = place.begin();
    study.append(1, &[asked(0)]).unwrap();
    study.clone().sign_as(Some("ann")).unwrap();
    let own = Record { by: Some("bob".into()), at: Some(7), key: Some("k".into()), ..asked(2) };
    study.append(2, &[asked(1), own.clone()]).unwrap();
    study.sign_as(None).unwrap();
    study.append(4, &[asked(3)]).unwrap();
    let read = place.open().read(1).unwrap();
    assert_eq!((&read[0], &read[2]), (&asked(0), &own));
    assert_eq!(read[1], Record { by: Some("ann".into()), at: read[1].at, ..asked(1) });
    assert_eq!((read[3].by.as_deref(), read[3].at.is_some()), (None, true));
    assert!(read[1].at.is_some() && read[1].at <= read[3].at);
    assert!(study.sign_as(Some("a\0")).is_err());
}

fn what_a_worker_settles_is_released_in_the_same_step<P: Place>() {
    let place = P::new();
    let mut study = place.begin();
    study.work_as("ann", MINUTE).unwrap();
    study.append(1, &[asked(0), asked(1), asked(2), asked(3), asked(4)]).unwrap();
    let other = place.open();
    other.claim(5, "bob", MINUTE).unwrap().unwrap();
    study.append(6, &[measured(0, 0.5), record(1, "failed")]).unwrap();
    study.append(8, &[Event::Withdrawn { evaluation: 2 }.into(), told(3, 0.5)]).unwrap();
    study.append(10, &[measured(5, 0.5)]).unwrap();
    let live: Vec<bool> = other.leases().unwrap().iter().map(|status| status.is_live()).collect();
    assert_eq!(live, [false, false, false, false, true, true], "the last is somebody else's");
}

fn a_live_lease_keeps_everybody_else_out<P: Place>() {
    let place = P::new();
    let store = place.begin();
    let lease = store.claim(3, "ann", MINUTE).unwrap().unwrap();
    assert_eq!(lease, Lease { evaluation: 3, attempt: 1, owner: "ann".into() });
    assert_eq!(place.open().claim(3, "bob", MINUTE).unwrap(), None);
    assert_eq!(store.claim(3, "ann", MINUTE).unwrap(), None, "not twice at once either");
    assert!(store.claim(4, "bob", MINUTE).unwrap().is_some());
}

fn an_expired_lease_is_taken_over_as_the_next_attempt<P: Place>() {
    let place = P::new();
    let store = place.begin();
    assert_eq!(store.claim(3, "ann", MINUTE).unwrap().unwrap().attempt, 1);
    place.pass(MINUTE / 2);
    assert_eq!(store.claim(3, "bob", MINUTE).unwrap(), None);
    place.pass(MINUTE / 2);
    let taken = place.open().claim(3, "bob", MINUTE).unwrap().unwrap();
    assert_eq!(taken, Lease { evaluation: 3, attempt: 2, owner: "bob".into() });
    place.pass(MINUTE);
    assert_eq!(store.claim(3, "bob", MINUTE).unwrap().unwrap().attempt, 3);
}

fn a_lease_of_no_time_is_expired_at_once<P: Place>() {
    let place = P::new();
    let store = place.begin();
    for attempt in 1..4 {
        assert_eq!(store.claim(3, "ann", Duration::ZERO).unwrap().unwrap().attempt, attempt);
        assert_eq!(store.leases().unwrap()[0].state, LeaseState::Expired);
    }
}

fn a_renewed_lease_lasts_from_then_on<P: Place>() {
    let place = P::new();
    let store = place.begin();
    let lease = store.claim(3, "ann", MINUTE).unwrap().unwrap();
    for _ in 0..5 {
        place.pass(MINUTE * 3 / 4);
        assert!(store.renew(&lease, MINUTE).unwrap());
        assert_eq!(store.claim(3, "bob", MINUTE).unwrap(), None);
    }
    assert_eq!(store.leases().unwrap()[0].lease, lease, "renewing is not another attempt");
}

fn an_expired_lease_is_renewed_unless_somebody_took_over<P: Place>() {
    let place = P::new();
    let store = place.begin();
    let lease = store.claim(3, "ann", MINUTE).unwrap().unwrap();
    place.pass(MINUTE * 2);
    assert!(store.renew(&lease, MINUTE).unwrap());
    assert_eq!(store.claim(3, "bob", MINUTE).unwrap(), None);
    place.pass(MINUTE * 2);
    assert!(store.claim(3, "bob", MINUTE).unwrap().is_some());
    assert!(!store.renew(&lease, MINUTE).unwrap());
}

fn many_leases_are_renewed_at_once_and_those_lost_are_named<P: Place>() {
    let place = P::new();
    let store = place.begin();
    let mut leases = store.claim_free(&[1, 2, 3, 4], 4, "ann", MINUTE).unwrap();
    store.release(&leases[1]).unwrap();
    place.pass(MINUTE / 2);
    let forged = Lease { owner: "bob".into(), ..leases[2].clone() };
    leases.push(forged.clone());
    assert_eq!(store.renew_all(&leases, MINUTE).unwrap(), [leases[1].clone(), forged]);
    assert_eq!(store.renew_all(&[], MINUTE).unwrap(), []);
    place.pass(MINUTE * 3 / 4);
    let live: Vec<bool> = store.leases().unwrap().iter().map(|status| status.is_live()).collect();
    assert_eq!(live, [true, false, true, true]);
}

fn all_leases_of_an_owner_are_released_at_once<P: Place>() {
    let place = P::new();
    let store = place.begin();
    store.claim_free(&[1, 2, 3], 3, "ann", MINUTE).unwrap();
    store.claim(4, "bob", MINUTE).unwrap();
    place.open().release_owner("ann").unwrap();
    store.release_owner("nobody").unwrap();
    let states: Vec<LeaseState> = store.leases().unwrap().iter().map(|s| s.state).collect();
    assert_eq!(states[..3], [LeaseState::Released; 3]);
    assert!(matches!(states[3], LeaseState::Live { .. }));
    assert_eq!(store.claim(2, "cem", MINUTE).unwrap().unwrap().attempt, 2);
    assert_eq!(store.release_owner("a\0b"), Err(Error::BadText { what: "owner" }));
}

fn a_lease_changes_hands_once_and_is_never_free<P: Place>() {
    let place = P::new();
    let store = place.begin();
    let gone = store.claim(7, "ann", MINUTE).unwrap().unwrap();
    let taken = place.open().take_over(&gone, "bob", MINUTE).unwrap().unwrap();
    assert_eq!(taken, Lease { evaluation: 7, attempt: 2, owner: "bob".into() });
    assert_eq!(store.take_over(&gone, "cleo", MINUTE).unwrap(), None);
    assert_eq!(store.claim(7, "cleo", MINUTE).unwrap(), None);
    assert!(!store.renew(&gone, MINUTE).unwrap());
    assert!(store.renew(&taken, MINUTE).unwrap());
    store.release(&taken).unwrap();
    assert_eq!(store.take_over(&taken, "cleo", MINUTE).unwrap(), None, "it is for all to claim");
    assert_eq!(store.take_over(&gone, "a\0b", MINUTE), Err(Error::BadText { what: "owner" }));
}

fn a_lost_lease_can_do_nothing<P: Place>() {
    let place = P::new();
    let store = place.begin();
    let lost = store.claim(3, "ann", Duration::ZERO).unwrap().unwrap();
    let held = store.claim(3, "ann", MINUTE).unwrap().unwrap();
    assert!(!store.renew(&lost, MINUTE).unwrap());
    store.release(&lost).unwrap();
    assert!(store.leases().unwrap()[0].is_live());
    assert!(store.renew(&held, MINUTE).unwrap());
    let forged = Lease { owner: "bob".into(), ..held };
    assert!(!store.renew(&forged, MINUTE).unwrap());
    let invented = Lease { evaluation: 99, ..forged };
    assert!(!store.renew(&invented, MINUTE).unwrap());
    store.release(&invented).unwrap();
    assert_eq!(store.leases().unwrap().len(), 1);
}

fn a_released_evaluation_is_free_at_once<P: Place>() {
    let place = P::new();
    let store = place.begin();
    let lease = store.claim(3, "ann", MINUTE).unwrap().unwrap();
    store.release(&lease).unwrap();
    store.release(&lease).unwrap();
    assert!(!store.renew(&lease, MINUTE).unwrap(), "what was given back is lost");
    assert_eq!(store.leases().unwrap()[0].state, LeaseState::Released);
    assert_eq!(place.open().claim(3, "bob", MINUTE).unwrap().unwrap().attempt, 2);
}

fn leases_outlast_the_store<P: Place>() {
    let place = P::new();
    let lease = place.begin().claim(3, "ann", MINUTE).unwrap().unwrap();
    let store = place.open();
    assert_eq!(store.claim(3, "bob", MINUTE).unwrap(), None);
    assert!(store.renew(&lease, MINUTE).unwrap());
}

fn all_leases_are_listed_with_their_state<P: Place>() {
    let place = P::new();
    let store = place.begin();
    assert!(store.leases().unwrap().is_empty());
    store.claim(9, "ann", MINUTE).unwrap();
    store.claim(2, "bob", Duration::ZERO).unwrap();
    let given_back = store.claim(5, "cem", MINUTE).unwrap().unwrap();
    store.release(&given_back).unwrap();
    let leases = place.open().leases().unwrap();
    let evaluations: Vec<u64> = leases.iter().map(|status| status.lease.evaluation).collect();
    assert_eq!(evaluations, [2, 5, 9]);
    let LeaseState::Live { remaining } = leases[2].state else { panic!("{:?}", leases[2]) };
    assert!(remaining > MINUTE / 2 && remaining <= MINUTE, "{remaining:?}");
    assert_eq!(leases[0].state, LeaseState::Expired);
    assert_eq!(leases[1].state, LeaseState::Released);
    let live: Vec<bool> = leases.iter().map(|status| status.is_live()).collect();
    assert_eq!(live, [false, false, true]);
}

fn extreme_numbers_and_times_are_kept<P: Place>() {
    let place = P::new();
    let store = place.begin();
    let lease = store.claim(u64::MAX, "ann", Duration::MAX).unwrap().unwrap();
    store.claim(0, "ann", MINUTE).unwrap();
    assert!(store.renew(&lease, Duration::MAX).unwrap());
    assert_eq!(store.claim(u64::MAX, "bob", MINUTE).unwrap(), None);
    assert_eq!(store.leases().unwrap()[1].lease, lease);
    store.keep_late(u64::MAX, u32::MAX, "late").unwrap();
    let late = &store.late().unwrap()[0];
    assert_eq!((late.evaluation, late.attempt), (u64::MAX, u32::MAX));
}

fn late_results_are_kept_beside_the_journal<P: Place>() {
    let place = P::new();
    let store = place.begin();
    assert!(store.late().unwrap().is_empty());
    let outcomes = [(7, 1, r#"{"value":0.1}"#), (3, 2, "zu spät 🦀"), (7, 1, r#"{"value":0.1}"#)];
    for (evaluation, attempt, outcome) in outcomes {
        store.keep_late(evaluation, attempt, outcome).unwrap();
    }
    let late = place.open().late().unwrap();
    let kept = late.iter().map(|late| (late.evaluation, late.attempt, late.outcome.as_str()));
    assert!(kept.eq(outcomes));
    assert_eq!(store.read(0).unwrap().len(), 1, "never counted");
}

fn a_text_that_not_all_can_keep_is_refused_by_all<P: Place>() {
    let place = P::new();
    let store = place.begin();
    let owner = store.claim(1, "a\0b", MINUTE);
    assert_eq!(owner, Err(Error::BadText { what: "owner" }));
    let outcome = store.keep_late(1, 1, "a\0b");
    assert_eq!(outcome, Err(Error::BadText { what: "outcome" }));
    assert!(store.leases().unwrap().is_empty() && store.late().unwrap().is_empty());
}

fn problem() -> Problem {
    let problem = Problem::builder().continuous("width", 0.1, 2.0).integer("ribs", 1, 9);
    problem.minimise("mass", 1.0).minimise("bend", 3.0).build().unwrap()
}

/// Asks, tells and closes the study after each step if `reopen` says how to get it back.
fn steps<J: Journal>(
    mut study: Study<J>,
    count: usize,
    reopen: impl Fn(Study<J>) -> Study<J>,
) -> Study<J> {
    for step in 0..count {
        let suggestion = study.ask().unwrap();
        let width = suggestion.design.real("width").unwrap();
        let value = if suggestion.measurement == "mass" { width } else { 1.0 / width };
        match step {
            3 => study.tell_failure(suggestion.evaluation, "the mesh broke").unwrap(),
            _ => study.tell(suggestion.evaluation, value).unwrap(),
        }
        study = reopen(study);
    }
    study
}

fn a_study_goes_on_as_it_would_in_memory<P: Place>() {
    let place = P::new();
    let config = Config::default();
    let straight = Study::with_config(problem(), config.clone(), 5).unwrap();
    let straight = steps(straight, 12, |study| study);
    let kept = Study::create(problem(), config, 5, place.create()).unwrap();
    let kept = steps(kept, 12, |_| Study::open(place.open()).unwrap());
    assert_eq!(kept.evaluations(), straight.evaluations());
    assert_eq!(kept.suggest().unwrap(), straight.suggest().unwrap());
    assert!(matches!(
        Study::create(problem(), Config::default(), 5, place.open()),
        Err(unyoke::Error::Journal(JournalError::Conflict { expected: 0, .. }))
    ));
}
