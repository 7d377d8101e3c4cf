package happycity

import (
	"maps"
	"math"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// A decision has the times of its clock; what is absent is absent, which differs from 0.
func TestClock(t *testing.T) {
	d := NewDecision(&happycityv1.Decision{Clock: &happycityv1.Clock{
		TimeLeftUs: new(uint64(1500)), BankLeftUs: new(uint64(0)), LastThinkUs: new(uint64(math.MaxUint64)),
	}})
	if d.TimeLeft == nil || *d.TimeLeft != 1500*time.Microsecond || d.BankLeft == nil || *d.BankLeft != 0 {
		t.Errorf("time left: %v, bank left: %v", d.TimeLeft, d.BankLeft)
	}
	if d.LastThink == nil || *d.LastThink < 200_000*time.Hour || d.RoundTrip != nil {
		t.Errorf("last think: %v, round trip: %v", d.LastThink, d.RoundTrip)
	}
	if NewDecision(&happycityv1.Decision{}).TimeLeft != nil {
		t.Error("a limit without a clock")
	}
}

// The context of a decision ends with its time.
func TestTimeLeft(t *testing.T) {
	limited := NewDecision(&happycityv1.Decision{Clock: &happycityv1.Clock{TimeLeftUs: new(uint64(1))}})
	limited.start(t.Context())
	<-limited.ctx.Done()
	unlimited := NewDecision(&happycityv1.Decision{})
	unlimited.start(t.Context())
	if _, isLimited := unlimited.ctx.Deadline(); isLimited {
		t.Error("a deadline without a limit")
	}
	unlimited.cancel()
	<-unlimited.ctx.Done()
}

// A search may note from all its goroutines, which may go on when Choose has returned.
func TestNotes(t *testing.T) {
	d := &Decision{}
	if notes := d.Notes(); notes != nil {
		t.Errorf("notes %v", notes)
	}
	var searches sync.WaitGroup
	for range 4 {
		searches.Go(func() {
			for nodes := range 100 {
				d.Note("nodes", float64(nodes))
				d.Notes()["nodes"] = -1 // a copy
			}
		})
	}
	searches.Wait()
	if notes := d.Notes(); !maps.Equal(notes, map[string]float64{"nodes": 99}) {
		t.Errorf("notes %v", notes)
	}
}

// Names of notes that are not text don't keep the answer from being encoded.
func TestNoteNonsense(t *testing.T) {
	d := &Decision{}
	d.Note("", 1)
	d.Note("\xff", math.NaN())
	bytes, err := proto.Marshal(&happycityv1.Answer{Metrics: d.Notes()})
	var answer happycityv1.Answer
	if err != nil || proto.Unmarshal(bytes, &answer) != nil {
		t.Fatal(err)
	}
	if metrics := answer.GetMetrics(); len(metrics) != 2 || metrics[""] != 1 || !math.IsNaN(metrics["\uFFFD"]) {
		t.Errorf("metrics %v", metrics)
	}
}
