-- Promotions that the registry applies by itself, those that break the glass, and what it looks for when time passes.

-- Not before this moment; then as soon as everything is met.
ALTER TABLE promotion ADD COLUMN at_time BIGINT;
-- As soon as everything is met.
ALTER TABLE promotion ADD COLUMN when_ready BOOLEAN NOT NULL DEFAULT FALSE;
-- Overrides all requirements but quarantine.
ALTER TABLE promotion ADD COLUMN break_glass BOOLEAN NOT NULL DEFAULT FALSE;
-- Was to be applied by the registry and closed without: owed to who opened it.
ALTER TABLE promotion ADD COLUMN missed BOOLEAN NOT NULL DEFAULT FALSE;

CREATE INDEX promotion_timed ON promotion (key_id, promotion_id) WHERE state = 'open' AND (when_ready OR at_time IS NOT NULL);
DROP INDEX promotion_owed;
CREATE INDEX promotion_owed ON promotion (promotion_id) WHERE review_owed OR note_due_at IS NOT NULL OR missed;
