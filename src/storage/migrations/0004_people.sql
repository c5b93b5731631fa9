-- Tokens for applications and browsers, and for one environment; what issuers said of people's groups.

--@sqlite
-- This engine cannot change a CHECK: the table is made anew.
CREATE TABLE token_anew (
  token_id TEXT NOT NULL PRIMARY KEY,
  secret_hash TEXT NOT NULL UNIQUE,
  actor TEXT NOT NULL CHECK (actor <> ''),
  owner TEXT NOT NULL CHECK (owner <> ''),
  scope TEXT NOT NULL CHECK (scope IN ('full', 'read', 'kill', 'service', 'public')),
  note TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  revoked_at BIGINT,
  environment TEXT CHECK (environment <> '' AND environment <> '@safe-default')
);
INSERT INTO token_anew SELECT token_id, secret_hash, actor, owner, scope, note, created_at, expires_at, revoked_at, NULL FROM token;
DROP TABLE token;
ALTER TABLE token_anew RENAME TO token;
CREATE INDEX token_actor ON token (actor, owner);
--@postgres
ALTER TABLE token DROP CONSTRAINT token_scope_check;
ALTER TABLE token ADD CONSTRAINT token_scope_check CHECK (scope IN ('full', 'read', 'kill', 'service', 'public'));
ALTER TABLE token ADD COLUMN environment TEXT CHECK (environment <> '' AND environment <> '@safe-default');
--@all

-- The groups of each person as an issuer said them last, a list of names as JSON, and when the issuer said so.
CREATE TABLE oidc_sight (
  actor TEXT NOT NULL PRIMARY KEY CHECK (actor <> ''),
  issuer TEXT NOT NULL CHECK (issuer <> ''),
  groups TEXT NOT NULL,
  at BIGINT NOT NULL
);
