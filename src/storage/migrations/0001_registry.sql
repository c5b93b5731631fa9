-- The registry: eleven entities of the data model (exposures live in the analytics store) and what serves them.
-- Times are microseconds since 1970, shares are basis points, digests are `sha256:` and 64 lower-case hex digits.
-- Lines between --@sqlite or --@postgres and the next --@ mark stand for that engine only.

CREATE TABLE config_key (
  key_id TEXT NOT NULL PRIMARY KEY CHECK (length(key_id) BETWEEN 3 AND 200),
  namespace TEXT NOT NULL,
  owning_group TEXT NOT NULL CHECK (owning_group <> ''),
  unit_type TEXT NOT NULL CHECK (unit_type IN ('user', 'session', 'tenant')),
  confidential BOOLEAN NOT NULL,
  safe_default_digest TEXT,
  description TEXT NOT NULL,
  archived BOOLEAN NOT NULL,
  created_at BIGINT NOT NULL
--@sqlite
  , FOREIGN KEY (key_id, safe_default_digest) REFERENCES version (key_id, digest)
--@all
);

CREATE TABLE version (
  digest TEXT NOT NULL PRIMARY KEY CHECK (length(digest) = 71 AND digest LIKE 'sha256:%' AND digest = lower(digest)),
  key_id TEXT NOT NULL REFERENCES config_key (key_id),
  number BIGINT NOT NULL CHECK (number > 0),
  author TEXT NOT NULL CHECK (author <> ''),
  submitter TEXT,
  rationale TEXT NOT NULL CHECK (length(trim(rationale, ' 	
')) > 0),
  model_pin TEXT,
  format TEXT NOT NULL CHECK (format IN ('text', 'template', 'chat', 'json')),
  state TEXT NOT NULL CHECK (state IN ('draft', 'review', 'published')),
  created_at BIGINT NOT NULL,
  quarantined_by TEXT,
  quarantine_reason TEXT,
  quarantined_at BIGINT,
  discarded BOOLEAN NOT NULL,
--@sqlite
  content BLOB NOT NULL,
--@postgres
  content BYTEA NOT NULL,
--@all
  UNIQUE (key_id, number),
  UNIQUE (key_id, digest),
  CHECK ((quarantined_by IS NULL) = (quarantined_at IS NULL) AND (quarantined_by IS NULL) = (quarantine_reason IS NULL))
);
CREATE INDEX version_quarantined ON version (digest) WHERE quarantined_at IS NOT NULL;

--@postgres
ALTER TABLE config_key ADD FOREIGN KEY (key_id, safe_default_digest) REFERENCES version (key_id, digest);
--@all

-- Everyone who saved this content: none of them can approve it.
CREATE TABLE version_author (
  digest TEXT NOT NULL REFERENCES version (digest),
  author TEXT NOT NULL CHECK (author <> ''),
  PRIMARY KEY (digest, author)
);

CREATE TABLE fragment (
  fragment_id TEXT NOT NULL PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE CHECK (length(digest) = 71 AND digest LIKE 'sha256:%' AND digest = lower(digest)),
  name TEXT NOT NULL CHECK (name <> ''),
  owning_group TEXT NOT NULL CHECK (owning_group <> ''),
--@sqlite
  body BLOB NOT NULL,
--@postgres
  body BYTEA NOT NULL,
--@all
  author TEXT NOT NULL CHECK (author <> ''),
  created_at BIGINT NOT NULL
);
CREATE INDEX fragment_name ON fragment (name, created_at);

-- Which fragment revisions a version pins.
CREATE TABLE version_fragment (
  digest TEXT NOT NULL REFERENCES version (digest),
  name TEXT NOT NULL,
  fragment_digest TEXT NOT NULL REFERENCES fragment (digest),
  PRIMARY KEY (digest, name)
);
CREATE INDEX version_fragment_name ON version_fragment (name, digest);

CREATE TABLE variable (
  variable_id TEXT NOT NULL PRIMARY KEY,
  digest TEXT NOT NULL REFERENCES version (digest),
  position BIGINT NOT NULL CHECK (position >= 0),
  name TEXT NOT NULL CHECK (name <> ''),
  type TEXT NOT NULL CHECK (type IN ('string', 'integer', 'number', 'boolean', 'json')),
  required BOOLEAN NOT NULL,
  "default" TEXT NOT NULL,
  UNIQUE (digest, name),
  UNIQUE (digest, position)
);

CREATE TABLE environment_pointer (
  key_id TEXT NOT NULL REFERENCES config_key (key_id),
  environment TEXT NOT NULL CHECK (environment <> '' AND environment <> '@safe-default'),
  digest TEXT NOT NULL,
  rollout_pct INTEGER NOT NULL CHECK (rollout_pct BETWEEN 0 AND 10000),
  killed BOOLEAN NOT NULL,
  updated_at BIGINT NOT NULL,
  revision BIGINT NOT NULL CHECK (revision > 0),
  baseline_digest TEXT,
  held BOOLEAN NOT NULL,
  plan TEXT NOT NULL,
  next_step_at BIGINT,
  PRIMARY KEY (key_id, environment),
  FOREIGN KEY (key_id, digest) REFERENCES version (key_id, digest),
  FOREIGN KEY (key_id, baseline_digest) REFERENCES version (key_id, digest)
);
CREATE INDEX pointer_digest ON environment_pointer (digest);
CREATE INDEX pointer_baseline ON environment_pointer (baseline_digest);
CREATE INDEX pointer_partial ON environment_pointer (key_id, environment) WHERE rollout_pct < 10000 OR killed;

-- No foreign key to environment_pointer: the first promotion is opened before its pointer exists.
CREATE TABLE promotion (
  promotion_id TEXT NOT NULL PRIMARY KEY CHECK (length(promotion_id) = 36),
  key_id TEXT NOT NULL REFERENCES config_key (key_id),
  from_digest TEXT,
  to_digest TEXT REFERENCES version (digest),
  environment TEXT NOT NULL CHECK (environment <> ''),
  actor TEXT NOT NULL CHECK (actor <> ''),
  kind TEXT NOT NULL CHECK (kind IN ('promote', 'rollback', 'kill')),
  at BIGINT NOT NULL,
  act TEXT NOT NULL CHECK (act IN ('promote', 'step', 'rollback', 'kill', 'revive', 'experiment')),
  state TEXT NOT NULL CHECK (state IN ('open', 'applied', 'withdrawn', 'stale', 'expired')),
  rationale TEXT NOT NULL CHECK (kind = 'kill' OR length(trim(rationale, ' 	
')) > 0),
  reason TEXT CHECK (reason IN ('outage', 'quality', 'safety', 'cost', 'test')),
  rollout_pct INTEGER NOT NULL CHECK (rollout_pct BETWEEN 0 AND 10000),
  plan TEXT NOT NULL,
  baseline_digest TEXT,
  safe_default_digest TEXT,
  pointer_revision BIGINT NOT NULL CHECK (pointer_revision >= 0),
  policy_digest TEXT NOT NULL,
  statement TEXT NOT NULL,
  supersedes TEXT,
  change TEXT,
  expires_at BIGINT,
  applied_at BIGINT,
  applied_by TEXT,
  applied_seq BIGINT,
  reviewed_by TEXT,
  reviewed_at BIGINT,
  review_owed BOOLEAN NOT NULL,
  note_due_at BIGINT,
  closed_reason TEXT,
  CHECK ((state = 'applied') = (applied_at IS NOT NULL) AND (applied_at IS NULL) = (applied_by IS NULL)),
  CHECK ((applied_at IS NULL) = (applied_seq IS NULL)),
  CHECK ((reviewed_by IS NULL) = (reviewed_at IS NULL))
);
CREATE INDEX promotion_key ON promotion (key_id, promotion_id);
CREATE INDEX promotion_state ON promotion (state, promotion_id);
CREATE INDEX promotion_environment ON promotion (environment, promotion_id);
CREATE INDEX promotion_change ON promotion (change, promotion_id) WHERE change IS NOT NULL;
CREATE INDEX promotion_applied ON promotion (key_id, environment, applied_seq) WHERE applied_seq IS NOT NULL;
CREATE INDEX promotion_open ON promotion (key_id, environment, promotion_id) WHERE state = 'open';
CREATE INDEX promotion_open_version ON promotion (to_digest) WHERE state = 'open';
CREATE INDEX promotion_expiry ON promotion (state, expires_at);
CREATE INDEX promotion_owed ON promotion (promotion_id) WHERE review_owed OR note_due_at IS NOT NULL;

CREATE TABLE approval (
  approval_id TEXT NOT NULL PRIMARY KEY CHECK (length(approval_id) = 36),
  promotion_id TEXT NOT NULL REFERENCES promotion (promotion_id),
  approver TEXT NOT NULL CHECK (approver <> ''),
  gate TEXT NOT NULL,
  verdict TEXT NOT NULL CHECK (verdict IN ('approve', 'reject', 'override', 'comment', 'retract')),
  at BIGINT NOT NULL,
  rationale TEXT NOT NULL CHECK (length(trim(rationale, ' 	
')) > 0),
  statement TEXT,
  head TEXT,
  acknowledged_hidden TEXT NOT NULL,
  groups TEXT NOT NULL,
  login_method TEXT NOT NULL,
  anchor TEXT,
  reply_to TEXT,
  position BIGINT NOT NULL,
  UNIQUE (promotion_id, position),
  CHECK (verdict NOT IN ('approve', 'override') OR (statement IS NOT NULL AND gate <> ''))
);
CREATE INDEX approval_approver ON approval (approver, at) WHERE verdict = 'approve';

CREATE TABLE gate_verdict (
  verdict_id TEXT NOT NULL PRIMARY KEY CHECK (length(verdict_id) = 36),
  digest TEXT NOT NULL REFERENCES version (digest),
  gate_name TEXT NOT NULL CHECK (gate_name <> ''),
  score DOUBLE PRECISION,
  threshold DOUBLE PRECISION,
  passed BOOLEAN NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pass', 'fail', 'error', 'pending')),
  reporter TEXT NOT NULL CHECK (reporter <> ''),
  attempt BIGINT NOT NULL CHECK (attempt > 0),
  summary TEXT NOT NULL,
  details_url TEXT,
  at BIGINT NOT NULL,
  UNIQUE (digest, gate_name, attempt),
  CHECK (NOT passed OR (status = 'pass' AND score IS NOT NULL))
);

CREATE TABLE experiment (
  experiment_id TEXT NOT NULL PRIMARY KEY CHECK (length(experiment_id) = 36),
  key_id TEXT NOT NULL REFERENCES config_key (key_id),
  environment TEXT NOT NULL,
  salt TEXT NOT NULL CHECK (length(salt) = 32 AND salt = lower(salt)),
  primary_metric TEXT NOT NULL,
  min_exposures BIGINT NOT NULL CHECK (min_exposures >= 0),
  exclusion_group TEXT,
  state TEXT NOT NULL CHECK (state IN ('draft', 'running', 'stopped')),
  FOREIGN KEY (key_id, environment) REFERENCES environment_pointer (key_id, environment)
);
CREATE UNIQUE INDEX experiment_running ON experiment (key_id, environment) WHERE state = 'running';

CREATE TABLE variant (
  variant_id TEXT NOT NULL PRIMARY KEY CHECK (length(variant_id) = 36),
  experiment_id TEXT NOT NULL REFERENCES experiment (experiment_id),
  digest TEXT NOT NULL REFERENCES version (digest),
  weight_pct INTEGER NOT NULL CHECK (weight_pct BETWEEN 0 AND 10000)
);
CREATE INDEX variant_experiment ON variant (experiment_id, variant_id);

CREATE TABLE audit_event (
  event_id TEXT NOT NULL PRIMARY KEY,
  seq BIGINT NOT NULL UNIQUE CHECK (seq > 0),
  subject TEXT NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  at BIGINT NOT NULL,
  prev_hash TEXT NOT NULL UNIQUE,
  body_hash TEXT NOT NULL,
  nonce TEXT NOT NULL,
--@sqlite
  detail BLOB NOT NULL
--@postgres
  detail BYTEA NOT NULL
--@all
);
CREATE INDEX audit_subject ON audit_event (subject, seq);
CREATE INDEX audit_actor ON audit_event (actor, seq);
CREATE INDEX audit_action ON audit_event (action, seq);
CREATE INDEX audit_actor_action ON audit_event (actor, action, seq);
CREATE INDEX audit_at ON audit_event (at, seq);

-- One row: updated first in every write transaction, so that appends are serialised.
CREATE TABLE audit_head (
  id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
  seq BIGINT NOT NULL CHECK (seq >= 0),
  event_id TEXT NOT NULL,
  at BIGINT NOT NULL
);
INSERT INTO audit_head (id, seq, event_id, at)
VALUES (1, 0, 'sha256:0000000000000000000000000000000000000000000000000000000000000000', 0);

-- Every policy that was in force; the newest is.
CREATE TABLE policy (
  policy_id BIGINT NOT NULL PRIMARY KEY CHECK (policy_id > 0),
  digest TEXT NOT NULL,
  source TEXT NOT NULL,
  actor TEXT NOT NULL,
  rationale TEXT NOT NULL CHECK (length(trim(rationale, ' 	
')) > 0),
  at BIGINT NOT NULL
);

CREATE TABLE token (
  token_id TEXT NOT NULL PRIMARY KEY,
  secret_hash TEXT NOT NULL UNIQUE,
  actor TEXT NOT NULL CHECK (actor <> ''),
  owner TEXT NOT NULL CHECK (owner <> ''),
  scope TEXT NOT NULL CHECK (scope IN ('full', 'read', 'kill')),
  note TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  revoked_at BIGINT
);

CREATE INDEX token_actor ON token (actor, owner);

-- First answers of writes that carried an Idempotency-Key; only successes, never a secret.
CREATE TABLE idempotency (
  actor TEXT NOT NULL,
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  key TEXT NOT NULL,
  body TEXT NOT NULL,
  created BOOLEAN NOT NULL,
  seq BIGINT,
--@sqlite
  answer BLOB NOT NULL,
--@postgres
  answer BYTEA NOT NULL,
--@all
  at BIGINT NOT NULL,
  PRIMARY KEY (actor, method, path, key)
);
CREATE INDEX idempotency_at ON idempotency (at);

-- What followers outside are to be told, in the transaction of the effect.
CREATE TABLE outbox (
  seq BIGINT NOT NULL PRIMARY KEY,
  action TEXT NOT NULL,
  subject TEXT NOT NULL
);

CREATE TABLE meta (
  name TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
);

--@sqlite
CREATE TRIGGER audit_event_no_update BEFORE UPDATE ON audit_event BEGIN SELECT RAISE(ABORT, 'audit_event is append-only'); END;
CREATE TRIGGER audit_event_no_delete BEFORE DELETE ON audit_event BEGIN SELECT RAISE(ABORT, 'audit_event is append-only'); END;
CREATE TRIGGER gate_verdict_no_update BEFORE UPDATE ON gate_verdict BEGIN SELECT RAISE(ABORT, 'gate_verdict is append-only'); END;
CREATE TRIGGER gate_verdict_no_delete BEFORE DELETE ON gate_verdict BEGIN SELECT RAISE(ABORT, 'gate_verdict is append-only'); END;
CREATE TRIGGER approval_no_update BEFORE UPDATE ON approval BEGIN SELECT RAISE(ABORT, 'approval is append-only'); END;
CREATE TRIGGER approval_no_delete BEFORE DELETE ON approval BEGIN SELECT RAISE(ABORT, 'approval is append-only'); END;
CREATE TRIGGER policy_no_update BEFORE UPDATE ON policy BEGIN SELECT RAISE(ABORT, 'policy is append-only'); END;
CREATE TRIGGER policy_no_delete BEFORE DELETE ON policy BEGIN SELECT RAISE(ABORT, 'policy is append-only'); END;
CREATE TRIGGER version_no_rewrite
  BEFORE UPDATE OF digest, key_id, number, author, rationale, model_pin, format, created_at, content ON version
  BEGIN SELECT RAISE(ABORT, 'the content of a version never changes'); END;
CREATE TRIGGER version_no_delete BEFORE DELETE ON version BEGIN SELECT RAISE(ABORT, 'versions are never deleted'); END;
CREATE TRIGGER fragment_no_update BEFORE UPDATE ON fragment BEGIN SELECT RAISE(ABORT, 'a fragment revision never changes'); END;
CREATE TRIGGER fragment_no_delete BEFORE DELETE ON fragment BEGIN SELECT RAISE(ABORT, 'fragment revisions are never deleted'); END;
CREATE TRIGGER experiment_salt BEFORE UPDATE OF salt ON experiment
  BEGIN SELECT RAISE(ABORT, 'the salt of an experiment never changes'); END;
--@postgres
CREATE FUNCTION countersign_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '%', TG_ARGV[0]; END $$;
CREATE TRIGGER audit_event_append_only BEFORE UPDATE OR DELETE ON audit_event
  FOR EACH ROW EXECUTE FUNCTION countersign_refuse('audit_event is append-only');
CREATE TRIGGER audit_event_no_truncate BEFORE TRUNCATE ON audit_event
  FOR EACH STATEMENT EXECUTE FUNCTION countersign_refuse('audit_event is append-only');
CREATE TRIGGER gate_verdict_append_only BEFORE UPDATE OR DELETE ON gate_verdict
  FOR EACH ROW EXECUTE FUNCTION countersign_refuse('gate_verdict is append-only');
CREATE TRIGGER approval_append_only BEFORE UPDATE OR DELETE ON approval
  FOR EACH ROW EXECUTE FUNCTION countersign_refuse('approval is append-only');
CREATE TRIGGER policy_append_only BEFORE UPDATE OR DELETE ON policy
  FOR EACH ROW EXECUTE FUNCTION countersign_refuse('policy is append-only');
CREATE TRIGGER version_no_rewrite
  BEFORE UPDATE OF digest, key_id, number, author, rationale, model_pin, format, created_at, content ON version
  FOR EACH ROW EXECUTE FUNCTION countersign_refuse('the content of a version never changes');
CREATE TRIGGER version_no_delete BEFORE DELETE ON version
  FOR EACH ROW EXECUTE FUNCTION countersign_refuse('versions are never deleted');
CREATE TRIGGER fragment_immutable BEFORE UPDATE OR DELETE ON fragment
  FOR EACH ROW EXECUTE FUNCTION countersign_refuse('a fragment revision never changes');
CREATE TRIGGER experiment_salt BEFORE UPDATE OF salt ON experiment
  FOR EACH ROW EXECUTE FUNCTION countersign_refuse('the salt of an experiment never changes');
--@all
