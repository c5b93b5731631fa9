-- Receivers of notices outside, and the notices that they have not taken yet (one that was taken leaves no row).

CREATE TABLE webhook (
  webhook_id TEXT NOT NULL PRIMARY KEY CHECK (length(webhook_id) = 36),
  url TEXT NOT NULL CHECK (url <> ''),
  shape TEXT NOT NULL CHECK (shape IN ('cloudevents', 'slack')),
  kinds TEXT NOT NULL,
  note TEXT NOT NULL,
  secret TEXT NOT NULL CHECK (secret <> ''),
  created_by TEXT NOT NULL CHECK (created_by <> ''),
  created_at BIGINT NOT NULL,
  since BIGINT NOT NULL CHECK (since >= 0),
  delivered BIGINT NOT NULL CHECK (delivered >= 0),
  delivered_at BIGINT
);

CREATE TABLE delivery (
  webhook_id TEXT NOT NULL REFERENCES webhook (webhook_id),
  seq BIGINT NOT NULL CHECK (seq > 0),
  state TEXT NOT NULL CHECK (state IN ('due', 'parked')),
  attempts BIGINT NOT NULL CHECK (attempts >= 0),
  next_at BIGINT NOT NULL,
  last_at BIGINT,
  last_error TEXT NOT NULL,
  PRIMARY KEY (webhook_id, seq)
);
CREATE INDEX delivery_due ON delivery (webhook_id, next_at, seq) WHERE state = 'due';
