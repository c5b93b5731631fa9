//! From bytes to digest: strict I-JSON in, RFC 8785 out (R1-R3).
