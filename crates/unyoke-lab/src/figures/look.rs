//! What each algorithm is called and looks like, in every figure.

use unyoke_draw::{Ink, Inside, Marker, Stroke};

/// The appearance of an algorithm. Colour and shape say which family it belongs to, dashes and
/// open markers that it evaluates one objective at a time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Look {
    pub(crate) label: String,
    pub(crate) ink: Ink,
    pub(crate) marker: Marker,
    pub(crate) inside: Inside,
    pub(crate) dash: &'static str,
}

const SOLID: &str = "";
const DASHED: &str = "6 3";
const DOTTED: &str = "1.5 2.5";

impl Look {
    fn coupled(label: &str, ink: Ink, marker: Marker) -> Self {
        Self { label: label.into(), ink, marker, inside: Inside::Filled, dash: SOLID }
    }

    fn decoupled(label: &str, ink: Ink, marker: Marker) -> Self {
        Self { label: label.into(), ink, marker, inside: Inside::Open, dash: DASHED }
    }

    /// The look of an algorithm we know by name.
    fn known(algorithm: &str) -> Option<Self> {
        use Ink::{Blue, Green, Grey, Orange, Purple, Sky, Text, Vermillion};
        use Marker::{Circle, Diamond, Hexagon, Pentagon, Square, TriangleDown, TriangleUp};
        Some(match algorithm {
            "default" => Self::decoupled("Unyoke", Vermillion, Circle),
            "c-mokg" => Self::decoupled("C-MOKG", Blue, Circle),
            "c-mokg-improved" => Self::decoupled("C-MOKG, improved", Sky, Hexagon),
            "c-mokg-correlated" => Self::decoupled("C-MOKG, correlated", Purple, Hexagon),
            "makg" => Self::coupled("maKG", Blue, Circle),
            "makg-vector" => Self::coupled("maKG (vector)", Sky, Circle),
            "c-mokg-random" => Self::decoupled("C-MOKG, random", Orange, TriangleDown),
            "makg-random" => Self::coupled("maKG, random", Orange, TriangleDown),
            "hvkg-d" => Self::decoupled("HVKG-d", Vermillion, Diamond),
            "hvkg-c" => Self::coupled("HVKG-c", Vermillion, Diamond),
            "hvkg-exact" => Self::decoupled("HVKG, exact", Purple, Diamond),
            "auto" => Self::decoupled("auto", Green, Hexagon),
            "jes-lb-d" => Self::decoupled("JES-LB-d", Green, TriangleUp),
            "jes-lb-c" => Self::coupled("JES-LB-c", Green, TriangleUp),
            "parego" => Self::coupled("ParEGO", Purple, Square),
            "nehvi" => Self::coupled("NEHVI", Text, Pentagon),
            "sobol" => Self { dash: DOTTED, ..Self::coupled("Sobol’", Grey, Square) },
            _ => return None,
        })
    }

    /// The look of something that has none of its own, in one of the colours that are `free`.
    fn other(name: &str, free: &[Ink], index: usize) -> Self {
        let markers =
            [Marker::Hexagon, Marker::Square, Marker::Diamond, Marker::TriangleUp, Marker::Circle];
        let dashes = [SOLID, DASHED, DOTTED];
        Self {
            dash: dashes[index / free.len() % dashes.len()],
            ..Self::coupled(name, free[index % free.len()], markers[index % markers.len()])
        }
    }

    /// The line of this algorithm.
    pub(crate) fn stroke(&self) -> Stroke {
        Stroke { ink: self.ink, width: 1.6, dash: self.dash }
    }
}

const INKS: [Ink; 6] = [Ink::Blue, Ink::Vermillion, Ink::Green, Ink::Purple, Ink::Orange, Ink::Sky];

/// The looks of all algorithms of a figure, each once, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Looks {
    looks: Vec<(String, Look)>,
}

impl Looks {
    /// Gives names we do not know the colours that the others leave.
    pub(crate) fn new<'a>(algorithms: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names: Vec<&str> = Vec::new();
        for name in algorithms {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let taken: Vec<Ink> =
            names.iter().filter_map(|name| Look::known(name)).map(|look| look.ink).collect();
        let mut free: Vec<Ink> = INKS.into_iter().filter(|ink| !taken.contains(ink)).collect();
        if free.is_empty() {
            free.push(Ink::Grey);
        }
        let mut others = 0..;
        let mut look = |name: &str| {
            let other = || Look::other(name, &free, others.next().unwrap_or(0));
            Look::known(name).unwrap_or_else(other)
        };
        Self { looks: names.iter().map(|name| ((*name).into(), look(name))).collect() }
    }

    /// The look of an algorithm, which should be one of those it was made for.
    pub(crate) fn of(&self, algorithm: &str) -> Look {
        let found = self.looks.iter().find(|(name, _)| name == algorithm);
        found.map_or_else(|| Look::other(algorithm, &INKS, 0), |(_, look)| look.clone())
    }

    /// Which of the algorithms this is, in order of appearance.
    pub(crate) fn position(&self, algorithm: &str) -> Option<usize> {
        self.looks.iter().position(|(name, _)| name == algorithm)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Look> {
        self.looks.iter().map(|(_, look)| look)
    }
}

/// What readers call an algorithm: `C-MOKG` for `c-mokg`. Names we do not know stay as they are.
///
/// ```
/// assert_eq!(unyoke_lab::figures::label("jes-lb-d"), "JES-LB-d");
/// assert_eq!(unyoke_lab::figures::label("mine"), "mine");
/// ```
pub fn label(algorithm: &str) -> String {
    Look::known(algorithm).map_or_else(|| algorithm.into(), |look| look.label)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&str; 17] = [
        "default",
        "c-mokg",
        "c-mokg-improved",
        "c-mokg-correlated",
        "c-mokg-random",
        "makg",
        "makg-random",
        "makg-vector",
        "hvkg-d",
        "hvkg-c",
        "hvkg-exact",
        "auto",
        "jes-lb-d",
        "jes-lb-c",
        "parego",
        "nehvi",
        "sobol",
    ];

    #[test]
    fn no_two_algorithms_look_alike() {
        let looks = Looks::new(ALL);
        let all: Vec<&Look> = looks.iter().collect();
        assert_eq!(all.len(), ALL.len());
        for (i, a) in all.iter().enumerate() {
            for b in &all[..i] {
                assert!((a.ink, a.marker, a.dash) != (b.ink, b.marker, b.dash), "{a:?} {b:?}");
                assert_ne!(a.label, b.label);
            }
        }
    }

    #[test]
    fn decoupled_algorithms_are_dashed_and_open() {
        let looks = Looks::new(ALL);
        for name in ["c-mokg", "c-mokg-improved", "c-mokg-random", "hvkg-d", "jes-lb-d"] {
            let look = looks.of(name);
            assert_eq!((look.dash, look.inside), (DASHED, Inside::Open));
        }
        assert_eq!(looks.of("makg").dash, SOLID);
    }

    #[test]
    fn unknown_names_get_colours_that_are_free() {
        let looks = Looks::new(["a", "makg", "b", "a"]);
        assert_eq!(looks.iter().count(), 3);
        let (a, b) = (looks.of("a"), looks.of("b"));
        assert!(a.ink != b.ink && a.ink != Ink::Blue && b.ink != Ink::Blue);
    }
}
