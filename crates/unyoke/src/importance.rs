//! Statements about how important objectives are to each other, as a region of their weights.
//!
//! A statement is an inequality between weights, which stand for the objectives' names and sum to 1:
//! `drag >= 2 * mass`, `0.2 <= drag <= 0.5`. Only linear ones are understood, so that the region is
//! convex: whether it is empty can then be told, and weights in it can be drawn.

use crate::error::{Error, Result};
use crate::formula::Inequality;
use unyoke_math::polytope::{HalfSpace, SimplexPart};

/// The weights for which all statements hold, in the order of `names`.
pub(crate) fn region(statements: &[String], names: &[&str]) -> Result<SimplexPart> {
    let mut halves = vec![];
    for statement in statements {
        let refused = |reason| Error::BadFormula { formula: statement.clone(), reason };
        halves.extend(half_spaces(statement, names).map_err(refused)?);
    }
    Ok(SimplexPart::new(names.len(), &halves)?)
}

/// What is wrong with statements, each with its place: those that cannot be understood, or the first
/// one that contradicts those before it.
pub(crate) fn mistakes(statements: &[String], names: &[&str]) -> Vec<(usize, String)> {
    let (mut halves, mut found) = (vec![], vec![]);
    for (place, statement) in statements.iter().enumerate() {
        match half_spaces(statement, names) {
            Ok(more) => halves.push(more),
            Err(reason) => found.push((place, reason)),
        }
    }
    if !found.is_empty() || names.is_empty() {
        return found;
    }
    let is_empty = |count: usize| {
        let first: Vec<HalfSpace> = halves.iter().take(count).flatten().cloned().collect();
        SimplexPart::new(names.len(), &first).is_ok_and(|part| part.is_empty())
    };
    match (1..=halves.len()).find(|count| is_empty(*count)) {
        Some(1) => vec![(0, NO_WEIGHTS.to_owned())],
        Some(count) => vec![(count - 1, format!("together with those before it: {NO_WEIGHTS}"))],
        None => vec![],
    }
}

const NO_WEIGHTS: &str = "no weights satisfy it; weights are not negative and sum to 1";

/// The half-spaces of weights that a statement means, or why it means none.
fn half_spaces(statement: &str, names: &[&str]) -> std::result::Result<Vec<HalfSpace>, String> {
    let is_equation = || statement.replace("<=", "").replace(">=", "").contains('=');
    if is_equation() {
        return Err("write <= or >=; for a fixed ratio, give a range around it".to_owned());
    }
    let reason = |error: Error| match error {
        Error::BadFormula { reason, .. } => reason.replace("no parameter is", "no objective is"),
        other => other.to_string(),
    };
    let inequality = Inequality::parse(statement).map_err(reason)?.bind(names).map_err(reason)?;
    let forms = inequality.linear_forms(names.len()).ok_or_else(|| {
        "must be a sum of weights times numbers, as in \"drag >= 2 * mass\"".to_owned()
    })?;
    let half = |(normal, offset)| HalfSpace { normal, offset };
    Ok(forms.into_iter().map(half).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(statements: &[&str]) -> Vec<(usize, String)> {
        let statements: Vec<String> = statements.iter().map(|&s| s.to_owned()).collect();
        mistakes(&statements, &["mass", "drag", "wall thickness"])
    }

    #[test]
    fn ranges_and_ratios_are_understood() {
        let good = ["drag >= 2 * mass", "0.2 <= drag <= 0.5", "{wall thickness} > mass / 3"];
        assert_eq!(wrong(&good), []);
        let statements = good.map(str::to_owned);
        let region = region(&statements, &["mass", "drag", "wall thickness"]).unwrap();
        assert!(region.contains(&[0.2, 0.4, 0.4]));
        assert!(!region.contains(&[0.3, 0.4, 0.3]) && !region.contains(&[0.2, 0.6, 0.2]));
        assert!(!region.contains(&[0.48, 0.48, 0.04]));
    }

    #[test]
    fn statements_that_say_nothing_about_weights_are_refused_with_their_places() {
        let found = wrong(&["drag >= 2 * mas", "drag * mass >= 0.1", "drag = mass", "drag"]);
        let places: Vec<usize> = found.iter().map(|(place, _)| *place).collect();
        assert_eq!(places, [0, 1, 2, 3], "{found:?}");
        assert!(found[0].1.contains("no objective is called \"mas\""), "{}", found[0].1);
        assert!(found[0].1.contains("did you mean \"mass\"?"), "{}", found[0].1);
        assert!(found[1].1.contains("sum of weights times numbers"), "{}", found[1].1);
        assert!(found[2].1.contains("write <= or >="), "{}", found[2].1);
        // Linear on one side only.
        for bent in ["max(drag, mass) >= 0.5", "abs(drag - mass) <= 0.1", "drag / mass >= 2"] {
            assert_eq!(wrong(&[bent]).len(), 1, "{bent}");
        }
    }

    #[test]
    fn statements_that_contradict_each_other_are_refused_at_the_first_that_does() {
        let found = wrong(&["drag >= 0.6", "mass >= 0.1", "mass >= drag"]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, 2);
        assert!(found[0].1.contains("together with those before it"), "{}", found[0].1);
        assert_eq!(wrong(&["drag >= 1.5"])[0].0, 0);
        // A single point is enough.
        assert_eq!(wrong(&["drag >= 0.6", "mass >= 0.4"]), []);
    }
}
