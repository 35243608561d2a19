//! The subcommand `collect`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use super::care::{Meter, ReportFormat};
use super::problem::Problem;
use crate::database::Database;
use crate::maintain::{ClassGarbage, CollectOptions, CollectReport, RootReach};

#[derive(Debug, Args)]
pub struct CollectArguments {
    /// The database directory; it must not be open elsewhere (a program collects its own garbage with `Database::collect`).
    database: PathBuf,
    /// Only say what would be deleted, and what keeps the rest alive.
    #[arg(long)]
    dry_run: bool,
    /// The most objects to look at or delete in a second.
    #[arg(long, value_name = "OBJECTS", value_parser = clap::value_parser!(u64).range(1..))]
    budget: Option<u64>,
    /// How the report is written.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

/// Collects garbage. Interrupted, it has deleted a part, and fails so that a script knows.
pub fn collect(arguments: &CollectArguments) -> Result<(), Problem> {
    let options = Database::options(&arguments.database).create(false);
    let database = options.read_only(arguments.dry_run).open()?;
    let mut options = CollectOptions::new().dry_run(arguments.dry_run);
    if let Some(budget) = arguments.budget {
        options = options.budget(budget);
    }
    let mut meter = Meter::new();
    let report = database.collect_watched(&options, &mut |progress| meter.show(progress));
    meter.clear();
    let report = report?;
    match arguments.format {
        ReportFormat::Text => writeln!(io::stdout(), "{}", as_text(&report, &database))?,
        ReportFormat::Json => writeln!(io::stdout(), "{}", as_json(&report, &database))?,
    }
    io::stdout().flush()?;
    database.close()?;
    match report.interrupted {
        true => Err(Problem::Failed(
            "interrupted; what was deleted stays deleted, and the next run begins anew".into(),
        )),
        false => Ok(()),
    }
}

/// The sentence, and below it, for a dry run, classes and roots.
fn as_text(report: &CollectReport, database: &Database) -> String {
    let mut text = report.to_string();
    if report.dry_run {
        for class in &report.classes {
            let named = samples(class, database);
            text.push_str(&format!(
                "\nclass {}: {} of {} objects{}",
                class.class,
                class.garbage,
                class.objects,
                match named.is_empty() {
                    true => String::new(),
                    false => format!(", such as {}", named.join(", ")),
                }
            ));
        }
        for RootReach { root, reached, .. } in &report.roots {
            text.push_str(&format!("\nkept by {root}: {reached} objects"));
        }
    }
    text
}

fn samples(class: &ClassGarbage, database: &Database) -> Vec<String> {
    let snapshot = database.snapshot();
    class.samples.iter().map(|oid| snapshot.describe(*oid)).collect()
}

fn as_json(report: &CollectReport, database: &Database) -> serde_json::Value {
    let class = |class: &ClassGarbage| {
        serde_json::json!({
            "class": &*class.class,
            "objects": class.objects,
            "young": class.young,
            "garbage": class.garbage,
            "samples": samples(class, database),
        })
    };
    let root = |root: &RootReach| serde_json::json!({ "root": &*root.root, "reached": root.reached });
    serde_json::json!({
        "dry_run": report.dry_run,
        "interrupted": report.interrupted,
        "objects_read": report.objects_read,
        "garbage": report.garbage,
        "deleted": report.deleted,
        "spared": report.spared,
        "classes": report.classes.iter().map(class).collect::<Vec<_>>(),
        "roots": report.roots.iter().map(root).collect::<Vec<_>>(),
    })
}
