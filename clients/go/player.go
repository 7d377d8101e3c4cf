package happycity

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// lastCallTime is how long bots may take to return when there is nothing left to play.
const lastCallTime = time.Second

// A player plays all games of one bot. They outlive the connection: it may be lost and resumed.
//
// Each decision is put to the bot once. If the server sends it again, after a lost connection, the reply comes from
// memory: asking twice would advance the bot's randomness.
type player struct {
	factory Factory
	slots   chan struct{}  // filled by the calls of the author's code that are under way
	playing sync.WaitGroup // the goroutines of the seats
	ctx     context.Context
	stop    context.CancelFunc // ends all thinking

	mu    sync.Mutex
	seats map[seatKey]*seat
	due   int // the number of decisions that bots have to answer
}

// A seatKey is a seat of a match. A bot may fill several seats of one match.
type seatKey struct {
	match int64
	seat  uint32
}

// A seat is a bot in one seat of a match, the last decision that it was asked, and its reply. The mutex of [player]
// guards the fields.
type seat struct {
	key       seatKey
	decisions chan *Decision        // holds the one that the bot has not begun to think about, if any; closed at the end
	over      *happycityv1.GameOver // nil until the game is over

	out        *outbox                  // of the connection that asked last: what is too late for it waits for another one
	asked      *Decision                // the last one
	reply      *happycityv1.PlayRequest // to it; nil while the bot thinks
	hasCrashed bool                     // the reply is a resign from then on
}

func newPlayer(factory Factory, thinkers int) *player {
	ctx, stop := context.WithCancel(context.Background())
	slots := make(chan struct{}, thinkers)
	return &player{factory: factory, slots: slots, ctx: ctx, stop: stop, seats: map[seatKey]*seat{}}
}

// close ends all games, and waits a while for the author's code to return.
func (p *player) close() {
	p.stop()
	for _, s := range p.seats {
		close(s.decisions)
	}
	done := make(chan struct{})
	go func() {
		p.playing.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(lastCallTime):
	}
}

// handle handles a batch whose answers go to an outbox. It returns what breaks the protocol, if anything does.
//
// It never waits for a bot, and no answer is sent before the whole batch is handled.
func (p *player) handle(batch *happycityv1.PlayResponse, out *outbox) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key := range p.seats {
		if batch.Welcome != nil && !slices.Contains(batch.Welcome.MatchIds, key.match) { // the server has forgotten it
			void := &happycityv1.GameOver_VoidReason{VoidReason: happycityv1.VoidReason_VOID_REASON_UNKNOWN}
			p.end(&happycityv1.GameOver{MatchId: key.match, End: void})
		}
	}
	for _, start := range batch.GetGamesStarted() {
		p.start(start, out)
	}
	for _, decision := range batch.GetDecisions() {
		if decision.View == nil || len(decision.Moves) == 0 {
			return "a decision has no view or no moves"
		}
		p.decide(decision, out)
	}
	for _, over := range batch.GetGamesOver() {
		p.end(over)
	}
	return ""
}

// start begins a game in one seat, unless it is being played.
func (p *player) start(start *GameStarted, out *outbox) {
	key := seatKey{start.GetMatchId(), start.GetSeat()}
	if p.seats[key] == nil {
		s := &seat{key: key, decisions: make(chan *Decision, 1), out: out, asked: &Decision{cancel: func() {}}}
		p.seats[key] = s
		p.playing.Go(func() { p.play(s, start) })
	}
}

// decide has a decision answered: by the bot, or from memory if the server sends it again.
func (p *player) decide(message *happycityv1.Decision, out *outbox) {
	s, id := p.seats[seatKey{message.GetMatchId(), message.View.GetSeat()}], message.GetDecisionId()
	if s == nil {
		slog.Warn(place(message.GetMatchId(), 0, 0, "a decision of an unknown game"))
		return
	}
	if id < s.asked.DecisionID { // settled long ago
		return
	}
	isNewConnection := s.out != out
	s.out = out
	switch {
	case !s.hasCrashed && id > s.asked.DecisionID:
		s.asked.cancel() // the clock has settled what it still thinks about
		select {
		case <-s.decisions:
			p.due--
		default:
		}
		s.asked, s.reply = NewDecision(message), nil
		s.asked.start(p.ctx)
		s.decisions <- s.asked
		p.due++
	case s.reply != nil && (isNewConnection || !s.hasCrashed):
		out.add(s.reply, false)
	}
}

