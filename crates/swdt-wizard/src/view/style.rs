//! Faces of text. Without colours, bold, underlines and reversed text say the same.

use ratatui::style::{Color, Modifier, Style as Face};

/// Faces, with colours or without.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    plain: bool,
}

/// What matters most.
pub(super) const STRONG: Face = Face::new().add_modifier(Modifier::BOLD);
/// The letter that the cursor stands on.
pub(super) const CURSOR: Face = Face::new().add_modifier(Modifier::REVERSED);

// Colours of the 256 that are as far from black as from white, so that they can be read on light and dark backgrounds
// alike. The sixteen of a terminal's theme are not always: some have the background for "bright black", and yellow or
// cyan on white.
const VIOLET: Color = Color::Indexed(99);
const PINK: Color = Color::Indexed(163);
const BLUE: Color = Color::Indexed(31);
const TEAL: Color = Color::Indexed(29);
const GREEN: Color = Color::Indexed(28);
const ORANGE: Color = Color::Indexed(130);
const RED: Color = Color::Indexed(196);
const GREY: Color = Color::Indexed(243);
/// On violet.
const WHITE: Color = Color::Indexed(231);

impl Style {
    pub(super) fn new(plain: bool) -> Self {
        Self { plain }
    }

    fn coloured(self, colour: Color) -> Face {
        if self.plain { Face::new() } else { Face::new().fg(colour) }
    }

    /// What is there to be read second.
    pub(super) fn quiet(self) -> Face {
        self.coloured(GREY)
    }

    /// Around the questions.
    pub(super) fn frame(self) -> Face {
        self.coloured(VIOLET)
    }

    pub(super) fn title(self) -> Face {
        self.coloured(PINK).add_modifier(Modifier::BOLD)
    }

    pub(super) fn key(self) -> Face {
        self.coloured(BLUE)
    }

    pub(super) fn value(self) -> Face {
        self.coloured(TEAL)
    }

    pub(super) fn good(self) -> Face {
        self.coloured(GREEN)
    }

    pub(super) fn doubt(self) -> Face {
        self.coloured(ORANGE)
    }

    pub(super) fn bad(self) -> Face {
        self.coloured(RED)
    }

    /// A key that can be pressed.
    pub(super) fn press(self) -> Face {
        self.coloured(BLUE).add_modifier(Modifier::BOLD)
    }

    /// The name of the program, or something that Enter acts on.
    pub(super) fn chosen(self) -> Face {
        if self.plain {
            Face::new().add_modifier(Modifier::REVERSED)
        } else {
            Face::new().fg(WHITE).bg(VIOLET).add_modifier(Modifier::BOLD)
        }
    }

    /// The page that is open.
    pub(super) fn chosen_word(self) -> Face {
        let face = self.title();
        if self.plain { face.add_modifier(Modifier::UNDERLINED) } else { face }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Red, green and blue of one of the 256.
    fn rgb(number: u8) -> [f64; 3] {
        let level = |step: u8| [0.0, 95.0, 135.0, 175.0, 215.0, 255.0][usize::from(step)];
        match number {
            232.. => [8.0 + 10.0 * f64::from(number - 232); 3],
            _ => [(number - 16) / 36, (number - 16) / 6 % 6, (number - 16) % 6].map(level),
        }
    }

    /// The contrast of WCAG 2: from 1, the same, to 21, black on white.
    fn contrast(one: u8, other: u8) -> f64 {
        let light = |number| {
            let linear = |value: f64| {
                let value = value / 255.0;
                if value <= 0.03928 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
            };
            let [red, green, blue] = rgb(number).map(linear);
            0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05
        };
        let (one, other) = (light(one), light(other));
        one.max(other) / one.min(other)
    }

    #[test]
    fn every_colour_can_be_read_on_black_and_on_white() {
        let (black, white) = (16, 231);
        for colour in [VIOLET, PINK, BLUE, TEAL, GREEN, ORANGE, RED, GREY] {
            let Color::Indexed(number) = colour else { panic!("{colour:?} is the theme's") };
            for background in [black, white] {
                let contrast = contrast(number, background);
                assert!(contrast > 3.9, "{number} on {background}: {contrast}");
            }
        }
        assert!(contrast(99, white) > 3.9, "what is chosen");
    }
}
