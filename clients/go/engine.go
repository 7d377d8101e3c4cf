package happycity

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"google.golang.org/protobuf/proto"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

//go:embed happycity_engine.wasm
var engineWasm []byte

// Why the engine refuses something. Nothing has changed then.
var (
	ErrMalformed  = errors.New("not the bytes of a position or view")
	ErrImpossible = errors.New("no game can look like this")
	ErrIllegal    = errors.New("the move is not legal here, the card is not awaited, or a number is out of range")
	ErrAwaiting   = errors.New("a card is awaited; reveal it first")
)

// An Outcome is how a game ended, each by seat. Rank 1 is first, and equal seats share a rank.
type Outcome struct {
	Points, Coins, Inhabitants, Hearts, Ranks []int
}

// A Position is a game at a decision, or at its end: a model of the game for searches, with the same rules as the
// arena's. Moves are their numbers, in the order of the Moves of a [Decision].
//
// It is a value: assignment copies it. The zero value is not a position, and panics. Many goroutines may use one at
// once, as long as none changes it by Apply or Reveal.
type Position struct {
	size  uint64
	bytes [256]byte
}

// An engine is an instance of the WebAssembly, for one goroutine at a time.
type engine struct {
	module        api.Module
	functions     map[string]api.Function
	stack         [8]uint64
	at, list, out uint64 // where its memory has room for a position or view, for a list, and for output
}

const viewSize, listSize = 3072, 512 // bytes at most

// An engineRoom starts engines, as many as are in use at once, and keeps some that are idle.
type engineRoom struct {
	runtime wazero.Runtime
	code    wazero.CompiledModule
	idle    chan *engine
}

// engines compiles the engine when it is first used, which takes a moment.
var engines = sync.OnceValue(func() engineRoom {
	room := engineRoom{wazero.NewRuntime(context.Background()), nil, make(chan *engine, runtime.GOMAXPROCS(0))}
	room.code = must(room.runtime.CompileModule(context.Background(), engineWasm))
	return room
})

// borrow returns an engine, and what gives it back.
func (r engineRoom) borrow() (*engine, func()) {
	var e *engine
	select {
	case e = <-r.idle:
	default:
		module := must(r.runtime.InstantiateModule(context.Background(), r.code, wazero.NewModuleConfig().WithName("")))
		e = &engine{module: module, functions: map[string]api.Function{}}
		e.at = uint64(must(e.call("buffer")))
		e.list, e.out = e.at+viewSize, e.at+viewSize+listSize
	}
	return e, func() {
		select {
		case r.idle <- e:
		default:
			_ = e.module.Close(context.Background())
		}
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic("happycity: engine: " + err.Error())
	}
	return value
}

// call calls a function of happycity_engine.h.
func (e *engine) call(name string, numbers ...uint64) (int, error) {
	function := e.functions[name]
	if function == nil {
		function = e.module.ExportedFunction("happycity_" + name)
		e.functions[name] = function
	}
	copy(e.stack[:], numbers)
	if err := function.CallWithStack(context.Background(), e.stack[:]); err != nil {
		return 0, err
	}
	result := int(int32(e.stack[0]))
	if result < 0 {
		return 0, []error{ErrMalformed, ErrImpossible, ErrIllegal, ErrAwaiting}[-1-result]
	}
	return result, nil
}

// u32 returns a move or a card as the engine takes it; one that is too large is one that there isn't.
func u32(number int) uint64 { return min(uint64(number), math.MaxUint32) }

// write writes moves or cards to the engine's memory.
func (e *engine) write(numbers []int) error {
	list, _ := e.module.Memory().Read(uint32(e.list), listSize)
	for place, number := range numbers {
		if place >= len(list) || number != int(uint8(number)) {
			return ErrIllegal
		}
		list[place] = byte(number)
	}
	return nil
}

// output returns what a function wrote, until the next call.
func (e *engine) output(size int) []byte {
	written, _ := e.module.Memory().Read(uint32(e.out), uint32(size))
	return written
}

func (e *engine) position(size int, err error) (p Position, _ error) {
	if err == nil {
		p.size = uint64(copy(p.bytes[:], e.output(size)))
	}
	return p, err
}

// outcome reads rows of an end with this number of players.
func (e *engine) outcome(players int, err error) (o Outcome, _ error) {
	numbers := e.output(20 * players)
	for _, row := range []*[]int{&o.Points, &o.Coins, &o.Inhabitants, &o.Hearts, &o.Ranks} {
		for range players {
			*row = append(*row, int(int32(binary.LittleEndian.Uint32(numbers))))
			numbers = numbers[4:]
		}
	}
	return o, err
}

// ask calls a function with a position and some numbers, and has read make something of the result and the output.
func ask[T any](p *Position, name string, read func(*engine, int, error) (T, error), numbers ...uint64) (T, error) {
	e, done := engines().borrow()
	defer done()
	e.module.Memory().Write(uint32(e.at), p.bytes[:p.size])
	result, err := e.call(name, append(append([]uint64{e.at, p.size}, numbers...), e.out)...)
	return read(e, result, err)
}

func (e *engine) number(result int, err error) (int, error) { return result, err }

// numbers reads moves or cards.
func (e *engine) numbers(count int, err error) (numbers []int, _ error) {
	for _, number := range e.output(count) {
		numbers = append(numbers, int(number))
	}
	return numbers, err
}

// Deal starts a game on the deal that the arena shuffles from a seed.
func Deal(config *happycityv1.GameConfig, seed uint64) (Position, error) {
	e, done := engines().borrow()
	defer done()
	expert, sum := uint64(config.GetMode())-1, uint64(config.GetScoring())-1
	return e.position(e.call("deal", uint64(config.GetPlayers()), expert, sum, seed, e.out))
}

