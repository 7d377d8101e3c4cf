package happycity

import "time"

const (
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
)

// A pauses is how long a bot waits before it connects again: they double until its server plays again.
type pauses struct {
	reconnect time.Duration
	bound     time.Duration
	lostAt    time.Time // when the last stream ended that the server had welcomed; 0 before it
}

// next returns the pause after a stream that brought some messages, and false if the server is to be given up. The delay
// is what the server asks for at least. Chance takes a share of the pause, from 0 to 1: it spreads the bots of a server
// that was restarted.
func (p *pauses) next(now time.Time, messages int, delay time.Duration, share float64) (time.Duration, bool) {
	if messages > 0 {
		p.lostAt = now
	}
	if messages > 1 || p.bound == 0 { // a server that only welcomes and drops bots is not to be hammered
		p.bound = firstPause
	}
	left := p.reconnect - now.Sub(p.lostAt)
	if left <= delay {
		return 0, false
	}
	pause := max(delay, min(left, time.Duration(share*float64(p.bound))))
	p.bound = min(2*p.bound, longestPause)
	return pause, true
}
