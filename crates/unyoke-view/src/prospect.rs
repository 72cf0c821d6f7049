//! What is still to be gained, and whether that is worth its cost, in units of the objectives.

use serde::{Deserialize, Serialize};
use unyoke::{Appraisal, Direction, Problem, Prospect, Scale, Verdict};

use crate::words::{self, short};

/// What is still to be gained. Gains are in units of utility; `equivalents` tells them in units of
/// each objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProspectView {
    /// What the next evaluation is expected to gain.
    pub gain: f64,
    /// The most that all further evaluations are expected to gain; `None` where that is not computed.
    pub most: Option<f64>,
    /// The range of the utilities on the front.
    pub range: f64,
    /// The least that any measurement costs.
    pub cheapest: f64,
    /// The same as improvements of each objective alone, the others as they are.
    pub equivalents: Vec<Improvement>,
}

/// Gains as improvements of one objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Improvement {
    /// The objective.
    pub objective: String,
    /// Whether it falls or rises.
    pub direction: Direction,
    /// Whether amounts are in percent of its value, as on a log scale; otherwise in its own unit.
    pub percent: bool,
    /// The improvement that is as good as what the next evaluation is expected to gain.
    pub gain: f64,
    /// The improvement that is as good as the most that all further evaluations could gain.
    pub most: Option<f64>,
}

/// Whether the next evaluation is worth its cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AppraisalView {
    /// `continue`, `unconfirmed`, `stop` or `final`.
    pub verdict: String,
    /// What an improvement of the objective by one (percent, on a log scale) is worth.
    pub worth: f64,
    /// What the next evaluation costs.
    pub cost: f64,
    /// The least that any measurement costs.
    pub cheapest: f64,
    /// How many searches in a row found that nothing is worth its cost.
    pub searches: usize,
    /// What is expected to be gained, in units of the objective.
    #[serde(flatten)]
    pub improvement: Improvement,
}

impl ProspectView {
    /// The view of a prospect of a study of `problem`.
    pub fn new(problem: &Problem, prospect: &Prospect) -> Self {
        let Prospect { gain, most, range, cheapest, .. } = *prospect;
        let improvement = |unit: &unyoke::Unit| {
            let amounts = (unit.amount * gain, most.map(|most| unit.amount * most));
            Improvement::new(problem, &unit.objective, amounts)
        };
        // What has no weight cannot make up for anything.
        let weighty = prospect.units.iter().filter(|unit| unit.amount.is_finite());
        Self { gain, most, range, cheapest, equivalents: weighty.map(improvement).collect() }
    }

    /// What is to be gained, as two sentences.
    pub fn sentences(&self) -> Vec<String> {
        let either = |amount: &dyn Fn(&Improvement) -> Option<f64>| {
            let told = |one: &Improvement| Some(one.told(amount(one)?));
            self.equivalents.iter().filter_map(told).collect::<Vec<_>>().join(" or ")
        };
        // A front that is hardly more than a point has no range to speak of.
        let share = |gain: f64| match self.range > 0.0 && gain <= self.range {
            true => format!(" ({} of the range of the front)", words::share(gain / self.range)),
            false => String::new(),
        };
        let next = either(&|one| Some(one.gain));
        let next = format!("the next evaluation is expected to gain as much as {next}");
        let mut sentences = vec![next + &share(self.gain)];
        if let Some(most) = self.most {
            let all = either(&|one| one.most);
            let all = format!(
                "all further evaluations together are expected to gain at most about {all}"
            );
            sentences.push(all + &share(most));
        }
        sentences
    }
}

impl Improvement {
    fn new(problem: &Problem, objective: &str, (gain, most): (f64, Option<f64>)) -> Self {
        let mut objectives = problem.objectives().map(|(_, output)| output);
        let output = objectives.find(|output| output.name == objective);
        Self {
            objective: objective.to_owned(),
            direction: output.map_or(Direction::Maximise, |output| output.direction()),
            percent: output.is_some_and(|output| output.scale == Scale::Log),
            gain,
            most,
        }
    }

    /// Such as "0.2 less mass".
    fn told(&self, amount: f64) -> String {
        let percent = if self.percent { " %" } else { "" };
        let change = match self.direction {
            Direction::Minimise => "less",
            Direction::Maximise => "more",
        };
        format!("{}{percent} {change} {}", short(amount), self.objective)
    }
}

