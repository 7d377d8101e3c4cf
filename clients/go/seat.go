package happycity

import (
	"context"
	"errors"
	"fmt"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// A seatKey is a seat of a match. A bot may fill several seats of one match.
type seatKey struct {
	matchID int64
	seat    uint32
}

// A seat is a bot in one seat of a match, and the state of the last decision that it was asked. All fields but the
// bot are guarded by the mutex of [player].
type seat struct {
	key seatKey
	bot Bot // made by the first call, and touched by calls only

	asked  uint32              // the last decision that the bot was asked, or 0
	round  uint32              // of the game at that decision
	answer *happycityv1.Answer // to that decision; nil while there is none
	cancel context.CancelFunc  // ends the bot's thinking; nil unless it thinks
	due    bool                // whether the present connection's server waits for the answer

	calls []func() // of the author's code, in their order; the first one is under way
}

// place returns where the game is, as far as the bot knows.
func (s *seat) place() []any { return place(s.key.matchID, s.round, s.asked) }

// newBot makes the bot of a seat. The factory is the author's code, so it may panic.
func newBot(factory Factory, start *GameStarted) (bot Bot, err error) {
	defer recovered(&err)
	bot = factory(start)
	if bot == nil {
		err = errors.New("the factory returned no bot")
	}
	return bot, err
}

// choose asks a bot, and checks that its choice is a legal move.
func choose(ctx context.Context, bot Bot, d *Decision) (move uint32, err error) {
	defer recovered(&err)
	position, err := bot.Choose(ctx, d)
	if err != nil {
		return 0, err
	}
	if position < 0 || position >= len(d.Moves) {
		return 0, fmt.Errorf("the bot chose move %d; the moves are 0 to %d", position, len(d.Moves)-1)
	}
	return uint32(position), nil
}

// announce calls a bot at the end of its game, if it listens.
func announce(bot Bot, over *happycityv1.GameOver) (err error) {
	defer recovered(&err)
	if result := over.GetResult(); result != nil {
		if listener, ok := bot.(GameOverListener); ok {
			listener.GameOver(&GameOver{MatchID: over.GetMatchId(), Seats: result.GetSeats()})
		}
	} else if listener, ok := bot.(GameVoidedListener); ok {
		listener.GameVoided(over.GetMatchId(), over.GetVoidReason())
	}
	return nil
}
