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

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// A player plays all games of one bot. They outlive the connection: it may be lost and resumed.
//
// Each decision is put to the bot once. If the server sends it again, after a lost connection, the reply comes from
// memory: asking twice would advance the bot's randomness.
type player struct {
	ctx     context.Context // ends all thinking
	factory Factory
	slots   chan struct{}  // filled by the calls of the author's code that are under way: one for each thinker
	calls   sync.WaitGroup // those, and the calls that wait for their turn

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
// guards all fields but the bot.
type seat struct {
	key   seatKey
	bot   Bot           // for calls of the author's code, of which the first makes it
	calls chan struct{} // closed when the last call has returned

	out        *outbox                  // of the connection that asked last: what is too late for it waits for another one
	asked      *happycityv1.Decision    // the last one; nil before the first one
	cancel     context.CancelFunc       // ends the time to think about it
	reply      *happycityv1.PlayRequest // to it; nil while the bot thinks
	hasCrashed bool                     // the reply is a resign from then on
}

// wait waits a while for the author's code to return.
func (p *player) wait() {
	returned, done := context.WithTimeout(context.Background(), endTime)
	go func() {
		p.calls.Wait()
		done()
	}()
	<-returned.Done()
}

// handle handles a batch whose answers go to an outbox.
//
// It never waits for a bot, and no answer is sent before the whole batch is handled.
func (p *player) handle(batch *happycityv1.PlayResponse, out *outbox) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key := range p.seats {
		if batch.Welcome != nil && !slices.Contains(batch.Welcome.MatchIds, key.match) { // the server has forgotten it
			void := &happycityv1.MatchOutcome_VoidReason{VoidReason: happycityv1.VoidReason_VOID_REASON_UNKNOWN}
			p.end(&GameOver{MatchId: key.match, Outcome: &happycityv1.MatchOutcome{End: void}})
		}
	}
	for _, start := range batch.GetGamesStarted() {
		p.start(start, out)
	}
	for _, decision := range batch.GetDecisions() {
		p.decide(decision, out)
	}
	for _, over := range batch.GetGamesOver() {
		p.end(over)
	}
}

// start begins a game in one seat, unless it is being played.
func (p *player) start(start *GameStarted, out *outbox) {
	key := seatKey{start.GetMatchId(), start.GetSeat()}
	if p.seats[key] != nil {
		return
	}
	s := &seat{key: key, calls: make(chan struct{}), out: out, cancel: func() {}}
	close(s.calls)
	p.seats[key] = s
	p.call(p.ctx, s, nil, func() (int, error) {
		if s.bot = p.factory(start); s.bot == nil {
			return 0, errors.New("the factory returned no bot")
		}
		return 0, nil
	})
}

// decide has a decision answered: by the bot, or from memory if the server sends it again.
func (p *player) decide(message *happycityv1.Decision, out *outbox) {
	s := p.seats[seatKey{message.GetMatchId(), message.View.GetSeat()}]
	if s == nil {
		slog.Warn(place(message.GetMatchId(), 0, 0) + "a decision of an unknown game")
		return
	}
	id, last := message.GetDecisionId(), s.asked.GetDecisionId()
	if id < last { // settled long ago
		return
	}
	s.out = out
	if s.hasCrashed || id == last {
		if s.reply != nil {
			out.add(s.reply, false)
		}
		return
	}
	s.cancel() // the clock has settled what the bot still thinks about
	ctx, cancel := timeToThink(p.ctx, message.GetClock())
	s.asked, s.cancel, s.reply = message, cancel, nil
	p.due++
	d := &Decision{Decision: message}
	p.call(ctx, s, d, func() (int, error) { return s.choose(ctx, d) })
}

// end ends a match, in every seat that the bot has there.
func (p *player) end(over *GameOver) {
	for key, s := range p.seats {
		if key.match != over.GetMatchId() {
			continue
		}
		delete(p.seats, key)
		s.cancel()
		if !s.hasCrashed {
			s.logForfeit(over.GetOutcome().GetResult().GetSeats())
			p.call(p.ctx, s, nil, func() (int, error) { return 0, tell(s.bot, over) })
		}
	}
}

