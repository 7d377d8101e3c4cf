package happycity

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/happycity-arena/happycity-go/happycityv1"
)

// games are all games of one bot. They outlive the connection: it may be lost and taken up again.
//
// Each decision is put to the bot once. If the server sends it again, after a lost connection, the answer
// comes from memory: asking twice would advance the bot's randomness.
type games struct {
	factory Factory
	log     *slog.Logger
	pool    *pool
	ctx     context.Context // ends all thinking
	stop    context.CancelFunc

	mu      sync.Mutex
	running map[uint64]*game
	givenUp map[uint64]string // by game, why; until its end is heard
	out     *outbox           // of the present connection; nil while there is none
	waiting int               // how many answers that connection's server waits for
	closed  bool
}

func newGames(factory Factory, log *slog.Logger, thinkers int) *games {
	ctx, stop := context.WithCancel(context.Background())
	return &games{
		factory: factory,
		log:     log,
		pool:    &pool{limit: thinkers},
		ctx:     ctx,
		stop:    stop,
		running: map[uint64]*game{},
		givenUp: map[uint64]string{},
	}
}

// known returns the games that run as far as the bot knows.
func (gs *games) known() []uint64 {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	return slices.Concat(slices.Sorted(maps.Keys(gs.running)), slices.Sorted(maps.Keys(gs.givenUp)))
}

// attach notes that a server took the bot in; the games go on only if it says so.
func (gs *games) attach(out *outbox, resumed bool) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	gs.out = out
	if resumed {
		for id, reason := range gs.givenUp {
			out.resign(id, reason)
		}
		return
	}
	clear(gs.givenUp)
	for _, g := range gs.running {
		gs.void(g)
	}
}

// detach notes that the connection is lost: what was not sent is sent only if it is asked for again.
func (gs *games) detach() {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	gs.out = nil
	gs.waiting = 0
	for _, g := range gs.running {
		g.wanted = false
	}
}

// close ends all thinking; nothing is asked of any bot after it.
func (gs *games) close() {
	gs.mu.Lock()
	gs.closed = true
	gs.mu.Unlock()
	gs.stop()
}

// wait returns when all bots are done with what they were asked, or after that time.
func (gs *games) wait(atMost time.Duration) {
	gs.pool.wait(atMost)
}

// handle deals with a batch, in the order that the protocol demands. It never waits for a bot.
//
// No answer gets between the decisions of a batch, so that the bots can't be done with half of it and have
// that sent on its own.
func (gs *games) handle(batch *happycityv1.PlayResponse) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if gs.closed {
		return
	}
	for _, start := range batch.GetGamesStarted() {
		gs.start(start)
	}
	for _, decision := range batch.GetDecisions() {
		gs.decide(decision)
	}
	for _, over := range batch.GetGamesOver() {
		gs.end(over)
	}
	gs.flushIfDone()
}

// start begins a game, anew if it runs already.
func (gs *games) start(start *GameStarted) {
	id := start.GetGameId()
	if older := gs.running[id]; older != nil {
		gs.void(older)
	}
	delete(gs.givenUp, id)
	g := &game{id: id}
	gs.running[id] = g
	gs.do(g, func() {
		bot, err := newBot(gs.factory, start)
		if err != nil {
			gs.fail(g, err)
		}
		g.bot = bot
	})
}

// decide has a decision answered: by the bot, or from memory if the server sends it again.
func (gs *games) decide(d *Decision) {
	g := gs.running[d.GetGameId()]
	if g == nil {
		if _, resigned := gs.givenUp[d.GetGameId()]; !resigned {
			gs.log.Warn("a decision, but no such game", "game", d.GetGameId())
		}
		return
	}
	again := d.GetDecisionId() == g.asked
	switch {
	case d.GetDecisionId() < g.asked: // settled long ago
	case again && g.state == answered:
		gs.out.answer(g.answer())
	case again && g.state == thinking:
		gs.want(g)
	default:
		gs.ask(g, d)
	}
}

// end notes that a game is over, and tells its bot.
func (gs *games) end(over *GameOver) {
	id := over.GetGameId()
	if gs.out != nil {
		gs.out.forget(id)
	}
	delete(gs.givenUp, id)
	if g := gs.running[id]; g != nil {
		gs.part(g, over)
	}
}

// void ends a game that the server doesn't know any more, or begins anew.
func (gs *games) void(g *game) {
	gs.part(g, &GameOver{GameId: g.id, VoidReason: happycityv1.VoidReason_VOID_REASON_UNKNOWN})
}

// part takes a game from those that run, and tells its bot how it ended.
func (gs *games) part(g *game, over *GameOver) {
	gs.leave(g)
	gs.do(g, func() {
		if g.bot == nil {
			return
		}
		if err := hear(g.bot, over); err != nil {
			gs.log.Error("the bot failed at the end of a game", "game", g.id, "error", err)
		}
	})
}

func (gs *games) leave(g *game) {
	gs.dropThought(g)
	g.over = true
	delete(gs.running, g.id)
}
