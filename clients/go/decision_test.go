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

// The context of a decision ends with its time; what is absent is absent, which differs from 0.
func TestTimeToThink(t *testing.T) {
	late, _ := timeToThink(t.Context(), &happycityv1.Clock{TimeLeftUs: new(uint64(0))})
	<-late.Done()
	patient, cancel := timeToThink(t.Context(), &happycityv1.Clock{TimeLeftUs: new(uint64(math.MaxUint64))})
	defer cancel()
	if deadline, _ := patient.Deadline(); time.Until(deadline) < 200_000*time.Hour {
		t.Errorf("the deadline %v", deadline)
	}
	for _, clock := range []*happycityv1.Clock{nil, {}} {
		unlimited, cancel := timeToThink(t.Context(), clock)
		if _, isLimited := unlimited.Deadline(); isLimited {
			t.Error("a deadline without a limit")
		}
		cancel()
		<-unlimited.Done()
	}
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
