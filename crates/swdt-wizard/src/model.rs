//! What the wizard knows, and what a key does to it. No terminal here: a test presses keys and looks.

use std::collections::{BTreeMap, BTreeSet};

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value, json};
use swdt_core::{
    config::edit::Document,
    run::Candidate,
    spec::{Node, OsFamily},
};

use crate::{
    Host,
    field::{Action, Field},
    judge::{self, Note, Verdict},
    looks::{Known, Look, Looks},
    nodes,
    pages::Page,
};

/// How the wizard ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing shall be written.
    Left,
    /// The file shall be written.
    Write,
    /// And the cluster created.
    WriteAndCreate,
}

/// A question that stands before everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    /// Leave, and lose what was typed?
    Leave,
    /// Replace a file that is there?
    Replace(Outcome),
}

/// How many changes can be taken back.
const PAST: usize = 200;

/// What the wizard knows.
#[derive(Debug)]
pub struct Model {
    pub(crate) document: Document,
    pub(crate) host: Host,
    pub(crate) page: Page,
    /// The field that is being answered, on this page.
    pub(crate) focus: usize,
    /// Letters before the cursor in a field that is typed.
    pub(crate) cursor: usize,
    pub(crate) verdict: Verdict,
    pub(crate) looks: Looks,
    pub(crate) asking: Option<Asking>,
    /// The file instead of the questions, where there is no room for both.
    pub(crate) shows_file: bool,
    /// All keys, before everything else; any key goes on.
    pub(crate) shows_keys: bool,
    /// Counts while somebody looks, so that it can be seen.
    pub(crate) beat: usize,
    /// Answers that do not hold now, and would again: the address of a node whose machine shall be made.
    pub(crate) aside: BTreeMap<String, Value>,
    /// Pages that were looked at.
    pub(crate) visited: [bool; Page::ALL.len()],
    /// Addresses of nodes that were opened: only these are looked at.
    opened: BTreeSet<String>,
    begun_as: String,
    past: Vec<String>,
    outcome: Option<Outcome>,
}

/// What a new file begins with.
const TEMPLATE: &str = "# by `swdt config create`
apiVersion: swdt.dev/v1alpha1
kind: Cluster
";

impl Model {
    /// What a new file says before anything is asked: a name, the usual Kubernetes, a control plane.
    pub fn template(version: &str) -> Document {
        let mut document = Document::new(TEMPLATE);
        // The text is ours, so that all of this can be written.
        let _ = document.set("metadata.name", &json!("my-cluster"));
        let _ = document.set("kubernetes.version", &json!(version));
        document
    }

    /// A wizard that changes this file.
    pub fn new(document: Document, host: Host) -> Self {
        let mut model = Self {
            begun_as: String::new(),
            verdict: Verdict::default(),
            document,
            host,
            page: Page::Cluster,
            focus: 0,
            cursor: 0,
            looks: Looks::default(),
            asking: None,
            shows_file: false,
            shows_keys: false,
            beat: 0,
            aside: BTreeMap::new(),
            visited: [false; Page::ALL.len()],
            opened: BTreeSet::new(),
            past: Vec::new(),
            outcome: None,
        };
        if model.document.is_empty("nodes") {
            let _ = nodes::add(&mut model.document, OsFamily::Linux);
        }
        model.begun_as = model.document.text().to_owned();
        model.judge();
        model.turn_to(Page::Cluster);
        model
    }

