//! Waiting when several programs append to one journal at the same time.
//!
//! Of several that append at a position one succeeds, so that all together always get on. Those that
//! did not wait for a random time, longer with each failure: none is ahead of the others for good.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use crate::error::{Error, Result};

/// How often others may be first before somebody must be told: with the waits below, minutes.
const MOST: u32 = 4096;

/// The longest wait is this after one failure, twice as long after two, and so on.
const FIRST: Duration = Duration::from_millis(1);

/// No wait is longer than this.
const LONGEST: Duration = Duration::from_millis(64);

/// How often others were first.
#[derive(Debug, Default)]
pub(crate) struct Contention {
    times: u32,
}

impl Contention {
    /// Waits after another failure. Fails after very many.
    pub(crate) fn wait(&mut self) -> Result<()> {
        self.times += 1;
        if self.times > MOST {
            return Err(Error::Contended { times: MOST });
        }
        std::thread::sleep(longest(self.times).mul_f64(random()));
        Ok(())
    }
}

/// The longest wait after so many failures.
fn longest(times: u32) -> Duration {
    FIRST.saturating_mul(1 << times.saturating_sub(1).min(16)).min(LONGEST)
}

/// A number from 0 to 1, another each time and in each process. Nothing that is computed depends
/// on it.
fn random() -> f64 {
    RandomState::new().hash_one(0_u8) as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_up_to_a_limit() {
        let waits: Vec<u128> = [1, 2, 3, 7, 8, MOST].map(|n| longest(n).as_millis()).into();
        assert_eq!(waits, [1, 2, 4, 64, 64, 64]);
    }

    #[test]
    fn two_programs_do_not_wait_in_step() {
        let numbers: Vec<f64> = (0..8).map(|_| random()).collect();
        assert!(numbers.iter().all(|number| (0.0..=1.0).contains(number)));
        assert!(numbers.iter().any(|number| *number != numbers[0]));
    }

    #[test]
    fn it_says_so_when_others_are_always_first() {
        let mut contention = Contention { times: MOST };
        let said = contention.wait().unwrap_err().to_string();
        assert!(said.contains("other programs"), "{said}");
    }
}
