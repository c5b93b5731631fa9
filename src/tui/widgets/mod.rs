//! Building blocks of views: they know the theme and no domain.
