package happycity

import (
	"context"
	"maps"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// metrics returns the metrics of the bot's next message, which holds one answer.
func (d *dialogue) metrics() map[string]float64 {
	d.t.Helper()
	answers := d.next().GetAnswers()
	if len(answers) != 1 {
		d.t.Fatalf("answers: %v", answers)
	}
	return answers[0].GetMetrics()
}

// A decision has the times of its clock; what is absent is absent, which differs from 0.
func TestClock(t *testing.T) {
	message := decision(1, 1)
	message.Clock = &happycityv1.Clock{TimeLeftUs: new(uint64(1500)), BankLeftUs: new(uint64(0)), LastThinkUs: new(uint64(math.MaxUint64))}
	d := NewDecision(message)
	if d.TimeLeft == nil || *d.TimeLeft != 1500*time.Microsecond || d.BankLeft == nil || *d.BankLeft != 0 {
		t.Errorf("time left: %v, bank left: %v", d.TimeLeft, d.BankLeft)
	}
	if d.LastThink == nil || *d.LastThink < 200_000*time.Hour || d.RoundTrip != nil {
		t.Errorf("last think: %v, round trip: %v", d.LastThink, d.RoundTrip)
	}
	if NewDecision(decision(1, 1)).TimeLeft != nil {
		t.Error("a limit without a clock")
	}
}

// What a bot notes goes with the answer to that decision alone, and the last number of a name counts.
func TestNote(t *testing.T) {
	p := newPeer(t)
	p.play(Stateless(func(_ context.Context, d *Decision) (int, error) {
		if d.DecisionID == 1 {
			d.Note("depth", 1)
			d.Note("nodes", 12)
			d.Note("depth", 2)
		}
		return 0, nil
	}), Settings{})
	d, _ := p.welcome(&happycityv1.Welcome{})
	d.start(1)
	d.ask(decision(1, 1))
	if metrics := d.metrics(); !maps.Equal(metrics, map[string]float64{"depth": 2, "nodes": 12}) {
		t.Errorf("metrics %v", metrics)
	}
	d.ask(decision(1, 2))
	if metrics := d.metrics(); len(metrics) > 0 {
		t.Errorf("metrics of the second decision: %v", metrics)
	}
}

// An answer that is sent again has the same metrics, whatever the bot notes later.
func TestNoteAgain(t *testing.T) {
	p := newPeer(t)
	decisions := make(chan *Decision, 10)
	p.play(Stateless(func(_ context.Context, d *Decision) (int, error) {
		d.Note("depth", 3)
		decisions <- d
		return 0, nil
	}), Settings{})
	d, _ := p.welcome(&happycityv1.Welcome{ResumeToken: "one"})
	d.start(1)
	d.ask(decision(1, 1))
	if metrics := d.metrics(); !maps.Equal(metrics, map[string]float64{"depth": 3}) {
		t.Errorf("metrics %v", metrics)
	}
	within(t, decisions, "question").Note("depth", 4)
	d.cut()
	d, _ = p.welcome(&happycityv1.Welcome{ResumeToken: "one", Resumed: true})
	d.ask(decision(1, 1))
	if metrics := d.metrics(); !maps.Equal(metrics, map[string]float64{"depth": 3}) {
		t.Errorf("metrics the second time: %v", metrics)
	}
	if len(decisions) > 0 {
		t.Error("the bot was asked twice")
	}
}

// A bot may note nonsense: the server drops it, and the connection and the game go on.
func TestNoteNonsense(t *testing.T) {
	p := newPeer(t)
	p.play(Stateless(func(_ context.Context, d *Decision) (int, error) {
		d.Note("", 1)
		d.Note("\xff", 2)
		d.Note("lost", math.NaN())
		return 0, nil
	}), Settings{})
	d, _ := p.welcome(&happycityv1.Welcome{})
	d.start(1)
	d.ask(decision(1, 1))
	metrics := d.metrics()
	if len(metrics) != 3 || metrics[""] != 1 || metrics["\uFFFD"] != 2 || !math.IsNaN(metrics["lost"]) {
		t.Errorf("metrics %v", metrics)
	}
	d.ask(decision(1, 2))
	d.metrics()
}

// A search may note from all its goroutines, which may go on when Choose has returned.
func TestNoteAtOnce(t *testing.T) {
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
