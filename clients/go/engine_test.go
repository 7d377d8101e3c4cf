package happycity

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// An engineCase is what the native engine does at a position, as tools/engine/engine_cases.py describes it.
type engineCase struct {
	Position      string     `json:"position"`
	Seed          uint64     `json:"seed,string"`
	Fast          uint8      `json:"fast"`
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
	FastBuilders  *uint8     `json:"fast_builders"`
	Sample        *string    `json:"sample"`
	Deal          []int      `json:"deal"`
	DealSeed      *uint64    `json:"deal_seed,string"`
	Moves         []int      `json:"moves"`
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

func base64Of(p *Position) *string {
	if p == nil {
		return nil
	}
	return new(base64.StdEncoding.EncodeToString(p.Bytes()))
}

func (expected *engineCase) played(t *testing.T) engineCase {
	t.Helper()
	content, _ := base64.StdEncoding.DecodeString(expected.Position)
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
	seed, fast := expected.Seed, expected.Fast
	actual := engineCase{
		Position: *base64Of(&p), Seed: seed, Fast: fast, LegalMoves: moves, Outcome: rowsOf(&end), Score: rowsOf(&score),
		Awaited: awaited, QuickMove: unlessRefused(p.QuickMove(fast)), Playouts: unlessRefused(p.Playouts(moves, fast)),
		RandomPlayout: rowsOf(unlessRefused(p.RandomPlayout(seed))), NextTurn: base64Of(unlessRefused(p.NextTurn(first))),
		Opened: *base64Of(&opened), Next: base64Of(unlessRefused(next, err)), View: expected.View,
		Deal: expected.Deal, DealSeed: expected.DealSeed, Moves: expected.Moves,
	}
	if expected.View == nil {
		return actual
	}
	var view happycityv1.View
	message, _ := base64.StdEncoding.DecodeString(*expected.View)
	if err := proto.Unmarshal(message, &view); err != nil {
		t.Fatal(err)
	}
	worlds, err := NewWorlds(&view)
	if err != nil {
		t.Fatal(err)
	}
	actual.FastBuilders = &worlds.Fast
	actual.Sample = base64Of(unlessRefused(worlds.Sample(seed)))
	return actual
}

// dealt returns the position that the moves of a case lead to from its deal.
func (expected *engineCase) dealt(t *testing.T) Position {
	t.Helper()
	config := &happycityv1.GameConfig{
		Players: uint32(expected.Deal[0]), Mode: happycityv1.Mode_MODE_FAMILY + happycityv1.Mode(expected.Deal[1]),
		Scoring: happycityv1.Scoring_SCORING_PRODUCT + happycityv1.Scoring(expected.Deal[2]),
	}
	p := must(Deal(config, *expected.DealSeed))
	for _, move := range expected.Moves {
		if err := p.Apply(move); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// Every position is reached and played on as by the native engine.
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
		if expected.Deal != nil {
			if dealt := expected.dealt(t); *base64Of(&dealt) != expected.Position {
				t.Fatalf("the moves do not lead to %s", expected.Position)
			}
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

// What `python -m tools sdk-speed` measures: the playouts or calls, and the number of times, that it names.
func TestEngineSpeed(t *testing.T) {
	what, number, given := strings.Cut(os.Getenv("HAPPYCITY_ENGINE_SPEED"), " ")
	if !given {
		t.Skip("it is for python -m tools sdk-speed")
	}
	_, d, err := ReadDecision(firstDecision)
	if err != nil {
		t.Fatal(err)
	}
	world := must(d.Position(1))
	moves := world.LegalMoves()
	for range must(strconv.Atoi(number)) {
		if next := world; what == "playouts" {
			must(next.Playouts(moves, 0))
		} else if err := next.Apply(moves[0]); err != nil {
			t.Fatal(err)
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
	_, view := NewWorlds(&happycityv1.View{})
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
