package happycity

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// All decisions of a message are answered in one message.
func TestBatch(t *testing.T) {
	out := newOutbox()
	out.hold = time.Hour // so that no answer is sent for having waited long enough
	player := newPlayer(counting(), slog.New(slog.DiscardHandler), make(chan struct{}, 2))
	t.Cleanup(player.close)
	player.attach(out, false)
	player.handle(&happycityv1.PlayResponse{GamesStarted: []*GameStarted{{MatchId: 1}, {MatchId: 2}, {MatchId: 3}}})
	for round := range uint32(3) {
		decisions := []*happycityv1.Decision{decision(1, round+1), decision(2, round+1), decision(3, round+1)}
		player.handle(&happycityv1.PlayResponse{Decisions: decisions})
		within(t, out.ready, "token")
		if answers := movesOf(out.take()); !maps.Equal(answers, map[int64]uint32{1: round, 2: round, 3: round}) {
			t.Fatalf("round %d: %v", round, answers)
		}
	}
}

// An answer doesn't wait for another game's bot that thinks for long.
func TestSlowGame(t *testing.T) {
	p := newPeer(t)
	b := newThinker()
	p.play(always(b), Settings{Thinkers: 2})
	d, _ := p.welcome(&happycityv1.Welcome{})
	d.start(1, 2)
	d.ask(decision(1, 1), decision(2, 1))
	slow, fast := within(t, b.asked, "question"), within(t, b.asked, "question")
	fast.answer <- 2
	if answers := d.answers(); !maps.Equal(answers, map[int64]uint32{fast.d.MatchID: 2}) {
		t.Errorf("answers: %v", answers)
	}
	slow.answer <- 1
	if answers := d.answers(); !maps.Equal(answers, map[int64]uint32{slow.d.MatchID: 1}) {
		t.Errorf("answers: %v", answers)
	}
}

// No more bots think at once than the settings say.
func TestThinkers(t *testing.T) {
	p := newPeer(t)
	b := newThinker()
	p.play(always(b), Settings{Thinkers: 1})
	d, _ := p.welcome(&happycityv1.Welcome{})
	d.start(1, 2)
	d.ask(decision(1, 1), decision(2, 1))
	q := within(t, b.asked, "question")
	d.pause()
	if len(b.asked) > 0 {
		t.Error("two decisions at once")
	}
	q.answer <- 0
	within(t, b.asked, "question").answer <- 1
	if answers := d.answers(); len(answers) != 2 && len(d.answers()) != 1 {
		t.Errorf("answers: %v", answers)
	}
}

// A ping is answered while the bot thinks.
func TestPing(t *testing.T) {
	p := newPeer(t)
	b := newThinker()
	p.play(always(b), Settings{Thinkers: 1})
	d, _ := p.welcome(&happycityv1.Welcome{})
	d.start(1)
	d.ask(decision(1, 1))
	q := within(t, b.asked, "question")
	if sent := d.pause(); len(sent) != 1 || sent[0].GetAnswers() != nil {
		t.Errorf("sent %v", sent)
	}
	q.answer <- 1
	if answers := d.answers(); answers[1] != 1 {
		t.Errorf("answers: %v", answers)
	}
}

// A bot that fills several seats of a match has an instance for each, and one end of the match ends all of them.
func TestSeveralSeats(t *testing.T) {
	p := newPeer(t)
	b := newListener(nil)
	p.play(func(start *GameStarted) Bot {
		return &listener{
			ChooseFunc: func(_ context.Context, d *Decision) (int, error) {
				if d.Seat != start.Seat || d.Seat == 2 {
					return 0, errors.New("a decision of another seat, or of seat 2")
				}
				return int(d.Seat), nil
			},
			overs: b.overs,
		}
	}, Settings{})
	d, _ := p.welcome(&happycityv1.Welcome{ResumeToken: "one"})
	d.send(&happycityv1.PlayResponse{GamesStarted: []*GameStarted{{MatchId: 1}, {MatchId: 1, Seat: 1}, {MatchId: 1, Seat: 2}}})
	for seat := range uint32(2) {
		of := decision(1, seat+1)
		of.View.Seat = seat
		d.ask(of)
		if answers := d.answers(); !maps.Equal(answers, map[int64]uint32{1: seat}) {
			t.Errorf("seat %d: %v", seat, answers)
		}
	}
	crashing := decision(1, 3)
	crashing.View.Seat = 2
	d.ask(crashing)
	if resigns := d.next().GetResigns(); len(resigns) != 1 || resigns[0].Seat == nil || resigns[0].GetSeat() != 2 {
		t.Errorf("resigns: %v", resigns)
	}
	d.send(&happycityv1.PlayResponse{GamesOver: []*happycityv1.GameOver{over(1, 4, 9, 2)}})
	for range 2 {
		if over := within(t, b.overs, "GameOver"); over.MatchID != 1 || over.Seats[1].Points != 9 {
			t.Errorf("over: %v", over)
		}
	}
	d.cut()
	if _, hello := p.accept(); hello.GetMatchIds() != nil {
		t.Errorf("hello: %v", hello)
	}
}

