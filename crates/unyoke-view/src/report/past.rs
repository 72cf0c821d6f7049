//! What was expected of continuing at moments of the past, computed from the journal as it was then; and
//! what was measured of all objectives.

use unyoke::{Design, Direction, Event, Journal, MemoryJournal, Output, Record, Status, Study};
use unyoke_math::Points;
use unyoke_math::pareto::hypervolume;

use crate::figures::Moment;
use crate::front::{FrontView, PointView, ROWS, front};
use crate::output::OutputView;

/// At how many moments the past is looked at.
const MOMENTS: usize = 12;

/// A study at some moment.
struct Past {
    spent: f64,
    gain_per_cost: Option<f64>,
    front: FrontView,
}

/// What was expected of continuing at some moments of the past and now, when the next evaluation is
/// expected to gain `gain_per_cost`; empty before models were asked.
pub(super) fn moments<J: Journal>(
    study: &Study<J>,
    records: &[Record],
    gain_per_cost: Option<f64>,
    now: Option<&FrontView>,
) -> unyoke::Result<Vec<Moment>> {
    let is_choice = |record: &Record| matches!(record.event, Event::Asked { initial: false, .. });
    // Fronts of another problem cannot be compared with the present one.
    let is_other = |record: &Record| matches!(record.event, Event::Redefined { .. });
    let first = records.iter().rposition(is_other).unwrap_or(0);
    let chosen: Vec<usize> = (first..records.len()).filter(|i| is_choice(&records[*i])).collect();
    let every = chosen.len().div_ceil(MOMENTS).max(1);
    let past: unyoke::Result<Vec<Past>> =
        chosen.into_iter().step_by(every).map(|at| moment(&records[..at])).collect();
    let mut past = past?;
    match (past.is_empty(), now) {
        (false, Some(now)) => {
            past.push(Past { spent: study.spent(), gain_per_cost, front: now.clone() })
        }
        _ => return Ok(vec![]),
    }
    let fronts: Vec<&FrontView> = past.iter().map(|past| &past.front).collect();
    let moment = |(past, hypervolume): (&Past, f64)| Moment {
        spent: past.spent,
        gain_per_cost: past.gain_per_cost,
        hypervolume,
    };
    Ok(past.iter().zip(hypervolumes(&fronts)?).map(moment).collect())
}

/// The study as it was after these records.
fn moment(records: &[Record]) -> unyoke::Result<Past> {
    let mut journal = MemoryJournal::default();
    journal.append(0, records)?;
    let then = Study::open(journal)?;
    let gain_per_cost = then.suggest()?.gain_per_cost();
    Ok(Past { spent: then.spent(), gain_per_cost, front: front(&then, ROWS, None)? })
}

/// Values of all objectives at designs where all that are not formulas were measured, the last one of
/// each.
pub fn measured<J: Journal>(study: &Study<J>) -> unyoke::Result<Vec<Vec<f64>>> {
    let objectives: Vec<(usize, &Output)> = study.problem().objectives().collect();
    let mut designs: Vec<(&Design, Vec<Option<f64>>)> = vec![];
    for evaluation in study.evaluations() {
        if !matches!(evaluation.status, Status::Completed(_)) {
            continue;
        }
        let at = designs.iter().position(|(design, _)| *design == &evaluation.design);
        let at = match at {
            Some(at) => at,
            None => {
                let formula = |(_, output): &(usize, &Output)| {
                    study.formula_value(&output.name, &evaluation.design)
                };
                let values = objectives.iter().map(formula).collect::<unyoke::Result<_>>()?;
                designs.push((&evaluation.design, values));
                designs.len() - 1
            }
        };
        for (value, (place, _)) in designs[at].1.iter_mut().zip(&objectives) {
            *value = evaluation.reading(*place).map(|reading| reading.value).or(*value);
        }
    }
    Ok(designs.into_iter().filter_map(|(_, values)| values.into_iter().collect()).collect())
}

/// The share of a box around all fronts that each of them dominates.
fn hypervolumes(fronts: &[&FrontView]) -> unyoke::Result<Vec<f64>> {
    let Some(objectives) = fronts.first().map(|front| front.objectives().collect::<Vec<_>>())
    else {
        return Ok(vec![]);
    };
    let all: Vec<&PointView> = fronts.iter().flat_map(|front| &front.points).collect();
    let sides: Vec<(f64, f64)> = objectives.iter().map(|o| side(o, &all)).collect();
    let share = |objective: &OutputView, (low, high): (f64, f64), point: &PointView| {
        if high > low { (gain(objective, point) - low) / (high - low) } else { 1.0 }
    };
    let row = |point: &PointView| -> Vec<f64> {
        objectives.iter().zip(&sides).map(|(o, side)| share(o, *side, point)).collect()
    };
    let volume = |front: &&FrontView| -> unyoke_math::Result<f64> {
        // A design at which a formula has no value dominates nothing.
        let has_values = |row: &Vec<f64>| row.iter().all(|share| share.is_finite());
        let rows = front.points.iter().map(row).filter(has_values);
        let points = Points::from_rows(sides.len(), rows)?;
        hypervolume(&points, &vec![0.0; sides.len()])
    };
    fronts.iter().map(|front| Ok(volume(front)?)).collect()
}

/// What is expected of an objective at a design, so that more is better.
fn gain(objective: &OutputView, point: &PointView) -> f64 {
    let mean = point.outputs.get(&objective.name).map_or(f64::NAN, |forecast| forecast.mean);
    match objective.wish.direction {
        Some(Direction::Minimise) => -mean,
        _ => mean,
    }
}

/// The least and the most that is expected of an objective.
fn side(objective: &OutputView, points: &[&PointView]) -> (f64, f64) {
    let gains = || points.iter().map(|point| gain(objective, point));
    (gains().fold(f64::INFINITY, f64::min), gains().fold(f64::NEG_INFINITY, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::ForecastView;
    use unyoke::Role;

    #[test]
    fn a_front_that_dominates_more_of_the_box_has_the_larger_volume() {
        let objective = |name: &str, direction| OutputView {
            name: name.into(),
            wish: Role::Objective(direction).into(),
            formula: None,
            deterministic: true,
            values: 3,
        };
        let point = |f: f64, g: f64| {
            let forecast = |mean| ForecastView {
                mean,
                sd: 0.0,
                low: mean,
                high: mean,
                interval: [mean; 2],
                measured: vec![],
            };
            let outputs = [("f".to_owned(), forecast(f)), ("g".to_owned(), forecast(g))];
            PointView {
                design: Design::new(),
                outputs: outputs.into(),
                feasibility: None,
                confirmed: false,
            }
        };
        let front = |points: Vec<PointView>| FrontView {
            parameters: vec![],
            outputs: vec![objective("f", Direction::Minimise), objective("g", Direction::Maximise)],
            points,
        };
        let mut undefined = point(0.0, 20.0);
        undefined.outputs.remove("g");
        // The box is f from 4 down to 0 and g from 10 up to 20.
        let fronts = [
            front(vec![point(4.0, 10.0)]),
            front(vec![point(2.0, 15.0), undefined]),
            front(vec![point(0.0, 15.0), point(2.0, 20.0)]),
        ];
        assert_eq!(hypervolumes(&fronts.each_ref()).unwrap(), [0.0, 0.25, 0.75]);
    }
}
