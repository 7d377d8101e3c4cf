CREATE TABLE meta (
    key VARCHAR NOT NULL,
    value VARCHAR NOT NULL,
    PRIMARY KEY (key)
);
CREATE TABLE tournaments (
    id BIGSERIAL NOT NULL,
    request_id VARCHAR,
    config VARCHAR NOT NULL,
    games_total BIGINT NOT NULL,
    state VARCHAR NOT NULL,
    created_at FLOAT NOT NULL,
    games_voided INTEGER NOT NULL,
    games_unrated INTEGER NOT NULL,
    disqualified VARCHAR NOT NULL,
    remarks VARCHAR NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (request_id)
);
CREATE TABLE games (
    id BIGINT NOT NULL,
    tournament_id BIGINT,
    round INTEGER,
    "table" INTEGER,
    rotation INTEGER,
    deal_seed VARCHAR NOT NULL,
    players INTEGER NOT NULL,
    mode VARCHAR NOT NULL,
    scoring VARCHAR NOT NULL,
    bots JSON NOT NULL,
    bot_seeds JSON NOT NULL,
    points JSON NOT NULL,
    coins JSON NOT NULL,
    inhabitants JSON NOT NULL,
    hearts JSON NOT NULL,
    ranks JSON NOT NULL,
    places JSON NOT NULL,
    endings JSON NOT NULL,
    reasons JSON NOT NULL,
    decisions INTEGER NOT NULL,
    created_at FLOAT NOT NULL,
    started_at FLOAT NOT NULL,
    finished_at FLOAT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT games_once UNIQUE (tournament_id, round, "table", rotation),
    FOREIGN KEY(tournament_id) REFERENCES tournaments (id)
);
CREATE INDEX games_of_tournament ON games (tournament_id, id);
CREATE TABLE profiles (
    tournament_id BIGINT NOT NULL,
    bot VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    language VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    software VARCHAR NOT NULL,
    PRIMARY KEY (tournament_id, bot),
    FOREIGN KEY(tournament_id) REFERENCES tournaments (id)
);
CREATE TABLE records (
    game_id BIGINT NOT NULL,
    record BYTEA NOT NULL,
    PRIMARY KEY (game_id),
    FOREIGN KEY(game_id) REFERENCES games (id)
);
