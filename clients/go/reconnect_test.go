package happycity

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// A bot whose connection is lost while it thinks comes back, and answers when it is asked again.
func TestReconnectMidDecision(t *testing.T) {
	p := newPeer(t)
	b := newThinker()
	p.play(always(b), Settings{})
	d, _ := p.welcome(&happycityv1.Welcome{ResumeToken: "one"})
	d.start(1, 2)
	d.ask(decision(1, 1))
	q := within(t, b.asked, "question")
	d.cut()
	d, hello := p.welcome(&happycityv1.Welcome{ResumeToken: "two", Resumed: true})
	if hello.GetResumeToken() != "one" || !slices.Equal(hello.GetMatchIds(), []int64{1, 2}) {
		t.Errorf("hello: %v", hello)
	}
	d.ask(decision(1, 1))
	d.pause()
	q.answer <- 2
	if answers := d.answers(); !maps.Equal(answers, map[int64]uint32{1: 2}) {
		t.Errorf("answers: %v", answers)
	}
	if len(b.asked) > 0 {
		t.Error("the bot was asked twice")
	}
	d.cut()
	if _, hello = p.accept(); hello.GetResumeToken() != "two" {
		t.Errorf("hello: %v", hello)
	}
}

// An answer that comes while there is no connection is sent only when the server asks again.
func TestAnswerWithoutConnection(t *testing.T) {
	p := newPeer(t)
	b := newThinker()
	p.play(always(b), Settings{})
	d, _ := p.welcome(&happycityv1.Welcome{ResumeToken: "one"})
	d.start(1)
	d.ask(decision(1, 1))
	q := within(t, b.asked, "question")
	d.cut()
	d, _ = p.accept()
	q.answer <- 1
	d.send(&happycityv1.PlayResponse{Welcome: &happycityv1.Welcome{Resumed: true}})
	if sent := d.pause(); len(sent) != 1 || sent[0].GetAnswers() != nil {
		t.Errorf("sent %v", sent)
	}
	d.ask(decision(1, 1))
	if answers := d.answers(); !maps.Equal(answers, map[int64]uint32{1: 1}) {
		t.Errorf("answers: %v", answers)
	}
}

// A decision that is sent again is answered from memory, on the same connection or another.
func TestResentDecision(t *testing.T) {
	p := newPeer(t)
	p.play(counting(), Settings{})
	d, _ := p.welcome(&happycityv1.Welcome{ResumeToken: "one"})
	d.start(1, 2)
	for round := range uint32(3) {
		again := []*happycityv1.Decision{decision(1, round+1), decision(2, round+1)}
		expected := map[int64]uint32{1: round, 2: round}
		d.ask(again...)
		for range 2 {
			if answers := d.gather(2); !maps.Equal(answers, expected) {
				t.Fatalf("round %d: %v", round, answers)
			}
			d.ask(again...)
		}
		d.gather(2)
		d.cut()
		d, _ = p.welcome(&happycityv1.Welcome{ResumeToken: "one", Resumed: true})
		d.ask(again...)
		if answers := d.gather(2); !maps.Equal(answers, expected) {
			t.Fatalf("round %d, reconnected: %v", round, answers)
		}
	}
}

// A welcome that resumes nothing makes the bot forget its games; they may start over, with a new bot.
func TestForgottenGames(t *testing.T) {
	p := newPeer(t)
	made := make(chan *listener, 10)
	p.play(func(*GameStarted) Bot {
		b := newListener(first)
		made <- b
		return b
	}, Settings{})
	d, _ := p.welcome(&happycityv1.Welcome{ResumeToken: "one"})
	d.start(1)
	older := within(t, made, "bot")
	d.cut()
	d, _ = p.welcome(&happycityv1.Welcome{ResumeToken: "two"})
	if void := within(t, older.voids, "GameVoided"); void != (voided{1, happycityv1.VoidReason_VOID_REASON_UNKNOWN}) {
		t.Errorf("voided: %v", void)
	}
	d.start(1)
	within(t, made, "bot")
	d.ask(decision(1, 1))
	if answers := d.answers(); len(answers) != 1 {
		t.Errorf("answers: %v", answers)
	}
	d.cut()
	if _, hello := p.accept(); !slices.Equal(hello.GetMatchIds(), []int64{1}) || hello.GetResumeToken() != "two" {
		t.Errorf("hello: %v", hello)
	}
}

// A game that was over before the bot came back is over for it too.
func TestGameOverMeanwhile(t *testing.T) {
	p := newPeer(t)
	b := newListener(first)
	p.play(always(b), Settings{})
	d, _ := p.welcome(&happycityv1.Welcome{ResumeToken: "one"})
	d.start(1, 2)
	d.pause()
	d.cut()
	d, _ = p.welcome(&happycityv1.Welcome{ResumeToken: "one", Resumed: true})
	d.send(&happycityv1.PlayResponse{GamesOver: []*happycityv1.GameOver{over(1)}})
	within(t, b.overs, "GameOver")
	d.cut()
	if _, hello := p.accept(); !slices.Equal(hello.GetMatchIds(), []int64{2}) {
		t.Errorf("hello: %v", hello)
	}
}

