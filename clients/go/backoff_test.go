package happycity

import "testing"

// Pauses are random, and their bound doubles from 0.1 s to 5 s.
func TestBackoff(t *testing.T) {
	var b backoff
	bound := firstPause
	for range 20 {
		if pause := b.next(); pause < 0 || pause >= bound {
			t.Errorf("a pause of %v, below %v", pause, bound)
		}
		bound = min(2*bound, longestPause)
	}
	b.reset()
	if pause := b.next(); pause >= firstPause {
		t.Errorf("a pause of %v after a reset", pause)
	}
}
