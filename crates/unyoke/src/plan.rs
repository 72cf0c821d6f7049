//! Evaluations that need no model: the initial design, and what coupled algorithms still owe. What
//! may be asked for is decided elsewhere; here it is respected.

use crate::config::Algorithm;
use crate::error::Result;
use crate::history::{Evaluation, History, Status};
use crate::space::key;
use crate::suggestion::Note;
use std::collections::HashSet;
use unyoke_math::random::seed_for;
use unyoke_math::sobol::Sobol;

/// The stream of random numbers behind space-filling designs.
const DESIGNS: u64 = 0;

/// Whether an evaluation may be asked for; see [`Study::ask_where`](crate::Study::ask_where).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// It may.
    Granted,
    /// Not now, but when something under way has ended. What cannot be left out, such as an initial
    /// evaluation, is waited for.
    Later,
    /// Not any more: others take its place.
    Never,
}

/// What somebody thinks of evaluating these objectives at one design, the first of them now.
pub(crate) type Allowed<'a> = &'a dyn Fn(&[usize]) -> Permission;

/// What comes next.
pub(crate) enum Planned {
    /// This evaluation, whatever the models would say.
    Given { x: Vec<f64>, objective: usize, note: Note },
    /// Whatever is worth most.
    Search,
    /// Nothing: what comes next is not allowed now.
    Nothing,
}

/// Looks at what was asked and told so far.
pub(crate) fn next(history: &History, allowed: Allowed<'_>) -> Result<Planned> {
    let designs = Sobol::new(history.space.parameters(), seed_for(history.seed, DESIGNS))?;
    let behind = behind(history).into_iter().filter_map(|(index, m)| {
        Some((new_design(history, &designs, index, m)?, m))
            .filter(|_| allowed(&[m]) != Permission::Never)
    });
    let behind: Vec<(Vec<f64>, usize)> = behind.collect();
    if !behind.is_empty() {
        let granted = behind.into_iter().find(|(_, m)| allowed(&[*m]) == Permission::Granted);
        return Ok(given(granted, Note::InitialDesign));
    }
    let algorithm = history.config.algorithm;
    if algorithm.is_coupled()
        && let Some((x, objective)) = owed(history)
    {
        let granted = (allowed(&[objective]) == Permission::Granted).then_some((x, objective));
        return Ok(given(granted, Note::SameDesign));
    }
    let no_values = || (0..history.problem.objectives.len()).all(|m| history.told_count(m) == 0);
    match algorithm {
        Algorithm::Sobol => Ok(filling(history, &designs, Note::SpaceFilling, allowed)),
        _ if no_values() => Ok(filling(history, &designs, Note::NoValues, allowed)),
        _ => Ok(Planned::Search),
    }
}

fn given(found: Option<(Vec<f64>, usize)>, note: Note) -> Planned {
    match found {
        Some((x, objective)) => Planned::Given { x, objective, note },
        None => Planned::Nothing,
    }
}

/// The next space-filling design: all of its objectives for coupled algorithms, otherwise one
/// objective after the other.
fn filling(history: &History, designs: &Sobol, note: Note, allowed: Allowed<'_>) -> Planned {
    let objectives = history.problem.objectives.len();
    let asked = history.asked().count();
    let granted = if history.config.algorithm.is_coupled() {
        let all: Vec<usize> = (0..objectives).collect();
        (allowed(&all) == Permission::Granted).then_some(0)
    } else {
        let mut turns = (0..objectives).map(|turn| (asked + turn) % objectives);
        turns.find(|m| allowed(&[*m]) == Permission::Granted)
    };
    let Some(objective) = granted else { return Planned::Nothing };
    let index = asked.div_ceil(objectives);
    match new_design(history, designs, index, objective) {
        Some(x) => Planned::Given { x, objective, note },
        None => {
            let x = design(history, designs, index);
            Planned::Given { x, objective, note: Note::Exhausted }
        }
    }
}

/// Initial evaluations that are still to be made: how many there were of which objective, the
/// objective that is furthest behind first. Values from elsewhere count; failures are made up for,
/// within reason.
fn behind(history: &History) -> Vec<(usize, usize)> {
    let counts = history.config.initial.counts(&history.problem);
    let behind = |(m, count): (usize, &usize)| {
        let here = || history.evaluations.iter().filter(move |e| e.objective == m);
        let have = here().filter(|e| matches!(e.status, Status::Pending | Status::Told(_))).count();
        let tried = history.asked().filter(|e| e.initial && e.objective == m).count();
        (have < *count && tried < count.saturating_mul(2).saturating_add(4)).then_some((tried, m))
    };
    let mut behind: Vec<(usize, usize)> = counts.iter().enumerate().filter_map(behind).collect();
    behind.sort_unstable();
    behind
}

/// Evaluations of different objectives at one design that came from one search.
struct Searched<'h> {
    x: &'h [f64],
    objectives: Vec<usize>,
}

/// The searches of a coupled algorithm: how many there were, and those whose designs still lack an
/// objective.
fn coupled_searches(history: &History) -> (u64, Vec<Searched<'_>>) {
    let (mut count, mut open) = (0, Vec::<Searched<'_>>::new());
    for Evaluation { id, objective, .. } in history.asked().filter(|e| !e.initial) {
        let x = history.point(*id);
        let lacks = |searched: &Searched<'_>| {
            history.space.same(searched.x, x) && !searched.objectives.contains(objective)
        };
        match open.iter().position(lacks) {
            Some(found) => {
                open[found].objectives.push(*objective);
                if open[found].objectives.len() == history.problem.objectives.len() {
                    open.remove(found);
                }
            }
            None => {
                count += 1;
                if history.problem.objectives.len() > 1 {
                    open.push(Searched { x, objectives: vec![*objective] });
                }
            }
        }
    }
    (count, open)
}

/// The number of searches so far, which decides the random numbers of the next one. A design that is
/// evaluated on all objectives is one search; initial and withdrawn evaluations are none.
pub(crate) fn searches(history: &History) -> u64 {
    match history.config.algorithm.is_coupled() {
        true => coupled_searches(history).0,
        false => history.asked().filter(|e| !e.initial).count() as u64,
    }
}

/// For coupled algorithms: an objective that the earliest incomplete design still lacks.
fn owed(history: &History) -> Option<(Vec<f64>, usize)> {
    let (_, open) = coupled_searches(history);
    let Searched { x, objectives } = open.first()?;
    let missing = (0..history.problem.objectives.len()).find(|m| !objectives.contains(m))?;
    Some((x.to_vec(), missing))
}

/// The first space-filling design that was not evaluated on the objective, of those up to the given
/// number and some more; none where all seem to have been.
fn new_design(
    history: &History,
    designs: &Sobol,
    count: usize,
    objective: usize,
) -> Option<Vec<f64>> {
    const TRIES: usize = 256;
    let standing = history.evaluations.iter().filter(|e| e.status != Status::Withdrawn);
    let here = standing.filter(|e| e.objective == objective);
    let evaluated: HashSet<Vec<u64>> = here.map(|e| key(history.point(e.id))).collect();
    let mut designs = (0..count + TRIES).map(|i| design(history, designs, i));
    designs.find(|x| !evaluated.contains(&key(x)))
}

/// The space-filling design of this number.
fn design(history: &History, designs: &Sobol, index: usize) -> Vec<f64> {
    let mut u = vec![0.0; history.space.parameters()];
    designs.point(index as u32, &mut u);
    history.space.from_cube(&u)
}

#[cfg(test)]
mod tests;