// A bot that crashes gives up that game only, whether by an error, a panic, a move that doesn't exist, or no bot. The
// reason is one line.
func TestCrash(t *testing.T) {
	for name, expected := range map[string]struct {
		bot    Bot
		reason string
	}{
		"error": {
			ChooseFunc(func(context.Context, *Decision) (int, error) { return 0, errors.New("lost\n my\x1b notes") }),
			"lost my notes",
		},
		"panic":       {ChooseFunc(func(context.Context, *Decision) (int, error) { panic("lost my notes") }), "panic: lost my notes"},
		"too high":    {ChooseFunc(func(context.Context, *Decision) (int, error) { return 3, nil }), "the bot chose move 3; the moves are 0 to 2"},
		"negative":    {ChooseFunc(func(context.Context, *Decision) (int, error) { return -1, nil }), "the bot chose move -1; the moves are 0 to 2"},
		"no bot":      {nil, "the factory returned no bot"},
		"long reason": {ChooseFunc(func(context.Context, *Decision) (int, error) { return 0, errors.New(strings.Repeat("ä", 300)) }), strings.Repeat("ä", 200)},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t)
			p.play(func(start *GameStarted) Bot {
				if start.GetMatchId() == 1 {
					return expected.bot
				}
				return ChooseFunc(first)
			}, Settings{})
			d, _ := p.welcome(&happycityv1.Welcome{})
			d.start(1, 2)
			d.ask(decision(1, 1))
			resigns := d.next().GetResigns()
			if len(resigns) != 1 || resigns[0].GetMatchId() != 1 || !resigns[0].GetCrashed() || resigns[0].GetReason() != expected.reason {
				t.Errorf("resigns: %v", resigns)
			}
			d.ask(decision(1, 3), decision(2, 1))
			if answers := d.answers(); !maps.Equal(answers, map[int64]uint32{2: 0}) {
				t.Errorf("answers: %v", answers)
			}
		})
	}
}

// A bot is called at the end of its games.
func TestGameOver(t *testing.T) {
	p := newPeer(t)
	b := newListener(first)
	p.play(always(b), Settings{})
	d, _ := p.welcome(&happycityv1.Welcome{})
	d.start(1, 2)
	d.send(&happycityv1.PlayResponse{GamesOver: []*happycityv1.GameOver{
		over(1, 9, 4),
		{MatchId: 2, End: &happycityv1.GameOver_VoidReason{VoidReason: happycityv1.VoidReason_VOID_REASON_STOPPED}},
	}})
	if over := within(t, b.overs, "GameOver"); over.MatchID != 1 || len(over.Seats) != 2 || over.Seats[0].Points != 9 {
		t.Errorf("over: %v", over)
	}
	if void := within(t, b.voids, "GameVoided"); void != (voided{2, happycityv1.VoidReason_VOID_REASON_STOPPED}) {
		t.Errorf("voided: %v", void)
	}
}

// After the end of a game nothing is answered for it, and the ctx of a bot that still thinks ends.
func TestGameOverWhileThinking(t *testing.T) {
	p := newPeer(t)
	b := newThinker()
	p.play(always(b), Settings{})
	d, _ := p.welcome(&happycityv1.Welcome{})
	d.start(1)
	d.ask(decision(1, 1))
	q := within(t, b.asked, "question")
	d.send(&happycityv1.PlayResponse{GamesOver: []*happycityv1.GameOver{over(1)}})
	within(t, closed(q.ctx.Done()), "end of the ctx")
	q.answer <- 1
	if sent := d.pause(); len(sent) != 1 || sent[0].GetAnswers() != nil {
		t.Errorf("sent %v", sent)
	}
}

// A decision that the clock has settled is void when the next one comes; that one has to wait for its bot.
func TestSettledByTheClock(t *testing.T) {
	p := newPeer(t)
	b := newThinker()
	p.play(always(b), Settings{})
	d, _ := p.welcome(&happycityv1.Welcome{})
	d.start(1)
	d.ask(decision(1, 1))
	late := within(t, b.asked, "question")
	d.ask(decision(1, 4))
	within(t, closed(late.ctx.Done()), "end of the ctx")
	if len(b.asked) > 0 {
		t.Error("the bot was asked two things at once")
	}
	late.answer <- 1
	within(t, b.asked, "question").answer <- 2
	answers := d.next().GetAnswers()
	if len(answers) != 1 || answers[0].GetDecisionId() != 4 || answers[0].GetMove() != 2 {
		t.Errorf("answers: %v", answers)
	}
}

// A bot that returns an error because its time is up has not crashed: the clock decides, and the game goes on.
func TestOutOfTime(t *testing.T) {
	returned, lines := make(chan error, 10), make(lineWriter, 100)
	p := newPeer(t)
	p.play(Stateless(func(ctx context.Context, d *Decision) (int, error) {
		if d.TimeLeft == nil {
			return 1, nil
		}
		<-ctx.Done()
		returned <- ctx.Err()
		return 0, ctx.Err()
	}), Settings{Logger: slog.New(slog.NewTextHandler(lines, nil))})
	d, _ := p.welcome(&happycityv1.Welcome{})
	d.start(1)
	number := uint32(1)
	for limit := uint64(1000); len(returned) == 0; limit *= 2 { // longer, if the time was up before the bot was asked
		hurried := decision(1, number)
		hurried.Clock = &happycityv1.Clock{TimeLeftUs: new(limit)}
		d.ask(hurried)
		for !strings.Contains(within(t, lines, "log"), "no answer in time") {
		}
		number++
	}
	if err := <-returned; err != context.DeadlineExceeded {
		t.Errorf("the ctx ended with %v", err)
	}
	d.ask(decision(1, number))
	if answers := d.answers(); !maps.Equal(answers, map[int64]uint32{1: 1}) {
		t.Errorf("answers: %v", answers)
	}
}

// A lineWriter takes the lines of a log.
type lineWriter chan string

func (w lineWriter) Write(line []byte) (int, error) {
	w <- string(line)
	return len(line), nil
}

// over returns the end of a match with the points of its seats.
func over(matchID int64, points ...uint32) *happycityv1.GameOver {
	result := &happycityv1.MatchResult{}
	for _, p := range points {
		result.Seats = append(result.Seats, &SeatResult{Points: p})
	}
	return &happycityv1.GameOver{MatchId: matchID, End: &happycityv1.GameOver_Result{Result: result}}
}
