//! The `olivine` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    olivine::shell::run()
}
