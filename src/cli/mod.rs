//! The commands; the only room that may see all others.