// end ends a match, in every seat that the bot has there.
func (p *player) end(over *happycityv1.GameOver) {
	for key, s := range p.seats {
		if key.match != over.GetMatchId() {
			continue
		}
		delete(p.seats, key)
		if !s.hasCrashed {
			s.logForfeit(over.GetResult().GetSeats())
		}
		s.over = over
		s.asked.cancel()
		close(s.decisions)
	}
}

// play makes the calls of the author's code for a seat, from the start of its game to its end.
func (p *player) play(s *seat, start *GameStarted) {
	p.slots <- struct{}{}
	defer func() { <-p.slots }()
	var bot Bot
	err := recovered(func() error {
		if bot = p.factory(start); bot == nil {
			return errors.New("the factory returned no bot")
		}
		return nil
	})
	if err != nil {
		p.crash(s, err)
	}
	for {
		<-p.slots // another bot may think meanwhile
		d, more := <-s.decisions
		p.slots <- struct{}{}
		if !more {
			break
		}
		p.choose(s, bot, d)
	}
	if s.over == nil || s.hasCrashed {
		return
	}
	if err := recovered(func() error { return tell(bot, s.over) }); err != nil {
		slog.Error(s.place("the bot crashed at the end of its game: " + err.Error()))
	}
}

// choose asks a bot, and sends its reply if the decision still counts.
func (p *player) choose(s *seat, bot Bot, d *Decision) {
	defer d.cancel()
	var position int
	err := recovered(func() (err error) {
		if err = d.ctx.Err(); err == nil {
			position, err = bot.Choose(d.ctx, d)
		}
		if err == nil && (position < 0 || position >= len(d.Moves)) {
			err = fmt.Errorf("the bot chose move %d; the moves are 0 to %d", position, len(d.Moves)-1)
		}
		return err
	})
	if err != nil && d.ctx.Err() == nil {
		p.crash(s, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.due--
	if err == nil && s.asked == d && s.over == nil {
		answer := &happycityv1.Answer{
			MatchId: s.key.match, DecisionId: d.DecisionID, Move: uint32(position), Metrics: d.Notes(),
		}
		s.reply = &happycityv1.PlayRequest{Answers: []*happycityv1.Answer{answer}}
		s.out.add(s.reply, p.due == 0)
	}
}

// crash gives up a game in which the bot failed; the bot's other games go on.
func (p *player) crash(s *seat, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	slog.Error(s.place("the bot crashed, the game is given up: " + err.Error()))
	reason, _, _ := strings.Cut(err.Error(), "\n")
	resign := &happycityv1.Resign{
		MatchId: s.key.match, Seat: &s.key.seat, Crashed: true, Reason: new(oneLine(reason)),
	}
	s.reply, s.hasCrashed = &happycityv1.PlayRequest{Resigns: []*happycityv1.Resign{resign}}, true
	s.asked.cancel()
	if s.over == nil {
		s.out.add(s.reply, true)
	}
}

// recovered calls the author's code, and turns a panic into an error with the stack.
func recovered(code func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v\n%s", value, debug.Stack())
		}
	}()
	return code()
}

// tell calls a bot at the end of its game, if it listens.
func tell(bot Bot, over *happycityv1.GameOver) error {
	if result := over.GetResult(); result != nil {
		if listener, ok := bot.(GameOverListener); ok {
			listener.GameOver(&GameOver{MatchID: over.GetMatchId(), Seats: result.GetSeats()})
		}
	} else if listener, ok := bot.(GameVoidedListener); ok {
		listener.GameVoided(over.GetMatchId(), over.GetVoidReason())
	}
	return nil
}

// logForfeit logs that the server gave the seat up, if it did.
func (s *seat) logForfeit(results []*SeatResult) {
	if int(s.key.seat) >= len(results) || results[s.key.seat].GetEnding() <= happycityv1.Ending_ENDING_FINISHED {
		return
	}
	own := results[s.key.seat]
	text := "the seat was forfeited: " + strings.ToLower(strings.TrimPrefix(own.GetEnding().String(), "ENDING_"))
	if own.GetReason() != "" {
		text += ": " + oneLine(own.GetReason())
	}
	slog.Warn(s.place(text))
}

// place puts before a text where the game is, as far as the bot knows.
func (s *seat) place(text string) string {
	return place(s.key.match, s.asked.View.GetRound(), s.asked.DecisionID, text)
}

// place puts before a text where in a game something happened, without what is 0.
func place(match int64, round, decision uint32, text string) string {
	if match == 0 {
		return text
	}
	where := fmt.Sprintf("match %d, round %d, decision %d: ", match, round, decision)
	return strings.NewReplacer(", round 0", "", ", decision 0", "").Replace(where) + text
}