impl AppraisalView {
    /// The view of an appraisal in a study of `problem`.
    pub fn new(problem: &Problem, appraisal: &Appraisal) -> Self {
        let Appraisal { verdict, worth, gain, cost, most, cheapest, searches, .. } = *appraisal;
        let verdict = match verdict {
            Verdict::Continue => "continue",
            Verdict::Unconfirmed => "unconfirmed",
            Verdict::Stop => "stop",
            Verdict::Final => "final",
        };
        let improvement = Improvement::new(problem, &appraisal.objective, (gain, most));
        Self { verdict: verdict.to_owned(), worth, cost, cheapest, searches, improvement }
    }

    /// What was decided and why, as a sentence without an end.
    pub fn sentence(&self) -> String {
        let Self { worth, cost, cheapest, searches, .. } = self;
        let Improvement { gain, most, .. } = self.improvement;
        let compared = format!(
            "costs {} and is expected to gain as much as {}, worth {}",
            short(*cost),
            self.improvement.told(gain),
            short(worth * gain)
        );
        let row = match searches {
            1 => String::new(),
            _ => format!(" for the {} search in a row", nth(*searches)),
        };
        match (self.verdict.as_str(), most) {
            ("continue", _) => format!("the next evaluation is worth its cost: it {compared}"),
            ("unconfirmed", _) => format!(
                "the next evaluation is not worth its cost{row}, but so far too few searches have found \
                 that: it {compared}"
            ),
            ("final", Some(most)) => format!(
                "no evaluation is worth its cost{row}, and as far as the models can tell none will \
                 be: all together gain at most about {}, worth {}, and the cheapest costs {}",
                self.improvement.told(most),
                short(worth * most),
                short(*cheapest)
            ),
            _ => format!("no evaluation is worth its cost{row}: the best one {compared}"),
        }
    }
}

/// "2nd", "3rd", "4th".
fn nth(number: usize) -> String {
    let end = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use unyoke::{Output, Unit};

    fn problem() -> Problem {
        let builder = Problem::builder().continuous("x", 0.0, 1.0).minimise("mass", 1.0);
        builder.maximise("lift", 5.0).build().unwrap()
    }

    fn appraisal(verdict: Verdict) -> Appraisal {
        Appraisal {
            verdict,
            objective: "mass".into(),
            worth: 40.0,
            gain: 0.02,
            cost: 5.0,
            most: Some(0.02),
            cheapest: 1.0,
            searches: 3,
        }
    }

    #[test]
    fn gains_are_told_in_units_of_each_objective_that_has_weight() {
        let mut problem = problem();
        problem.outputs.push(Output::minimise("drag").log_scale());
        let unit =
            |objective: &str, amount, scale| Unit { objective: objective.into(), amount, scale };
        let units = vec![
            unit("mass", 2.0, Scale::Linear),
            unit("lift", f64::INFINITY, Scale::Linear),
            unit("drag", 30.0, Scale::Log),
        ];
        let prospect = Prospect { gain: 0.01, most: Some(0.1), range: 4.0, cheapest: 1.0, units };
        let view = ProspectView::new(&problem, &prospect);
        assert_eq!(
            view.sentences(),
            [
                "the next evaluation is expected to gain as much as 0.02 less mass or 0.3 % less drag \
                 (0.25 % of the range of the front)",
                "all further evaluations together are expected to gain at most about 0.2 less mass or 3 % less drag \
                 (2.5 % of the range of the front)",
            ]
        );
        let unknown = ProspectView { most: None, range: 0.0, ..view };
        let told =
            "the next evaluation is expected to gain as much as 0.02 less mass or 0.3 % less drag";
        assert_eq!(unknown.sentences(), [told]);
    }

    #[test]
    fn a_verdict_is_told_with_its_reasons() {
        let told = |verdict| AppraisalView::new(&problem(), &appraisal(verdict)).sentence();
        assert_eq!(
            told(Verdict::Stop),
            "no evaluation is worth its cost for the 3rd search in a row: the best one costs 5 \
             and is expected to gain as much as 0.02 less mass, worth 0.8"
        );
        assert_eq!(
            told(Verdict::Final),
            "no evaluation is worth its cost for the 3rd search in a row, and as far as the models can tell \
             none will be: all together gain at most about 0.02 less mass, worth 0.8, and the cheapest costs 1"
        );
        assert!(
            told(Verdict::Continue).starts_with("the next evaluation is worth its cost: it costs")
        );
        assert!(told(Verdict::Unconfirmed).contains("too few searches"));
        assert_eq!([1, 2, 3, 4, 11, 12, 21].map(nth).join(" "), "1st 2nd 3rd 4th 11th 12th 21st");
    }
}
