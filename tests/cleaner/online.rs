//! The background cleaner beside readers and writers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::*;
use crate::random::{Random, seeds};

#[test]
fn readers_and_writers_go_on_while_the_background_cleans() {
    for seed in seeds(1) {
        let directory = tempfile::tempdir().unwrap();
        let options = Database::options(directory.path().join("db"));
        let database = options.durability(olivine::Durability::Buffer).open().unwrap();
        define(&database).unwrap();
        let oids = create(&database, 0..2000, 1000);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    let snapshot = database.snapshot();
                    let first = things(&snapshot);
                    assert_eq!(first.len(), 2000);
                    assert_eq!(things(&snapshot), first);
                }
            });
            let mut random = Random::new(seed);
            // Enough for the cleaner to have work, whatever the machine does meanwhile.
            let patience = Instant::now() + Duration::from_secs(60);
            let mut round = 0;
            let mut most = 0;
            while round < 40 || (database.statistics().log_bytes >= most && Instant::now() < patience) {
                most = most.max(database.statistics().log_bytes);
                round += 1;
                database
                    .transact(|tx| {
                        for _ in 0..500 {
                            let at = random.below(2000);
                            change(tx, oids[at as usize], &text(at as i64, round, 1000))?;
                        }
                        Ok(())
                    })
                    .unwrap();
            }
            assert!(
                database.statistics().log_bytes < most,
                "nothing was ever given back"
            );
            done.store(true, Ordering::Release);
        });
        assert!(database.check().unwrap().is_clean());
    }
}
