package happycity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// lines returns the lines of a log without their times, which must be in UTC.
func lines(t *testing.T, log *bytes.Buffer) []string {
	t.Helper()
	var result []string
	timed := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (.*)$`)
	for line := range strings.Lines(log.String()) {
		found := timed.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if found == nil {
			t.Fatalf("no time: %q", line)
		}
		result = append(result, found[1])
	}
	return result
}

// A crash is logged once in full, then at powers of ten and at the end; numbers don't make another kind.
func TestRepeatedCrashes(t *testing.T) {
	var log bytes.Buffer
	crashes := newCrashLog(slog.New(newLineHandler(&log)).With("bot", "mine"))
	for id := range int64(25) {
		s := &seat{key: seatKey{matchID: id + 1}, asked: 3, round: 2}
		crashes.add("the game is given up", s, fmt.Errorf("card %d is missing", id+1))
	}
	crashes.add("the game is given up", &seat{key: seatKey{matchID: 99}}, errors.New("lost"))
	crashes.close()
	expected := []string{
		"ERROR mine: match 1, round 2, decision 3: the game is given up: card 1 is missing",
		"ERROR mine: match 10, round 2, decision 3: the same crash as in match 1 (10 so far): card 1 is missing",
		"ERROR mine: match 99: the game is given up: lost",
		"ERROR mine: the same crash in 25 games, first in match 1: card 1 is missing",
	}
	if logged := lines(t, &log); !slices.Equal(logged, expected) {
		t.Errorf("logged\n%s", strings.Join(logged, "\n"))
	}
}

// A bot whose errors are all different fills neither the memory nor the log.
func TestManyKindsOfCrashes(t *testing.T) {
	var log bytes.Buffer
	crashes := newCrashLog(slog.New(newLineHandler(&log)))
	for i := range 10 * mostCrashKinds {
		crashes.add("", &seat{}, errors.New(strings.Repeat("x", i)))
	}
	crashes.close()
	if count := len(lines(t, &log)); count > mostCrashKinds+5 {
		t.Errorf("%d lines", count)
	}
}

// The end of a game says in one line that the server gave the seat up; a notice of it is not logged too.
func TestForfeit(t *testing.T) {
	var log bytes.Buffer
	p := newPeer(t)
	bot := p.play(Stateless(first), Settings{Logger: slog.New(newLineHandler(&log))})
	d, _ := p.welcome(&happycityv1.Welcome{})
	d.start(7)
	asked := decision(7, 3)
	asked.View.Round = 2
	d.ask(asked)
	d.answers()
	lost := over(7, 1, 2)
	own := lost.GetResult().GetSeats()[0]
	own.Ending, own.Reason = happycityv1.Ending_ENDING_TIMEOUT, "no answer\nwithin 10 s"
	forfeit := &happycityv1.Notice{Kind: happycityv1.NoticeKind_NOTICE_KIND_FORFEIT, MatchId: 7, Text: "forfeited"}
	d.send(&happycityv1.PlayResponse{Notices: []*happycityv1.Notice{forfeit}})
	d.send(&happycityv1.PlayResponse{GamesOver: []*happycityv1.GameOver{lost}})
	d.end <- nil
	if err := bot.end(); err != nil {
		t.Errorf("ended with %v", err)
	}
	logged := lines(t, &log)
	expected := "WARNING tester: match 7, round 2, decision 3: the seat was forfeited: timeout: no answer within 10 s"
	if len(logged) != 2 || logged[1] != expected {
		t.Errorf("logged\n%s", strings.Join(logged, "\n"))
	}
}

// The stack of a panic is logged once.
func TestRepeatedPanics(t *testing.T) {
	var log bytes.Buffer
	p := newPeer(t)
	bot := p.play(Stateless(func(context.Context, *Decision) (int, error) { panic("out of ideas") }),
		Settings{Logger: slog.New(newLineHandler(&log)), Thinkers: 1})
	d, _ := p.welcome(&happycityv1.Welcome{})
	d.start(1, 2)
	for id := range int64(2) {
		d.ask(decision(id+1, 1))
		d.next()
	}
	bot.stop()
	for d.next().GetGoodbye() == nil {
	}
	d.end <- nil
	_ = bot.end()
	if count := strings.Count(log.String(), " [running]:"); count != 1 {
		t.Errorf("%d stacks in\n%s", count, log.String())
	}
	if !strings.Contains(log.String(), "tester: the same crash in 2 games, first in match 1: panic: out of ideas") {
		t.Errorf("logged\n%s", log.String())
	}
}
