package happycity

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// A Decision is a choice that waits for a bot: the protocol's message, which carries everything, so a bot need not
// remember anything. To try a bot without a server, make one of any message.
//
// View is the whole public state, and View.Seat the bot's own seat. Moves are the legal moves, two or more, of which
// the first is the neutral one; Events are what happened since this seat's last decision.
type Decision struct {
	*happycityv1.Decision

	mu    sync.Mutex
	notes map[string]float64 // nil until the first note: most bots make none

	worlds *Worlds // nil until the first position
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

// timeToThink returns a context that ends when the answer to a decision is late.
func timeToThink(parent context.Context, clock *happycityv1.Clock) (context.Context, context.CancelFunc) {
	if clock == nil || clock.TimeLeftUs == nil {
		return context.WithCancel(parent)
	}
	const years = 1 << 50 // microseconds, as many as a Duration can be
	return context.WithTimeout(parent, time.Duration(min(*clock.TimeLeftUs, years))*time.Microsecond)
}
