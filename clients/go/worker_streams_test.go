package happycity

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// welcomeWith returns a welcome that names the workers at these peers.
func welcomeWith(workers ...*peer) *happycityv1.Welcome {
	welcome := &happycityv1.Welcome{ResumeToken: "of the server"}
	for _, worker := range workers {
		welcome.WorkerAddresses = append(welcome.WorkerAddresses, worker.address)
	}
	return welcome
}

// A bot that plays any number of games plays at the workers too, under the same name and with the same token. Each
// game has a bot of its own, wherever it is played.
func TestWorkers(t *testing.T) {
	server, one, other := newPeer(t), newPeer(t), newPeer(t)
	server.play(counting(), Settings{Name: "me", Token: "secret", Games: Unlimited})
	atServer, _ := server.welcome(welcomeWith(one, other))
	streams := []*dialogue{atServer}
	for _, worker := range []*peer{one, other} {
		d, hello := worker.welcome(&happycityv1.Welcome{})
		if hello.GetName() != "me" || hello.MaxGames != nil || hello.GetResumeToken() != "" {
			t.Errorf("hello: %v", hello)
		}
		if token := d.authorization(); len(token) != 1 || token[0] != "Bearer secret" {
			t.Errorf("authorization: %q", token)
		}
		streams = append(streams, d)
	}
	for i, d := range streams {
		d.start(int64(i))
	}
	for round := range uint32(3) {
		for i, d := range streams {
			d.ask(decision(int64(i), round+1))
		}
		for i, d := range streams {
			if answers := d.answers(); !maps.Equal(answers, map[int64]uint32{int64(i): round}) {
				t.Errorf("round %d, stream %d: %v", round, i, answers)
			}
		}
	}
}

// A lost stream to a worker is resumed with its own token and its own games, and so is the one to the server.
func TestResumeAtWorker(t *testing.T) {
	server, worker := newPeer(t), newPeer(t)
	server.play(Stateless(first), Settings{Games: Unlimited})
	atServer, _ := server.welcome(welcomeWith(worker))
	atWorker, _ := worker.welcome(&happycityv1.Welcome{ResumeToken: "of the worker"})
	atServer.start(1)
	atWorker.start(2)
	atServer.pause()
	atWorker.pause()
	atWorker.cut()
	if _, hello := worker.accept(); hello.GetResumeToken() != "of the worker" || !slices.Equal(hello.GetMatchIds(), []int64{2}) {
		t.Errorf("hello at the worker: %v", hello)
	}
	atServer.cut()
	if _, hello := server.accept(); hello.GetResumeToken() != "of the server" || !slices.Equal(hello.GetMatchIds(), []int64{1}) {
		t.Errorf("hello at the server: %v", hello)
	}
}

// The bot leaves a worker that the next welcome doesn't name, stays at one that it names again, and comes back to one
// that ended its stream.
func TestLaterWelcome(t *testing.T) {
	server, left, kept, ended := newPeer(t), newPeer(t), newPeer(t), newPeer(t)
	server.play(Stateless(first), Settings{Games: Unlimited})
	atServer, _ := server.welcome(welcomeWith(left, kept, ended))
	atLeft, _ := left.welcome(&happycityv1.Welcome{})
	atKept, _ := kept.welcome(&happycityv1.Welcome{})
	atFinished, _ := ended.welcome(&happycityv1.Welcome{})
	atFinished.end <- nil
	for len(ended.opened) == 0 { // the bot may get a welcome before it learns of that end
		atServer.pause()
		atServer.cut()
		atServer, _ = server.welcome(welcomeWith(kept, ended))
	}
	if request := atLeft.next(); request.GetGoodbye() == nil {
		t.Errorf("no goodbye: %v", request)
	}
	ended.accept()
	atKept.pause()
	if len(kept.opened) > 0 {
		t.Error("a second stream to the same worker")
	}
}

// A worker that can't be reached, one that refuses the bot, and one to which its token would travel unencrypted are no
// reason to leave the server.
func TestLostWorkers(t *testing.T) {
	server, refusing := newPeer(t), newPeer(t)
	var log bytes.Buffer
	settings := Settings{Games: Unlimited, Token: "secret", Logger: slog.New(slog.NewTextHandler(&log, nil))}
	bot := server.play(Stateless(first), settings)
	const elsewhere = "192.0.2.1:1"
	d, _ := server.welcome(&happycityv1.Welcome{WorkerAddresses: []string{"127.0.0.1:1", elsewhere, refusing.address}})
	atWorker, _ := refusing.accept()
	atWorker.refuse(codes.PermissionDenied, "WRONG_NAME")
	d.start(1)
	d.ask(decision(1, 1))
	if answers := d.answers(); !maps.Equal(answers, map[int64]uint32{1: 0}) {
		t.Errorf("answers: %v", answers)
	}
	d.end <- nil
	if err := bot.end(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if len(refusing.opened) > 0 {
		t.Error("it tried again")
	}
	if !strings.Contains(log.String(), "no games at the worker "+elsewhere+": ") {
		t.Errorf("nothing about %s in the log: %s", elsewhere, log.String())
	}
}

// The streams to workers end with the one to the server, however that ends.
func TestWorkersEndWithServer(t *testing.T) {
	for name, end := range map[string]func(*program, *dialogue){
		"stopped":      func(bot *program, _ *dialogue) { bot.stop() },
		"server ended": func(_ *program, atServer *dialogue) { atServer.end <- nil },
		"refused":      func(_ *program, atServer *dialogue) { atServer.refuse(codes.Aborted, "REPLACED") },
	} {
		t.Run(name, func(t *testing.T) {
			server, worker := newPeer(t), newPeer(t)
			bot := server.play(Stateless(first), Settings{Games: Unlimited})
			atServer, _ := server.welcome(welcomeWith(worker))
			atWorker, _ := worker.welcome(&happycityv1.Welcome{})
			atWorker.pause()
			end(bot, atServer)
			if request := atWorker.next(); request.GetGoodbye() == nil {
				t.Errorf("no goodbye: %v", request)
			}
			if err := bot.end(); (err != nil) != (name == "refused") {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// A bot with a maximum number of games stays at the server: the maximum holds for all its games together.
func TestNoWorkersWithMaximum(t *testing.T) {
	for games, expected := range map[int]int{8: 0, Unlimited: 2} {
		played := make(chan string, 2)
		workers := newWorkerStreams(t.Context(), &Settings{Games: games}, func(_ context.Context, settings *Settings) error {
			played <- settings.Server
			return nil
		})
		workers.follow([]string{"one:1", "two:2"})
		workers.close()
		if len(played) != expected {
			t.Errorf("with at most %d games it played at %d workers", games, len(played))
		}
	}
}

// No more bots think at once than the settings say, at all servers together.
func TestThinkersOfAllStreams(t *testing.T) {
	server, worker := newPeer(t), newPeer(t)
	b := newThinker()
	server.play(always(b), Settings{Games: Unlimited, Thinkers: 1})
	atServer, _ := server.welcome(welcomeWith(worker))
	atWorker, _ := worker.welcome(&happycityv1.Welcome{})
	atServer.start(1)
	atServer.ask(decision(1, 1))
	q := within(t, b.asked, "question")
	atWorker.start(2)
	atWorker.ask(decision(2, 1))
	atWorker.pause()
	if len(b.asked) > 0 {
		t.Error("two decisions at once")
	}
	q.answer <- 1
	atServer.answers()
	within(t, b.asked, "question").answer <- 2
	if answers := atWorker.answers(); !maps.Equal(answers, map[int64]uint32{2: 2}) {
		t.Errorf("answers: %v", answers)
	}
}
