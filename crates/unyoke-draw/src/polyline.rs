//! Many points as few shapes: lines that break where a front does, and clouds without doubles.

use std::collections::BTreeSet;

use crate::canvas::Place;

/// The points from left to right, in pieces that end where the next point is far away.
///
/// Far is more than `reach` and more than eight times the usual distance. A Pareto front in parts
/// is so drawn in parts.
pub fn pieces(mut places: Vec<Place>, reach: f64) -> Vec<Vec<Place>> {
    places.retain(|place| place.x.is_finite() && place.y.is_finite());
    places.sort_by(|a, b| a.x.total_cmp(&b.x).then(b.y.total_cmp(&a.y)));
    let far = reach.max(8.0 * usual_distance(&places));
    let mut found: Vec<Vec<Place>> = Vec::new();
    for place in places {
        match found.last_mut() {
            Some(piece) if piece.last().is_some_and(|last| distance(*last, place) <= far) => {
                piece.push(place);
            }
            _ => found.push(vec![place]),
        }
    }
    found
}

fn usual_distance(places: &[Place]) -> f64 {
    let mut distances: Vec<f64> =
        places.windows(2).map(|pair| distance(pair[0], pair[1])).collect();
    distances.sort_by(f64::total_cmp);
    distances.get(distances.len() / 2).copied().unwrap_or(0.0)
}

fn distance(a: Place, b: Place) -> f64 {
    (a.x - b.x).hypot(a.y - b.y)
}

/// The points without those that fall on top of another, at cells of width `cell`.
pub fn thinned(places: impl IntoIterator<Item = Place>, cell: f64) -> Vec<Place> {
    let mut seen = BTreeSet::new();
    let mut fresh = |place: &Place| {
        let key = ((place.x / cell).round() as i64, (place.y / cell).round() as i64);
        place.x.is_finite() && place.y.is_finite() && seen.insert(key)
    };
    places.into_iter().filter(|place| fresh(place)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_front_in_two_parts_has_two_pieces() {
        let first = (0..20).map(|i| Place::new(f64::from(i), f64::from(i)));
        let second = (0..20).map(|i| Place::new(100.0 + f64::from(i), f64::from(i)));
        let found = pieces(second.chain(first).collect(), 10.0);
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [20, 20]);
    }

    #[test]
    fn few_points_far_apart_stay_one_line() {
        let places = (0..4).map(|i| Place::new(40.0 * f64::from(i), 0.0)).collect();
        assert_eq!(pieces(places, 10.0).len(), 1);
        assert!(pieces(vec![Place::new(f64::NAN, 0.0)], 1.0).is_empty());
    }

    #[test]
    fn thinning_keeps_one_point_per_cell() {
        let places = [(0.0, 0.0), (0.1, 0.1), (5.0, 5.0), (f64::NAN, 1.0)];
        let places = places.map(|(x, y)| Place::new(x, y));
        assert_eq!(thinned(places, 1.0).len(), 2);
    }
}
