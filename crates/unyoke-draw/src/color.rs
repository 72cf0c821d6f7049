//! The colours of all pictures: a palette that colour-blind readers can tell apart, the greys of
//! axes, and a ramp for fields.

/// A colour by its role, so that a page can give roles other colours at night.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// The ground on which everything is drawn.
    Paper,
    /// Words and strong lines.
    Text,
    /// Words of less weight.
    Muted,
    /// Lines of axes and their ticks.
    Axis,
    /// Lines behind the data.
    Grid,
    /// Data that is only a backdrop.
    Cloud,
    /// Okabe and Ito's blue.
    Blue,
    /// Okabe and Ito's vermillion.
    Vermillion,
    /// Okabe and Ito's bluish green.
    Green,
    /// Okabe and Ito's orange.
    Orange,
    /// Okabe and Ito's sky blue.
    Sky,
    /// Okabe and Ito's reddish purple.
    Purple,
    /// A grey that stands beside the palette.
    Grey,
    /// A colour that is the same day and night.
    Fixed(u8, u8, u8),
}

/// Light to dark, through green to blue; lightness falls evenly.
const RAMP: [(u8, u8, u8); 7] = [
    (247, 250, 234),
    (214, 238, 205),
    (167, 218, 190),
    (109, 189, 191),
    (58, 147, 184),
    (24, 99, 157),
    (13, 55, 110),
];

impl Ink {
    /// The colour at `share` of the ramp, from 0 (light) to 1 (dark).
    pub fn ramp(share: f64) -> Self {
        let last = RAMP.len() - 1;
        let place = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) * last as f64 };
        let below = (place.floor() as usize).min(last - 1);
        let part = place - below as f64;
        let mix =
            |a: u8, b: u8| (f64::from(a) + part * (f64::from(b) - f64::from(a))).round() as u8;
        let (a, b) = (RAMP[below], RAMP[below + 1]);
        Self::Fixed(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
    }

    /// The colour by day, as in `#0072b2`.
    pub(crate) fn hex(self) -> String {
        let (red, green, blue) = self.rgb();
        format!("#{red:02x}{green:02x}{blue:02x}")
    }

    fn rgb(self) -> (u8, u8, u8) {
        match self {
            Self::Paper => (255, 255, 255),
            Self::Text => (26, 26, 26),
            Self::Muted => (95, 95, 95),
            Self::Axis => (64, 64, 64),
            Self::Grid => (230, 230, 230),
            Self::Cloud => (205, 205, 205),
            Self::Blue => (0, 114, 178),
            Self::Vermillion => (213, 94, 0),
            Self::Green => (0, 158, 115),
            Self::Orange => (230, 159, 0),
            Self::Sky => (86, 180, 233),
            Self::Purple => (204, 121, 167),
            Self::Grey => (140, 140, 140),
            Self::Fixed(red, green, blue) => (red, green, blue),
        }
    }

    /// The role by which a page can address this colour, if it may change.
    pub(crate) fn role(self) -> Option<&'static str> {
        Some(match self {
            Self::Paper => "paper",
            Self::Text => "text",
            Self::Muted => "muted",
            Self::Axis => "axis",
            Self::Grid => "grid",
            Self::Cloud => "cloud",
            Self::Blue => "blue",
            Self::Vermillion => "vermillion",
            Self::Green => "green",
            Self::Orange => "orange",
            Self::Sky => "sky",
            Self::Purple => "purple",
            Self::Grey => "grey",
            Self::Fixed(..) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ramp_starts_light_ends_dark_and_bears_any_number() {
        assert_eq!(Ink::ramp(0.0).hex(), "#f7faea");
        assert_eq!(Ink::ramp(1.0).hex(), "#0d376e");
        assert_eq!(Ink::ramp(-3.0), Ink::ramp(0.0));
        assert_eq!(Ink::ramp(f64::INFINITY), Ink::ramp(1.0));
        assert_eq!(Ink::ramp(f64::NAN), Ink::ramp(0.0));
    }

    #[test]
    fn the_ramp_never_gets_lighter() {
        let lightness = |share: f64| {
            let (red, green, blue) = Ink::ramp(share).rgb();
            0.2126 * f64::from(red) + 0.7152 * f64::from(green) + 0.0722 * f64::from(blue)
        };
        for i in 0..100 {
            let share = f64::from(i) / 100.0;
            assert!(lightness(share + 0.01) <= lightness(share) + 0.5);
        }
    }
}
