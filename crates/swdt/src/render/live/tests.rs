use indicatif::InMemoryTerm;

use super::{super::recorded, *};

/// The screen after so many events.
fn screen(events: &[Event], rows: u16, columns: u16) -> String {
    let terminal = InMemoryTerm::new(rows, columns);
    let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
    let mut live = Live::new(MultiProgress::with_draw_target(target), false, || Some(WIDTH));
    for event in events {
        live.take(event);
    }
    still(&terminal)
}

/// Of most terminals in here.
const WIDTH: usize = 60;

/// Spinners turn by themselves; a snapshot must not.
fn still(terminal: &InMemoryTerm) -> String {
    let still = |c: char| if ('\u{2801}'..='\u{28ff}').contains(&c) { '⠿' } else { c };
    terminal.contents().chars().map(still).collect()
}

#[test]
fn what_programs_say_comes_and_goes_with_a_key() {
    let terminal = InMemoryTerm::new(20, 40);
    let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
    let mut live = Live::new(MultiProgress::with_draw_target(target), false, || Some(40));
    let events = recorded::create();
    let said = |kind: &EventKind| matches!(kind, EventKind::Output { .. });
    events[..at(&events, said)].iter().for_each(|event| live.take(event));
    assert!(still(&terminal).contains("1/1 packages"), "{}", still(&terminal));
    live.turn_output();
    assert!(still(&terminal).contains("| Unpacking socat"), "{}", still(&terminal));
    assert!(still(&terminal).contains("1/2 hosts/cp1"), "who says nothing is at what it is at");
    live.turn_output();
    assert!(!still(&terminal).contains("Unpacking"), "{}", still(&terminal));
}

#[test]
fn whoever_waits_for_others_is_not_shown_at_work() {
    let events = recorded::create();
    let done = |kind: &EventKind| matches!(kind, EventKind::NodePhaseDone { .. });
    let screen = screen(&events[..at(&events, done)], 20, 60);
    assert!(screen.contains("worker-with-a-name  done in 6 ms"), "{screen}");
    assert!(screen.contains("1/2 hosts/cp1"), "{screen}");
}

#[test]
fn lines_that_move_are_cut_where_the_terminal_ends() {
    assert_eq!(cut("12 s of about 45 s", Some(40), 15), "12 s of about 45 s");
    assert_eq!(cut("12 s of about 45 s", Some(30), 15), "12 s of about…");
    assert_eq!(cut("12 s", Some(3), 15), "…");
    assert_eq!(cut("12 s", None, 15), "12 s");
}

fn at(events: &[Event], wanted: impl Fn(&EventKind) -> bool) -> usize {
    events.iter().position(|event| wanted(&event.kind)).unwrap() + 1
}

#[test]
fn a_create_from_its_middle_to_its_end() {
    let events = recorded::create();
    let machines = at(&events, |kind| matches!(kind, EventKind::PhaseDone { .. })) - 1;
    insta::assert_snapshot!("live_machines", screen(&events[..machines], 20, 60));
    let done = |kind: &EventKind| matches!(kind, EventKind::ResourceDone { .. });
    insta::assert_snapshot!("live_prepare", screen(&events[..at(&events, done)], 20, 60));
    insta::assert_snapshot!("live_end", screen(&events, 20, 60));
}

#[test]
fn failures_and_what_was_kept_stay_on_the_screen() {
    insta::assert_snapshot!("live_failure", screen(&recorded::failure(), 20, 60));
    insta::assert_snapshot!("live_destroy", screen(&recorded::destroy(), 20, 60));
}

#[test]
fn more_nodes_than_lines_leave_nothing_behind() {
    let events = recorded::many(40);
    let end = screen(&events, 10, 40);
    assert!(end.ends_with("done in 2.0 s"), "{end}");
    assert!(!end.contains("booting"), "{end}");
}

/// On as many machines, the same long warning would drown everything else.
#[test]
fn what_holds_for_several_nodes_is_said_once() {
    let mut events = recorded::create();
    let warned = at(&events, |kind| matches!(kind, EventKind::Warning { .. })) - 1;
    let on_another = Event { node: Some("w1".into()), ..events[warned].clone() };
    events.insert(warned + 1, on_another);
    let screen = screen(&events, 20, 60);
    assert!(screen.contains("! w1: the same as on cp1"), "{screen}");
    assert_eq!(screen.matches("1 CPU is little").count(), 1, "{screen}");
}

#[test]
fn how_far_a_node_is_can_be_seen_where_there_is_room() {
    let events = recorded::create();
    let started = |kind: &EventKind| matches!(kind, EventKind::ResourceStarted { .. });
    let drawn = |columns: u16| {
        let terminal = InMemoryTerm::new(20, columns);
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        let width: fn() -> Option<usize> = if columns > 60 { || Some(90) } else { || Some(60) };
        let mut live = Live::new(MultiProgress::with_draw_target(target), false, width);
        events[..at(&events, started)].iter().for_each(|event| live.take(event));
        still(&terminal)
    };
    assert!(drawn(90).contains("──── 1/2 hosts/cp1"), "{}", drawn(90));
    assert!(drawn(60).contains("cp1                 1/2 hosts/cp1"), "{}", drawn(60));
}
