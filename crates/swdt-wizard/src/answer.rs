//! What a key does to the answer of a question, and what follows from some answers.

use ratatui::crossterm::event::{KeyCode, KeyEvent};
use serde_json::{Value, json};

use crate::{
    field::{self, Action, Choice, Field, Kind, Text},
    model::Model,
    nodes,
    pages::Page,
};

/// Who logs in to Windows, unless somebody else is named.
const ADMINISTRATOR: &str = "Administrator";

impl Model {
    /// A key that answers the field.
    pub(crate) fn answer(&mut self, key: KeyEvent, control: bool) {
        let Some(field) = self.field() else { return };
        match &field.kind {
            Kind::Text(text) => self.type_into(&field, text, key, control),
            Kind::Choice(choices) => self.choose(&field, choices, key),
            Kind::Action(Action::EditNode(number)) => {
                if matches!(key.code, KeyCode::Char('d') | KeyCode::Delete) {
                    self.remove(*number);
                }
            }
            Kind::Action(_) => {}
        }
    }

    fn choose(&mut self, field: &Field, choices: &[Choice], key: KeyEvent) {
        let at = field.chosen(&self.document);
        let next = match key.code {
            KeyCode::Right | KeyCode::Char(' ') => at.map_or(0, |at| (at + 1) % choices.len()),
            KeyCode::Left => at.map_or(0, |at| (at + choices.len() - 1) % choices.len()),
            _ => return,
        };
        let value = choices[next].value.clone();
        self.change(|model| match (model.page, field.path.as_str()) {
            (_, "defaults.machine.provider") => model.make_machines(value.as_ref()),
            (Page::Node(number), path) if path.ends_with(".machine") => model.make(number, value.is_some()),
            (Page::Node(number), path) if path.ends_with("].os") => model.run_on(number, value.as_ref()),
            (_, path) => model.write(path, value.as_ref()),
        });
    }

    fn type_into(&mut self, field: &Field, about: &Text, key: KeyEvent, control: bool) {
        let mut letters: Vec<char> = field.answer(&self.document).chars().collect();
        let cursor = self.cursor.min(letters.len());
        match key.code {
            KeyCode::Left => return self.cursor = cursor.saturating_sub(1),
            KeyCode::Right => return self.cursor = (cursor + 1).min(letters.len()),
            KeyCode::Home => return self.cursor = 0,
            KeyCode::End => return self.cursor = letters.len(),
            KeyCode::Char('a') if control => return self.cursor = 0,
            KeyCode::Char('e') if control => return self.cursor = letters.len(),
            KeyCode::Char('u') if control => {
                letters.clear();
                self.cursor = 0;
            }
            KeyCode::Char(letter) if !control => {
                letters.insert(cursor, letter);
                self.cursor = cursor + 1;
            }
            KeyCode::Backspace if cursor > 0 => {
                letters.remove(cursor - 1);
                self.cursor = cursor - 1;
            }
            KeyCode::Delete if cursor < letters.len() => drop(letters.remove(cursor)),
            _ => return,
        }
        let text: String = letters.into_iter().collect();
        let value = (!text.is_empty() || about.required).then(|| field::typed(&text, about.number));
        self.change(|model| model.write(&field.path, value.as_ref()));
    }

    /// Writes an answer, or takes it out of the file with what would be left of it: keys without anything below.
    fn write(&mut self, path: &str, value: Option<&Value>) {
        if let Some(value) = value {
            // What cannot be changed without loss stays as it is, and the right half shows it.
            return drop(self.document.set(path, value));
        }
        let mut path = path;
        let _ = self.document.remove(path);
        while let Some((holder, _)) = path.rsplit_once('.') {
            if self.document.get(holder).is_some_and(|value| value != json!({})) || holder.ends_with(']') {
                break;
            }
            // That there is a machine is an answer, too.
            if holder.ends_with("].machine") {
                return drop(self.document.set(holder, &json!({})));
            }
            let _ = self.document.remove(holder);
            path = holder;
        }
    }

