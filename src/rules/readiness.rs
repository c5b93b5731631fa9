//! `may_serve`: the one list of requirements for every way in which text comes to serve (R7).
