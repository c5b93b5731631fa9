//! Steps of a plan, up and down (R28).
