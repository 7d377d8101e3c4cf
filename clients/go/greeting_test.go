package happycity

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// The hello says who is calling, and the token travels as a bearer token.
func TestHello(t *testing.T) {
	p := newPeer(t)
	info := &BotInfo{Author: "Ann", Version: "1.2", Description: "plays slowly"}
	p.play(Stateless(first), Settings{Name: "me", Token: "secret", Games: 3, Info: info})
	d, hello := p.accept()
	if hello.GetName() != "me" || hello.MaxGames == nil || hello.GetMaxGames() != 3 {
		t.Errorf("hello: %v", hello)
	}
	if hello.GetSoftware() != "happycity-go/"+Version {
		t.Errorf("software: %q", hello.GetSoftware())
	}
	said := hello.GetInfo()
	if said.GetAuthor() != "Ann" || said.GetVersion() != "1.2" || said.GetDescription() != "plays slowly" {
		t.Errorf("info: %v", said)
	}
	if !strings.HasPrefix(said.GetLanguage(), "Go 1.") {
		t.Errorf("language: %q", said.GetLanguage())
	}
	if hello.GetResumeToken() != "" || hello.GetMatchIds() != nil {
		t.Errorf("a new bot wants to resume: %v", hello)
	}
	if token := d.authorization(); len(token) != 1 || token[0] != "Bearer secret" {
		t.Errorf("authorization: %q", token)
	}
}

// An unlimited number of games is absent on the wire, and without a token there is no authorization.
func TestHelloOfAnOpenServer(t *testing.T) {
	p := newPeer(t)
	p.play(Stateless(first), Settings{Games: Unlimited})
	d, hello := p.accept()
	if hello.MaxGames != nil || d.authorization() != nil {
		t.Errorf("hello: %v, authorization: %q", hello, d.authorization())
	}
}

// A bot that is refused for good ends with the server's reason, and doesn't try again.
func TestRefusals(t *testing.T) {
	for reason, code := range map[string]codes.Code{
		"REPLACED":        codes.Aborted,
		"UNAUTHENTICATED": codes.Unauthenticated,
		"WRONG_NAME":      codes.PermissionDenied,
		"WRONG_ROLE":      codes.PermissionDenied,
		"REVOKED":         codes.PermissionDenied,
		"INVALID_FIELD":   codes.InvalidArgument,
		"HELLO_EXPECTED":  codes.InvalidArgument,
		"OF_A_NEW_SERVER": codes.Aborted,
		"":                codes.Unimplemented,
	} {
		t.Run(reason, func(t *testing.T) {
			p := newPeer(t)
			bot := p.play(Stateless(first), Settings{})
			d, _ := p.accept()
			d.refuse(code, reason)
			var refused *ConnectionError
			if err := bot.end(); !errors.As(err, &refused) || refused.Reason != reason || refused.Code != code {
				t.Errorf("ended with %#v", err)
			}
			if len(p.opened) > 0 {
				t.Error("it tried again")
			}
		})
	}
}

// A server that doesn't welcome the bot can't be played on.
func TestNoWelcome(t *testing.T) {
	p := newPeer(t)
	bot := p.play(Stateless(first), Settings{})
	d, _ := p.accept()
	d.send(&happycityv1.PlayResponse{})
	if err := bot.end(); err == nil || !strings.Contains(err.Error(), "without a welcome") {
		t.Errorf("ended with %v", err)
	}
}

// Without a server the bot ends at once, and says what to do.
func TestNoServer(t *testing.T) {
	p := newPeer(t)
	bot := p.play(Stateless(first), Settings{Server: "127.0.0.1:1"})
	var lost *ConnectionError
	if err := bot.end(); !errors.As(err, &lost) || !strings.Contains(lost.Text, "happycity serve") {
		t.Errorf("ended with %v", err)
	}
}

// When it is stopped, a bot says goodbye, closes its side, and ends without an error.
func TestGoodbye(t *testing.T) {
	p := newPeer(t)
	bot := p.play(Stateless(first), Settings{})
	d, _ := p.welcome(&happycityv1.Welcome{})
	d.pause()
	bot.stop()
	if request := d.next(); request.GetGoodbye() == nil {
		t.Errorf("no goodbye: %v", request)
	}
	if err := bot.end(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if request, open := <-d.received; open {
		t.Errorf("after the goodbye: %v", request)
	}
}

// When a bot is stopped while it thinks, its ctx ends, and the goodbye doesn't wait for it.
func TestGoodbyeWhileThinking(t *testing.T) {
	p := newPeer(t)
	b := newThinker()
	bot := p.play(always(b), Settings{})
	d, _ := p.welcome(&happycityv1.Welcome{})
	d.start(1)
	d.ask(decision(1, 1))
	q := within(t, b.asked, "question")
	bot.stop()
	if request := d.next(); request.GetGoodbye() == nil {
		t.Errorf("no goodbye: %v", request)
	}
	within(t, closed(q.ctx.Done()), "end of the ctx")
	q.answer <- 0
	if err := bot.end(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

// A server that ends the stream in good order ends the bot without an error.
func TestServerEnds(t *testing.T) {
	p := newPeer(t)
	bot := p.play(Stateless(first), Settings{})
	d, _ := p.welcome(&happycityv1.Welcome{})
	d.end <- nil
	if err := bot.end(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

// Notices are logged in one line, without control characters.
func TestNotices(t *testing.T) {
	p := newPeer(t)
	var log bytes.Buffer
	bot := p.play(Stateless(first), Settings{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	d, _ := p.welcome(&happycityv1.Welcome{})
	d.send(&happycityv1.PlayResponse{Notices: []*happycityv1.Notice{{MatchId: 7, Round: 2, DecisionId: 9, Text: "too\x1b[2J\nlate"}}})
	d.end <- nil
	if err := bot.end(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if !strings.Contains(log.String(), `msg="too [2J late" bot=tester match=7 round=2 decision=9`) {
		t.Errorf("logged %s", log.String())
	}
}

// closed turns the closing of a channel into a value.
func closed(channel <-chan struct{}) <-chan bool {
	values := make(chan bool, 1)
	go func() {
		<-channel
		values <- true
	}()
	return values
}
