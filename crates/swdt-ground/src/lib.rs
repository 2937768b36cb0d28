//! For tests only: machines that clean up after themselves, fingerprints, faults.
