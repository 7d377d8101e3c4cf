package happycity

import (
	"context"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// Messages of the protocol that a bot gets or gives as they are. The package happycityv1 explains their fields, and has
// those inside them.
type (
	GameStarted = happycityv1.GameStarted
	GameOver    = happycityv1.GameOver
	VoidReason  = happycityv1.VoidReason
	Card        = happycityv1.Card
	CardInfo    = happycityv1.CardInfo
	BotInfo     = happycityv1.BotInfo
)

// A Bot plays one seat of one match.
type Bot interface {
	// Choose returns the position of the chosen move in d.Moves, from 0.
	//
	// An error, a panic or a position that doesn't exist is a crash: the SDK gives up this game, and the bot's other
	// games go on. ctx ends when the decision is late or void; an error after that does not count as a crash. A bot that searches
	// for as long as it may has to stop before the deadline of ctx, since its answer takes time to arrive.
	//
	// The methods of one Bot are never called at the same time, those of different games are.
	Choose(ctx context.Context, d *Decision) (int, error)
}

// A GameOverListener is a [Bot] that is called with the result when its game is over. It is the last call.
type GameOverListener interface {
	GameOver(over *GameOver)
}

// A GameVoidedListener is a [Bot] that is called when its match was voided and does not count. It is the last call.
type GameVoidedListener interface {
	GameVoided(matchID int64, reason VoidReason)
}

// A Factory makes the [Bot] of one seat, when the game starts. It may be called for several games at once.
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
