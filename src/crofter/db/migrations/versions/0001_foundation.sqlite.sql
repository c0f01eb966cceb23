CREATE TABLE account ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, euuid TEXT NOT NULL, email TEXT NOT NULL, company TEXT DEFAULT '' NOT NULL, first_name TEXT DEFAULT '' NOT NULL, last_name TEXT DEFAULT '' NOT NULL, address_1 TEXT DEFAULT '' NOT NULL, address_2 TEXT DEFAULT '' NOT NULL, city TEXT DEFAULT '' NOT NULL, state TEXT DEFAULT '' NOT NULL, zip TEXT DEFAULT '' NOT NULL, country TEXT DEFAULT '' NOT NULL, phone TEXT DEFAULT '' NOT NULL, tax_id TEXT DEFAULT '' NOT NULL, active_since TEXT NOT NULL, closed INTEGER NOT NULL, suspended INTEGER DEFAULT 0 NOT NULL, managed INTEGER NOT NULL, public_ips INTEGER NOT NULL, backups_enabled INTEGER DEFAULT 0 NOT NULL, network_helper INTEGER DEFAULT 1 NOT NULL, longview_subscription TEXT, CONSTRAINT uq_account_euuid UNIQUE (euuid) ) STRICT
--;
CREATE TABLE address_block ( region TEXT NOT NULL, public INTEGER NOT NULL, part INTEGER NOT NULL, number INTEGER NOT NULL, used INTEGER NOT NULL, CONSTRAINT pk_address_block PRIMARY KEY (region, public, part) ) WITHOUT ROWID, STRICT
--;
CREATE TABLE answered_request ( token BLOB NOT NULL, idempotency_key TEXT NOT NULL, fingerprint BLOB NOT NULL, status INTEGER, answer BLOB, answered INTEGER NOT NULL, claimed INTEGER, CONSTRAINT pk_answered_request PRIMARY KEY (token, idempotency_key) ) STRICT
--;
CREATE INDEX ix_answered_request_answered ON answered_request (answered)
--;
CREATE TABLE audit ( account_id INTEGER NOT NULL, number INTEGER NOT NULL, at TEXT NOT NULL, user_id INTEGER, username TEXT NOT NULL, token_id INTEGER, address TEXT NOT NULL, request_id TEXT NOT NULL, operation TEXT NOT NULL, path TEXT NOT NULL, fields TEXT NOT NULL, events TEXT NOT NULL, "before" BLOB NOT NULL, "after" BLOB NOT NULL, previous BLOB NOT NULL, mark BLOB NOT NULL, CONSTRAINT pk_audit PRIMARY KEY (account_id, number) ) WITHOUT ROWID, STRICT
--;
CREATE TABLE audit_checkpoint ( number INTEGER NOT NULL, at TEXT NOT NULL, accounts INTEGER NOT NULL, digest BLOB NOT NULL, previous BLOB NOT NULL, mark BLOB NOT NULL, heads BLOB, CONSTRAINT pk_audit_checkpoint PRIMARY KEY (number) ) STRICT
--;
CREATE TABLE audit_head ( account_id INTEGER NOT NULL, number INTEGER NOT NULL, mark BLOB NOT NULL, seal BLOB NOT NULL, CONSTRAINT pk_audit_head PRIMARY KEY (account_id) ) STRICT
--;
CREATE TABLE compute_type ( slug TEXT NOT NULL, position INTEGER, label TEXT NOT NULL, class_ TEXT NOT NULL, vcpus INTEGER NOT NULL, memory INTEGER NOT NULL, disk INTEGER NOT NULL, transfer INTEGER NOT NULL, network_out INTEGER NOT NULL, gpus INTEGER NOT NULL, price_hourly INTEGER NOT NULL, price_monthly INTEGER NOT NULL, backup_hourly INTEGER NOT NULL, backup_monthly INTEGER NOT NULL, deprecated INTEGER NOT NULL, successor TEXT, CONSTRAINT pk_compute_type PRIMARY KEY (slug), CONSTRAINT uq_compute_type_position UNIQUE (position) ) WITHOUT ROWID, STRICT
--;
CREATE TABLE domain_record ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, domain_id INTEGER NOT NULL, type TEXT NOT NULL, name TEXT NOT NULL, target TEXT NOT NULL, priority INTEGER NOT NULL, weight INTEGER NOT NULL, port INTEGER NOT NULL, service TEXT, protocol TEXT, ttl_sec INTEGER NOT NULL, tag TEXT, created TEXT NOT NULL, updated TEXT NOT NULL, digest TEXT NOT NULL, CONSTRAINT uq_domain_record_digest_domain_id UNIQUE (digest, domain_id) ) STRICT
--;
CREATE INDEX ix_domain_record_domain_id ON domain_record (domain_id, id)
--;
CREATE INDEX ix_domain_record_name ON domain_record (domain_id, lower(name), id)
--;
CREATE INDEX ix_domain_record_tag ON domain_record (domain_id, lower(tag), id)
--;
CREATE INDEX ix_domain_record_target ON domain_record (domain_id, lower(target), id)
--;
CREATE INDEX ix_domain_record_type ON domain_record (domain_id, lower(type), id)
--;
CREATE TRIGGER domain_record_tally_delete AFTER DELETE ON domain_record FOR EACH ROW BEGIN INSERT INTO tally (counted, owner, block, amount) VALUES ('domain_record', OLD.domain_id, OLD.id >> 12, -1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (-1);DELETE FROM tally WHERE counted = 'domain_record' AND owner = OLD.domain_id AND block = OLD.id >> 12 AND amount = 0; END
--;
CREATE TRIGGER domain_record_tally_move AFTER UPDATE OF domain_id ON domain_record FOR EACH ROW BEGIN INSERT INTO tally (counted, owner, block, amount) VALUES ('domain_record', OLD.domain_id, OLD.id >> 12, -1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (-1);DELETE FROM tally WHERE counted = 'domain_record' AND owner = OLD.domain_id AND block = OLD.id >> 12 AND amount = 0;INSERT INTO tally (counted, owner, block, amount) VALUES ('domain_record', NEW.domain_id, NEW.id >> 12, 1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (1); END
--;
CREATE TABLE hash_key ( name TEXT NOT NULL, value BLOB NOT NULL, CONSTRAINT pk_hash_key PRIMARY KEY (name) ) STRICT
--;
CREATE TABLE hypervisor_change ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, domain INTEGER NOT NULL, host INTEGER NOT NULL, power TEXT NOT NULL, reason TEXT, at INTEGER NOT NULL ) STRICT
--;
CREATE TABLE hypervisor_host ( id INTEGER NOT NULL, region TEXT NOT NULL, uri TEXT NOT NULL, pool TEXT NOT NULL, volumes TEXT, network TEXT NOT NULL, forward INTEGER, architecture TEXT NOT NULL, vcpus INTEGER NOT NULL, memory INTEGER NOT NULL, disk INTEGER NOT NULL, state TEXT NOT NULL, emulation INTEGER DEFAULT '0' NOT NULL, resolvers TEXT, vlans TEXT, CONSTRAINT pk_hypervisor_host PRIMARY KEY (id) ) STRICT
--;
CREATE TABLE hypervisor_job ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, operation INTEGER NOT NULL, kind TEXT NOT NULL, thing INTEGER NOT NULL, step TEXT NOT NULL, verb TEXT NOT NULL, changes TEXT NOT NULL, reads TEXT NOT NULL, owner TEXT NOT NULL, begun INTEGER NOT NULL, beat INTEGER NOT NULL, expected INTEGER NOT NULL, state TEXT NOT NULL ) STRICT
--;
CREATE TABLE hypervisor_read_count ( operation INTEGER NOT NULL, reads_left INTEGER NOT NULL, released INTEGER DEFAULT '0' NOT NULL, CONSTRAINT pk_hypervisor_read_count PRIMARY KEY (operation) ) STRICT
--;
CREATE TABLE hypervisor_sample ( domain INTEGER NOT NULL, at INTEGER NOT NULL, since INTEGER NOT NULL, counters TEXT NOT NULL, grown TEXT NOT NULL, CONSTRAINT pk_hypervisor_sample PRIMARY KEY (domain, at) ) STRICT
--;
CREATE TABLE hypervisor_setting ( name TEXT NOT NULL, value TEXT NOT NULL, CONSTRAINT pk_hypervisor_setting PRIMARY KEY (name) ) STRICT
--;
CREATE TABLE hypervisor_thing ( kind TEXT NOT NULL, id INTEGER NOT NULL, host INTEGER NOT NULL, doc TEXT, due INTEGER, becomes TEXT, heading INTEGER, operation INTEGER NOT NULL, fence INTEGER NOT NULL, CONSTRAINT pk_hypervisor_thing PRIMARY KEY (kind, id) ) STRICT
--;
CREATE INDEX ix_hypervisor_thing_heading ON hypervisor_thing (heading) WHERE heading IS NOT NULL
--;
CREATE INDEX ix_hypervisor_thing_host ON hypervisor_thing (host)
--;
CREATE TABLE hypervisor_vlan_tag ( vlan INTEGER NOT NULL, tag INTEGER NOT NULL, CONSTRAINT pk_hypervisor_vlan_tag PRIMARY KEY (vlan), CONSTRAINT uq_hypervisor_vlan_tag_tag UNIQUE (tag) ) STRICT
--;
CREATE TABLE hypervisor_work ( operation INTEGER NOT NULL, kind TEXT NOT NULL, id INTEGER NOT NULL, step TEXT NOT NULL, verb TEXT NOT NULL, begun INTEGER NOT NULL, ends INTEGER NOT NULL, amount INTEGER NOT NULL, failure TEXT, reached INTEGER, CONSTRAINT pk_hypervisor_work PRIMARY KEY (operation, kind, id, step, verb) ) STRICT
--;
CREATE INDEX ix_hypervisor_work_begun ON hypervisor_work (begun)
--;
CREATE TABLE kernel ( slug TEXT NOT NULL, position INTEGER, label TEXT NOT NULL, version TEXT NOT NULL, architecture TEXT NOT NULL, kvm INTEGER NOT NULL, xen INTEGER NOT NULL, pvops INTEGER NOT NULL, deprecated INTEGER NOT NULL, built TEXT NOT NULL, CONSTRAINT pk_kernel PRIMARY KEY (slug), CONSTRAINT uq_kernel_position UNIQUE (position) ) WITHOUT ROWID, STRICT
--;
CREATE TABLE login_attempt ( subject BLOB NOT NULL, failures INTEGER NOT NULL, last INTEGER NOT NULL, until INTEGER NOT NULL, CONSTRAINT pk_login_attempt PRIMARY KEY (subject) ) WITHOUT ROWID, STRICT
--;
CREATE TABLE meta ( name TEXT NOT NULL, value TEXT NOT NULL, CONSTRAINT pk_meta PRIMARY KEY (name) ) STRICT
--;
CREATE TABLE operation ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, version INTEGER NOT NULL, queue TEXT NOT NULL, "key" TEXT, dedup TEXT, state TEXT NOT NULL, due INTEGER NOT NULL, cursor TEXT NOT NULL, input TEXT NOT NULL, vars TEXT NOT NULL, attempt INTEGER DEFAULT '0' NOT NULL, crashes INTEGER DEFAULT '0' NOT NULL, epoch INTEGER DEFAULT '0' NOT NULL, owner INTEGER, cancel INTEGER DEFAULT '0' NOT NULL, account_id INTEGER, user_id INTEGER, username TEXT, event_id INTEGER, error TEXT, created INTEGER NOT NULL, started INTEGER, finished INTEGER, CONSTRAINT ck_operation_state CHECK (state IN ('queued', 'running', 'waiting', 'done', 'failed', 'cancelled')), CONSTRAINT uq_operation_dedup UNIQUE (dedup) ) STRICT
--;
CREATE INDEX op_failed ON operation (finished) WHERE state = 'failed'
--;
CREATE INDEX op_fifo ON operation ("key", due, id) WHERE state = 'queued'
--;
CREATE INDEX op_owner ON operation (owner) WHERE state = 'running'
--;
CREATE INDEX op_ready ON operation (queue, due, id) WHERE state IN ('queued', 'waiting')
--;
CREATE UNIQUE INDEX op_one_per_key ON operation ("key") WHERE state IN ('running', 'waiting')
--;
CREATE TABLE outbox ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, message_id TEXT NOT NULL, recipient TEXT NOT NULL, subject TEXT NOT NULL, body BLOB NOT NULL, at TEXT NOT NULL, CONSTRAINT uq_outbox_message_id UNIQUE (message_id) ) STRICT
--;
CREATE TABLE promotion ( slug TEXT NOT NULL, position INTEGER, summary TEXT NOT NULL, description TEXT NOT NULL, image_url TEXT NOT NULL, service_type TEXT NOT NULL, credit INTEGER NOT NULL, monthly_cap INTEGER NOT NULL, days INTEGER NOT NULL, ends TEXT, sandbox INTEGER NOT NULL, CONSTRAINT pk_promotion PRIMARY KEY (slug), CONSTRAINT uq_promotion_position UNIQUE (position) ) STRICT
--;
CREATE TABLE public_network ( network TEXT NOT NULL, region TEXT NOT NULL, CONSTRAINT pk_public_network PRIMARY KEY (network) ) WITHOUT ROWID, STRICT
--;
CREATE TABLE rate_window ( caller BLOB NOT NULL, taken INTEGER NOT NULL, until INTEGER NOT NULL, CONSTRAINT pk_rate_window PRIMARY KEY (caller) ) STRICT
--;
CREATE INDEX ix_rate_window_until ON rate_window (until)
--;
CREATE TABLE region ( slug TEXT NOT NULL, position INTEGER, country TEXT NOT NULL, capabilities TEXT NOT NULL, resolvers_ipv4 TEXT NOT NULL, resolvers_ipv6 TEXT NOT NULL, status TEXT DEFAULT 'ok' NOT NULL, CONSTRAINT pk_region PRIMARY KEY (slug), CONSTRAINT uq_region_position UNIQUE (position) ) WITHOUT ROWID, STRICT
--;
CREATE TABLE released_address ( address TEXT NOT NULL, region TEXT NOT NULL, public INTEGER NOT NULL, free_at INTEGER NOT NULL, CONSTRAINT pk_released_address PRIMARY KEY (address, region) ) WITHOUT ROWID, STRICT
--;
CREATE INDEX ix_released_address_free ON released_address (region, public, free_at, address)
--;
CREATE TABLE schedule ( name TEXT NOT NULL, kind TEXT NOT NULL, "key" TEXT, account_id INTEGER, input TEXT NOT NULL, rule TEXT NOT NULL, catchup TEXT NOT NULL, next_due INTEGER NOT NULL, CONSTRAINT pk_schedule PRIMARY KEY (name) ) STRICT
--;
CREATE INDEX ix_schedule_account_id ON schedule (account_id)
--;
CREATE INDEX ix_schedule_next_due ON schedule (next_due)
--;
CREATE TABLE simulated_charge ( "key" TEXT NOT NULL, customer TEXT NOT NULL, token TEXT NOT NULL, cents INTEGER NOT NULL, paid INTEGER NOT NULL, CONSTRAINT pk_simulated_charge PRIMARY KEY ("key") ) STRICT
--;
CREATE TABLE simulated_decline ( customer TEXT NOT NULL, times INTEGER NOT NULL, CONSTRAINT pk_simulated_decline PRIMARY KEY (customer) ) STRICT
--;
CREATE TABLE simulated_staged ( payment_id TEXT NOT NULL, customer TEXT NOT NULL, cents INTEGER NOT NULL, executed TEXT, CONSTRAINT pk_simulated_staged PRIMARY KEY (payment_id) ) STRICT
--;
CREATE TABLE simulated_zone ( name TEXT NOT NULL, serial INTEGER NOT NULL, lines TEXT NOT NULL, masters TEXT NOT NULL, transfers TEXT NOT NULL, CONSTRAINT pk_simulated_zone PRIMARY KEY (name) ) STRICT
--;
CREATE TABLE tally ( counted TEXT NOT NULL, owner INTEGER NOT NULL, block INTEGER NOT NULL, amount INTEGER NOT NULL, CONSTRAINT pk_tally PRIMARY KEY (counted, owner, block) ) WITHOUT ROWID, STRICT
--;
CREATE TABLE tax ( slug TEXT NOT NULL, position INTEGER, name TEXT NOT NULL, millionths INTEGER NOT NULL, CONSTRAINT pk_tax PRIMARY KEY (slug), CONSTRAINT uq_tax_position UNIQUE (position) ) STRICT
--;
CREATE TABLE worker ( id INTEGER NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL, lease INTEGER NOT NULL, works INTEGER DEFAULT 1 NOT NULL, CONSTRAINT pk_worker PRIMARY KEY (id) ) STRICT
--;
CREATE TABLE account_user ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, username TEXT NOT NULL, email TEXT NOT NULL, restricted INTEGER NOT NULL, password TEXT, global_grants TEXT, timezone TEXT DEFAULT 'UTC' NOT NULL, email_notifications INTEGER DEFAULT 1 NOT NULL, lish_auth_method TEXT DEFAULT 'password_keys' NOT NULL, authorized_keys TEXT, tfa_secret BLOB, tfa_enabled INTEGER DEFAULT 0 NOT NULL, tfa_pending BLOB, tfa_expiry TEXT, tfa_last_step INTEGER, tfa_scratch BLOB, created TEXT NOT NULL, CONSTRAINT fk_account_user_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, CONSTRAINT uq_account_user_username UNIQUE (username) ) STRICT
--;
CREATE INDEX ix_account_user_account_id ON account_user (account_id)
--;
CREATE INDEX ix_account_user_email ON account_user (lower(email))
--;
CREATE UNIQUE INDEX uq_account_user_name ON account_user (lower(username))
--;
CREATE TABLE address ( address TEXT NOT NULL, account_id INTEGER NOT NULL, instance_id INTEGER NOT NULL, region TEXT NOT NULL, public INTEGER NOT NULL, position INTEGER NOT NULL, rdns TEXT, created TEXT NOT NULL, CONSTRAINT pk_address PRIMARY KEY (address, region), CONSTRAINT fk_address_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE ) WITHOUT ROWID, STRICT
--;
CREATE INDEX ix_address_account_id ON address (account_id, address)
--;
CREATE INDEX ix_address_instance_id ON address (instance_id, public DESC, position, address)
--;
CREATE TRIGGER address_tally_delete AFTER DELETE ON address FOR EACH ROW WHEN (OLD.public) BEGIN INSERT INTO tally (counted, owner, block, amount) VALUES ('address', OLD.account_id, OLD.instance_id >> 12, -1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (-1);DELETE FROM tally WHERE counted = 'address' AND owner = OLD.account_id AND block = OLD.instance_id >> 12 AND amount = 0; END
--;
CREATE TRIGGER address_tally_move AFTER UPDATE OF account_id, instance_id ON address FOR EACH ROW WHEN (OLD.public) BEGIN INSERT INTO tally (counted, owner, block, amount) VALUES ('address', OLD.account_id, OLD.instance_id >> 12, -1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (-1);DELETE FROM tally WHERE counted = 'address' AND owner = OLD.account_id AND block = OLD.instance_id >> 12 AND amount = 0;INSERT INTO tally (counted, owner, block, amount) VALUES ('address', NEW.account_id, NEW.instance_id >> 12, 1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (1); END
--;
CREATE TABLE charge ( "key" TEXT NOT NULL, account_id INTEGER NOT NULL, token TEXT NOT NULL, payer_id TEXT, amount INTEGER NOT NULL, status TEXT NOT NULL, payment_id INTEGER, created INTEGER NOT NULL, CONSTRAINT pk_charge PRIMARY KEY ("key"), CONSTRAINT fk_charge_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_charge_account_id ON charge (account_id)
--;
CREATE TABLE credit ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, code TEXT NOT NULL, summary TEXT NOT NULL, description TEXT NOT NULL, image_url TEXT NOT NULL, service_type TEXT NOT NULL, remaining INTEGER NOT NULL, monthly_cap INTEGER NOT NULL, month TEXT NOT NULL, month_used INTEGER NOT NULL, expires TEXT NOT NULL, CONSTRAINT fk_credit_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_credit_account_id ON credit (account_id, id)
--;
CREATE TABLE domain ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, label TEXT NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL, group_label TEXT NOT NULL, status TEXT NOT NULL, description TEXT NOT NULL, soa_email TEXT NOT NULL, retry_sec INTEGER NOT NULL, master_ips TEXT NOT NULL, axfr_ips TEXT NOT NULL, expire_sec INTEGER NOT NULL, refresh_sec INTEGER NOT NULL, ttl_sec INTEGER NOT NULL, created TEXT NOT NULL, updated TEXT NOT NULL, serial INTEGER NOT NULL, published INTEGER, queued INTEGER NOT NULL, served INTEGER NOT NULL, size INTEGER NOT NULL, CONSTRAINT uq_domain_name UNIQUE (name), CONSTRAINT fk_domain_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_domain_account_id ON domain (account_id, id)
--;
CREATE INDEX ix_domain_behind ON domain (id) WHERE published IS NULL OR published < serial
--;
CREATE INDEX ix_domain_group ON domain (account_id, lower(group_label), id)
--;
CREATE INDEX ix_domain_label ON domain (account_id, lower(label), id)
--;
CREATE TRIGGER domain_tally_delete AFTER DELETE ON domain FOR EACH ROW BEGIN INSERT INTO tally (counted, owner, block, amount) VALUES ('domain', OLD.account_id, OLD.id >> 12, -1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (-1);DELETE FROM tally WHERE counted = 'domain' AND owner = OLD.account_id AND block = OLD.id >> 12 AND amount = 0; END
--;
CREATE TRIGGER domain_tally_move AFTER UPDATE OF account_id ON domain FOR EACH ROW BEGIN INSERT INTO tally (counted, owner, block, amount) VALUES ('domain', OLD.account_id, OLD.id >> 12, -1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (-1);DELETE FROM tally WHERE counted = 'domain' AND owner = OLD.account_id AND block = OLD.id >> 12 AND amount = 0;INSERT INTO tally (counted, owner, block, amount) VALUES ('domain', NEW.account_id, NEW.id >> 12, 1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (1); END
--;
CREATE TABLE event ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, user_id INTEGER, username TEXT NOT NULL, action TEXT NOT NULL, status TEXT NOT NULL, created TEXT NOT NULL, percent INTEGER, started INTEGER, finished INTEGER, message TEXT DEFAULT '' NOT NULL, rate TEXT, remaining INTEGER, entity_type TEXT, entity_id TEXT, entity_label TEXT, entity_url TEXT, secondary_type TEXT, secondary_id TEXT, secondary_label TEXT, secondary_url TEXT, CONSTRAINT fk_event_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_event_account_id ON event (account_id, id)
--;
CREATE INDEX ix_event_action ON event (account_id, action, id)
--;
CREATE INDEX ix_event_created ON event (account_id, created, id)
--;
CREATE INDEX ix_event_entity_id ON event (account_id, entity_id, entity_type, id)
--;
CREATE INDEX ix_event_entity_type ON event (account_id, entity_type, id)
--;
CREATE INDEX ix_event_operation ON event (account_id, finished, id) WHERE status <> 'notification'
--;
CREATE TRIGGER event_tally_delete AFTER DELETE ON event FOR EACH ROW BEGIN INSERT INTO tally (counted, owner, block, amount) VALUES ('event', OLD.account_id, OLD.id >> 12, -1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (-1);DELETE FROM tally WHERE counted = 'event' AND owner = OLD.account_id AND block = OLD.id >> 12 AND amount = 0; END
--;
CREATE TRIGGER event_tally_move AFTER UPDATE OF account_id ON event FOR EACH ROW BEGIN INSERT INTO tally (counted, owner, block, amount) VALUES ('event', OLD.account_id, OLD.id >> 12, -1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (-1);DELETE FROM tally WHERE counted = 'event' AND owner = OLD.account_id AND block = OLD.id >> 12 AND amount = 0;INSERT INTO tally (counted, owner, block, amount) VALUES ('event', NEW.account_id, NEW.id >> 12, 1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (1); END
--;
CREATE TABLE firewall ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, label TEXT NOT NULL, status TEXT DEFAULT 'enabled' NOT NULL, rules TEXT NOT NULL, created TEXT NOT NULL, updated TEXT NOT NULL, CONSTRAINT uq_firewall_label_account_id UNIQUE (label, account_id), CONSTRAINT fk_firewall_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_firewall_account_id ON firewall (account_id, id)
--;
CREATE INDEX ix_firewall_created ON firewall (account_id, created, id)
--;
CREATE INDEX ix_firewall_label ON firewall (account_id, lower(label), id)
--;
CREATE INDEX ix_firewall_updated ON firewall (account_id, updated, id)
--;
CREATE TRIGGER firewall_tally_delete AFTER DELETE ON firewall FOR EACH ROW BEGIN INSERT INTO tally (counted, owner, block, amount) VALUES ('firewall', OLD.account_id, OLD.id >> 12, -1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (-1);DELETE FROM tally WHERE counted = 'firewall' AND owner = OLD.account_id AND block = OLD.id >> 12 AND amount = 0; END
--;
CREATE TRIGGER firewall_tally_move AFTER UPDATE OF account_id ON firewall FOR EACH ROW BEGIN INSERT INTO tally (counted, owner, block, amount) VALUES ('firewall', OLD.account_id, OLD.id >> 12, -1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (-1);DELETE FROM tally WHERE counted = 'firewall' AND owner = OLD.account_id AND block = OLD.id >> 12 AND amount = 0;INSERT INTO tally (counted, owner, block, amount) VALUES ('firewall', NEW.account_id, NEW.id >> 12, 1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (1); END
--;
CREATE TABLE image ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER, name TEXT, position INTEGER, label TEXT NOT NULL, description TEXT, size INTEGER NOT NULL, filesystem TEXT DEFAULT 'ext4' NOT NULL, vendor TEXT, type TEXT DEFAULT 'manual' NOT NULL, status TEXT DEFAULT 'available' NOT NULL, deprecated INTEGER NOT NULL, created TEXT NOT NULL, created_by TEXT NOT NULL, updated TEXT NOT NULL, eol TEXT, expiry TEXT, host INTEGER, region TEXT, event_id INTEGER, upload_digest BLOB, CONSTRAINT fk_image_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, CONSTRAINT uq_image_name UNIQUE (name), CONSTRAINT uq_image_position UNIQUE (position), CONSTRAINT uq_image_upload_digest UNIQUE (upload_digest) ) STRICT
--;
CREATE INDEX ix_image_account_id ON image (account_id, id)
--;
CREATE TABLE instance ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, label TEXT NOT NULL, group_label TEXT NOT NULL, region TEXT NOT NULL, type TEXT NOT NULL, image TEXT, status TEXT NOT NULL, ipv6_rdns TEXT, vcpus INTEGER NOT NULL, memory INTEGER NOT NULL, disk INTEGER NOT NULL, transfer INTEGER NOT NULL, gpus INTEGER NOT NULL, alerts TEXT NOT NULL, watchdog_enabled INTEGER NOT NULL, backups_enabled INTEGER NOT NULL, backup_day TEXT, backup_window TEXT, last_successful TEXT, created TEXT NOT NULL, updated TEXT NOT NULL, host INTEGER, booted_config INTEGER, backups_cancelled TEXT, migration_pending INTEGER NOT NULL, stackscript_id INTEGER, network_generation INTEGER DEFAULT '0' NOT NULL, CONSTRAINT uq_instance_label_account_id UNIQUE (label, account_id), CONSTRAINT fk_instance_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_instance_account_id ON instance (account_id, id)
--;
CREATE INDEX ix_instance_group ON instance (account_id, lower(group_label), id)
--;
CREATE INDEX ix_instance_host ON instance (host) WHERE host IS NOT NULL
--;
CREATE INDEX ix_instance_image ON instance (account_id, lower(image), id)
--;
CREATE INDEX ix_instance_label ON instance (account_id, lower(label), id)
--;
CREATE INDEX ix_instance_moving ON instance (id) WHERE status <> 'running' AND status <> 'offline' AND status <> 'stopped'
--;
CREATE INDEX ix_instance_region ON instance (account_id, lower(region), id)
--;
CREATE TRIGGER instance_tally_delete AFTER DELETE ON instance FOR EACH ROW BEGIN INSERT INTO tally (counted, owner, block, amount) VALUES ('instance', OLD.account_id, OLD.id >> 12, -1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (-1);DELETE FROM tally WHERE counted = 'instance' AND owner = OLD.account_id AND block = OLD.id >> 12 AND amount = 0; END
--;
CREATE TRIGGER instance_tally_move AFTER UPDATE OF account_id ON instance FOR EACH ROW BEGIN INSERT INTO tally (counted, owner, block, amount) VALUES ('instance', OLD.account_id, OLD.id >> 12, -1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (-1);DELETE FROM tally WHERE counted = 'instance' AND owner = OLD.account_id AND block = OLD.id >> 12 AND amount = 0;INSERT INTO tally (counted, owner, block, amount) VALUES ('instance', NEW.account_id, NEW.id >> 12, 1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (1); END
--;
CREATE TABLE invoice ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, date TEXT NOT NULL, period TEXT NOT NULL, subtotal INTEGER NOT NULL, tax INTEGER NOT NULL, total INTEGER NOT NULL, address TEXT NOT NULL, seller TEXT NOT NULL, CONSTRAINT uq_invoice_account_id_period UNIQUE (account_id, period), CONSTRAINT fk_invoice_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_invoice_account_id ON invoice (account_id, id)
--;
CREATE TABLE ledger ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, entry TEXT NOT NULL, book TEXT NOT NULL, amount INTEGER NOT NULL, at TEXT NOT NULL, CONSTRAINT uq_ledger_entry_book UNIQUE (entry, book), CONSTRAINT fk_ledger_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_ledger_account_id ON ledger (account_id, book)
--;
CREATE TABLE login ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, user_id INTEGER, username TEXT NOT NULL, ip TEXT NOT NULL, restricted INTEGER NOT NULL, status TEXT NOT NULL, at TEXT NOT NULL, CONSTRAINT fk_login_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_login_account_id ON login (account_id, id)
--;
CREATE INDEX ix_login_at ON login (at)
--;
CREATE INDEX ix_login_user_id ON login (user_id, id)
--;
CREATE TABLE longview_client ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, label TEXT NOT NULL, api_key BLOB, install_code BLOB, created TEXT NOT NULL, updated TEXT NOT NULL, CONSTRAINT uq_longview_client_label_account_id UNIQUE (label, account_id), CONSTRAINT fk_longview_client_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_longview_client_account_id ON longview_client (account_id, id)
--;
CREATE INDEX ix_longview_client_label ON longview_client (account_id, lower(label), id)
--;
CREATE TRIGGER longview_client_tally_delete AFTER DELETE ON longview_client FOR EACH ROW BEGIN INSERT INTO tally (counted, owner, block, amount) VALUES ('longview_client', OLD.account_id, OLD.id >> 12, -1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (-1);DELETE FROM tally WHERE counted = 'longview_client' AND owner = OLD.account_id AND block = OLD.id >> 12 AND amount = 0; END
--;
CREATE TRIGGER longview_client_tally_move AFTER UPDATE OF account_id ON longview_client FOR EACH ROW BEGIN INSERT INTO tally (counted, owner, block, amount) VALUES ('longview_client', OLD.account_id, OLD.id >> 12, -1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (-1);DELETE FROM tally WHERE counted = 'longview_client' AND owner = OLD.account_id AND block = OLD.id >> 12 AND amount = 0;INSERT INTO tally (counted, owner, block, amount) VALUES ('longview_client', NEW.account_id, NEW.id >> 12, 1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (1); END
--;
CREATE TABLE managed_contact ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, name TEXT, email TEXT, phone_primary TEXT, phone_secondary TEXT, group_label TEXT, updated TEXT NOT NULL, CONSTRAINT fk_managed_contact_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_managed_contact_account_id ON managed_contact (account_id, id)
--;
CREATE TABLE managed_credential ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, label TEXT NOT NULL, username BLOB, password BLOB, last_decrypted TEXT, CONSTRAINT uq_managed_credential_account_id_label UNIQUE (account_id, label), CONSTRAINT fk_managed_credential_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE ) STRICT
--;
CREATE TABLE managed_service ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, label TEXT NOT NULL, service_type TEXT NOT NULL, address TEXT NOT NULL, host TEXT NOT NULL, timeout INTEGER NOT NULL, body TEXT, consultation_group TEXT NOT NULL, notes TEXT, region TEXT, status TEXT NOT NULL, created TEXT NOT NULL, updated TEXT NOT NULL, revision INTEGER NOT NULL, issue_id INTEGER, forced TEXT, CONSTRAINT fk_managed_service_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_managed_service_account_id ON managed_service (account_id, id)
--;
CREATE INDEX ix_managed_service_host ON managed_service (account_id, host)
--;
CREATE TABLE meter ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, chain INTEGER, what TEXT NOT NULL, object_id INTEGER NOT NULL, label TEXT NOT NULL, hourly INTEGER NOT NULL, monthly INTEGER NOT NULL, transfer INTEGER NOT NULL, began INTEGER NOT NULL, ended INTEGER, billed_until INTEGER NOT NULL, CONSTRAINT fk_meter_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_meter_account_id ON meter (account_id, ended)
--;
CREATE INDEX ix_meter_object ON meter (what, object_id)
--;
CREATE INDEX ix_meter_unbilled ON meter (account_id, billed_until) WHERE ended IS NULL OR billed_until < ended
--;
CREATE TABLE nodebalancer ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, label TEXT NOT NULL, region TEXT NOT NULL, hostname TEXT NOT NULL, ipv4 TEXT NOT NULL, ipv6 TEXT, client_conn_throttle INTEGER DEFAULT '0' NOT NULL, bytes_in INTEGER, bytes_out INTEGER, created TEXT NOT NULL, updated TEXT NOT NULL, CONSTRAINT uq_nodebalancer_label_account_id UNIQUE (label, account_id), CONSTRAINT fk_nodebalancer_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, CONSTRAINT uq_nodebalancer_ipv4 UNIQUE (ipv4) ) STRICT
--;
CREATE INDEX ix_nodebalancer_account_id ON nodebalancer (account_id, id)
--;
CREATE INDEX ix_nodebalancer_ipv4 ON nodebalancer (account_id, ipv4, id)
--;
CREATE INDEX ix_nodebalancer_label ON nodebalancer (account_id, lower(label), id)
--;
CREATE INDEX ix_nodebalancer_region ON nodebalancer (account_id, lower(region), id)
--;
CREATE TRIGGER nodebalancer_tally_delete AFTER DELETE ON nodebalancer FOR EACH ROW BEGIN INSERT INTO tally (counted, owner, block, amount) VALUES ('nodebalancer', OLD.account_id, OLD.id >> 12, -1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (-1);DELETE FROM tally WHERE counted = 'nodebalancer' AND owner = OLD.account_id AND block = OLD.id >> 12 AND amount = 0; END
--;
CREATE TRIGGER nodebalancer_tally_move AFTER UPDATE OF account_id ON nodebalancer FOR EACH ROW BEGIN INSERT INTO tally (counted, owner, block, amount) VALUES ('nodebalancer', OLD.account_id, OLD.id >> 12, -1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (-1);DELETE FROM tally WHERE counted = 'nodebalancer' AND owner = OLD.account_id AND block = OLD.id >> 12 AND amount = 0;INSERT INTO tally (counted, owner, block, amount) VALUES ('nodebalancer', NEW.account_id, NEW.id >> 12, 1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (1); END
--;
CREATE TABLE oauth_client ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER, public_id TEXT NOT NULL, label TEXT NOT NULL, redirect_uri TEXT NOT NULL, public INTEGER NOT NULL, secret_digest BLOB NOT NULL, status TEXT NOT NULL, thumbnail BLOB, created TEXT NOT NULL, CONSTRAINT fk_oauth_client_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, CONSTRAINT uq_oauth_client_public_id UNIQUE (public_id) ) STRICT
--;
CREATE INDEX ix_oauth_client_account_id ON oauth_client (account_id, id)
--;
CREATE TABLE payment ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, date TEXT NOT NULL, amount INTEGER NOT NULL, reference TEXT NOT NULL, CONSTRAINT fk_payment_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, CONSTRAINT uq_payment_reference UNIQUE (reference) ) STRICT
--;
CREATE INDEX ix_payment_account_id ON payment (account_id, id)
--;
CREATE TABLE payment_method ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, type TEXT NOT NULL, is_default INTEGER NOT NULL, token TEXT NOT NULL, card_type TEXT NOT NULL, last_four TEXT NOT NULL, expiry TEXT NOT NULL, created TEXT NOT NULL, CONSTRAINT fk_payment_method_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_payment_method_account_id ON payment_method (account_id)
--;
CREATE TABLE revision ( account_id INTEGER NOT NULL, number INTEGER NOT NULL, CONSTRAINT pk_revision PRIMARY KEY (account_id), CONSTRAINT fk_revision_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE ) STRICT
--;
CREATE TABLE staged_payment ( payment_id TEXT NOT NULL, account_id INTEGER NOT NULL, amount INTEGER NOT NULL, created INTEGER NOT NULL, executed_by TEXT, CONSTRAINT pk_staged_payment PRIMARY KEY (payment_id), CONSTRAINT fk_staged_payment_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_staged_payment_account_id ON staged_payment (account_id)
--;
CREATE INDEX ix_staged_payment_created ON staged_payment (created)
--;
CREATE TABLE tag ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, label TEXT NOT NULL, CONSTRAINT uq_tag_label_account_id UNIQUE (label, account_id), CONSTRAINT fk_tag_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_tag_account_id ON tag (account_id, id)
--;
CREATE INDEX ix_tag_label ON tag (account_id, lower(label))
--;
CREATE TRIGGER tag_tally_delete AFTER DELETE ON tag FOR EACH ROW BEGIN INSERT INTO tally (counted, owner, block, amount) VALUES ('tag', OLD.account_id, OLD.id >> 12, -1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (-1);DELETE FROM tally WHERE counted = 'tag' AND owner = OLD.account_id AND block = OLD.id >> 12 AND amount = 0; END
--;
CREATE TRIGGER tag_tally_move AFTER UPDATE OF account_id ON tag FOR EACH ROW BEGIN INSERT INTO tally (counted, owner, block, amount) VALUES ('tag', OLD.account_id, OLD.id >> 12, -1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (-1);DELETE FROM tally WHERE counted = 'tag' AND owner = OLD.account_id AND block = OLD.id >> 12 AND amount = 0;INSERT INTO tally (counted, owner, block, amount) VALUES ('tag', NEW.account_id, NEW.id >> 12, 1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (1); END
--;
CREATE TABLE ticket ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, summary TEXT NOT NULL, description TEXT NOT NULL, status TEXT NOT NULL, opened TEXT NOT NULL, opened_by TEXT NOT NULL, opener_id INTEGER, gravatar_id TEXT NOT NULL, closed TEXT, closable INTEGER NOT NULL, updated TEXT NOT NULL, updated_by TEXT, entity_type TEXT, entity_id TEXT, entity_label TEXT, entity_url TEXT, nature TEXT NOT NULL, CONSTRAINT fk_ticket_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_ticket_account_id ON ticket (account_id, id)
--;
CREATE INDEX ix_ticket_open ON ticket (closed, id)
--;
CREATE TABLE traffic ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, month TEXT NOT NULL, object_id INTEGER NOT NULL, bytes INTEGER NOT NULL, at INTEGER NOT NULL, CONSTRAINT fk_traffic_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_traffic_account_id ON traffic (account_id, month, object_id)
--;
CREATE TABLE transfer ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, token TEXT NOT NULL, sender_id INTEGER NOT NULL, receiver_id INTEGER, status TEXT NOT NULL, computes TEXT NOT NULL, created TEXT NOT NULL, updated TEXT NOT NULL, expiry TEXT NOT NULL, CONSTRAINT uq_transfer_token UNIQUE (token), CONSTRAINT fk_transfer_sender_id FOREIGN KEY(sender_id) REFERENCES account (id) ON DELETE CASCADE, CONSTRAINT fk_transfer_receiver_id FOREIGN KEY(receiver_id) REFERENCES account (id) ON DELETE SET NULL ) STRICT
--;
CREATE INDEX ix_transfer_receiver_id ON transfer (receiver_id)
--;
CREATE INDEX ix_transfer_sender_id ON transfer (sender_id, id)
--;
CREATE TABLE vlan ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, region TEXT NOT NULL, label TEXT NOT NULL, created TEXT NOT NULL, CONSTRAINT uq_vlan_account_id_region_label UNIQUE (account_id, region, label), CONSTRAINT fk_vlan_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_vlan_account_id ON vlan (account_id, id)
--;
CREATE INDEX ix_vlan_label ON vlan (account_id, lower(label), id)
--;
CREATE INDEX ix_vlan_region ON vlan (account_id, lower(region), id)
--;
CREATE TABLE backup ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, instance_id INTEGER NOT NULL, type TEXT NOT NULL, status TEXT NOT NULL, label TEXT, region TEXT NOT NULL, host INTEGER, disks TEXT NOT NULL, configs TEXT NOT NULL, created TEXT NOT NULL, updated TEXT NOT NULL, finished TEXT, CONSTRAINT fk_backup_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, CONSTRAINT fk_backup_instance_id FOREIGN KEY(instance_id) REFERENCES instance (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_backup_instance_id ON backup (instance_id, id)
--;
CREATE TABLE config ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, instance_id INTEGER NOT NULL, label TEXT NOT NULL, comments TEXT, devices TEXT NOT NULL, helpers TEXT NOT NULL, interfaces TEXT NOT NULL, kernel TEXT NOT NULL, memory_limit INTEGER NOT NULL, root_device TEXT NOT NULL, run_level TEXT NOT NULL, virt_mode TEXT NOT NULL, created TEXT NOT NULL, updated TEXT NOT NULL, names_volumes INTEGER DEFAULT 0 NOT NULL, CONSTRAINT fk_config_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, CONSTRAINT fk_config_instance_id FOREIGN KEY(instance_id) REFERENCES instance (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_config_instance_id ON config (instance_id, id)
--;
CREATE INDEX ix_config_names_volumes ON config (account_id) WHERE names_volumes
--;
CREATE TABLE disk ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, instance_id INTEGER NOT NULL, label TEXT NOT NULL, size INTEGER NOT NULL, filesystem TEXT NOT NULL, status TEXT NOT NULL, reserved INTEGER NOT NULL, image TEXT, created TEXT NOT NULL, updated TEXT NOT NULL, CONSTRAINT ck_disk_size CHECK (size > 0 AND reserved >= size), CONSTRAINT fk_disk_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, CONSTRAINT fk_disk_instance_id FOREIGN KEY(instance_id) REFERENCES instance (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_disk_instance_id ON disk (instance_id, id)
--;
CREATE TABLE event_read ( user_id INTEGER NOT NULL, event_id INTEGER NOT NULL, CONSTRAINT pk_event_read PRIMARY KEY (user_id, event_id), CONSTRAINT fk_event_read_user_id FOREIGN KEY(user_id) REFERENCES account_user (id) ON DELETE CASCADE, CONSTRAINT fk_event_read_event_id FOREIGN KEY(event_id) REFERENCES event (id) ON DELETE CASCADE ) WITHOUT ROWID, STRICT
--;
CREATE INDEX ix_event_read_event_id ON event_read (event_id)
--;
CREATE TABLE event_seen ( user_id INTEGER NOT NULL, up_to INTEGER NOT NULL, CONSTRAINT pk_event_seen PRIMARY KEY (user_id), CONSTRAINT fk_event_seen_user_id FOREIGN KEY(user_id) REFERENCES account_user (id) ON DELETE CASCADE ) STRICT
--;
CREATE TABLE firewall_device ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, firewall_id INTEGER NOT NULL, kind TEXT NOT NULL, object_id INTEGER NOT NULL, created TEXT NOT NULL, updated TEXT NOT NULL, CONSTRAINT uq_firewall_device_object_id_kind_firewall_id UNIQUE (object_id, kind, firewall_id), CONSTRAINT fk_firewall_device_firewall_id FOREIGN KEY(firewall_id) REFERENCES firewall (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_firewall_device_created ON firewall_device (firewall_id, created, id)
--;
CREATE INDEX ix_firewall_device_firewall_id ON firewall_device (firewall_id, id)
--;
CREATE INDEX ix_firewall_device_updated ON firewall_device (firewall_id, updated, id)
--;
CREATE TRIGGER firewall_device_tally_delete AFTER DELETE ON firewall_device FOR EACH ROW BEGIN INSERT INTO tally (counted, owner, block, amount) VALUES ('firewall_device', OLD.firewall_id, OLD.id >> 12, -1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (-1);DELETE FROM tally WHERE counted = 'firewall_device' AND owner = OLD.firewall_id AND block = OLD.id >> 12 AND amount = 0; END
--;
CREATE TRIGGER firewall_device_tally_move AFTER UPDATE OF firewall_id ON firewall_device FOR EACH ROW BEGIN INSERT INTO tally (counted, owner, block, amount) VALUES ('firewall_device', OLD.firewall_id, OLD.id >> 12, -1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (-1);DELETE FROM tally WHERE counted = 'firewall_device' AND owner = OLD.firewall_id AND block = OLD.id >> 12 AND amount = 0;INSERT INTO tally (counted, owner, block, amount) VALUES ('firewall_device', NEW.firewall_id, NEW.id >> 12, 1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (1); END
--;
CREATE TABLE invoice_item ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, invoice_id INTEGER NOT NULL, what TEXT NOT NULL, label TEXT NOT NULL, type TEXT NOT NULL, unit_price INTEGER NOT NULL, quantity INTEGER NOT NULL, amount INTEGER NOT NULL, tax INTEGER NOT NULL, total INTEGER NOT NULL, from_ TEXT NOT NULL, to_ TEXT NOT NULL, CONSTRAINT fk_invoice_item_invoice_id FOREIGN KEY(invoice_id) REFERENCES invoice (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_invoice_item_invoice_id ON invoice_item (invoice_id)
--;
CREATE TABLE ipv6_range ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, instance_id INTEGER NOT NULL, region TEXT NOT NULL, prefix INTEGER NOT NULL, created TEXT NOT NULL, CONSTRAINT uq_ipv6_range_account_id_region UNIQUE (account_id, region), CONSTRAINT uq_ipv6_range_instance_id UNIQUE (instance_id), CONSTRAINT fk_ipv6_range_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, CONSTRAINT fk_ipv6_range_instance_id FOREIGN KEY(instance_id) REFERENCES instance (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_ipv6_range_account_id ON ipv6_range (account_id, id)
--;
CREATE TABLE login_session ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, user_id INTEGER NOT NULL, digest BLOB NOT NULL, created TEXT NOT NULL, last_seen TEXT NOT NULL, CONSTRAINT fk_login_session_user_id FOREIGN KEY(user_id) REFERENCES account_user (id) ON DELETE CASCADE, CONSTRAINT uq_login_session_digest UNIQUE (digest) ) STRICT
--;
CREATE INDEX ix_login_session_user_id ON login_session (user_id)
--;
CREATE TABLE maintenance ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, instance_id INTEGER NOT NULL, type TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, when_ TEXT NOT NULL, CONSTRAINT fk_maintenance_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, CONSTRAINT fk_maintenance_instance_id FOREIGN KEY(instance_id) REFERENCES instance (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_maintenance_account_id ON maintenance (account_id, id)
--;
CREATE INDEX ix_maintenance_instance_id ON maintenance (instance_id)
--;
CREATE TABLE managed_compute_setting ( compute_id INTEGER NOT NULL, access INTEGER NOT NULL, user TEXT NOT NULL, ip TEXT NOT NULL, port INTEGER NOT NULL, CONSTRAINT pk_managed_compute_setting PRIMARY KEY (compute_id), CONSTRAINT fk_managed_compute_setting_compute_id FOREIGN KEY(compute_id) REFERENCES instance (id) ON DELETE CASCADE ) STRICT
--;
CREATE TABLE managed_issue ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, ticket_id INTEGER NOT NULL, services TEXT NOT NULL, created TEXT NOT NULL, closed TEXT, CONSTRAINT fk_managed_issue_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, CONSTRAINT fk_managed_issue_ticket_id FOREIGN KEY(ticket_id) REFERENCES ticket (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_managed_issue_account_id ON managed_issue (account_id, id)
--;
CREATE INDEX ix_managed_issue_ticket_id ON managed_issue (ticket_id)
--;
CREATE TABLE managed_service_credential ( service_id INTEGER NOT NULL, credential_id INTEGER NOT NULL, position INTEGER NOT NULL, CONSTRAINT pk_managed_service_credential PRIMARY KEY (service_id, credential_id), CONSTRAINT fk_managed_service_credential_service_id FOREIGN KEY(service_id) REFERENCES managed_service (id) ON DELETE CASCADE, CONSTRAINT fk_managed_service_credential_credential_id FOREIGN KEY(credential_id) REFERENCES managed_credential (id) ON DELETE CASCADE ) WITHOUT ROWID, STRICT
--;
CREATE INDEX ix_managed_service_credential_credential_id ON managed_service_credential (credential_id)
--;
CREATE TABLE nodebalancer_config ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, nodebalancer_id INTEGER NOT NULL, port INTEGER NOT NULL, protocol TEXT NOT NULL, algorithm TEXT NOT NULL, stickiness TEXT NOT NULL, check_kind TEXT NOT NULL, check_interval INTEGER NOT NULL, check_timeout INTEGER NOT NULL, check_attempts INTEGER NOT NULL, check_path TEXT NOT NULL, check_body TEXT NOT NULL, check_passive INTEGER NOT NULL, proxy_protocol TEXT NOT NULL, cipher_suite TEXT NOT NULL, ssl_cert TEXT, ssl_key BLOB, ssl_commonname TEXT DEFAULT '' NOT NULL, ssl_fingerprint TEXT DEFAULT '' NOT NULL, CONSTRAINT uq_nodebalancer_config_nodebalancer_id_port UNIQUE (nodebalancer_id, port), CONSTRAINT fk_nodebalancer_config_nodebalancer_id FOREIGN KEY(nodebalancer_id) REFERENCES nodebalancer (id) ON DELETE CASCADE ) STRICT
--;
CREATE TABLE password_link ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, user_id INTEGER NOT NULL, digest BLOB NOT NULL, expiry TEXT NOT NULL, CONSTRAINT fk_password_link_user_id FOREIGN KEY(user_id) REFERENCES account_user (id) ON DELETE CASCADE, CONSTRAINT uq_password_link_digest UNIQUE (digest) ) STRICT
--;
CREATE INDEX ix_password_link_user_id ON password_link (user_id)
--;
CREATE TABLE preference ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, user_id INTEGER NOT NULL, client_id INTEGER, document TEXT NOT NULL, CONSTRAINT fk_preference_user_id FOREIGN KEY(user_id) REFERENCES account_user (id) ON DELETE CASCADE, CONSTRAINT fk_preference_client_id FOREIGN KEY(client_id) REFERENCES oauth_client (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_preference_client_id ON preference (client_id)
--;
CREATE UNIQUE INDEX uq_preference_client ON preference (user_id, coalesce(client_id, 0))
--;
CREATE TABLE shared_address ( instance_id INTEGER NOT NULL, address TEXT NOT NULL, created TEXT NOT NULL, CONSTRAINT pk_shared_address PRIMARY KEY (instance_id, address), CONSTRAINT fk_shared_address_instance_id FOREIGN KEY(instance_id) REFERENCES instance (id) ON DELETE CASCADE ) WITHOUT ROWID, STRICT
--;
CREATE INDEX ix_shared_address_address ON shared_address (address, instance_id)
--;
CREATE TABLE ssh_key ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, user_id INTEGER NOT NULL, label TEXT NOT NULL, ssh_key TEXT NOT NULL, created TEXT NOT NULL, CONSTRAINT fk_ssh_key_user_id FOREIGN KEY(user_id) REFERENCES account_user (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_ssh_key_user_id ON ssh_key (user_id, id)
--;
CREATE TABLE stackscript ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, user_id INTEGER, username TEXT NOT NULL, gravatar_id TEXT DEFAULT '' NOT NULL, label TEXT NOT NULL, description TEXT DEFAULT '' NOT NULL, images TEXT NOT NULL, script TEXT NOT NULL, user_defined_fields TEXT NOT NULL, rev_note TEXT DEFAULT '' NOT NULL, is_public INTEGER NOT NULL, created TEXT NOT NULL, updated TEXT NOT NULL, CONSTRAINT fk_stackscript_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, CONSTRAINT fk_stackscript_user_id FOREIGN KEY(user_id) REFERENCES account_user (id) ON DELETE SET NULL ) STRICT
--;
CREATE INDEX ix_stackscript_account_id ON stackscript (account_id, id)
--;
CREATE INDEX ix_stackscript_is_public ON stackscript (is_public, id)
--;
CREATE INDEX ix_stackscript_user_id ON stackscript (user_id)
--;
CREATE TABLE tagged ( tag_id INTEGER NOT NULL, kind TEXT NOT NULL, object_id INTEGER NOT NULL, CONSTRAINT pk_tagged PRIMARY KEY (tag_id, kind, object_id), CONSTRAINT fk_tagged_tag_id FOREIGN KEY(tag_id) REFERENCES tag (id) ON DELETE CASCADE ) WITHOUT ROWID, STRICT
--;
CREATE INDEX ix_tagged_object ON tagged (kind, object_id)
--;
CREATE TABLE ticket_attachment ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, ticket_id INTEGER NOT NULL, filename TEXT NOT NULL, size INTEGER NOT NULL, created TEXT NOT NULL, created_by TEXT NOT NULL, CONSTRAINT uq_ticket_attachment_ticket_id_filename UNIQUE (ticket_id, filename), CONSTRAINT fk_ticket_attachment_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, CONSTRAINT fk_ticket_attachment_ticket_id FOREIGN KEY(ticket_id) REFERENCES ticket (id) ON DELETE CASCADE ) STRICT
--;
CREATE TABLE ticket_reply ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, ticket_id INTEGER NOT NULL, created TEXT NOT NULL, created_by TEXT NOT NULL, description TEXT NOT NULL, from_staff INTEGER NOT NULL, gravatar_id TEXT NOT NULL, CONSTRAINT fk_ticket_reply_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, CONSTRAINT fk_ticket_reply_ticket_id FOREIGN KEY(ticket_id) REFERENCES ticket (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_ticket_reply_ticket_id ON ticket_reply (ticket_id, id)
--;
CREATE TABLE transfer_claim ( instance_id INTEGER NOT NULL, transfer_id INTEGER NOT NULL, CONSTRAINT pk_transfer_claim PRIMARY KEY (instance_id), CONSTRAINT fk_transfer_claim_transfer_id FOREIGN KEY(transfer_id) REFERENCES transfer (id) ON DELETE CASCADE ) STRICT
--;
CREATE TABLE trusted_device ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, user_id INTEGER NOT NULL, digest BLOB NOT NULL, user_agent TEXT NOT NULL, created TEXT NOT NULL, expiry TEXT NOT NULL, last_authenticated TEXT NOT NULL, last_remote_addr TEXT NOT NULL, CONSTRAINT fk_trusted_device_user_id FOREIGN KEY(user_id) REFERENCES account_user (id) ON DELETE CASCADE, CONSTRAINT uq_trusted_device_digest UNIQUE (digest) ) STRICT
--;
CREATE INDEX ix_trusted_device_user_id ON trusted_device (user_id)
--;
CREATE TABLE user_grant ( user_id INTEGER NOT NULL, kind TEXT NOT NULL, object_id INTEGER NOT NULL, level TEXT NOT NULL, CONSTRAINT pk_user_grant PRIMARY KEY (user_id, kind, object_id), CONSTRAINT fk_user_grant_user_id FOREIGN KEY(user_id) REFERENCES account_user (id) ON DELETE CASCADE ) WITHOUT ROWID, STRICT
--;
CREATE INDEX ix_grant_object ON user_grant (kind, object_id)
--;
CREATE TABLE volume ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, label TEXT NOT NULL, size INTEGER NOT NULL, region TEXT NOT NULL, instance_id INTEGER, persistent INTEGER DEFAULT 1 NOT NULL, status TEXT NOT NULL, hardware_type TEXT DEFAULT 'nvme' NOT NULL, created TEXT NOT NULL, updated TEXT NOT NULL, CONSTRAINT uq_volume_label_account_id UNIQUE (label, account_id), CONSTRAINT fk_volume_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, CONSTRAINT fk_volume_instance_id FOREIGN KEY(instance_id) REFERENCES instance (id) ON DELETE SET NULL ) STRICT
--;
CREATE INDEX ix_volume_account_id ON volume (account_id, id)
--;
CREATE INDEX ix_volume_instance_id ON volume (instance_id)
--;
CREATE INDEX ix_volume_label ON volume (account_id, lower(label), id)
--;
CREATE INDEX ix_volume_passing ON volume (id) WHERE status <> 'active' AND status <> 'contact_support'
--;
CREATE TRIGGER volume_tally_delete AFTER DELETE ON volume FOR EACH ROW BEGIN INSERT INTO tally (counted, owner, block, amount) VALUES ('volume', OLD.account_id, OLD.id >> 12, -1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (-1);DELETE FROM tally WHERE counted = 'volume' AND owner = OLD.account_id AND block = OLD.id >> 12 AND amount = 0; END
--;
CREATE TRIGGER volume_tally_move AFTER UPDATE OF account_id ON volume FOR EACH ROW BEGIN INSERT INTO tally (counted, owner, block, amount) VALUES ('volume', OLD.account_id, OLD.id >> 12, -1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (-1);DELETE FROM tally WHERE counted = 'volume' AND owner = OLD.account_id AND block = OLD.id >> 12 AND amount = 0;INSERT INTO tally (counted, owner, block, amount) VALUES ('volume', NEW.account_id, NEW.id >> 12, 1) ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + (1); END
--;
CREATE TABLE app_authorization ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, user_id INTEGER NOT NULL, client_id INTEGER NOT NULL, scopes TEXT NOT NULL, created TEXT NOT NULL, expiry TEXT, session_id INTEGER, CONSTRAINT fk_app_authorization_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, CONSTRAINT fk_app_authorization_user_id FOREIGN KEY(user_id) REFERENCES account_user (id) ON DELETE CASCADE, CONSTRAINT fk_app_authorization_client_id FOREIGN KEY(client_id) REFERENCES oauth_client (id) ON DELETE CASCADE, CONSTRAINT fk_app_authorization_session_id FOREIGN KEY(session_id) REFERENCES login_session (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_app_authorization_client_id ON app_authorization (client_id)
--;
CREATE INDEX ix_app_authorization_session_id ON app_authorization (session_id)
--;
CREATE INDEX ix_app_authorization_user_id ON app_authorization (user_id)
--;
CREATE TABLE config_vlan ( vlan_id INTEGER NOT NULL, config_id INTEGER NOT NULL, CONSTRAINT pk_config_vlan PRIMARY KEY (vlan_id, config_id), CONSTRAINT fk_config_vlan_vlan_id FOREIGN KEY(vlan_id) REFERENCES vlan (id) ON DELETE CASCADE, CONSTRAINT fk_config_vlan_config_id FOREIGN KEY(config_id) REFERENCES config (id) ON DELETE CASCADE ) WITHOUT ROWID, STRICT
--;
CREATE INDEX ix_config_vlan_config_id ON config_vlan (config_id)
--;
CREATE TABLE nodebalancer_node ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, config_id INTEGER NOT NULL, label TEXT NOT NULL, region TEXT NOT NULL, host TEXT NOT NULL, port INTEGER NOT NULL, weight INTEGER NOT NULL, mode TEXT NOT NULL, CONSTRAINT uq_nodebalancer_node_config_id_host_port UNIQUE (config_id, host, port), CONSTRAINT fk_nodebalancer_node_config_id FOREIGN KEY(config_id) REFERENCES nodebalancer_config (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_nodebalancer_node_config_id ON nodebalancer_node (config_id, id)
--;
CREATE INDEX ix_nodebalancer_node_host ON nodebalancer_node (host, region)
--;
CREATE TABLE stackscript_deployment_count ( stackscript_id INTEGER NOT NULL, slot INTEGER NOT NULL, total INTEGER NOT NULL, active INTEGER NOT NULL, CONSTRAINT pk_stackscript_deployment_count PRIMARY KEY (stackscript_id, slot), CONSTRAINT fk_stackscript_deployment_count_stackscript_id FOREIGN KEY(stackscript_id) REFERENCES stackscript (id) ON DELETE CASCADE ) WITHOUT ROWID, STRICT
--;
CREATE TABLE ticket_attachment_content ( attachment_id INTEGER NOT NULL, number INTEGER NOT NULL, content BLOB NOT NULL, CONSTRAINT pk_ticket_attachment_content PRIMARY KEY (attachment_id, number), CONSTRAINT fk_ticket_attachment_content_attachment_id FOREIGN KEY(attachment_id) REFERENCES ticket_attachment (id) ON DELETE CASCADE ) STRICT
--;
CREATE TABLE authorization_code ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, authorization_id INTEGER NOT NULL, digest BLOB NOT NULL, redirect_uri TEXT NOT NULL, challenge TEXT, expiry TEXT NOT NULL, used INTEGER NOT NULL, CONSTRAINT fk_authorization_code_authorization_id FOREIGN KEY(authorization_id) REFERENCES app_authorization (id) ON DELETE CASCADE, CONSTRAINT uq_authorization_code_digest UNIQUE (digest) ) STRICT
--;
CREATE INDEX ix_authorization_code_authorization_id ON authorization_code (authorization_id)
--;
CREATE TABLE refresh_token ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, authorization_id INTEGER NOT NULL, digest BLOB NOT NULL, expiry TEXT NOT NULL, used INTEGER NOT NULL, CONSTRAINT fk_refresh_token_authorization_id FOREIGN KEY(authorization_id) REFERENCES app_authorization (id) ON DELETE CASCADE, CONSTRAINT uq_refresh_token_digest UNIQUE (digest) ) STRICT
--;
CREATE INDEX ix_refresh_token_authorization_id ON refresh_token (authorization_id)
--;
CREATE TABLE token ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL, user_id INTEGER NOT NULL, digest BLOB NOT NULL, shown TEXT NOT NULL, label TEXT NOT NULL, scopes TEXT NOT NULL, created TEXT NOT NULL, expiry TEXT, authorization_id INTEGER, CONSTRAINT fk_token_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, CONSTRAINT fk_token_user_id FOREIGN KEY(user_id) REFERENCES account_user (id) ON DELETE CASCADE, CONSTRAINT uq_token_digest UNIQUE (digest), CONSTRAINT fk_token_authorization_id FOREIGN KEY(authorization_id) REFERENCES app_authorization (id) ON DELETE CASCADE ) STRICT
--;
CREATE INDEX ix_token_authorization_id ON token (authorization_id)
--;
CREATE INDEX ix_token_user_id ON token (user_id)
