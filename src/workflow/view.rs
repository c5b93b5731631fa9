//! What people see of promotions and pointers: rows with all that a decision needs.
