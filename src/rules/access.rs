//! Who may do what where: roles, scopes, namespaces, confidentiality.
