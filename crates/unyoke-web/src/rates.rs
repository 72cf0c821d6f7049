//! How often a visitor may ask: a bucket for each address and kind of request, which fills up again.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Kinds of requests, each with a bucket of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Anything.
    Request,
    /// What changes a study.
    Action,
    /// Tokens that were wrong.
    WrongToken,
}

/// How many requests at once, and how many a second from then on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// At once.
    pub burst: f64,
    /// A second.
    pub per_second: f64,
}

/// The rates of all kinds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Of all requests of an address.
    pub requests: Rate,
    /// Of those that change a study.
    pub actions: Rate,
    /// Of wrong tokens.
    pub wrong_tokens: Rate,
}

impl Default for Rates {
    fn default() -> Self {
        Self {
            requests: Rate { burst: 1000.0, per_second: 200.0 },
            actions: Rate { burst: 100.0, per_second: 10.0 },
            wrong_tokens: Rate { burst: 20.0, per_second: 1.0 },
        }
    }
}

/// Addresses of which something is remembered, at most.
const MOST: usize = 4096;

/// The buckets.
#[derive(Debug)]
pub(crate) struct Buckets {
    rates: Rates,
    buckets: Mutex<HashMap<(IpAddr, Kind), Bucket>>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    since: Instant,
}

impl Buckets {
    pub(crate) fn new(rates: Rates) -> Self {
        Self { rates, buckets: Mutex::default() }
    }

    /// Takes one from the bucket of an address; if it is empty, how long to wait.
    pub(crate) fn take(&self, from: IpAddr, kind: Kind, now: Instant) -> Result<(), Duration> {
        let rate = self.rate(kind);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MOST {
            // Those that are full again are as good as none.
            buckets.retain(|(_, kind), bucket| {
                let rate = self.rate(*kind);
                filled(bucket, rate, now) < rate.burst
            });
        }
        if buckets.len() >= MOST && !buckets.contains_key(&(from, kind)) {
            return Err(Duration::from_secs(1));
        }
        let bucket = buckets.entry((from, kind)).or_insert(Bucket { left: rate.burst, since: now });
        let left = filled(bucket, rate, now);
        *bucket = Bucket { left: if left >= 1.0 { left - 1.0 } else { left }, since: now };
        if left >= 1.0 {
            return Ok(());
        }
        Err(Duration::from_secs_f64(((1.0 - left) / rate.per_second).clamp(0.0, 3600.0)))
    }

    /// Whether the bucket of an address is empty.
    pub(crate) fn is_empty(&self, from: IpAddr, kind: Kind, now: Instant) -> bool {
        let buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = buckets.get(&(from, kind));
        bucket.is_some_and(|bucket| filled(bucket, self.rate(kind), now) < 1.0)
    }

    fn rate(&self, kind: Kind) -> Rate {
        match kind {
            Kind::Request => self.rates.requests,
            Kind::Action => self.rates.actions,
            Kind::WrongToken => self.rates.wrong_tokens,
        }
    }
}

fn filled(bucket: &Bucket, rate: Rate, now: Instant) -> f64 {
    let passed = now.saturating_duration_since(bucket.since).as_secs_f64();
    (bucket.left + passed * rate.per_second).min(rate.burst)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn a_bucket_empties_and_fills_again() {
        let rate = Rate { burst: 3.0, per_second: 2.0 };
        let rates = Rates { requests: rate, ..Rates::default() };
        let (buckets, now) = (Buckets::new(rates), Instant::now());
        for _ in 0..3 {
            assert_eq!(buckets.take(HERE, Kind::Request, now), Ok(()));
        }
        assert_eq!(buckets.take(HERE, Kind::Request, now), Err(Duration::from_millis(500)));
        assert!(buckets.is_empty(HERE, Kind::Request, now));
        assert_eq!(buckets.take(HERE, Kind::Action, now), Ok(()));
        let other = "10.0.0.1".parse().unwrap();
        assert_eq!(buckets.take(other, Kind::Request, now), Ok(()));
        let later = now + Duration::from_millis(500);
        assert_eq!(buckets.take(HERE, Kind::Request, later), Ok(()));
        assert!(buckets.take(HERE, Kind::Request, later).is_err());
    }

    #[test]
    fn many_addresses_do_not_fill_the_memory() {
        let (buckets, now) = (Buckets::new(Rates::default()), Instant::now());
        let address = |i: u32| IpAddr::V4(i.into());
        for i in 0..2 * MOST as u32 {
            let _ = buckets.take(address(i), Kind::Request, now);
        }
        assert!(buckets.buckets.lock().unwrap().len() <= MOST);
        // Once the others are full again, a newcomer is let in.
        let later = now + Duration::from_secs(60);
        assert_eq!(buckets.take(address(1 << 30), Kind::Request, later), Ok(()));
    }
}
