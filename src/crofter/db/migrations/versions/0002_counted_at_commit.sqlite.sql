DROP TRIGGER event_tally_insert

--;

DROP TRIGGER tag_tally_insert

--;

DROP TRIGGER instance_tally_insert

--;

DROP INDEX ix_instance_moving

--;

CREATE INDEX ix_instance_moving ON instance (id) WHERE status <> 'running' AND status <> 'offline' AND status <> 'stopped'
