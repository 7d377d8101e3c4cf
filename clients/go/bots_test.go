package happycity

import (
	"context"
	"sync/atomic"
)

// A question is a decision that waits for a thinker.
type question struct {
	ctx    context.Context
	d      *Decision
	answer chan int
}

// A thinker is a bot whose answers come from the test. It ignores its ctx.
type thinker struct {
	asked chan question
}

func newThinker() *thinker {
	return &thinker{asked: make(chan question, 100)}
}

func (b *thinker) Choose(ctx context.Context, d *Decision) (int, error) {
	q := question{ctx: ctx, d: d, answer: make(chan int, 1)}
	b.asked <- q
	return <-q.answer, nil
}

// always returns the factory of a bot that all games share.
func always(bot Bot) Factory {
	return func(*GameStarted) Bot { return bot }
}

// counting answers with how often it was asked before, 0 to 2.
func counting() Factory {
	return func(*GameStarted) Bot {
		var asked atomic.Int64
		return ChooseFunc(func(context.Context, *Decision) (int, error) {
			return int(asked.Add(1)-1) % 3, nil
		})
	}
}

// A listener reports how its games ended.
type listener struct {
	ChooseFunc
	overs chan *GameOver
	voids chan voided
}

// A voided is a call of GameVoided.
type voided struct {
	matchID int64
	reason  VoidReason
}

func newListener(choose ChooseFunc) *listener {
	return &listener{ChooseFunc: choose, overs: make(chan *GameOver, 10), voids: make(chan voided, 10)}
}

func (b *listener) GameOver(over *GameOver) { b.overs <- over }
func (b *listener) GameVoided(matchID int64, reason VoidReason) {
	b.voids <- voided{matchID, reason}
}

func first(context.Context, *Decision) (int, error) { return 0, nil }
