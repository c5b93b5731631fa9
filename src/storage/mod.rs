//! SQL, the only room that says `sqlx`.
