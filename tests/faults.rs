//! Faults around an open database: who may open it, what a copy of it is, what is said when the disk refuses.

use std::fs::File;

use olivine::{Class, Database, Object, Type};

#[test]
fn when_the_last_handle_is_dropped_the_lock_is_free() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    for round in 0..30 {
        let database = Database::open(&path).unwrap();
        if round == 0 {
            let class = Class::new("Note").attribute("text", Type::String);
            database.define_class(class).unwrap();
        }
        database
            .transact(|tx| tx.insert_object(Object::new("Note").with("text", "a note")))
            .unwrap();
        // The maintenance thread wakes every 50 ms; the drop must not leave the last handle to it.
        std::thread::sleep(std::time::Duration::from_millis(round * 3));
        let other = database.clone();
        let snapshot = database.snapshot();
        drop(database);
        drop(other);
        drop(snapshot);
        let lock = File::open(path.join("FORMAT")).unwrap();
        lock.try_lock().unwrap();
    }
}
