package happycity

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// A player plays all games of one bot. They outlive the connection: it may be lost and resumed.
//
// Each decision is put to the bot once. If the server sends it again, after a lost connection, the answer comes from
// memory: asking twice would advance the bot's randomness.
type player struct {
	factory Factory
	log     *slog.Logger
	crashes *crashLog      // guarded by mu
	slots   chan struct{}  // filled by the calls of the author's code that are under way, at all servers
	calling sync.WaitGroup // the goroutines that call it
	ctx     context.Context
	stop    context.CancelFunc // ends all thinking

	mu       sync.Mutex
	seats    map[seatKey]*seat
	resigned map[seatKey]*happycityv1.Resign // until the match's end arrives
	out      *outbox                         // of the present connection; nil while there is none
	due      int                             // how many answers that connection's server waits for
	closed   bool
}

func newPlayer(factory Factory, log *slog.Logger, slots chan struct{}) *player {
	ctx, stop := context.WithCancel(context.Background())
	return &player{
		factory:  factory,
		log:      log,
		crashes:  newCrashLog(log),
		slots:    slots,
		ctx:      ctx,
		stop:     stop,
		seats:    map[seatKey]*seat{},
		resigned: map[seatKey]*happycityv1.Resign{},
	}
}

// matchIDs returns the matches that run as far as the bot knows.
func (p *player) matchIDs() []int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ids []int64
	for key := range p.seats {
		ids = append(ids, key.matchID)
	}
	for key := range p.resigned {
		ids = append(ids, key.matchID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// attach notes that a server welcomed the bot; the games go on only if it says so.
func (p *player) attach(out *outbox, resumed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out = out
	if resumed {
		for _, resign := range p.resigned {
			out.resign(resign)
		}
		return
	}
	clear(p.resigned)
	for _, s := range p.seats {
		p.void(s)
	}
}

// detach notes that the connection is lost: what was not sent is sent only if the server asks for it again.
func (p *player) detach() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out = nil
	p.due = 0
	for _, s := range p.seats {
		s.due = false
	}
}

// close ends all thinking, and logs how often the bot crashed; no bot gets a decision after that.
func (p *player) close() {
	p.mu.Lock()
	p.closed = true
	p.crashes.close()
	p.mu.Unlock()
	p.stop()
}

// wait returns when no code of the author runs, or after that time.
func (p *player) wait(atMost time.Duration) {
	done := make(chan struct{})
	go func() {
		p.calling.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(atMost):
	}
}

// handle handles a batch, in the order that the protocol demands. It never waits for a bot.
//
// No answer is sent before the whole batch is handled, so that quick bots don't have half of their answers sent on
// their own.
func (p *player) handle(batch *happycityv1.PlayResponse) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	for _, start := range batch.GetGamesStarted() {
		p.start(start)
	}
	for _, decision := range batch.GetDecisions() {
		p.decide(decision)
	}
	for _, over := range batch.GetGamesOver() {
		p.end(over)
	}
	p.flushIfDone()
}

// start begins a game in one seat, again if it runs already.
func (p *player) start(start *GameStarted) {
	key := seatKey{start.GetMatchId(), start.GetSeat()}
	if older := p.seats[key]; older != nil {
		p.void(older)
	}
	delete(p.resigned, key)
	s := &seat{key: key}
	p.seats[key] = s
	p.call(s, func() {
		bot, err := newBot(p.factory, start)
		s.bot = bot
		if err != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.crash(s, err)
		}
	})
}

// decide has a decision answered: by the bot, or from memory if the server sends it again.
func (p *player) decide(message *happycityv1.Decision) {
	key := seatKey{message.GetMatchId(), message.GetView().GetSeat()}
	s := p.seats[key]
	if s == nil {
		if p.resigned[key] == nil {
			p.log.Warn("a decision of an unknown game", "match", key.matchID, "seat", key.seat)
		}
		return
	}
	again := message.GetDecisionId() == s.asked
	switch {
	case message.GetDecisionId() < s.asked: // settled long ago
	case again && s.answer != nil:
		p.out.answer(s.answer)
	case again && s.cancel != nil:
		p.expect(s)
	default:
		p.ask(s, NewDecision(message))
	}
}

// end ends a match, in every seat that the bot has there.
func (p *player) end(over *happycityv1.GameOver) {
	id := over.GetMatchId()
	p.out.forget(id)
	maps.DeleteFunc(p.resigned, func(key seatKey, _ *happycityv1.Resign) bool { return key.matchID == id })
	for key, s := range p.seats {
		if key.matchID == id {
			logForfeit(p.log, s, over.GetResult())
			p.finish(s, over)
		}
	}
}

// void ends a game that the server no longer knows, or starts again.
func (p *player) void(s *seat) {
	p.finish(s, &happycityv1.GameOver{
		MatchId: s.key.matchID,
		End:     &happycityv1.GameOver_VoidReason{VoidReason: happycityv1.VoidReason_VOID_REASON_UNKNOWN},
	})
}

// finish ends a game in one seat, and calls its bot.
func (p *player) finish(s *seat, over *happycityv1.GameOver) {
	p.leave(s)
	p.call(s, func() {
		if err := announce(s.bot, over); err != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.crashes.add("the bot failed at the end of a game", s, err)
		}
	})
}

// crash gives up a game in which the bot failed, if it still runs; the bot's other games go on.
func (p *player) crash(s *seat, err error) {
	if p.seats[s.key] != s {
		return
	}
	p.crashes.add("the bot crashed, the game is given up", s, err)
	p.leave(s)
	resign := &happycityv1.Resign{
		MatchId: s.key.matchID, Seat: new(s.key.seat), Crashed: true, Reason: oneLine(err.Error()),
	}
	p.resigned[s.key] = resign
	if p.out != nil {
		p.out.resign(resign)
	}
}

func (p *player) leave(s *seat) {
	p.drop(s)
	delete(p.seats, s.key)
}
