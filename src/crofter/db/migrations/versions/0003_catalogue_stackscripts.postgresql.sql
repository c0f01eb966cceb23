ALTER TABLE stackscript ALTER COLUMN account_id DROP NOT NULL
--;
ALTER TABLE stackscript ADD COLUMN slug TEXT
--;
ALTER TABLE stackscript ADD COLUMN position INTEGER
--;
ALTER TABLE stackscript ADD CONSTRAINT uq_stackscript_slug UNIQUE (slug)
--;
ALTER TABLE stackscript ADD CONSTRAINT uq_stackscript_position UNIQUE (position)
