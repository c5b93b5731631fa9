//! Typed calls, the stream, the verified chain.
