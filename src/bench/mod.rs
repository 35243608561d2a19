//! The benchmark suite behind `olivine bench`.