    /// New nodes come from there; so do nodes that have no place of their own yet.
    fn make_machines(&mut self, provider: Option<&Value>) {
        self.write("defaults.machine.provider", provider);
        for number in 0..self.document.len("nodes") {
            let has_address = self.document.get(&format!("nodes[{number}].address")).is_some();
            if provider.is_none() || !has_address {
                self.make(number, provider.is_some());
                self.follow_the_system(number);
            }
        }
    }

    /// A new node gets its machine from where new ones come.
    pub(crate) fn begin(&mut self, number: usize) {
        if self.document.get("defaults.machine.provider").is_some() {
            self.make(number, true);
        } else {
            self.follow_the_system(number);
        }
    }

    /// The machine of a node is made, or is there. What was said of the other kind is kept aside.
    fn make(&mut self, number: usize, made: bool) {
        let at = |key: &str| format!("nodes[{number}].{key}");
        if self.document.get(&at("machine")).is_some() == made {
            return;
        }
        let (goes, comes): (&[&str], &[&str]) = if made {
            (&["address", "connection"], &["machine"])
        } else {
            (&["machine"], &["address", "connection"])
        };
        for path in goes.iter().map(|key| at(key)) {
            if let Some(value) = self.document.get(&path) {
                let _ = self.document.remove(&path);
                self.aside.insert(path, value);
            }
        }
        for path in comes.iter().map(|key| at(key)) {
            if let Some(value) = self.aside.remove(&path) {
                let _ = self.document.set(&path, &value);
            }
        }
        if made && self.document.get(&at("machine")).is_none() {
            let provider = self.document.get("defaults.machine.provider").is_none().then_some("nspawn");
            let machine = provider.map_or_else(|| json!({}), |provider| json!({ "provider": provider }));
            let _ = self.document.set(&at("machine"), &machine);
        }
        self.follow_the_system(number);
    }

    /// A node runs another system.
    fn run_on(&mut self, number: usize, os: Option<&Value>) {
        self.write(&format!("nodes[{number}].os"), os);
        self.follow_the_system(number);
    }

    /// What nobody would want otherwise on this system: who makes its machine, who logs in.
    fn follow_the_system(&mut self, number: usize) {
        let at = |key: &str| format!("nodes[{number}].{key}");
        let windows = nodes::is_windows(&self.document, number);
        let made = self.document.get(&at("machine")).is_some();
        let said = |model: &Self, path: &str| model.document.get(path);
        let provider = at("machine.provider");
        let usual = said(self, "defaults.machine.provider");
        let disc = at("machine.image.iso");
        let virtual_machines = usual == Some(json!(nodes::QEMU));
        match said(self, &provider).or_else(|| usual.clone()) {
            // Where there are virtual machines, nobody needs a Windows that is none.
            Some(maker) if made && windows && virtual_machines && maker == "rehearsal" => {
                self.write(&provider, None);
            }
            Some(maker) if made && windows && self.host.makes_windows && maker == "nspawn" => {
                self.write(&provider, Some(&json!("rehearsal")));
            }
            Some(maker) if made && !windows && maker == "rehearsal" => {
                let linux = if usual == Some(json!("nspawn")) { None } else { Some(json!("nspawn")) };
                self.write(&provider, linux.as_ref());
            }
            _ => {}
        }
        let from_disc = nodes::from_disc(&self.document, number);
        match said(self, &disc) {
            None if from_disc => {
                if let Some(iso) = self.aside.remove(&disc) {
                    self.write(&disc, Some(&iso));
                }
            }
            Some(iso) if made && !from_disc => {
                self.write(&disc, None);
                self.aside.insert(disc, iso);
            }
            _ => {}
        }
        let user = at("connection.user");
        match said(self, &user) {
            None if windows && !made => self.write(&user, Some(&json!(ADMINISTRATOR))),
            Some(name) if !windows && name == ADMINISTRATOR => self.write(&user, None),
            _ => {}
        }
    }
}
