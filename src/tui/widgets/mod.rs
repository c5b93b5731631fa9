//! Building blocks of views: they know the theme and no domain.

pub(crate) mod age;
pub(crate) mod ink;
pub(crate) mod pane;
pub(crate) mod row;
pub(crate) mod scroll;

/// An environment's name as screens show it: a protected one in capitals and brackets, never by colour alone.
pub(crate) fn environment(name: &str, protected: bool) -> String {
    if protected { format!("[{}]", name.to_uppercase()) } else { name.to_owned() }
}
