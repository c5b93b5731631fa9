//! Reading a policy from TOML and merging its rule for a key.
