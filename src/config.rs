//! Settings from file, environment and flags; paths by `directories`.
