//! What a run tells, numbered in order.

use std::{cell::RefCell, rc::Rc, time::Instant};

use swdt_wire::{NodeEvent, NodeEventKind, Summary};

/// Numbers events and passes them on. Clones share the numbers.
#[derive(Clone)]
pub struct Events(Rc<RefCell<Inner>>);

struct Inner {
    next: u64,
    began: Instant,
    sink: Box<dyn FnMut(&NodeEvent)>,
}

impl Events {
    /// Events from number `first` on. A conversation begins with its `Hello` as number 0; the events
    /// of a run, which outlive the conversation, begin with 1.
    pub fn from(first: u64, sink: impl FnMut(&NodeEvent) + 'static) -> Self {
        Self(Rc::new(RefCell::new(Inner { next: first, began: Instant::now(), sink: Box::new(sink) })))
    }

    /// Tells something.
    pub fn send(&self, kind: NodeEventKind) {
        let inner = &mut *self.0.borrow_mut();
        let elapsed_ms = u64::try_from(inner.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let event = NodeEvent { seq: inner.next, elapsed_ms, kind };
        inner.next += 1;
        (inner.sink)(&event);
    }

    /// Passes on an event of a run as it is; what is told after it goes on counting from there.
    pub fn pass(&self, event: &NodeEvent) {
        let inner = &mut *self.0.borrow_mut();
        inner.next = event.seq + 1;
        (inner.sink)(event);
    }

    /// Tells the last thing.
    pub fn finish(&self, summary: Summary) {
        self.send(NodeEventKind::Finished(summary));
    }
}
