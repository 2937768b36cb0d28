//! The wizard on a real terminal.

use std::{
    io,
    sync::{Arc, mpsc},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use ratatui::{
    DefaultTerminal,
    crossterm::{
        event::{DisableBracketedPaste, EnableBracketedPaste, Event, KeyEventKind, poll, read},
        execute,
    },
};
use swdt_core::run::Candidate;

use crate::{
    Model, Outcome,
    looks::{Known, Look, Prober},
    view,
};

/// How long nobody types before an address is tried.
const SETTLED: Duration = Duration::from_millis(700);
/// How often the screen is drawn while nothing is typed.
const TICK: Duration = Duration::from_millis(120);

/// Runs the wizard to its end. The terminal is as it was afterwards, also after a panic.
pub fn run(model: &mut Model, prober: Arc<dyn Prober>) -> io::Result<Outcome> {
    let mut terminal = ratatui::try_init()?;
    let _ = execute!(io::stdout(), EnableBracketedPaste);
    let mut lookers = Lookers::new(prober);
    let result = ask(&mut terminal, model, &mut lookers);
    let _ = execute!(io::stdout(), DisableBracketedPaste);
    ratatui::restore();
    lookers.finish();
    result
}

fn ask(terminal: &mut DefaultTerminal, model: &mut Model, lookers: &mut Lookers) -> io::Result<Outcome> {
    let mut last_key = Instant::now();
    loop {
        terminal.draw(|frame| view::draw(frame, model))?;
        let typed = poll(TICK)?;
        // All that was typed meanwhile, before it is drawn once.
        while poll(Duration::ZERO)? {
            match read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => model.key(key),
                Event::Paste(text) => model.paste(&text),
                _ => {}
            }
            if let Some(outcome) = model.outcome() {
                return Ok(outcome);
            }
        }
        if typed {
            last_key = Instant::now();
        } else if model.looks.busy() {
            model.beat += 1;
        }
        for (candidate, known) in lookers.found.try_iter() {
            model.looks.learn(&candidate, known);
        }
        if last_key.elapsed() >= SETTLED
            && let Some(look) = model.next_look()
        {
            model.looks.learn(look.candidate(), look.meanwhile());
            lookers.send(look);
        }
    }
}

/// Those who look, beside the keyboard.
struct Lookers {
    prober: Arc<dyn Prober>,
    tell: mpsc::Sender<(Candidate, Known)>,
    found: mpsc::Receiver<(Candidate, Known)>,
    /// Those who have something on a machine that must go again.
    there: Vec<JoinHandle<()>>,
}

impl Lookers {
    fn new(prober: Arc<dyn Prober>) -> Self {
        let (tell, found) = mpsc::channel();
        Self { prober, tell, found, there: Vec::new() }
    }

    fn send(&mut self, look: Look) {
        let (prober, tell) = (self.prober.clone(), self.tell.clone());
        let there = matches!(look, Look::At(_));
        let looker = std::thread::spawn(move || {
            let known = look.take(prober.as_ref());
            // Nobody waits for it any more when the wizard has ended.
            let _ = tell.send((look.candidate().clone(), known));
        });
        if there {
            self.there.push(looker);
        }
    }

    /// Waits until nothing of ours is on any machine: whoever creates the cluster next would meet it.
    fn finish(self) {
        for looker in self.there {
            let _ = looker.join();
        }
    }
}
