//! Hostile text made visible: `visible()`, `Shown`, look-alikes.
