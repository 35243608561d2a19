//! Threads: conflicts and anomalies.
