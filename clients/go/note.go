package happycity

import (
	"context"
	"maps"
	"strings"
	"sync"
)

// Note sends a number about the choice along with it, such as "depth" or "nodes", for records and reports. It
// doesn't affect the game.
//
// ctx is what [Bot.Choose] was given, or derived from that; with any other, nothing is noted. A later number
// replaces an earlier one of the same name; what is noted after Choose has returned is not sent. Many goroutines may
// note at once.
//
// The server keeps at most 16 numbers of a choice, finite ones, with names of 1 to 32 letters, digits or any of
// . _ + - and drops others with a notice; the choice counts all the same.
func Note(ctx context.Context, name string, number float64) {
	if n, ok := ctx.Value(notesKey{}).(*notes); ok {
		n.add(name, number)
	}
}

// WithNotes returns a context for [Note], and a function that returns a copy of what has been noted with it, nil if
// that is nothing. Choose is given such a context; others are for trying a bot without a server.
func WithNotes(ctx context.Context) (context.Context, func() map[string]float64) {
	n := &notes{}
	return context.WithValue(ctx, notesKey{}, n), n.copy
}

// notesKey is where a context has its notes.
type notesKey struct{}

// notes are what a bot has noted about one choice.
type notes struct {
	mu   sync.Mutex
	told map[string]float64 // made by the first note: most bots make none
}

func (n *notes) add(name string, number float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.told == nil {
		n.told = map[string]float64{}
	}
	// A name that is no UTF-8 can't be encoded; the whole message would be lost with it, and the connection.
	n.told[strings.ToValidUTF8(name, "\uFFFD")] = number
}

func (n *notes) copy() map[string]float64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.told)
}
