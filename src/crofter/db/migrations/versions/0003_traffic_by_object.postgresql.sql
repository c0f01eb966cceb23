DROP INDEX ix_traffic_account_id

--;

CREATE INDEX ix_traffic_account_id ON traffic (account_id, month, object_id)
