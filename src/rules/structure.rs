//! Differences of structure between two contents.
