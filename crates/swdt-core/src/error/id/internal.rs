//! A mistake in swdt, or in how it was put together.

entries! { Internal:
    INTERNAL = "internal" {
        title: "swdt made a mistake",
        cause: "Something happened that should not be possible.",
        fix: ["run the command again: whatever is true already is kept", "report it, with what `swdt cluster support-bundle` collects"],
    }
    WIRE_MISMATCH = "wire-mismatch" {
        title: "swdt and its node program are of different releases",
        cause: "The node program that lies beside `swdt` was built from other sources.",
        fix: ["install swdt anew, with its node programs", "in a clone of the sources: `cargo xtask agents`"],
    }
}
