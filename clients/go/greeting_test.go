package happycity

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/happycity-arena/happycity-go/happycityv1"
)

// The hello tells who is calling, and the token travels as a bearer token.
func TestHello(t *testing.T) {
	p := newPeer(t)
	p.play(Stateless(first), Settings{Name: "me", Token: "secret", Games: 3})
	d, hello := p.accept()
	if hello.GetName() != "me" || hello.GetProtocolVersion() != 1 || hello.GetMaxGames() != 3 {
		t.Errorf("hello: %v", hello)
	}
	if hello.GetSoftware() != "happycity-go/"+Version {
		t.Errorf("software: %q", hello.GetSoftware())
	}
	if hello.GetResumeToken() != "" || hello.GetGames() != nil {
		t.Errorf("a new bot wants to resume: %v", hello)
	}
	if token := d.authorization(); len(token) != 1 || token[0] != "Bearer secret" {
		t.Errorf("authorization: %q", token)
	}
}

// An unlimited number of games is 0 on the wire, and without a token there is no authorization.
func TestHelloOfAnOpenServer(t *testing.T) {
	p := newPeer(t)
	p.play(Stateless(first), Settings{Games: Unlimited})
	d, hello := p.accept()
	if hello.GetMaxGames() != 0 || d.authorization() != nil {
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
		"":                codes.Unimplemented,
	} {
		t.Run(reason, func(t *testing.T) {
			p := newPeer(t)
			bot := p.play(Stateless(first), Settings{})
			d, _ := p.accept()
			d.refuse(code, reason, nil)
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

// A bot that speaks another version than the server says which ones that speaks.
func TestUnsupportedVersion(t *testing.T) {
	p := newPeer(t)
	bot := p.play(Stateless(first), Settings{})
	d, _ := p.accept()
	d.refuse(codes.FailedPrecondition, "UNSUPPORTED_VERSION", map[string]string{"supported_min": "2", "supported_max": "4"})
	if err := bot.end(); err == nil || !strings.Contains(err.Error(), "speaks versions 2 to 4 of the protocol, this bot version 1") {
		t.Errorf("ended with %v", err)
	}
}

// A server that welcomes to another version, or doesn't welcome at all, can't be played on.
func TestStrangeWelcome(t *testing.T) {
	for name, batch := range map[string]*happycityv1.PlayResponse{
		"another version": {Welcome: &happycityv1.Welcome{ProtocolVersion: 2}},
		"no welcome":      {},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t)
			bot := p.play(Stateless(first), Settings{})
			d, _ := p.accept()
			d.send(batch)
			if err := bot.end(); err == nil || !strings.Contains(err.Error(), "can't be played on") {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// Without a server the bot ends at once, and tells what to do.
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

// A bot that thinks when it is stopped is told so, and doesn't keep the goodbye.
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
	within(t, closed(q.ctx.Done()), "end of the thought")
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

// closed turns the closing of a channel into a value.
func closed(channel <-chan struct{}) <-chan bool {
	told := make(chan bool, 1)
	go func() {
		<-channel
		told <- true
	}()
	return told
}
