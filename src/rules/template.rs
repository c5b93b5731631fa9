//! The template subset: checked on the syntax tree, rendered strictly.
