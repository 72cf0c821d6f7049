//! Sets of designs of a large hypervolume: chosen from candidates, then climbed.

use super::imagined::{Imagined, Work};
use unyoke_math::optimize::{Bounds, Optimum, Stopping, maximize};
use unyoke_math::pareto::{hypervolume, non_dominated};
use unyoke_math::{Points, Result};

/// Rows of `values`, at most `count`, chosen one at a time for what each adds to the hypervolume.
///
/// What a row adds only shrinks as the set grows, so that rows whose earlier figure is below the
/// best of now need no second look. Greedy sets have at least 1 − 1/e of the best hypervolume
/// (Nemhauser et al. 1978), mostly nearly all of it.
pub(super) fn greedy(values: &Points, reference: &[f64], count: usize) -> Result<Vec<usize>> {
    let front = non_dominated(values)?;
    let mut bounds = vec![f64::INFINITY; front.len()];
    let mut chosen: Vec<usize> = Vec::new();
    let mut volume = 0.0;
    while chosen.len() < count {
        let mut order: Vec<usize> = (0..front.len()).filter(|&i| bounds[i] > 0.0).collect();
        order.sort_by(|&i, &j| bounds[j].total_cmp(&bounds[i]));
        let mut best: Option<usize> = None;
        for i in order {
            let most = best.map_or(0.0, |best| bounds[best]);
            if bounds[i] <= most {
                break;
            }
            bounds[i] = added(values, reference, &chosen, front[i], volume)?;
            if bounds[i] > most {
                best = Some(i);
            }
        }
        let Some(best) = best else { break };
        chosen.push(front[best]);
        volume += bounds[best];
        bounds[best] = 0.0;
    }
    Ok(chosen)
}

/// What row `next` adds to the hypervolume of the chosen ones.
fn added(
    values: &Points,
    reference: &[f64],
    chosen: &[usize],
    next: usize,
    volume: f64,
) -> Result<f64> {
    let rows: Vec<usize> = chosen.iter().copied().chain([next]).collect();
    Ok(hypervolume(&values.select(&rows), reference)? - volume)
}

/// Climbs HV(μ_{N+}(S)) in the designs of one fantasy's set.
pub(super) fn climb(
    imagined: &Imagined<'_>,
    z: &[f64],
    start: &[f64],
    bounds: &Bounds,
    iterations: usize,
) -> Result<Optimum> {
    let mut work = Work::default();
    let volume = |set: &[f64], gradient: &mut [f64]| {
        work.clear();
        imagined.hypervolume_with_gradient(set, z, &mut work, gradient).unwrap_or(f64::NAN)
    };
    maximize(volume, start, bounds, &Stopping { iterations, gradient: 1e-9, gain: 1e-12 })
}
