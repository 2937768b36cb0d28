//! Bad bytes for whatever swdt reads.
//!
//! * `targets` – what reads them: lists of `swdt-core` and `swdt-node`, and where good examples lie
//! * `mutate` – bad bytes from good ones; knows lines, numbers, JSON and tar
//! * `worker` – one target in one process: a limit of memory, a deadline for each input, panics caught
//! * `keeper` – starts workers, learns what a dead one had in its hands, makes the table
//!
//! Everything follows from a seed. There is no measuring of coverage: an input whose answer was not seen before
//! joins those that are changed further.

pub mod keeper;
mod mutate;
mod random;
pub mod targets;
pub mod worker;
