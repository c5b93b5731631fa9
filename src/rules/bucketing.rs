//! Unit hashes and buckets (R15, R16).
