package happycity

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
)

const firstDecision = "../conformance/first.decision"

// The file has the start of the game, the decision, and all that happened before.
func TestReadDecision(t *testing.T) {
	start, d, err := ReadDecision(firstDecision)
	if err != nil {
		t.Fatal(err)
	}
	if start.GetMatchId() != 22 || start.GetBots()[start.GetSeat()] != "mine" || start.GetSeed() != 1<<63 {
		t.Errorf("start %v", start)
	}
	if d.DecisionId != 32 || d.View.GetSeat() != 1 || len(d.Moves) != 6 || len(d.Events) < 32 || d.Clock.TimeLeftUs != nil {
		t.Errorf("decision %v", d.Decision)
	}
}

// A bot is made for the game, and asked there.
func TestAsk(t *testing.T) {
	fourth := func(start *GameStarted) Bot {
		return ChooseFunc(func(context.Context, *Decision) (int, error) { return int(start.GetSeat()) + 2, nil })
	}
	if move, err := Ask(t.Context(), fourth, firstDecision); err != nil || InfoOf(move.GetCard()).GetName() != "Spa" {
		t.Errorf("move %v, error %v", move, err)
	}
}

// A file of another kind and an illegal choice are errors, which say so.
func TestAskErrors(t *testing.T) {
	last := Stateless(func(_ context.Context, d *Decision) (int, error) { return len(d.Moves), nil })
	for path, expected := range map[string]string{
		firstDecision:                         "the bot chose move 6 of 6",
		"../conformance/catalogue.json":       "catalogue.json is not a decision as this writes it: happycity ask",
		filepath.Join(t.TempDir(), "nowhere"): "no such file",
	} {
		if _, err := Ask(t.Context(), last, path); err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("%s: error %v", path, err)
		}
	}
}
