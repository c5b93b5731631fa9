//! Tables of promotions.
