//! Evaluations that need no model: the initial design, and what coupled algorithms still owe.

use crate::config::Algorithm;
use crate::error::Result;
use crate::history::{History, Status};
use crate::suggestion::Note;
use unyoke_math::random::seed_for;
use unyoke_math::sobol::Sobol;

/// The stream of random numbers behind space-filling designs.
const DESIGNS: u64 = 0;

/// What comes next.
pub(crate) enum Planned {
    /// This evaluation, whatever the models would say.
    Given { x: Vec<f64>, objective: usize, note: Note },
    /// Whatever is worth most.
    Search,
}

/// Looks at what was asked and told so far.
pub(crate) fn next(history: &History) -> Result<Planned> {
    let designs = Sobol::new(history.space.parameters(), seed_for(history.seed, DESIGNS))?;
    if let Some((x, objective)) = next_initial(history, &designs) {
        return Ok(Planned::Given { x, objective, note: Note::InitialDesign });
    }
    let algorithm = history.config.algorithm;
    if algorithm.is_coupled()
        && let Some((x, objective)) = owed(history)
    {
        return Ok(Planned::Given { x, objective, note: Note::SameDesign });
    }
    let objectives = history.problem.objectives.len();
    let note = if algorithm == Algorithm::Sobol {
        Note::SpaceFilling
    } else if (0..objectives).all(|m| history.told_count(m) == 0) {
        Note::NoValues
    } else {
        return Ok(Planned::Search);
    };
    let asked = history.evaluations.iter().filter(|evaluation| evaluation.asked).count();
    let (index, objective) = (asked.div_ceil(objectives), asked % objectives);
    let objective = if algorithm.is_coupled() { 0 } else { objective };
    match new_design(history, &designs, index, objective) {
        Some(x) => Ok(Planned::Given { x, objective, note }),
        None => {
            let x = design(history, &designs, index);
            Ok(Planned::Given { x, objective, note: Note::Exhausted })
        }
    }
}

/// The next initial evaluation: of the objective that is furthest behind, at a design that is new
/// to it. Values from elsewhere count; failures are made up for, within reason.
fn next_initial(history: &History, designs: &Sobol) -> Option<(Vec<f64>, usize)> {
    let counts = history.config.initial.counts(&history.problem);
    let behind = |(m, count): (usize, &usize)| {
        let here = || history.evaluations.iter().filter(move |e| e.objective == m);
        let have = here().filter(|e| matches!(e.status, Status::Pending | Status::Told(_))).count();
        let tried = here().filter(|e| e.initial).count();
        (have < *count && tried < 2 * count + 4).then_some((tried, m))
    };
    let mut behind: Vec<(usize, usize)> = counts.iter().enumerate().filter_map(behind).collect();
    behind.sort_unstable();
    behind.into_iter().find_map(|(index, m)| Some((new_design(history, designs, index, m)?, m)))
}

/// For coupled algorithms: an objective not yet asked for at the latest design.
fn owed(history: &History) -> Option<(Vec<f64>, usize)> {
    let latest = history.evaluations.iter().rfind(|e| e.asked && !e.initial)?;
    let x = history.point(latest.id);
    let asked_here = |m: usize| {
        let mut here = history.evaluations.iter().filter(|e| e.asked && e.objective == m);
        here.any(|e| history.space.same(history.point(e.id), x))
    };
    let missing = (0..history.problem.objectives.len()).find(|&m| !asked_here(m))?;
    Some((x.to_vec(), missing))
}

/// The space-filling design of this number, or the next that was not evaluated on the objective;
/// none where all seem to have been.
fn new_design(
    history: &History,
    designs: &Sobol,
    index: usize,
    objective: usize,
) -> Option<Vec<f64>> {
    const TRIES: usize = 256;
    let is_new = |x: &Vec<f64>| {
        let mut here = history.evaluations.iter().filter(|e| e.objective == objective);
        !here.any(|e| e.status != Status::Withdrawn && history.space.same(history.point(e.id), x))
    };
    (index..index + TRIES).map(|i| design(history, designs, i)).find(is_new)
}

/// The space-filling design of this number.
fn design(history: &History, designs: &Sobol, index: usize) -> Vec<f64> {
    let mut u = vec![0.0; history.space.parameters()];
    designs.point(index as u32, &mut u);
    history.space.from_cube(&u)
}
