//! Weighted sums of acquisition functions.

use super::{Acquisition, Evaluator};
use crate::outlook::{Beside, Derivatives, SharedProspect};
use unyoke_math::Result;

/// Σ_i w_i α_i over functions with the same options.
pub(crate) struct Blend<'a> {
    /// Each function with the logarithm of its weight.
    pub(crate) parts: Vec<(Box<dyn Acquisition + 'a>, f64)>,
}

impl Acquisition for Blend<'_> {
    fn options(&self) -> usize {
        self.parts.first().map_or(0, |(part, _)| part.options())
    }

    fn evaluator(&self, option: usize) -> Evaluator<'_> {
        self.evaluator_beside(option, &mut Beside::default())
    }

    fn evaluator_beside<'s>(&'s self, option: usize, beside: &mut Beside<'s>) -> Evaluator<'s> {
        let mut parts: Vec<(Evaluator<'_>, &f64)> = vec![];
        for (part, log_weight) in &self.parts {
            parts.push((part.evaluator_beside(option, beside), log_weight));
        }
        let shared = beside.shared();
        let mut logs = vec![0.0; parts.len()];
        let mut slopes: Vec<Slope> = parts.iter().map(|_| Slope::default()).collect();
        Box::new(move |x, gradient| {
            for ((log, slope), (evaluate, log_weight)) in
                logs.iter_mut().zip(&mut slopes).zip(&mut parts)
            {
                *log = **log_weight
                    + match gradient {
                        Some(_) => slope.find(x, evaluate, shared.as_ref()),
                        None => evaluate(x, None),
                    };
            }
            let (total, shares) = log_sum(&logs);
            if let Some(gradient) = gradient {
                let shares = shares.zip(&slopes).filter(|(share, _)| *share > 0.0);
                if write_sum(x, shares, shared.as_ref(), gradient).is_err() {
                    return f64::NEG_INFINITY;
                }
            }
            total
        })
    }
}

/// The derivatives of one part: its gradient, and derivatives in what it shares with other parts, of which
/// the gradient is computed once for all.
#[derive(Default)]
struct Slope {
    own: Vec<f64>,
    shared: Option<Derivatives>,
}

impl Slope {
    /// Evaluates a part.
    fn find(
        &mut self,
        x: &[f64],
        evaluate: &mut Evaluator<'_>,
        shared: Option<&SharedProspect<'_>>,
    ) -> f64 {
        self.own.resize(x.len(), 0.0);
        if let Some(shared) = shared {
            shared.borrow().gather();
        }
        let log = evaluate(x, Some(&mut self.own));
        self.shared = shared.and_then(|shared| shared.borrow().gathered());
        log
    }
}

/// The sum of the parts' gradients times their shares.
fn write_sum<'s>(
    x: &[f64],
    shares: impl Iterator<Item = (f64, &'s Slope)>,
    shared: Option<&SharedProspect<'_>>,
    gradient: &mut [f64],
) -> Result<()> {
    gradient.fill(0.0);
    let mut sum: Option<Derivatives> = None;
    for (share, slope) in shares {
        gradient.iter_mut().zip(&slope.own).for_each(|(g, s)| *g += share * s);
        if let Some(derivatives) = &slope.shared {
            sum.get_or_insert_default().add(share, derivatives);
        }
    }
    match (sum, shared) {
        (Some(sum), Some(shared)) => shared.borrow().add_gradient(x, sum, gradient),
        _ => Ok(()),
    }
}

/// Logarithm of a sum, and which share of it each part has.
fn log_sum(logs: &[f64]) -> (f64, impl Iterator<Item = f64>) {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total = match most.is_finite() {
        true => most + logs.iter().map(|log| (log - most).exp()).sum::<f64>().ln(),
        false => most,
    };
    let share = move |log: &f64| if total.is_finite() { (log - total).exp() } else { 0.0 };
    (total, logs.iter().map(share).collect::<Vec<_>>().into_iter())
}
