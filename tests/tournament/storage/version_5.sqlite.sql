CREATE TABLE meta (
	"key" VARCHAR NOT NULL,
	value VARCHAR NOT NULL,
	PRIMARY KEY ("key")
);
CREATE TABLE tournaments (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	request_id VARCHAR,
	config VARCHAR NOT NULL,
	seed VARCHAR,
	games_total BIGINT NOT NULL,
	state VARCHAR NOT NULL,
	created_at FLOAT NOT NULL,
	games_voided INTEGER NOT NULL,
	games_unrated INTEGER NOT NULL,
	disqualified VARCHAR NOT NULL,
	remarks VARCHAR NOT NULL,
	UNIQUE (request_id)
);
CREATE INDEX tournaments_of_seed ON tournaments (seed, state);
CREATE TABLE tables (
	id VARCHAR NOT NULL,
	match_id INTEGER,
	state BLOB NOT NULL,
	PRIMARY KEY (id)
);
CREATE TABLE requests (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	caller VARCHAR NOT NULL,
	request VARCHAR NOT NULL,
	asked VARCHAR NOT NULL,
	answer BLOB NOT NULL,
	match_id INTEGER,
	at FLOAT NOT NULL,
	UNIQUE (request)
);
CREATE INDEX requests_of_caller ON requests (caller, id);
CREATE INDEX requests_of_match ON requests (match_id);
CREATE INDEX requests_by_time ON requests (at);
CREATE TABLE ladder_seasons (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	started_at FLOAT NOT NULL,
	ended_at FLOAT,
	leaderboards VARCHAR NOT NULL,
	deals BIGINT NOT NULL,
	games BIGINT NOT NULL,
	closed_after BIGINT,
	first_deal BIGINT NOT NULL,
	commitment VARCHAR NOT NULL
);
CREATE TABLE ladder_versions (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	bot VARCHAR NOT NULL,
	version VARCHAR NOT NULL,
	owner VARCHAR NOT NULL,
	house INTEGER NOT NULL,
	author VARCHAR NOT NULL,
	language VARCHAR NOT NULL,
	description VARCHAR NOT NULL,
	software VARCHAR NOT NULL,
	first_at FLOAT NOT NULL,
	last_at FLOAT NOT NULL
);
CREATE INDEX ladder_versions_of_owner ON ladder_versions (owner);
CREATE INDEX ladder_versions_of_bot ON ladder_versions (bot, id);
CREATE TABLE ladder_beliefs (
	board VARCHAR NOT NULL,
	finished BIGINT NOT NULL,
	beliefs BLOB NOT NULL,
	PRIMARY KEY (board)
);
CREATE TABLE profiles (
	tournament_id INTEGER NOT NULL,
	bot VARCHAR NOT NULL,
	author VARCHAR NOT NULL,
	version VARCHAR NOT NULL,
	language VARCHAR NOT NULL,
	description VARCHAR NOT NULL,
	software VARCHAR NOT NULL,
	PRIMARY KEY (tournament_id, bot),
	FOREIGN KEY(tournament_id) REFERENCES tournaments (id)
);
CREATE TABLE games (
	id INTEGER NOT NULL,
	tournament_id INTEGER,
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
CREATE INDEX games_of_deal ON games (deal_seed, tournament_id);
CREATE TABLE ladder_challenges (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	request_id VARCHAR,
	bot VARCHAR NOT NULL,
	board VARCHAR NOT NULL,
	kind VARCHAR NOT NULL,
	opponents JSON NOT NULL,
	accepted JSON NOT NULL,
	deals INTEGER NOT NULL,
	old_version_id INTEGER,
	state VARCHAR NOT NULL,
	created_at FLOAT NOT NULL,
	expires_at FLOAT NOT NULL,
	UNIQUE (request_id),
	FOREIGN KEY(old_version_id) REFERENCES ladder_versions (id)
);
CREATE INDEX ladder_challenges_in_state ON ladder_challenges (state, id);
CREATE INDEX ladder_challenges_of_bot ON ladder_challenges (bot, id);
CREATE TABLE acts (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	at FLOAT NOT NULL,
	organiser VARCHAR NOT NULL,
	kind VARCHAR NOT NULL,
	version_id INTEGER,
	text VARCHAR NOT NULL,
	deals BIGINT NOT NULL,
	FOREIGN KEY(version_id) REFERENCES ladder_versions (id)
);
CREATE TABLE ladder_scores (
	season_id INTEGER NOT NULL,
	board VARCHAR NOT NULL,
	version_id INTEGER NOT NULL,
	games BIGINT NOT NULL,
	firsts BIGINT NOT NULL,
	forfeits BIGINT NOT NULL,
	PRIMARY KEY (season_id, board, version_id),
	FOREIGN KEY(season_id) REFERENCES ladder_seasons (id),
	FOREIGN KEY(version_id) REFERENCES ladder_versions (id)
);
CREATE TABLE ladder_ratings (
	board VARCHAR NOT NULL,
	version_id INTEGER NOT NULL,
	at FLOAT NOT NULL,
	elo FLOAT NOT NULL,
	error FLOAT NOT NULL,
	deals INTEGER NOT NULL,
	PRIMARY KEY (board, version_id, at),
	FOREIGN KEY(version_id) REFERENCES ladder_versions (id)
);
CREATE TABLE records (
	game_id INTEGER NOT NULL,
	record BLOB NOT NULL,
	PRIMARY KEY (game_id),
	FOREIGN KEY(game_id) REFERENCES games (id)
);
CREATE TABLE ladder_deals (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	season_id INTEGER NOT NULL,
	board VARCHAR NOT NULL,
	kind VARCHAR NOT NULL,
	versions JSON NOT NULL,
	deal_seed VARCHAR NOT NULL,
	challenge_id INTEGER,
	started_at FLOAT NOT NULL,
	finished BIGINT,
	finished_at FLOAT,
	act_id INTEGER,
	luck VARCHAR,
	FOREIGN KEY(season_id) REFERENCES ladder_seasons (id),
	FOREIGN KEY(challenge_id) REFERENCES ladder_challenges (id),
	FOREIGN KEY(act_id) REFERENCES acts (id)
);
CREATE INDEX ladder_deals_in_order ON ladder_deals (finished);
CREATE INDEX ladder_deals_on_board ON ladder_deals (board, id);
CREATE INDEX ladder_deals_of_season ON ladder_deals (season_id, id);
CREATE INDEX ladder_deals_of_kind ON ladder_deals (kind, id);
CREATE INDEX ladder_deals_of_challenge ON ladder_deals (challenge_id, id) WHERE challenge_id IS NOT NULL;
CREATE TABLE ladder_games (
	game_id INTEGER NOT NULL,
	deal_id INTEGER NOT NULL,
	rotation INTEGER NOT NULL,
	PRIMARY KEY (game_id),
	CONSTRAINT ladder_games_once UNIQUE (deal_id, rotation),
	FOREIGN KEY(game_id) REFERENCES games (id),
	FOREIGN KEY(deal_id) REFERENCES ladder_deals (id)
);
CREATE TABLE ladder_seats (
	version_id INTEGER NOT NULL,
	deal_id INTEGER NOT NULL,
	bot VARCHAR NOT NULL,
	PRIMARY KEY (version_id, deal_id),
	FOREIGN KEY(version_id) REFERENCES ladder_versions (id),
	FOREIGN KEY(deal_id) REFERENCES ladder_deals (id)
);
CREATE INDEX ladder_seats_of_bot ON ladder_seats (bot, deal_id);
