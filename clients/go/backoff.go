package happycity

import (
	"math/rand/v2"
	"time"
)

const (
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
)

// A backoff is how long to wait between two attempts to connect: a random share of a bound that doubles with every
// attempt. The randomness spreads the bots of a server that was restarted.
type backoff struct {
	bound time.Duration
}

func (b *backoff) next() time.Duration {
	bound := max(b.bound, firstPause)
	b.bound = min(2*bound, longestPause)
	return rand.N(bound)
}

// reset returns to the first bound, after a connection that made progress.
func (b *backoff) reset() {
	b.bound = 0
}
