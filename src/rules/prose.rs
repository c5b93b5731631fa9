//! Differences of prose: paragraphs, then words.
