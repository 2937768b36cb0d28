//! swdt
fn main() {}
