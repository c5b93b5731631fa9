//! Whether a content is one: formats, variables, fragments.
