package happycity

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/happycity-arena/happycity-go/happycityv1"
)

// All decisions of a message are answered in one message.
func TestBatch(t *testing.T) {
	out := newOutbox()
	out.hold = time.Hour // so that nothing is due for having waited long enough
	games := newGames(counting(), slog.New(slog.DiscardHandler), 2)
	t.Cleanup(games.close)
	games.attach(out, false)
	games.handle(&happycityv1.PlayResponse{GamesStarted: []*GameStarted{{GameId: 1}, {GameId: 2}, {GameId: 3}}})
	for round := range uint32(3) {
		decisions := []*Decision{decision(1, round+1), decision(2, round+1), decision(3, round+1)}
		games.handle(&happycityv1.PlayResponse{Decisions: decisions})
		within(t, out.due, "token")
		if answers := movesOf(out.take()); !maps.Equal(answers, map[uint64]uint32{1: round, 2: round, 3: round}) {
			t.Fatalf("round %d: %v", round, answers)
		}
	}
}

// An answer doesn't wait for a game that is thought about for long.
func TestSlowGame(t *testing.T) {
	p := newPeer(t)
	b := newThinker()
	p.play(always(b), Settings{Thinkers: 2})
	d, _ := p.welcome(&happycityv1.Welcome{})
	d.start(1, 2)
	d.ask(decision(1, 1), decision(2, 1))
	slow, fast := within(t, b.asked, "question"), within(t, b.asked, "question")
	fast.answer <- 2
	if answers := d.answers(); !maps.Equal(answers, map[uint64]uint32{fast.d.GetGameId(): 2}) {
		t.Errorf("answers: %v", answers)
	}
	slow.answer <- 1
	if answers := d.answers(); !maps.Equal(answers, map[uint64]uint32{slow.d.GetGameId(): 1}) {
		t.Errorf("answers: %v", answers)
	}
}

// No more decisions are thought about at once than the settings say.
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

// A bot that fails gives up that game only, whether by an error, a panic, a move that isn't there, or no bot.
func TestFailure(t *testing.T) {
	for name, bot := range map[string]Bot{
		"an error":    ChooseFunc(func(context.Context, *Decision) (int, error) { return 0, errors.New("lost my notes") }),
		"a panic":     ChooseFunc(func(context.Context, *Decision) (int, error) { panic("lost my notes") }),
		"too high":    ChooseFunc(func(context.Context, *Decision) (int, error) { return 3, nil }),
		"negative":    ChooseFunc(func(context.Context, *Decision) (int, error) { return -1, nil }),
		"not there":   nil,
		"slow to say": ChooseFunc(func(context.Context, *Decision) (int, error) { return 0, errors.New(strings.Repeat("ä", 300)) }),
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t)
			p.play(func(start *GameStarted) Bot {
				if start.GetGameId() == 1 {
					return bot
				}
				return ChooseFunc(first)
			}, Settings{})
			d, _ := p.welcome(&happycityv1.Welcome{})
			d.start(1, 2)
			d.ask(decision(1, 1))
			resigns := d.next().GetResigns()
			if len(resigns) != 1 || resigns[0].GetGameId() != 1 || resigns[0].GetReason() == "" {
				t.Errorf("resigns: %v", resigns)
			}
			if characters := len([]rune(resigns[0].GetReason())); characters > 200 {
				t.Errorf("a reason of %d characters", characters)
			}
			d.ask(decision(1, 3), decision(2, 1))
			if answers := d.answers(); !maps.Equal(answers, map[uint64]uint32{2: 0}) {
				t.Errorf("answers: %v", answers)
			}
		})
	}
}

// A bot hears how its games ended.
func TestGameOver(t *testing.T) {
	p := newPeer(t)
	b := newListener(first)
	p.play(always(b), Settings{})
	d, _ := p.welcome(&happycityv1.Welcome{})
	d.start(1, 2)
	d.send(&happycityv1.PlayResponse{GamesOver: []*GameOver{
		{GameId: 1, Result: &happycityv1.Result{Places: []uint32{1, 2}}},
		{GameId: 2, VoidReason: happycityv1.VoidReason_VOID_REASON_STOPPED},
	}})
	if over := within(t, b.overs, "GameOver"); over.GetGameId() != 1 || over.GetResult().GetPlaces()[1] != 2 {
		t.Errorf("over: %v", over)
	}
	if reason := within(t, b.voids, "GameVoided"); reason != happycityv1.VoidReason_VOID_REASON_STOPPED {
		t.Errorf("voided: %v", reason)
	}
}

// After the end of a game nothing is answered for it, and whoever thinks about it is told.
func TestGameOverWhileThinking(t *testing.T) {
	p := newPeer(t)
	b := newThinker()
	p.play(always(b), Settings{})
	d, _ := p.welcome(&happycityv1.Welcome{})
	d.start(1)
	d.ask(decision(1, 1))
	q := within(t, b.asked, "question")
	d.send(&happycityv1.PlayResponse{GamesOver: []*GameOver{{GameId: 1}}})
	within(t, closed(q.ctx.Done()), "end of the thought")
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
	within(t, closed(late.ctx.Done()), "end of the thought")
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

// A bot that returns because its time is up has not failed: the clock decides, and the game goes on.
func TestOutOfTime(t *testing.T) {
	returned := make(chan error, 10)
	p := newPeer(t)
	p.play(Stateless(func(ctx context.Context, d *Decision) (int, error) {
		if d.GetClock().GetTimeLeftMs() == 0 {
			return 1, nil
		}
		<-ctx.Done()
		returned <- ctx.Err()
		return 0, ctx.Err()
	}), Settings{Thinkers: 1})
	d, _ := p.welcome(&happycityv1.Welcome{})
	d.start(1, 2)
	number := uint32(1)
	for limit := uint32(1); len(returned) == 0; limit *= 2 { // longer, if the time was up before the bot's turn came
		hurried := decision(1, number)
		hurried.Clock = &happycityv1.Clock{TimeLeftMs: limit}
		d.ask(hurried, decision(2, number))
		// The only thinker takes the second game when it is done with the first.
		if answers := d.answers(); !maps.Equal(answers, map[uint64]uint32{2: 1}) {
			t.Fatalf("answers: %v", answers)
		}
		number++
	}
	if err := <-returned; err != context.DeadlineExceeded {
		t.Errorf("the thought ended with %v", err)
	}
	d.ask(decision(1, number))
	if answers := d.answers(); !maps.Equal(answers, map[uint64]uint32{1: 1}) {
		t.Errorf("answers: %v", answers)
	}
}