// A resignation that may have been lost is sent again.
func TestResignAgain(t *testing.T) {
	p := newPeer(t)
	p.play(Stateless(func(context.Context, *Decision) (int, error) { return 0, errors.New("lost my notes") }), Settings{})
	d, _ := p.welcome(&happycityv1.Welcome{ResumeToken: "one"})
	d.start(1)
	d.ask(decision(1, 1))
	for range 2 {
		if resigns := d.next().GetResigns(); len(resigns) != 1 || resigns[0].GetReason() != "lost my notes" {
			t.Errorf("resigns: %v", resigns)
		}
		d.cut()
		var hello *happycityv1.Hello
		d, hello = p.welcome(&happycityv1.Welcome{ResumeToken: "one", Resumed: true})
		if !slices.Equal(hello.GetMatchIds(), []int64{1}) {
			t.Errorf("hello: %v", hello)
		}
	}
}

// After these reasons the bot tries again, and asks to resume.
func TestRetryableReasons(t *testing.T) {
	for reason, code := range map[string]codes.Code{
		"SHUTTING_DOWN":    codes.Unavailable,
		"NO_HEARTBEAT":     codes.Aborted,
		"STALLED":          codes.Aborted,
		"RATE_LIMITED":     codes.ResourceExhausted,
		"TOO_MANY_STREAMS": codes.ResourceExhausted,
		"":                 codes.Internal,
	} {
		t.Run(reason, func(t *testing.T) {
			p := newPeer(t)
			p.play(Stateless(first), Settings{})
			d, _ := p.welcome(&happycityv1.Welcome{ResumeToken: "one"})
			d.pause()
			d.refuse(code, reason)
			if _, hello := p.accept(); hello.GetResumeToken() != "one" {
				t.Errorf("hello: %v", hello)
			}
		})
	}
}

// A server that asks for a longer pause than the bot may wait is given up at once.
func TestLongPause(t *testing.T) {
	p := newPeer(t)
	bot := p.play(Stateless(first), Settings{Wait: 50 * time.Second})
	d, _ := p.accept()
	d.end <- refusal(t, codes.ResourceExhausted,
		&errdetails.ErrorInfo{Reason: "RATE_LIMITED", Domain: "happycity.dev"},
		&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Minute)},
	)
	var lost *ConnectionError
	if err := bot.end(); !errors.As(err, &lost) || lost.Reason != "RATE_LIMITED" {
		t.Errorf("ended with %v", err)
	}
}

// A server that shut down in good order and doesn't come back is no error, any other one is.
func TestServerGone(t *testing.T) {
	p := newPeer(t)
	bot := p.play(Stateless(first), Settings{Reconnect: Never})
	d, _ := p.welcome(&happycityv1.Welcome{})
	d.refuse(codes.Unavailable, "SHUTTING_DOWN")
	if err := bot.end(); err != nil {
		t.Errorf("after a shutdown: %v", err)
	}
	bot = p.play(Stateless(first), Settings{Reconnect: Never})
	d, _ = p.welcome(&happycityv1.Welcome{})
	d.cut()
	if err := bot.end(); err == nil {
		t.Error("no error after a lost connection")
	}
}

// A server that is silent for three of its ping intervals is taken for dead; pings keep it alive.
func TestSilence(t *testing.T) {
	p := newPeer(t)
	p.play(Stateless(first), Settings{})
	const bearable = 3 * 30 * time.Millisecond
	begun := time.Now()
	interval := durationpb.New(30 * time.Millisecond)
	d, _ := p.welcome(&happycityv1.Welcome{PingInterval: interval, ResumeToken: "one"})
	// That a ping arrived in time is certain when the one after it is answered. Where this machine is so busy that there
	// is a silence for the bot meanwhile, it may leave.
	silent, last, beforeLast := time.Duration(0), begun, begun
	for alive := true; alive && time.Since(begun) < 2*bearable; {
		pinged := time.Now()
		alive = d.answersPing()
		silent = max(silent, time.Since(beforeLast))
		last, beforeLast = pinged, last
	}
	within(t, closed(d.stream.Context().Done()), "end of the stream")
	if silent = max(silent, time.Since(beforeLast)); silent < bearable {
		t.Errorf("it left after a silence of %v", silent)
	}
	if _, hello := p.accept(); hello.GetResumeToken() != "one" {
		t.Errorf("hello: %v", hello)
	}
}
