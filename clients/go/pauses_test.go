package happycity

import (
	"slices"
	"testing"
	"time"
)

type pausesCase struct {
	Name      string
	Reconnect int
	Share     float64
	Streams   []struct{ Messages, Delay int }
	Pauses    []*int
}

// The pauses are those of all SDKs, in milliseconds; streams take no time.
func TestPauses(t *testing.T) {
	for _, c := range readCases[pausesCase](t, "pauses.jsonl") {
		const givenUp = -1
		now, found, expected := time.Now(), []int{}, []int{}
		p := &pauses{reconnect: time.Duration(c.Reconnect) * time.Millisecond}
		for i, stream := range c.Streams {
			delay := time.Duration(stream.Delay) * time.Millisecond
			pause, isLeft := p.next(now, stream.Messages, delay, c.Share)
			now = now.Add(pause)
			milliseconds := int(pause.Milliseconds())
			if !isLeft {
				milliseconds = givenUp
			}
			found = append(found, milliseconds)
			if c.Pauses[i] == nil {
				c.Pauses[i] = new(givenUp)
			}
			expected = append(expected, *c.Pauses[i])
		}
		if !slices.Equal(found, expected) {
			t.Errorf("%s: %v, and not %v", c.Name, found, expected)
		}
	}
}