    /// How it ended, once it has.
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }

    /// The file as it is now.
    pub fn text(&self) -> &str {
        self.document.text()
    }

    pub(crate) fn fields(&self) -> Vec<Field> {
        self.page.fields(&self.document, &self.host, self.verdict.wrong.len())
    }

    pub(crate) fn field(&self) -> Option<Field> {
        self.fields().into_iter().nth(self.focus)
    }

    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent) {
        if let Some(asking) = self.asking.take() {
            let yes = matches!(key.code, KeyCode::Char('y' | 'Y'));
            self.outcome = yes.then_some(match asking {
                Asking::Leave => Outcome::Left,
                Asking::Replace(outcome) => outcome,
            });
            return;
        }
        if std::mem::take(&mut self.shows_keys) {
            return;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c' | 'q') if control => self.leave(),
            KeyCode::Char('y') if control => self.shows_file = !self.shows_file,
            KeyCode::Char('z') if control => self.take_back(),
            KeyCode::Char('s') if control => self.turn_to(Page::Finish),
            KeyCode::Char('t') if control => self.trust(),
            KeyCode::F(1) => self.shows_keys = true,
            KeyCode::PageDown => self.next_page(),
            KeyCode::Esc if self.page == Page::Cluster => self.leave(),
            KeyCode::Esc | KeyCode::PageUp => self.previous_page(),
            KeyCode::Tab | KeyCode::Down => self.next_field(),
            KeyCode::BackTab | KeyCode::Up => self.previous_field(),
            KeyCode::Enter => match self.field().and_then(|field| field.act()) {
                Some(action) => self.act(action),
                None => self.next_field(),
            },
            _ => self.answer(key, control),
        }
    }

    /// Text that was pasted.
    pub fn paste(&mut self, text: &str) {
        for letter in text.trim().chars().filter(|letter| !letter.is_control()) {
            self.answer(KeyEvent::from(KeyCode::Char(letter)), false);
        }
    }

    fn leave(&mut self) {
        if self.document.text() == self.begun_as {
            self.outcome = Some(Outcome::Left);
        } else {
            self.asking = Some(Asking::Leave);
        }
    }

    fn next_field(&mut self) {
        if self.focus + 1 < self.fields().len() { self.step_to(self.focus + 1) } else { self.next_page() }
    }

    fn previous_field(&mut self) {
        match self.focus.checked_sub(1) {
            Some(focus) => self.step_to(focus),
            None if self.page == Page::Cluster => {}
            None => {
                self.previous_page();
                self.step_to(usize::MAX);
            }
        }
    }

    /// The cursor stands behind what was typed.
    pub(crate) fn step_to(&mut self, focus: usize) {
        self.focus = focus.min(self.fields().len().saturating_sub(1));
        self.cursor = self.field().map_or(0, |field| field.answer(&self.document).chars().count());
    }

    fn next_page(&mut self) {
        match self.page {
            Page::Node(_) => self.turn_to(Page::Nodes),
            page => drop(Page::ALL.get(page.step() + 1).map(|&next| self.turn_to(next))),
        }
    }

    fn previous_page(&mut self) {
        match self.page {
            Page::Node(_) => self.turn_to(Page::Nodes),
            page => drop(page.step().checked_sub(1).map(|step| self.turn_to(Page::ALL[step]))),
        }
    }

    pub(crate) fn turn_to(&mut self, page: Page) {
        // From a node back to its line in the list.
        let focus = if let (Page::Node(number), Page::Nodes) = (self.page, page) { number } else { 0 };
        self.page = page;
        self.visited[page.step()] = true;
        if let Page::Node(_) = page {
            // Whoever opens a node again may have started its machine meanwhile.
            self.looks.forget_failures();
        }
        self.step_to(focus);
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::EditNode(number) => self.turn_to(Page::Node(number)),
            Action::AddNode(os) => self.add(os),
            Action::RemoveNode(number) => self.remove(number),
            Action::CloseNode => self.close(),
            Action::GoOn => self.next_page(),
            Action::Visit(at) => self.visit(at),
            Action::Write => self.end(Outcome::Write),
            Action::WriteAndCreate => self.end(Outcome::WriteAndCreate),
        }
    }

    fn end(&mut self, outcome: Outcome) {
        if self.host.replaces {
            self.asking = Some(Asking::Replace(outcome));
        } else {
            self.outcome = Some(outcome);
        }
    }

    fn add(&mut self, os: OsFamily) {
        let mut document = self.document.clone();
        let Ok(number) = nodes::add(&mut document, os) else { return };
        self.change(|model| {
            model.document = document;
            model.begin(number);
        });
        self.turn_to(Page::Node(number));
    }

    pub(crate) fn remove(&mut self, number: usize) {
        self.change(|model| drop(model.document.remove(&format!("nodes[{number}]"))));
        // What was kept of its answers, and of those behind it, belongs to another place now.
        self.aside.retain(|path, _| !path.starts_with("nodes["));
        self.turn_to(Page::Nodes);
    }

    /// On to the next node that lacks something, or to where one is added.
    fn close(&mut self) {
        self.turn_to(Page::Nodes);
        let fields = self.fields();
        let next =
            (0..fields.len()).find(|at| self.verdict.about(&self.document, &fields, *at).next().is_some());
        self.step_to(next.unwrap_or(self.document.len("nodes")));
    }

    /// Goes to the question that something wrong is about.
    fn visit(&mut self, at: usize) {
        let Some(wrong) = self.verdict.wrong.get(at) else { return };
        let single = (0..self.document.len("nodes")).map(Page::Node);
        let pages = Page::ALL.into_iter().filter(|page| !matches!(page, Page::Nodes | Page::Finish));
        let found = single.chain(pages).find_map(|page| {
            let fields = page.fields(&self.document, &self.host, 0);
            judge::owner(wrong, &self.document, &fields).map(|focus| (page, focus))
        });
        let (page, focus) = found.unwrap_or((Page::Nodes, 0));
        self.turn_to(page);
        self.step_to(focus);
    }

    /// Changes the file, in a way that can be taken back, and reads it again.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Self)) {
        let before = self.document.text().to_owned();
        change(self);
        if self.document.text() != before {
            self.past.push(before);
            if self.past.len() > PAST {
                self.past.remove(0);
            }
            self.judge();
        }
    }

    fn take_back(&mut self) {
        let Some(text) = self.past.pop() else { return };
        self.document = Document::new(text);
        self.judge();
        match self.page {
            Page::Node(number) if number >= self.document.len("nodes") => self.turn_to(Page::Nodes),
            _ => self.step_to(self.focus),
        }
    }

    fn judge(&mut self) {
        self.verdict = Verdict::of(&self.document, &self.host);
    }

    fn cluster(&self) -> String {
        let name = self.document.get("metadata.name");
        name.and_then(|name| name.as_str().map(ToOwned::to_owned)).unwrap_or_default()
    }

    /// The machine of a node, if it could be looked at.
    pub(crate) fn candidate(&self, number: usize) -> Option<Candidate> {
        Candidate::of(&self.cluster(), self.verdict.nodes.get(number)?.as_ref()?)
    }

    /// What is known of the machine of a node.
    pub(crate) fn known(&self, number: usize) -> Option<&Known> {
        self.looks.of(&self.candidate(number)?)
    }

    /// The host key that the machine of the open node shows and nobody knows.
    pub(crate) fn unknown_host_key(&self) -> Option<(usize, &str)> {
        let Page::Node(number) = self.page else { return None };
        match self.known(number)? {
            Known::Failed(error) => Some((number, error.unknown_host_key.as_deref()?)),
            _ => None,
        }
    }

    /// Writes it into the file, which is tried with it again.
    fn trust(&mut self) {
        let Some((number, key)) = self.unknown_host_key() else { return };
        let (path, key) = (format!("nodes[{number}].connection.hostKey"), json!(key));
        self.change(|model| drop(model.document.set(&path, &key)));
    }

    /// What preflight will say of the machines that were looked at.
    pub(crate) fn notes(&self) -> Vec<Note> {
        let cluster = self.cluster();
        let nodes = self.verdict.nodes.iter().flatten();
        let pairs = nodes.filter_map(|node: &Node| Some((node, Candidate::of(&cluster, node)?)));
        self.verdict.notes(&self.looks.facts(pairs))
    }

    /// What to look at next. Only what the user typed, or opened: nobody else's machines.
    pub(crate) fn next_look(&mut self) -> Option<Look> {
        if let Page::Node(number) = self.page
            && let Some(candidate) = self.candidate(number)
        {
            self.opened.insert(candidate.address);
        }
        let typing = |number: usize| {
            self.page == Page::Node(number)
                && self.field().is_some_and(|field| {
                    field.path.ends_with(".address") || field.path.ends_with("connection.user")
                })
        };
        let nodes =
            (0..self.verdict.nodes.len()).filter_map(|number| Some((number, self.candidate(number)?)));
        nodes
            .filter(|(_, candidate)| self.opened.contains(&candidate.address))
            .find_map(|(number, candidate)| self.looks.next(&candidate, !typing(number)))
    }
}
