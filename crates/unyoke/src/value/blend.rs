//! Weighted sums of acquisition functions.

use super::{Acquisition, Evaluator};
use crate::outlook::Beside;

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
        let mut logs = vec![0.0; parts.len()];
        let mut slopes: Vec<Vec<f64>> = vec![vec![]; parts.len()];
        Box::new(move |x, gradient| {
            let wants_gradient = gradient.is_some();
            for (i, (evaluate, log_weight)) in parts.iter_mut().enumerate() {
                slopes[i].resize(x.len(), 0.0);
                let slope = wants_gradient.then_some(&mut slopes[i][..]);
                logs[i] = evaluate(x, slope) + **log_weight;
            }
            let (total, shares) = log_sum(&logs);
            if let Some(gradient) = gradient {
                gradient.fill(0.0);
                for (share, slope) in shares.zip(&slopes).filter(|(share, _)| *share > 0.0) {
                    gradient.iter_mut().zip(slope).for_each(|(g, s)| *g += share * s);
                }
            }
            total
        })
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
