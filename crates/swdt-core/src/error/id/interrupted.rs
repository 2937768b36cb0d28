//! The user stopped the run.

entries! { Interrupted:
    INTERRUPTED = "interrupted" {
        title: "you stopped the command",
        cause: "Ctrl-C was pressed, the wizard was left, or a signal came. What was done so far is kept.",
        fix: ["the same command goes on where it stopped", "`swdt cluster destroy` undoes what was done"],
    }
}
