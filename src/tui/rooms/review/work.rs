//! Work on the processor that Review wants done off the loop: word marks, wrapping.

/// What shall be worked out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Work;

/// What was worked out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Worked;

/// Works it out; runs on a worker thread.
pub(crate) fn perform(_work: Work) -> Worked {
    Worked
}
