//! Screens, as text; without colours also what would be bold or reversed.

use ratatui::{Terminal, backend::TestBackend, style::Modifier};
use swdt_core::{Error, id, run::Seen};

use super::draw;
use crate::{
    Model,
    looks::Known,
    tests::{facts, mixed, press, wizard},
};

fn terminal(model: &Model, width: u16, height: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, model)).unwrap();
    terminal
}

fn screen(model: &Model, width: u16, height: u16) -> String {
    terminal(model, width, height).backend().to_string()
}

#[test]
fn the_first_page() {
    insta::assert_snapshot!(screen(&wizard(), 80, 24));
}

#[test]
fn a_choice() {
    let mut model = wizard();
    press(&mut model, "<down>");
    insta::assert_snapshot!(screen(&model, 80, 24));
}

#[test]
fn something_wrong() {
    let mut model = wizard();
    press(&mut model, "<pgdn><pgdn><down>10.96.0.0/14");
    insta::assert_snapshot!(screen(&model, 80, 24));
}

#[test]
fn a_machine_that_was_looked_at() {
    let mut model = mixed();
    press(&mut model, "<up><up><enter><down><down><down><down>");
    let candidate = model.candidate(0).unwrap();
    model
        .looks
        .learn(&candidate, Known::Seen(Box::new(Seen { facts: facts(), cluster: None, clock: (0, 0) })));
    insta::assert_snapshot!(screen(&model, 120, 40));
}

/// Nobody trusts by going on with Enter: it is a key of its own, and the machine is tried again.
#[test]
fn a_host_key_that_nobody_knows() {
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGgoXhuJrXUvO1mmBlEZPWc2zT1dUEkyDrxW/QDlSQgd";
    let mut model = mixed();
    press(&mut model, "<up><up><enter><down><down><down><down>");
    press(&mut model, "<^t>");
    assert!(!model.text().contains("hostKey"), "there is none to trust");
    let candidate = model.candidate(0).unwrap();
    let mut error = Error::new(
        id::HOST_KEY_UNKNOWN,
        "the host key of root@192.168.1.10:22 is not known: ssh-ed25519 SHA256:M1C05/Mshk37PpJhRMze3/N9WE9k/PSFzgTUTnt7kGg",
    )
    .hinted(
        "compare it with what the machine's console says to `ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub`",
    );
    error.unknown_host_key = Some(key.to_owned());
    model.looks.learn(&candidate, Known::Failed(Box::new(error)));
    insta::assert_snapshot!(screen(&model, 80, 24));
    let lines = screen(&model, 80, 24);
    assert!(lines.contains("SHA256:M1C05") && lines.contains("kGg "), "all of it can be compared: {lines}");
    press(&mut model, "<^t>");
    assert!(model.text().contains(&format!("hostKey: {key}")), "{}", model.text());
    let again = model.candidate(0).unwrap();
    assert_eq!(again.connection.host_key.as_deref(), Some(key));
    assert!(model.next_look().is_some_and(|look| *look.candidate() == again));
}

#[test]
fn the_nodes() {
    let mut model = mixed();
    let candidate = model.candidate(1).unwrap();
    let error = Error::new(id::MACHINE_UNREACHABLE, "nobody answers at 192.168.1.20:22: Connection refused")
        .hinted("is OpenSSH Server running there?");
    model.looks.learn(&candidate, Known::Failed(Box::new(error)));
    insta::assert_snapshot!(screen(&model, 80, 24));
}

#[test]
fn the_end() {
    let mut model = mixed();
    press(&mut model, "<^s>");
    insta::assert_snapshot!(screen(&model, 80, 24));
    press(&mut model, "<pgup>d<^s>");
    insta::assert_snapshot!("the_end_without_a_control_plane", screen(&model, 80, 24));
}

#[test]
fn leaving() {
    let mut model = mixed();
    press(&mut model, "<^c>");
    insta::assert_snapshot!(screen(&model, 80, 24));
}

/// They are shown over the page, and the key that takes them away does nothing else.
#[test]
fn all_keys() {
    let mut model = wizard();
    press(&mut model, "<f1>");
    insta::assert_snapshot!(screen(&model, 80, 24));
    press(&mut model, "x");
    assert!(!screen(&model, 80, 24).contains("trust the host key"));
    assert!(!model.text().contains('x'), "{}", model.text());
}

/// What nobody has answered yet is open, not wrong, and of several nodes it is said of which.
#[test]
fn what_is_still_to_be_said() {
    let mut model = wizard();
    press(&mut model, "<^s><pgup><down><enter>");
    insta::assert_snapshot!("a_node_without_an_address", screen(&model, 80, 24));
    press(&mut model, "<^s>");
    insta::assert_snapshot!(screen(&model, 80, 24));
}

#[test]
fn a_narrow_terminal_shows_one_half() {
    let mut model = mixed();
    press(&mut model, "<^s><pgup><enter>");
    insta::assert_snapshot!(screen(&model, 40, 20));
    press(&mut model, "<^y>");
    insta::assert_snapshot!("a_narrow_terminal_shows_the_other", screen(&model, 40, 20));
    assert!(screen(&model, 20, 5).contains("too small"));
}

#[test]
fn without_colours_everything_can_still_be_told_apart() {
    let mut model = mixed();
    model.host.plain = true;
    press(&mut model, "<pgup><down>");
    let terminal = terminal(&model, 80, 24);
    let buffer = terminal.backend().buffer();
    for cell in buffer.content() {
        assert_eq!((cell.fg, cell.bg), Default::default(), "{cell:?}");
    }
    let bold = buffer.content().iter().filter(|cell| cell.modifier.contains(Modifier::BOLD));
    let bold: String = bold.map(ratatui::buffer::Cell::symbol).collect();
    assert!(bold.contains("● Login") && bold.contains("◉ ~/.ssh/id_ed25519"), "{bold}");
}

/// No size makes it fall over, whatever page is open.
#[test]
fn any_size_will_do() {
    let mut model = mixed();
    for _ in 0..9 {
        for (width, height) in [(1, 1), (30, 10), (31, 11), (76, 10), (77, 13), (200, 12), (300, 90)] {
            screen(&model, width, height);
        }
        press(&mut model, "<pgup>");
    }
}
