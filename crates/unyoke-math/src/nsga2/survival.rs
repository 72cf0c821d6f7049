//! Who survives and who becomes a parent: rank first, crowding second.

use super::Population;
use crate::Points;
use crate::pareto::{crowding_of, descending_order, ranks_along};
use crate::random::{Rng, mix};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A population whose members know their rank and their crowding distance.
pub(super) struct Ranked {
    pub(super) population: Population,
    ranks: Vec<usize>,
    crowding: Vec<f64>,
}

impl Ranked {
    /// The better of two random members: lower rank, then more room, then by a coin.
    pub(super) fn tournament(&self, rng: &mut Rng) -> usize {
        let (a, b) = (rng.below(self.ranks.len()), rng.below(self.ranks.len()));
        let by_rank = self.ranks[b].cmp(&self.ranks[a]);
        match by_rank.then(self.crowding[a].total_cmp(&self.crowding[b])) {
            std::cmp::Ordering::Greater => a,
            std::cmp::Ordering::Less => b,
            std::cmp::Ordering::Equal => [a, b][rng.below(2)],
        }
    }
}

/// How far in the order of members those near one are looked for, at most.
const NEAR: usize = 8;

impl Ranked {
    /// A member near the one at `place`: each front comes sorted by its first objective, so that with two
    /// objectives neighbours in the order are neighbours on the front.
    pub(super) fn near(&self, place: usize, rng: &mut Rng) -> usize {
        let step = 1 + rng.below(NEAR);
        let there = match rng.below(2) {
            0 => place.checked_sub(step).unwrap_or(step),
            _ => place + step,
        };
        if there < self.ranks.len() { there } else { place.saturating_sub(step) }
    }
}

/// The best `keep` members of `pool`: whole fronts while they fit, then the members of the next
/// front with the most room (Deb et al. 2002, §III-C).
pub(super) fn survivors(pool: &Population, keep: usize) -> Ranked {
    let candidates = candidates(&pool.designs, keep);
    let objectives = pool.objectives.select(&candidates);
    // In this order each front comes sorted by its first objective, which spares the crowding
    // distances most of their own sorting.
    let mut by_rank = descending_order(&objectives);
    let ranks = ranks_along(&objectives, &by_rank);
    by_rank.sort_by_key(|&i| ranks[i]);

    let mut chosen: Vec<(usize, f64)> = Vec::new();
    for front in by_rank.chunk_by(|&a, &b| ranks[a] == ranks[b]) {
        let room = keep - chosen.len();
        if room == 0 {
            break;
        }
        let members = front.iter().copied().zip(crowding_of(&objectives, front)).collect();
        chosen.extend(roomiest(members, room));
    }
    let in_pool: Vec<usize> = chosen.iter().map(|&(i, _)| candidates[i]).collect();
    Ranked {
        population: pool.select(&in_pool),
        ranks: chosen.iter().map(|&(i, _)| ranks[i]).collect(),
        crowding: chosen.iter().map(|&(_, distance)| distance).collect(),
    }
}

/// The `room` members of a front with the largest crowding distances, in the order they had.
fn roomiest(mut members: Vec<(usize, f64)>, room: usize) -> Vec<(usize, f64)> {
    if members.len() > room {
        let by_room = |a: &(usize, f64), b: &(usize, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        // Selection leaves an order of its own, so it only finds where to cut.
        let (_, &mut cut, _) = members.clone().select_nth_unstable_by(room, by_room);
        members.retain(|member| by_room(member, &cut).is_lt());
    }
    members
}

/// The first of each set of equal designs; copies only as far as needed to have `least`.
fn candidates(designs: &Points, least: usize) -> Vec<usize> {
    let mut candidates = first_of_copies(designs);
    let missing = least.min(designs.len()).saturating_sub(candidates.len());
    if missing > 0 {
        let is_copy = |i: &usize| candidates.binary_search(i).is_err();
        let copies: Vec<usize> = (0..designs.len()).filter(is_copy).take(missing).collect();
        candidates.extend(copies);
    }
    candidates
}

/// The lowest index of each set of equal designs, ascending.
pub(super) fn first_of_copies(designs: &Points) -> Vec<usize> {
    // By a number for each design: far quicker than sorting. Two designs that share a number
    // without being equal, should it ever happen, both count as first.
    let mut first: HashMap<u64, usize, BuildHasherDefault<Mixed>> =
        HashMap::with_capacity_and_hasher(designs.len(), BuildHasherDefault::default());
    // Adding zero makes the two zeros one.
    let number = |row: &[f64]| row.iter().fold(0, |hash, x| mix(hash ^ (x + 0.0).to_bits()));
    let is_first = |&i: &usize| {
        let row = designs.row(i);
        let j = *first.entry(number(row)).or_insert(i);
        j == i || designs.row(j) != row
    };
    (0..designs.len()).filter(is_first).collect()
}

/// Hashes numbers that are mixed already.
#[derive(Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| mix(hash ^ u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn population(rows: &[[f64; 3]]) -> Population {
        Population {
            designs: Points::from_rows(1, rows.iter().map(|row| [row[0]])).unwrap(),
            objectives: Points::from_rows(2, rows.iter().map(|row| [row[1], row[2]])).unwrap(),
        }
    }

    #[test]
    fn better_fronts_survive_and_the_last_one_is_thinned_by_crowding() {
        let pool = population(&[
            [0.1, 0.0, 4.0],
            [0.2, 0.9, 1.0],
            [0.3, 2.0, 2.0],
            [0.4, 2.1, 1.9],
            [0.5, 4.0, 0.0],
        ]);
        let mut kept = survivors(&pool, 4).population.designs.as_flat().to_vec();
        kept.sort_by(f64::total_cmp);
        assert_eq!(kept, [0.1, 0.3, 0.4, 0.5]);
        let mut ends = survivors(&pool, 2).population.designs.as_flat().to_vec();
        ends.sort_by(f64::total_cmp);
        assert_eq!(ends, [0.1, 0.5]);
    }

    #[test]
    fn copies_survive_only_if_there_is_nothing_else() {
        let pool = population(&[[0.5, 1.0, 1.0], [0.5, 1.0, 1.0], [0.7, 0.0, 0.0]]);
        assert_eq!(survivors(&pool, 2).population.designs.as_flat(), [0.5, 0.7]);
        assert_eq!(survivors(&pool, 3).population.designs.len(), 3);
        assert_eq!(first_of_copies(&pool.designs), [0, 2]);
    }

    #[test]
    fn the_better_rank_wins_every_tournament_it_is_in() {
        let pool = population(&[[0.1, 1.0, 1.0], [0.2, 0.0, 0.0]]);
        let ranked = survivors(&pool, 2);
        let mut rng = Rng::new(0, 0);
        let wins = (0..1000).filter(|_| ranked.tournament(&mut rng) == 0).count();
        assert!((700..800).contains(&wins), "{wins}");
    }
}
