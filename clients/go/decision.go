package happycity

import (
	"context"
	"maps"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// A Decision is a choice that waits for a bot. It carries everything, so a bot need not remember anything.
type Decision struct {
	// MatchID is the match of the decision.
	MatchID int64
	// DecisionID counts the decisions of the match, all seats together, from 1.
	DecisionID uint32
	// Seat is the bot's own seat.
	Seat uint32
	// View is the whole public state.
	View *View
	// Moves are the legal moves, two or more. The first is the neutral one. The coins of a move are by how much it
	// changes the own coins: negative for a purchase.
	Moves []*Move
	// Events are what happened since this seat's last decision.
	Events []*Event
	// TimeLeft is how long the bot had to decide when the decision was sent; nil: there is no limit.
	TimeLeft *time.Duration
	// BankLeft is what is left in the seat's bank for this game; nil: there is no bank.
	BankLeft *time.Duration
	// LastThink is how long the seat's last decision took on the server's clock; nil before the first one.
	LastThink *time.Duration
	// RoundTrip is the last measured round trip, a part of the think time; nil before the first one.
	RoundTrip *time.Duration

	ctx    context.Context // ends when the decision is late or void
	cancel context.CancelFunc

	mu    sync.Mutex
	notes map[string]float64 // nil until the first note: most bots make none
}

// NewDecision reads the protocol's message. [Play] does it; this is for trying a bot without a server.
func NewDecision(message *happycityv1.Decision) *Decision {
	d := &Decision{
		MatchID:    message.GetMatchId(),
		DecisionID: message.GetDecisionId(),
		Seat:       message.GetView().GetSeat(),
		View:       message.GetView(),
		Moves:      message.GetMoves(),
		Events:     message.GetEvents(),
	}
	if clock := message.GetClock(); clock != nil {
		d.TimeLeft, d.BankLeft = duration(clock.TimeLeftUs), duration(clock.BankLeftUs)
		d.LastThink, d.RoundTrip = duration(clock.LastThinkUs), duration(clock.RoundTripUs)
	}
	return d
}

func duration(microseconds *uint64) *time.Duration {
	if microseconds == nil {
		return nil
	}
	const longest = math.MaxInt64 / uint64(time.Microsecond)
	return new(time.Duration(min(*microseconds, longest)) * time.Microsecond)
}

// start starts the clock of the decision.
func (d *Decision) start(parent context.Context) {
	if d.TimeLeft == nil {
		d.ctx, d.cancel = context.WithCancel(parent)
	} else {
		d.ctx, d.cancel = context.WithTimeout(parent, *d.TimeLeft)
	}
}

// Note sends a number about the choice with it, such as "depth" or "nodes", for records and reports. It doesn't
// affect the game.
//
// A later number replaces an earlier one of the same name; notes after Choose has returned are not sent. Many
// goroutines may note at once.
//
// The server keeps at most 16 numbers of a choice, finite ones, with names of 1 to 32 letters, digits or any of
// . _ + - and drops others with a notice; the choice counts all the same.
func (d *Decision) Note(name string, number float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.notes == nil {
		d.notes = map[string]float64{}
	}
	// A name that is not UTF-8 can't be encoded, and the whole message would be lost with it.
	d.notes[strings.ToValidUTF8(name, "\uFFFD")] = number
}

// Notes returns a copy of what the bot has noted about its choice; nil if that is nothing.
func (d *Decision) Notes() map[string]float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.notes)
}
