//! Every error that swdt can end with, by kind. An error is made from one of these, so that none is without an id.
//!
//! What means the same to a person, and is mended in the same way, is one entry. A new one: a row in the file of its kind,
//! a place that makes it, and `SWDT_WRITE_DOCS=1 cargo test -p swdt --test docs` writes the page anew. An id that was
//! released is never given to anything else.

use super::{Entry, ErrorKind, On};

/// Entries of one kind, and the list of them.
macro_rules! entries {
    ($kind:ident: $($name:ident = $id:literal {
        title: $title:literal,
        cause: $cause:literal,
        fix: [$($($on:ident)? $step:literal),+ $(,)?],
    })+) => {
        use super::{Entry, ErrorKind, On};

        $(
            #[doc = $title]
            pub const $name: &Entry = &Entry {
                id: $id,
                kind: ErrorKind::$kind,
                title: $title,
                cause: $cause,
                fix: &[$((entries!(@on $($on)?), $step)),+],
            };
        )+

        /// All of this kind.
        pub(super) const ALL: &[&Entry] = &[$($name),+];
    };
    (@on) => { On::Anywhere };
    (@on $on:ident) => { On::$on };
}

mod busy;
mod cluster;
mod config;
mod connection;
mod download;
mod internal;
mod interrupted;
mod machine;
mod prerequisite;
mod resource;
mod usage;

pub use busy::*;
pub use cluster::*;
pub use config::*;
pub use connection::*;
pub use download::*;
pub use internal::*;
pub use interrupted::*;
pub use machine::*;
pub use prerequisite::*;
pub use resource::*;
pub use usage::*;

/// Every entry, in the order of the exit codes.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    let kinds = [
        usage::ALL,
        config::ALL,
        prerequisite::ALL,
        download::ALL,
        machine::ALL,
        connection::ALL,
        resource::ALL,
        cluster::ALL,
        busy::ALL,
        internal::ALL,
        interrupted::ALL,
    ];
    kinds.into_iter().flatten().copied()
}
