package happycity

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"os"
	"reflect"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// An engineCase is what the native engine does at a position; engine.jsonl has a line for each.
type engineCase struct {
	Position      string     `json:"position"`
	LegalMoves    []int      `json:"legal_moves"`
	Outcome       [][]int    `json:"outcome"`
	Score         [][]int    `json:"score"`
	QuickMove     *int       `json:"quick_move"`
	Playouts      *[]float64 `json:"playouts"`
	RandomPlayout [][]int    `json:"random_playout"`
	NextTurn      *string    `json:"next_turn"`
	Awaited       []Card     `json:"awaited"`
	Opened        string     `json:"opened"`
	Next          *string    `json:"next"`
	View          *string    `json:"view"`
	Discarded     []Card     `json:"discarded"`
	Fast          *uint8     `json:"fast"`
	Sample        *string    `json:"sample"`
	SampleKnown   *string    `json:"sample_known"`
}

func unlessRefused[T any](value T, err error) *T {
	if err != nil {
		return nil
	}
	return &value
}

func rowsOf(o *Outcome) [][]int {
	if o == nil || o.Ranks == nil {
		return nil
	}
	return [][]int{o.Points, o.Coins, o.Inhabitants, o.Hearts, o.Ranks}
}

func hexOf(p *Position) *string {
	if p == nil {
		return nil
	}
	return new(hex.EncodeToString(p.Bytes()))
}

func (expected *engineCase) played(t *testing.T) engineCase {
	t.Helper()
	content, _ := hex.DecodeString(expected.Position)
	p, err := PositionFromBytes(content)
	if err != nil {
		t.Fatal(err)
	}
	moves, awaited, next := p.LegalMoves(), p.Awaited(), p
	first := 0
	if len(moves) > 0 {
		first = moves[0]
	}
	if len(awaited) > 0 {
		err = next.Reveal(awaited[0])
	} else {
		err = next.Apply(first)
	}
	end, _ := p.Outcome()
	score, opened := p.Score(), p.Opened()
	actual := engineCase{
		Position: *hexOf(&p), LegalMoves: moves, Outcome: rowsOf(&end), Score: rowsOf(&score), Awaited: awaited,
		QuickMove: unlessRefused(p.QuickMove(5)), Playouts: unlessRefused(p.Playouts(moves, 5)),
		RandomPlayout: rowsOf(unlessRefused(p.RandomPlayout(7))), NextTurn: hexOf(unlessRefused(p.NextTurn(first))),
		Opened: *hexOf(&opened), Next: hexOf(unlessRefused(next, err)), View: expected.View, Discarded: expected.Discarded,
	}
	if expected.View == nil {
		return actual
	}
	var view happycityv1.View
	message, _ := hex.DecodeString(*expected.View)
	if err := proto.Unmarshal(message, &view); err != nil {
		t.Fatal(err)
	}
	unknown, err := NewWorlds(&view, nil)
	known, other := NewWorlds(&view, expected.Discarded)
	if err != nil || other != nil {
		t.Fatal(err, other)
	}
	actual.Fast = &unknown.Fast
	actual.Sample, actual.SampleKnown = hexOf(unlessRefused(unknown.Sample(7))), hexOf(unlessRefused(known.Sample(7)))
	return actual
}

// Every position is played on as by the native engine.
func TestEngine(t *testing.T) {
	path := os.Getenv("HAPPYCITY_ENGINE_CASES")
	if path == "" {
		path = "../conformance/engine.jsonl"
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cases, lines := 0, bufio.NewScanner(bytes.NewReader(content))
	for ; lines.Scan(); cases++ {
		var expected engineCase
		if err := json.Unmarshal(lines.Bytes(), &expected); err != nil {
			t.Fatal(err)
		}
		actual := expected.played(t)
		// Empty lists are equal to none.
		one, _ := json.Marshal(expected)
		other, _ := json.Marshal(actual)
		if !bytes.Equal(bytes.ReplaceAll(one, []byte("[]"), []byte("null")), bytes.ReplaceAll(other, []byte("[]"), []byte("null"))) {
			t.Fatalf("expected %s\nactual   %s", one, other)
		}
	}
	if cases < 100 {
		t.Errorf("only %d cases", cases)
	}
}

// Worlds of a decision have its moves and look like its view, in many goroutines at once.
func TestDecisionPosition(t *testing.T) {
	_, d, err := ReadDecision(firstDecision)
	if err != nil {
		t.Fatal(err)
	}
	worlds := make([]Position, 64)
	var all sync.WaitGroup
	for seed := range worlds {
		all.Go(func() { worlds[seed] = must(d.Position(uint64(seed / 2))) })
	}
	all.Wait()
	for seed, world := range worlds {
		legal := world.LegalMoves()
		if len(legal) != len(d.Moves) || world.Seat() != int(d.View.GetSeat()) || world.Phase() != d.View.GetPhase() {
			t.Errorf("%v of %v", legal, d.Moves)
		}
		if world.Round() != int(d.View.GetRound()) || reflect.DeepEqual(world, worlds[0]) != (seed < 2) {
			t.Errorf("world %d", seed)
		}
		if one := must(world.Playout(legal[1], 0)); one != must(world.Playouts(legal[1:2], 0))[0] {
			t.Errorf("playout %v", one)
		}
	}
}

// What is refused says why, and changes nothing.
func TestEngineRefusals(t *testing.T) {
	config := &happycityv1.GameConfig{
		Players: 4, Mode: happycityv1.Mode_MODE_EXPERT, Scoring: happycityv1.Scoring_SCORING_SUM,
	}
	p := must(Deal(config, math.MaxUint64))
	before := p
	for _, move := range []int{0, -1, 256 + p.LegalMoves()[0], 1<<32 + p.LegalMoves()[0]} {
		_, playout := p.Playout(move, 0)
		_, turn := p.NextTurn(move)
		if err := p.Apply(move); err != ErrIllegal || playout != ErrIllegal || turn != ErrIllegal {
			t.Errorf("move %d: %v, %v, %v", move, err, playout, turn)
		}
	}
	_, short := PositionFromBytes(p.Bytes()[1:])
	_, long := PositionFromBytes(make([]byte, 9999))
	_, players := Deal(&happycityv1.GameConfig{Players: 6}, 1)
	_, view := NewWorlds(&happycityv1.View{}, nil)
	errs := []error{short, long, players, view, p.Reveal(1)}
	for i, expected := range []error{ErrMalformed, ErrMalformed, ErrIllegal, ErrMalformed, ErrIllegal} {
		if !errors.Is(errs[i], expected) {
			t.Errorf("error %d: %v, not %v", i, errs[i], expected)
		}
	}
	if p != before {
		t.Error("it has changed")
	}
}
