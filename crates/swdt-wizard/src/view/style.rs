//! Faces of text. Without colours, bold, underlines and reversed text say the same.

use ratatui::style::{Color, Modifier, Style as Face};

/// Faces, with colours or without. The colours are the terminal's own sixteen, so that light themes stay light.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    plain: bool,
}

/// What matters most.
pub(super) const STRONG: Face = Face::new().add_modifier(Modifier::BOLD);
/// The letter that the cursor stands on.
pub(super) const CURSOR: Face = Face::new().add_modifier(Modifier::REVERSED);

impl Style {
    pub(super) fn new(plain: bool) -> Self {
        Self { plain }
    }

    fn coloured(self, colour: Color) -> Face {
        if self.plain { Face::new() } else { Face::new().fg(colour) }
    }

    pub(super) fn quiet(self) -> Face {
        self.coloured(Color::DarkGray)
    }

    /// Around the questions.
    pub(super) fn frame(self) -> Face {
        self.coloured(Color::Magenta)
    }

    pub(super) fn title(self) -> Face {
        self.coloured(Color::Magenta).add_modifier(Modifier::BOLD)
    }

    pub(super) fn key(self) -> Face {
        self.coloured(Color::Cyan)
    }

    pub(super) fn value(self) -> Face {
        self.coloured(Color::Green)
    }

    pub(super) fn good(self) -> Face {
        self.coloured(Color::Green)
    }

    pub(super) fn doubt(self) -> Face {
        self.coloured(Color::Yellow)
    }

    pub(super) fn bad(self) -> Face {
        self.coloured(Color::Red)
    }

    /// Something that Enter acts on.
    pub(super) fn chosen(self) -> Face {
        if self.plain {
            Face::new().add_modifier(Modifier::REVERSED)
        } else {
            Face::new().fg(Color::Black).bg(Color::Magenta).add_modifier(Modifier::BOLD)
        }
    }

    /// The page that is open.
    pub(super) fn chosen_word(self) -> Face {
        let face = self.title();
        if self.plain { face.add_modifier(Modifier::UNDERLINED) } else { face }
    }
}
