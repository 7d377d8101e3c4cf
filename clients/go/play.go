package happycity

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// Version is this package's.
const Version = "0.1.0"

// Bots that still think when there is nothing left to play have so long to return.
const lastCallTime = time.Second

// Play plays all games that the server offers, until the server ends the session for good; then it returns nil.
//
// A connection that is lost is made again, and the games go on. When ctx ends, Play says goodbye to the server and
// returns nil. A bot that plays any number of games at once also plays at the workers of the server.
//
// The error is a [*SettingError] if a setting can't be used, and a [*ConnectionError] if there is no server, if it
// refuses the bot, or if it didn't come back.
func Play(ctx context.Context, factory Factory, settings Settings) error {
	settings, err := settings.FromEnvironment()
	if err != nil {
		return err
	}
	slots := make(chan struct{}, settings.Thinkers)
	workers := newWorkerStreams(ctx, &settings, func(ctx context.Context, settings *Settings) error {
		return playSession(ctx, factory, settings, slots, func(*happycityv1.Welcome) {})
	})
	defer workers.close()
	err = playSession(ctx, factory, &settings, slots, func(welcome *happycityv1.Welcome) {
		workers.follow(welcome.GetWorkerAddresses())
	})
	if err == nil && ctx.Err() != nil {
		settings.Logger.Info("stopped", "bot", settings.Name)
	}
	return err
}

// playSession plays on one server, with games of its own. The slots are those of [player].
func playSession(
	ctx context.Context, factory Factory, settings *Settings, slots chan struct{}, onWelcome func(*happycityv1.Welcome),
) error {
	player := newPlayer(factory, settings.Logger.With("bot", settings.Name), slots)
	defer player.wait(lastCallTime)
	defer player.close()
	s := &session{settings: settings, player: player, onWelcome: onWelcome}
	return s.run(ctx)
}

// A session is one connection after the other, until one of them ends for good.
type session struct {
	settings  *Settings
	player    *player
	onWelcome func(*happycityv1.Welcome) // called with each welcome
	backoff   backoff
	token     string    // to resume with
	deadline  time.Time // when the search for a server ends
	shutDown  bool      // whether the server that spoke last said that it shuts down
	searching bool      // whether it was logged that the server is gone
}

func (s *session) run(ctx context.Context) error {
	s.deadline = time.Now().Add(s.settings.Wait)
	for {
		status, err := s.connect(ctx)
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil, status.code == codes.OK:
			return nil
		case !status.retryable():
			return status.refused(s.settings)
		}
		pause := max(s.backoff.next(), status.retryAfter)
		if !time.Now().Add(pause).Before(s.deadline) {
			return s.giveUp(status)
		}
		s.logSearch(status)
		sleep(ctx, pause)
	}
}

// connect plays on one connection, and returns how that ended.
func (s *session) connect(ctx context.Context) (streamStatus, error) {
	c := &connection{settings: s.settings, player: s.player, out: newOutbox(), onWelcome: s.onWelcome}
	status, err := c.run(ctx, s.hello())
	if c.welcome != nil {
		s.token = c.welcome.GetResumeToken()
		s.deadline = time.Now().Add(s.settings.Reconnect)
		s.searching = false
	}
	if c.messages > 1 { // a server that only welcomes and drops bots is not to be hammered
		s.backoff.reset()
	}
	if c.welcome != nil || status.reason != "" {
		s.shutDown = status.reason == "SHUTTING_DOWN"
	}
	return status, err
}

func (s *session) hello() *happycityv1.Hello {
	hello := &happycityv1.Hello{
		Name:        s.settings.Name,
		Software:    "happycity-go/" + Version,
		ResumeToken: s.token,
		Info:        s.settings.Info,
	}
	if s.settings.Games != Unlimited {
		hello.MaxGames = new(uint32(s.settings.Games))
	}
	if s.token != "" {
		hello.MatchIds = s.player.matchIDs()
	}
	return hello
}

func (s *session) logSearch(status streamStatus) {
	if !s.searching {
		s.searching = true
		s.settings.Logger.Warn(status.text+"; trying again", "bot", s.settings.Name)
	}
}

// giveUp ends the search for a server. It is no error if the server said that it shuts down.
func (s *session) giveUp(status streamStatus) error {
	if s.shutDown {
		s.settings.Logger.Info("the server has shut down", "bot", s.settings.Name)
		return nil
	}
	return status.lost(s.settings)
}

func sleep(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
