//! What has changed in a study file since its study began, in words and as what the study would become.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use unyoke::{Config, Cost, Design, Journal, Output, Parameter, Problem, Study};

use crate::study_file::StudyFile;

/// A change, as in `parameter "x": high from 1.0 to 2.0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What has changed, as in `parameter "x"`.
    pub what: String,
    /// How.
    pub how: String,
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.what, self.how)
    }
}

/// What a study file says that its study does not know yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Amendment {
    /// What has changed of the problem; prices, which are followed anyway, left out.
    pub problem_changes: Vec<Change>,
    /// What has changed of the settings; wishes, which are followed anyway, left out.
    pub setting_changes: Vec<Change>,
    /// The problem of the file.
    pub problem: Problem,
    /// The settings of the file; what it does not say stays as it was.
    pub config: Config,
    /// The values that designs so far had of new parameters.
    pub was: Design,
}

impl Amendment {
    /// What it takes to make this problem and these settings those of a study. `was` has the values that
    /// designs so far had of new parameters.
    pub fn between<J: Journal>(
        study: &Study<J>,
        problem: Problem,
        config: Config,
        was: Design,
    ) -> Self {
        let begun = study.problem();
        let is_new = |name: &str| !begun.parameters.iter().any(|p| p.name() == name);
        let was = was.iter().filter(|(name, _)| is_new(name));
        Self {
            problem_changes: problem_changes(&problem, begun),
            setting_changes: setting_changes(&config, study.config()),
            was: was.map(|(name, value)| (name.to_owned(), value.clone())).collect(),
            problem,
            config,
        }
    }

    /// All changes.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.problem_changes.iter().chain(&self.setting_changes)
    }

    /// Fails with the reason if the study cannot be changed like this.
    pub fn check<J: Journal>(&self, study: &Study<J>) -> unyoke::Result<()> {
        study.check_redefinition(self.problem.clone(), self.config.clone(), self.was.clone())
    }

    /// Makes the changes count from now on.
    pub fn record<J: Journal>(self, study: &mut Study<J>) -> unyoke::Result<()> {
        study.redefine(self.problem, self.config, self.was)
    }
}

impl StudyFile {
    /// What has changed in this file since the study began; `None` if nothing has but what is followed
    /// anyway.
    pub fn amendment<J: Journal>(&self, study: &Study<J>) -> Option<Amendment> {
        let config = self.settings_for(study.config());
        let amendment = Amendment::between(study, self.problem.clone(), config, self.was.clone());
        let is_empty = amendment.changes().next().is_none();
        (!is_empty).then_some(amendment)
    }
}

/// The first thing in which two problems differ, as in `parameter "x"`. Prices may: they may change.
pub fn difference(now: &Problem, begun: &Problem) -> Option<String> {
    problem_changes(now, begun).into_iter().next().map(|change| change.what)
}

/// All in which two problems differ, apart from prices.
fn problem_changes(now: &Problem, begun: &Problem) -> Vec<Change> {
    let (now, begun) = (&without_costs(now), &without_costs(begun));
    let parameter = |p: &Parameter| format!("parameter {:?}", p.name());
    let output = |o: &Output| {
        let what = if o.is_objective() { "objective" } else { "constraint" };
        format!("{what} {:?}", o.name)
    };
    let mut changes = listed("the parameters", &now.parameters, &begun.parameters, parameter);
    changes.extend(listed("the limits", &now.limits, &begun.limits, |limit| {
        format!("limit {:?}", limit.name)
    }));
    // By its name alone: an objective may become a constraint.
    let name = |o: &Output| o.name.clone();
    changes.extend(listed("the outputs", &now.outputs, &begun.outputs, name).into_iter().map(
        |change| {
            let mut all = now.outputs.iter().chain(&begun.outputs);
            let named = all.find(|o| o.name == change.what).map(output);
            Change { what: named.unwrap_or(change.what), ..change }
        },
    ));
    changes.extend(listed(
        "the measurements",
        &now.measurements,
        &begun.measurements,
        |measurement| format!("measurement {:?}", measurement.name),
    ));
    changes
}

fn setting_changes(now: &Config, begun: &Config) -> Vec<Change> {
    let now = now.clone().with_wishes(begun.wishes());
    let changes = fields(&now, begun).into_iter();
    changes.map(|(field, how)| Change { what: format!("setting {field}"), how }).collect()
}

/// How two lists of things with names differ.
fn listed<T: Serialize + PartialEq>(
    all: &str,
    now: &[T],
    begun: &[T],
    name: impl Fn(&T) -> String,
) -> Vec<Change> {
    let find = |list: &'_ [T], what: &str| list.iter().position(|one| name(one) == what);
    let mut changes = vec![];
    for one in begun.iter().filter(|one| find(now, &name(one)).is_none()) {
        changes.push(Change { what: name(one), how: "is removed".to_owned() });
    }
    for one in now {
        match find(begun, &name(one)) {
            None => changes.push(Change { what: name(one), how: "is new".to_owned() }),
            Some(place) if begun[place] != *one => {
                let how = fields(one, &begun[place]);
                let how = how.into_iter().map(|(field, how)| format!("{field} {how}"));
                changes.push(Change { what: name(one), how: how.collect::<Vec<_>>().join(", ") });
            }
            Some(_) => {}
        }
    }
    let is_same_order = now.iter().map(&name).eq(begun.iter().map(&name));
    if changes.is_empty() && !is_same_order {
        changes.push(Change { what: all.to_owned(), how: "are in another order".to_owned() });
    }
    changes
}

/// The fields in which two things differ, and how.
fn fields<T: Serialize>(now: &T, begun: &T) -> BTreeMap<String, String> {
    let object = |thing: &T| match serde_json::to_value(thing) {
        Ok(Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let (now, begun) = (object(now), object(begun));
    let names = now.keys().chain(begun.keys());
    let change = |name: &String| {
        let how = match (begun.get(name), now.get(name)) {
            (before, after) if before == after => return None,
            (Some(before), Some(after)) => format!("from {before} to {after}"),
            (Some(before), None) => format!("no longer {before}"),
            (None, after) => format!("now {}", after.unwrap_or(&Value::Null)),
        };
        Some((name.clone(), how))
    };
    names.filter_map(change).collect()
}

fn without_costs(problem: &Problem) -> Problem {
    let mut problem = problem.clone();
    for measurement in &mut problem.measurements {
        measurement.cost = Cost::Constant(1.0);
    }
    problem
}