// call has the author's code called for a seat when all calls before have returned. If it is about a decision that
// still counts then, the position that it returns is the answer. An error or a panic is a crash unless ctx has ended.
func (p *player) call(ctx context.Context, s *seat, d *Decision, code func() (int, error)) {
	before, done := s.calls, make(chan struct{})
	s.calls = done
	p.calls.Go(func() {
		defer close(done)
		<-before
		p.slots <- struct{}{}
		position, err := recovered(code)
		<-p.slots
		p.mu.Lock()
		defer p.mu.Unlock()
		if d != nil {
			p.due--
		}
		switch {
		case err != nil && ctx.Err() == nil:
			p.crash(s, err)
		case err == nil && d != nil && s.asked == d.Decision && p.seats[s.key] == s:
			s.reply = &happycityv1.PlayRequest{Answers: []*happycityv1.Answer{{
				MatchId: d.MatchId, DecisionId: d.DecisionId, Move: uint32(position), Metrics: d.Notes(),
			}}}
			s.cancel()
			s.out.add(s.reply, p.due == 0)
		}
	})
}

// recovered runs the author's code, and turns a panic into an error with the stack.
func recovered(code func() (int, error)) (position int, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v\n%s", value, debug.Stack())
		}
	}()
	return code()
}

// choose asks a bot, unless the decision is late or void.
func (s *seat) choose(ctx context.Context, d *Decision) (int, error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	position, err := s.bot.Choose(ctx, d)
	if err == nil && (position < 0 || position >= len(d.Moves)) {
		err = fmt.Errorf("the bot chose move %d; the moves are 0 to %d", position, len(d.Moves)-1)
	}
	return position, err
}

// crash gives up a game in which the bot failed; the bot's other games go on.
func (p *player) crash(s *seat, err error) {
	if p.seats[s.key] != s {
		slog.Error(s.place() + "the bot crashed at the end of its game: " + err.Error())
		return
	}
	slog.Error(s.place() + "the bot crashed, the game is given up: " + err.Error())
	reason, _, _ := strings.Cut(err.Error(), "\n")
	s.hasCrashed = true
	s.reply = &happycityv1.PlayRequest{Resigns: []*happycityv1.Resign{{
		MatchId: s.key.match, Seat: &s.key.seat, Crashed: true, Reason: new(oneLine(reason)),
	}}}
	s.cancel()
	s.out.add(s.reply, true)
}

// tell calls a bot at the end of its game, if it listens.
func tell(bot Bot, over *GameOver) error {
	if over.GetOutcome().GetResult() != nil {
		if listener, ok := bot.(GameOverListener); ok {
			listener.GameOver(over)
		}
	} else if listener, ok := bot.(GameVoidedListener); ok {
		listener.GameVoided(over.GetMatchId(), over.GetOutcome().GetVoidReason())
	}
	return nil
}

// logForfeit logs that the server gave the seat up, if it did.
func (s *seat) logForfeit(results []*happycityv1.SeatResult) {
	if int(s.key.seat) >= len(results) || results[s.key.seat].GetEnding() <= happycityv1.Ending_ENDING_FINISHED {
		return
	}
	own := results[s.key.seat]
	text := "the seat was forfeited: " + strings.ToLower(strings.TrimPrefix(own.GetEnding().String(), "ENDING_"))
	if own.GetReason() != "" {
		text += ": " + oneLine(own.GetReason())
	}
	slog.Warn(s.place() + text)
}

// place returns where the game is, as far as the bot knows, to begin a line of the log.
func (s *seat) place() string {
	return place(s.key.match, s.asked.GetView().GetRound(), s.asked.GetDecisionId())
}

// place returns where in a game something happened, without what is 0, to begin a line of the log.
func place(match int64, round, decision uint32) string {
	if match == 0 {
		return ""
	}
	where := fmt.Sprintf("match %d, round %d, decision %d: ", match, round, decision)
	return strings.NewReplacer(", round 0", "", ", decision 0", "").Replace(where)
}
