CREATE TABLE region_network ( network TEXT NOT NULL, region TEXT NOT NULL, gateway TEXT, first TEXT, last TEXT, CONSTRAINT pk_region_network PRIMARY KEY (network) )
--;
INSERT INTO region_network (network, region) SELECT network, region FROM public_network
--;
DROP TABLE public_network
--;
CREATE TABLE placed_range ( range_id BIGINT NOT NULL, first TEXT NOT NULL, CONSTRAINT pk_placed_range PRIMARY KEY (range_id), CONSTRAINT fk_placed_range_range_id FOREIGN KEY(range_id) REFERENCES ipv6_range (id) ON DELETE CASCADE, CONSTRAINT uq_placed_range_first UNIQUE (first) )
