//! What answers without a database (R18).
