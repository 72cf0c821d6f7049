//! The time by which leases expire where no database server tells it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Tells the time: that of the system, or one moved by hand. Clones tell the same.
///
/// A clock moved by hand lets tests see leases expire without waiting.
///
/// ```
/// use std::time::Duration;
/// use unyoke_store::{Clock, Store};
///
/// let clock = Clock::by_hand();
/// let store = Store::memory().with_clock(clock.clone());
/// assert!(store.claim(7, "ann", Duration::from_secs(60))?.is_some());
/// clock.advance(Duration::from_secs(61));
/// assert_eq!(store.claim(7, "bob", Duration::from_secs(60))?.map(|lease| lease.attempt), Some(2));
/// # Ok::<(), unyoke_store::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Clock(Source);

#[derive(Debug, Clone, Default)]
enum Source {
    #[default]
    System,
    Hand(Arc<AtomicI64>),
}

impl Clock {
    /// The clock of the system.
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that stands at the beginning of 1970 until it is moved.
    pub fn by_hand() -> Self {
        Self(Source::Hand(Arc::default()))
    }

    /// Moves a clock that is moved by hand; the system's goes on by itself.
    pub fn advance(&self, time: Duration) {
        if let Source::Hand(now) = &self.0 {
            now.fetch_add(microseconds(time), Ordering::SeqCst);
        }
    }

    /// Whole seconds since the beginning of 1970.
    pub(crate) fn seconds(&self) -> u64 {
        u64::try_from(self.now() / 1_000_000).unwrap_or_default()
    }

    /// Microseconds since the beginning of 1970.
    pub(crate) fn now(&self) -> i64 {
        match &self.0 {
            Source::System => {
                microseconds(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
            }
            Source::Hand(now) => now.load(Ordering::SeqCst),
        }
    }
}

/// Whole microseconds. What is longer than a century counts as one, so that sums stay in range,
/// also for the calendar of PostgreSQL.
pub(crate) fn microseconds(time: Duration) -> i64 {
    const CENTURY: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);
    i64::try_from(time.min(CENTURY).as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_of_a_clock_move_together() {
        let clock = Clock::by_hand();
        clock.clone().advance(Duration::from_millis(3));
        assert_eq!(clock.now(), 3_000);
    }

    #[test]
    fn the_clock_of_the_system_does_not_stand_in_1970() {
        assert!(Clock::system().now() > microseconds(Duration::from_secs(1_700_000_000)));
    }

    #[test]
    fn endless_times_are_cut_to_a_century() {
        assert!(Clock::system().now().checked_add(microseconds(Duration::MAX)).is_some());
        assert_eq!(microseconds(Duration::ZERO), 0);
    }
}
