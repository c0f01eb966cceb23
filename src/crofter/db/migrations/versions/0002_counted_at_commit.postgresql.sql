DROP FUNCTION event_tally_insert() CASCADE

--;

DROP FUNCTION tag_tally_insert() CASCADE

--;

DROP FUNCTION instance_tally_insert() CASCADE

--;

DROP INDEX ix_instance_moving

--;

CREATE INDEX ix_instance_moving ON instance (id) WHERE status <> 'running' AND status <> 'offline' AND status <> 'stopped'
