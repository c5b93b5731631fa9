//! The audit chain: sealing and verifying events (R14, R25, R26).
