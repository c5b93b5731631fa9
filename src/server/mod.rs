//! HTTP: thin handlers over the workflow.
