package happycity

import (
	"context"
	"maps"
	"math"
	"sync"
	"testing"

	"github.com/happycity-arena/happycity-go/happycityv1"
)

// told returns the metrics of the bot's next message, which holds one answer.
func (d *dialogue) told() map[string]float64 {
	d.t.Helper()
	answers := d.next().GetAnswers()
	if len(answers) != 1 {
		d.t.Fatalf("answers: %v", answers)
	}
	return answers[0].GetMetrics()
}

// What a bot notes goes with the answer to that decision alone, and the last number of a name counts.
func TestNote(t *testing.T) {
	p := newPeer(t)
	p.play(Stateless(func(ctx context.Context, d *Decision) (int, error) {
		if d.GetDecisionId() == 1 {
			Note(ctx, "depth", 1)
			Note(ctx, "nodes", 12)
			Note(ctx, "depth", 2)
		}
		return 0, nil
	}), Settings{})
	d, _ := p.welcome(&happycityv1.Welcome{})
	d.start(1)
	d.ask(decision(1, 1))
	if told := d.told(); !maps.Equal(told, map[string]float64{"depth": 2, "nodes": 12}) {
		t.Errorf("told %v", told)
	}
	d.ask(decision(1, 2))
	if told := d.told(); len(told) > 0 {
		t.Errorf("told of the second decision: %v", told)
	}
}

// An answer that is sent again tells the same, whatever has been noted since.
func TestNoteAgain(t *testing.T) {
	p := newPeer(t)
	contexts := make(chan context.Context, 10)
	p.play(Stateless(func(ctx context.Context, d *Decision) (int, error) {
		Note(ctx, "depth", 3)
		contexts <- ctx
		return 0, nil
	}), Settings{})
	d, _ := p.welcome(&happycityv1.Welcome{ResumeToken: "one"})
	d.start(1)
	d.ask(decision(1, 1))
	if told := d.told(); !maps.Equal(told, map[string]float64{"depth": 3}) {
		t.Errorf("told %v", told)
	}
	Note(within(t, contexts, "question"), "depth", 4)
	d.cut()
	d, _ = p.welcome(&happycityv1.Welcome{ResumeToken: "one", Resumed: true})
	d.ask(decision(1, 1))
	if told := d.told(); !maps.Equal(told, map[string]float64{"depth": 3}) {
		t.Errorf("told again: %v", told)
	}
	if len(contexts) > 0 {
		t.Error("the bot was asked twice")
	}
}

// A bot may note nonsense: it is for the server to drop it, and the connection and the game go on.
func TestNoteNonsense(t *testing.T) {
	p := newPeer(t)
	p.play(Stateless(func(ctx context.Context, d *Decision) (int, error) {
		Note(ctx, "", 1)
		Note(ctx, "\xff", 2)
		Note(ctx, "lost", math.NaN())
		return 0, nil
	}), Settings{})
	d, _ := p.welcome(&happycityv1.Welcome{})
	d.start(1)
	d.ask(decision(1, 1))
	told := d.told()
	if len(told) != 3 || told[""] != 1 || told["\uFFFD"] != 2 || !math.IsNaN(told["lost"]) {
		t.Errorf("told %v", told)
	}
	d.ask(decision(1, 2))
	d.told()
}

// A search may note from all its goroutines, which may go on when Choose has returned.
func TestNoteAtOnce(t *testing.T) {
	ctx, noted := WithNotes(t.Context())
	if told := noted(); told != nil {
		t.Errorf("noted %v", told)
	}
	var searches sync.WaitGroup
	for range 4 {
		searches.Go(func() {
			for nodes := range 100 {
				Note(ctx, "nodes", float64(nodes))
				noted()["nodes"] = -1 // a copy
			}
		})
	}
	searches.Wait()
	if told := noted(); !maps.Equal(told, map[string]float64{"nodes": 99}) {
		t.Errorf("noted %v", told)
	}
}

// With any other context nothing is noted, and nothing fails.
func TestNoteNowhere(t *testing.T) {
	Note(t.Context(), "depth", 3)
}
