package happycity

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"

	"github.com/happycity-arena/happycity-go/happycityv1"
)

const (
	// ProtocolVersion is the version of the protocol that this package speaks.
	ProtocolVersion = 1
	// Version is this package's.
	Version = "0.1.0"
)

// Bots that still think when there is nothing left to play have so long to return.
const lastThoughts = time.Second

// Play plays all games that the server offers, until it parts for good; then it returns nil.
//
// A connection that is lost is made again, and the games go on. When ctx ends, Play says goodbye to the server
// and returns nil.
//
// The error is a [*SettingError] if a setting makes no sense, and a [*ConnectionError] if there is no server,
// if it refuses the bot, or if it didn't come back.
func Play(ctx context.Context, factory Factory, settings Settings) error {
	settings, err := settings.FromEnvironment()
	if err != nil {
		return err
	}
	creds, err := settings.credentials()
	if err != nil {
		return err
	}
	games := newGames(factory, settings.Logger.With("bot", settings.Name), settings.Thinkers)
	defer games.wait(lastThoughts)
	defer games.close()
	s := &session{settings: &settings, credentials: creds, games: games}
	return s.run(ctx)
}

// A session is one connection after the other, until one of them ends for good.
type session struct {
	settings    *Settings
	credentials credentials.TransportCredentials
	games       *games
	backoff     backoff
	token       string    // to resume with
	deadline    time.Time // when the search for a server ends
	shutDown    bool      // whether the server that spoke last said that it shuts down
	searching   bool      // whether it was logged that the server is gone
}

func (s *session) run(ctx context.Context) error {
	s.deadline = time.Now().Add(s.settings.Wait)
	for {
		ending := s.connect(ctx)
		switch {
		case ctx.Err() != nil:
			s.settings.Logger.Info("stopped", "bot", s.settings.Name)
			return nil
		case ending.code == codes.OK:
			return nil
		case !ending.passing():
			return ending.refused(s.settings)
		}
		pause := max(s.backoff.next(), ending.retryAfter)
		if !time.Now().Add(pause).Before(s.deadline) {
			return s.giveUp(ending)
		}
		s.tellSearch(ending)
		sleep(ctx, pause)
	}
}

// connect plays on one connection, and tells how that ended.
func (s *session) connect(ctx context.Context) parting {
	c := &connection{settings: s.settings, credentials: s.credentials, games: s.games, out: newOutbox()}
	ending := c.run(ctx, s.hello())
	if c.welcome != nil {
		s.token = c.welcome.GetResumeToken()
		s.deadline = time.Now().Add(s.settings.Reconnect)
		s.searching = false
	}
	if c.heard > 1 { // a server that only welcomes and drops bots is not to be hammered
		s.backoff.reset()
	}
	if c.welcome != nil || ending.reason != "" {
		s.shutDown = ending.reason == "SHUTTING_DOWN"
	}
	return ending
}

func (s *session) hello() *happycityv1.Hello {
	hello := &happycityv1.Hello{
		Name:            s.settings.Name,
		ProtocolVersion: ProtocolVersion,
		MaxGames:        uint32(max(s.settings.Games, 0)),
		Software:        "happycity-go/" + Version,
		ResumeToken:     s.token,
	}
	if s.token != "" {
		hello.Games = s.games.known()
	}
	return hello
}

func (s *session) tellSearch(ending parting) {
	if !s.searching {
		s.searching = true
		s.settings.Logger.Warn("no connection; trying again", "bot", s.settings.Name, "error", ending.text)
	}
}

// giveUp ends the search for a server. It is no error if that parted in good order.
func (s *session) giveUp(ending parting) error {
	if s.shutDown {
		s.settings.Logger.Info("the server has shut down", "bot", s.settings.Name)
		return nil
	}
	return ending.lost(s.settings)
}

func sleep(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
