//! The verbs: one transaction, one audit event each.
