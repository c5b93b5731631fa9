//! Tables of readiness.
