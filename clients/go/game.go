package happycity

import (
	"context"
	"fmt"
	"runtime/debug"
)

// A game is a bot at one table, and what is known of the decision that it was asked last. All fields but the
// bot are guarded by the mutex of [games].
type game struct {
	id   uint64
	bot  Bot // made by the first chore, and touched by chores only
	over bool

	asked   uint32 // the decision that the bot was asked last, or 0
	state   state
	move    uint32             // the answer, once there is one
	metrics map[string]float64 // what the bot noted about it; never changed, as it may be about to be sent
	wanted  bool               // whether the present connection's server waits for that answer
	cancel  context.CancelFunc // makes the decision void

	chores []func() // what the bot is to do next
	busy   bool     // whether it does something
}

// A state is how far a bot is with the decision that it was asked last.
type state int

const (
	idle     state = iota // it was asked nothing, or has no answer though its time is up
	thinking              // it was asked
	answered              // it answered
)

// newBot makes the bot of a game. It is the author's code, so it may panic.
func newBot(factory Factory, start *GameStarted) (bot Bot, err error) {
	defer recovered(&err)
	bot = factory(start)
	if bot == nil {
		err = fmt.Errorf("the factory returned no bot")
	}
	return bot, err
}

// choose asks a bot, and holds its answer to the moves there are.
func choose(ctx context.Context, bot Bot, d *Decision) (move uint32, err error) {
	defer recovered(&err)
	position, err := bot.Choose(ctx, d)
	if err != nil {
		return 0, err
	}
	if position < 0 || position >= len(d.GetMoves()) {
		return 0, fmt.Errorf("the bot chose move %d, but they are 0 to %d", position, len(d.GetMoves())-1)
	}
	return uint32(position), nil
}

// hear tells a bot how its game ended, if it wants to know.
func hear(bot Bot, over *GameOver) (err error) {
	defer recovered(&err)
	if over.GetResult() != nil {
		if listener, ok := bot.(OverListener); ok {
			listener.GameOver(over)
		}
	} else if listener, ok := bot.(VoidListener); ok {
		listener.GameVoided(over.GetVoidReason())
	}
	return nil
}

// recovered turns a panic of the author's code into an error that says where.
func recovered(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("the bot panicked: %v\n%s", cause, debug.Stack())
	}
}