// PositionFromBytes returns the position that [Position.Bytes] wrote.
func PositionFromBytes(content []byte) (p Position, err error) {
	if len(content) > len(p.bytes) {
		return p, ErrMalformed
	}
	p.size = uint64(copy(p.bytes[:], content))
	_, err = ask(&p, "legal_moves", (*engine).number)
	return p, err
}

// Bytes returns the position, to be read again.
func (p *Position) Bytes() []byte { return slices.Clone(p.bytes[:p.size]) }

// Round returns the current round, 1 to 30; 0 in the market draft.
func (p *Position) Round() int { return int(p.bytes[3]) }

// Seat returns whose decision it is.
func (p *Position) Seat() int { return int(p.bytes[4]) }

// Phase returns the step that waits.
func (p *Position) Phase() happycityv1.Phase { return happycityv1.Phase(p.bytes[5]) }

// LegalMoves returns the moves in the order of a decision's; none at the end, and while a card is awaited.
func (p *Position) LegalMoves() []int { return must(ask(p, "legal_moves", (*engine).numbers)) }

// Outcome returns how the game ended, once it is over.
func (p *Position) Outcome() (o Outcome, over bool) {
	o = must(ask(p, "outcome", (*engine).outcome))
	return o, o.Ranks != nil
}

// Score returns how the game would end if it ended now.
func (p *Position) Score() Outcome { return must(ask(p, "score", (*engine).outcome)) }

// Apply plays a legal move, then every forced one up to the next decision.
func (p *Position) Apply(move int) error { return p.become("apply", move) }

// Reveal lets the awaited card be this one, and plays on.
func (p *Position) Reveal(card Card) error { return p.become("reveal", int(card)) }

func (p *Position) become(name string, number int) error {
	next, err := ask(p, name, (*engine).position, u32(number))
	if err == nil {
		*p = next
	}
	return err
}

// Opened returns the same position without hidden orders: at each draw it awaits a card.
func (p *Position) Opened() Position { return must(ask(p, "opened", (*engine).position)) }

// Awaited returns the cards of which an open position awaits one, each as likely as the others.
func (p *Position) Awaited() (cards []Card) {
	for _, card := range must(ask(p, "awaited", (*engine).numbers)) {
		cards = append(cards, Card(card))
	}
	return cards
}

// QuickMove returns the choice of the quick policy; bit n of fast is set for a seat n that always buys.
func (p *Position) QuickMove(fast uint8) (int, error) {
	return ask(p, "quick_move", (*engine).number, uint64(fast))
}

// Playout returns how the seat does, -1 to 1, that plays a move, after which all play by the quick policy.
func (p *Position) Playout(move int, fast uint8) (float64, error) {
	values, err := p.Playouts([]int{move}, fast)
	if err != nil {
		return 0, err
	}
	return values[0], nil
}

// Playouts returns the playouts of some moves, which costs less than to ask for each.
func (p *Position) Playouts(moves []int, fast uint8) (values []float64, _ error) {
	e, done := engines().borrow()
	defer done()
	if err := e.write(moves); err != nil {
		return nil, err
	}
	e.module.Memory().Write(uint32(e.at), p.bytes[:p.size])
	count, err := e.call("playouts", e.at, p.size, e.list, uint64(len(moves)), uint64(fast), e.out)
	for place := range count {
		values = append(values, math.Float64frombits(binary.LittleEndian.Uint64(e.output(8 * count)[8*place:])))
	}
	return values, err
}

// NextTurn returns the position before the seat's next turn, after a move and quick ones of all, or the end.
func (p *Position) NextTurn(move int) (Position, error) {
	return ask(p, "next_turn", (*engine).position, u32(move))
}

// RandomPlayout returns how the game ends when all play at random.
func (p *Position) RandomPlayout(seed uint64) (Outcome, error) {
	return ask(p, "random_playout", (*engine).outcome, seed)
}

// Worlds samples positions that look like a view: what is hidden is drawn at random.
type Worlds struct {
	view []byte
	// Fast has the rivals that have bought a card in every turn so far: bit n is set for seat n.
	Fast uint8
}

// NewWorlds prepares to sample.
func NewWorlds(view *happycityv1.View) (*Worlds, error) {
	w := &Worlds{}
	var err error
	if w.view, err = proto.Marshal(view); err != nil || len(w.view) > viewSize {
		return nil, ErrMalformed
	}
	e, done := engines().borrow()
	defer done()
	e.module.Memory().Write(uint32(e.at), w.view)
	fast, err := e.call("fast", e.at, uint64(len(w.view)))
	w.Fast = uint8(fast)
	return w, err
}

// Sample draws a world.
func (w *Worlds) Sample(seed uint64) (p Position, err error) {
	e, done := engines().borrow()
	defer done()
	e.module.Memory().Write(uint32(e.at), w.view)
	return e.position(e.call("sample", e.at, uint64(len(w.view)), seed, e.out))
}

// Position samples a world for a search: a position that looks like the view, whose hidden cards are drawn from the
// seed. Its legal moves have the order of d.Moves.
func (d *Decision) Position(seed uint64) (Position, error) {
	w, err := d.Worlds()
	if err != nil {
		return Position{}, err
	}
	return w.Sample(seed)
}

// Worlds returns what samples the worlds of [Decision.Position].
func (d *Decision) Worlds() (w *Worlds, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.worlds == nil {
		d.worlds, err = NewWorlds(d.View)
	}
	return d.worlds, err
}
