//! What a unit gets, and why (R15-R17).
