//! Storage: every statement, constraint, trigger and list, on both engines.

use crate::support::engines::on_each_engine;

#[test]
fn every_statement_is_one_on_both_engines() {
    on_each_engine(async |place| {
        assert!(place.db.prepare_all().await.unwrap() > 60);
        assert!(place.db.is_migrated().await.unwrap());
    });
}
