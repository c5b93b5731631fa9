//! What a promotion does to a pointer, or why not.
