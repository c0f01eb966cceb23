CREATE TABLE new_stackscript ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER, slug TEXT, position INTEGER, user_id INTEGER, username TEXT NOT NULL, gravatar_id TEXT DEFAULT '' NOT NULL, label TEXT NOT NULL, description TEXT DEFAULT '' NOT NULL, images TEXT NOT NULL, script TEXT NOT NULL, user_defined_fields TEXT NOT NULL, rev_note TEXT DEFAULT '' NOT NULL, is_public INTEGER NOT NULL, created TEXT NOT NULL, updated TEXT NOT NULL, CONSTRAINT fk_stackscript_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, CONSTRAINT uq_stackscript_slug UNIQUE (slug), CONSTRAINT uq_stackscript_position UNIQUE (position), CONSTRAINT fk_stackscript_user_id FOREIGN KEY(user_id) REFERENCES account_user (id) ON DELETE SET NULL ) STRICT
--;
INSERT INTO new_stackscript (id, account_id, user_id, username, gravatar_id, label, description, images, script, user_defined_fields, rev_note, is_public, created, updated) SELECT id, account_id, user_id, username, gravatar_id, label, description, images, script, user_defined_fields, rev_note, is_public, created, updated FROM stackscript
--;
DELETE FROM sqlite_sequence WHERE name = 'new_stackscript'
--;
INSERT INTO sqlite_sequence (name, seq) SELECT 'new_stackscript', seq FROM sqlite_sequence WHERE name = 'stackscript'
--;
DROP TABLE stackscript
--;
ALTER TABLE new_stackscript RENAME TO stackscript
--;
CREATE INDEX ix_stackscript_account_id ON stackscript (account_id, id)
--;
CREATE INDEX ix_stackscript_is_public ON stackscript (is_public, id)
--;
CREATE INDEX ix_stackscript_user_id ON stackscript (user_id)
