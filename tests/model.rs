//! Random operations against an ordered map.
