-- What was applied to a pointer is asked by digest and by act, so that no question reads a whole history.
CREATE INDEX promotion_to ON promotion (key_id, environment, to_digest, applied_seq) WHERE applied_seq IS NOT NULL;
CREATE INDEX promotion_act ON promotion (key_id, environment, act, applied_seq) WHERE applied_seq IS NOT NULL;
CREATE INDEX promotion_killed ON promotion (act, key_id, environment, from_digest, applied_seq) WHERE act = 'kill';
CREATE INDEX promotion_left ON promotion (key_id, environment, from_digest) WHERE act = 'rollback';
