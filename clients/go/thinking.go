package happycity

import (
	"context"
	"time"

	"github.com/happycity-arena/happycity-go/happycityv1"
)

// reasonLength is how many characters of a resignation's reason the server keeps.
const reasonLength = 200

// ask puts a decision to a bot. Whatever it still thinks about has been settled by the clock.
func (gs *games) ask(g *game, d *Decision) {
	gs.dropThought(g)
	ctx, cancel := withTimeLeft(gs.ctx, d.GetClock().GetTimeLeftMs())
	g.asked, g.state, g.cancel = d.GetDecisionId(), thinking, cancel
	gs.want(g)
	gs.do(g, func() { gs.think(ctx, g, d) })
}

// think is the chore of answering a decision. It is skipped if that is void or late before its turn comes.
func (gs *games) think(ctx context.Context, g *game, d *Decision) {
	if g.bot == nil {
		return
	}
	ctx, noted := WithNotes(ctx)
	move, err := uint32(0), ctx.Err()
	if err == nil {
		move, err = choose(ctx, g.bot, d)
	}
	outOfTime := err != nil && ctx.Err() != nil
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if gs.closed || g.over || g.asked != d.GetDecisionId() || g.state != thinking {
		return
	}
	switch {
	case err == nil:
		gs.settle(g, move, noted())
	case outOfTime:
		gs.dropThought(g)
		gs.log.Warn("no answer in time", "game", g.id, "decision", d.GetDecisionId())
		gs.flushIfDone()
	default:
		gs.giveUp(g, err)
	}
}

// settle keeps a bot's answer, and sends it if it is waited for.
func (gs *games) settle(g *game, move uint32, metrics map[string]float64) {
	g.cancel()
	g.state, g.move, g.metrics = answered, move, metrics
	if g.wanted {
		g.wanted = false
		gs.waiting--
		gs.out.answer(g.answer())
		gs.flushIfDone()
	}
}

// fail gives up a game whose bot could not be made.
func (gs *games) fail(g *game, err error) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if !g.over {
		gs.giveUp(g, err)
	}
}

// giveUp resigns a game in which the bot failed; its other games go on.
func (gs *games) giveUp(g *game, err error) {
	gs.log.Error("a game is resigned: the bot failed", "game", g.id, "error", err)
	gs.leave(g)
	reason := shortened(err.Error())
	gs.givenUp[g.id] = reason
	if gs.out != nil {
		gs.out.resign(g.id, reason)
	}
}

// dropThought makes void what the bot thinks about.
func (gs *games) dropThought(g *game) {
	if g.state == thinking {
		g.cancel()
		g.state = idle
	}
	if g.wanted {
		g.wanted = false
		gs.waiting--
	}
}

// want notes that the server waits for a bot's answer.
func (gs *games) want(g *game) {
	if !g.wanted {
		g.wanted = true
		gs.waiting++
	}
}

// flushIfDone sends the answers that have gathered, if no other is on its way.
func (gs *games) flushIfDone() {
	if gs.waiting == 0 && gs.out != nil {
		gs.out.flush()
	}
}

// do has a chore done for a game, after those it has already.
func (gs *games) do(g *game, chore func()) {
	g.chores = append(g.chores, chore)
	if !g.busy {
		g.busy = true
		gs.pool.submit(func() { gs.nextChore(g) })
	}
}

// nextChore does one chore; further ones queue up behind those of other games.
func (gs *games) nextChore(g *game) {
	gs.mu.Lock()
	chore := g.chores[0]
	g.chores = g.chores[1:]
	gs.mu.Unlock()
	chore()
	gs.mu.Lock()
	defer gs.mu.Unlock()
	g.busy = len(g.chores) > 0
	if g.busy {
		gs.pool.submit(func() { gs.nextChore(g) })
	}
}

// withTimeLeft returns a context that ends when a decision is late; 0 milliseconds mean no limit.
func withTimeLeft(ctx context.Context, milliseconds uint32) (context.Context, context.CancelFunc) {
	if milliseconds == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Duration(milliseconds)*time.Millisecond)
}

func (g *game) answer() *happycityv1.Answer {
	return &happycityv1.Answer{GameId: g.id, DecisionId: g.asked, Move: g.move, Metrics: g.metrics}
}

func shortened(reason string) string {
	characters := []rune(reason)
	return string(characters[:min(len(characters), reasonLength)])
}
