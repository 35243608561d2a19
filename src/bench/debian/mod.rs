//! The circuit `debian`: the packages of one Debian release, with all their relations.

mod data;
mod expect;
