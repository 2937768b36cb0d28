//! Fingerprints.
