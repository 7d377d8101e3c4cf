package happycity

import (
	"context"

	"github.com/happycity-arena/happycity-go/happycityv1"
)

// The messages that a bot gets to see.
type (
	// Decision is a choice that waits for a bot. It tells everything, so a bot need not remember anything.
	Decision = happycityv1.Decision
	// GameStarted is what a bot is told before its first decision.
	GameStarted = happycityv1.GameStarted
	// GameOver tells how a game ended.
	GameOver = happycityv1.GameOver
	// VoidReason tells why a game was broken off. None of these is a bot's fault.
	VoidReason = happycityv1.VoidReason
	// View is the whole public state of a game.
	View = happycityv1.View
	// Move is a legal move of a decision.
	Move = happycityv1.Move
	// Event is one thing that happened in a game.
	Event = happycityv1.Event
	// Card is a card, by its number.
	Card = happycityv1.Card
	// CardInfo is a card's printed values.
	CardInfo = happycityv1.CardInfo
)

// A Bot plays one game.
type Bot interface {
	// Choose returns the position of the chosen move in d.Moves, counted from 0.
	//
	// An error, a panic or a position that doesn't exist resigns this game; the bot's other games go on.
	// ctx ends when the decision is late or void; an error after that resigns nothing. A bot that searches for
	// as long as it may has to stop earlier, since an answer takes time to arrive: see d.Clock.TimeLeftMs.
	// With ctx, [Note] sends numbers about the choice.
	//
	// The methods of one Bot are never called at the same time, those of different games are.
	Choose(ctx context.Context, d *Decision) (int, error)
}

// An OverListener is a [Bot] that wants to hear how its game ended. Nothing is asked of it after that.
type OverListener interface {
	GameOver(over *GameOver)
}

// A VoidListener is a [Bot] that wants to hear that its game was broken off and counts for nobody.
type VoidListener interface {
	GameVoided(reason VoidReason)
}

// A Factory makes the [Bot] of one game, when that starts. It may be called for several games at once.
type Factory func(start *GameStarted) Bot

// A ChooseFunc is a [Bot] without a memory.
type ChooseFunc func(ctx context.Context, d *Decision) (int, error)

// Choose calls f.
func (f ChooseFunc) Choose(ctx context.Context, d *Decision) (int, error) {
	return f(ctx, d)
}

// Stateless returns the [Factory] of a bot that is one function, which plays all games.
func Stateless(choose ChooseFunc) Factory {
	return func(*GameStarted) Bot { return choose }
}
