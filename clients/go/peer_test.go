package happycity

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"maps"
	"net"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// patience is how long a test waits for what has to happen.
const patience = time.Minute

func TestMain(m *testing.M) {
	goodbyeTime = patience
	m.Run()
}

// A peer is a scripted server: each stream that a bot opens is handed to the test.
type peer struct {
	happycityv1.UnimplementedPlayServiceServer
	t       *testing.T
	address string
	opened  chan *dialogue
}

func newPeer(t *testing.T, options ...grpc.ServerOption) *peer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, address: listener.Addr().String(), opened: make(chan *dialogue, 10)}
	server := grpc.NewServer(options...)
	happycityv1.RegisterPlayServiceServer(server, p)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return p
}

// Play hands the stream to the test, and keeps it open until the test or the bot ends it.
func (p *peer) Play(stream grpc.BidiStreamingServer[happycityv1.PlayRequest, happycityv1.PlayResponse]) error {
	d := &dialogue{t: p.t, stream: stream, received: make(chan *happycityv1.PlayRequest, 1000), end: make(chan error, 1)}
	p.opened <- d
	go d.read()
	select {
	case err := <-d.end:
		return err
	case <-stream.Context().Done():
		return stream.Context().Err()
	}
}

// accept waits for the next stream, and checks that it begins with a hello.
func (p *peer) accept() (*dialogue, *happycityv1.Hello) {
	p.t.Helper()
	d := within(p.t, p.opened, "stream")
	hello := d.next().GetHello()
	if hello == nil {
		p.t.Fatal("the first message has no hello")
	}
	return d, hello
}

// welcome waits for the next stream, and welcomes its bot.
func (p *peer) welcome(welcome *happycityv1.Welcome) (*dialogue, *happycityv1.Hello) {
	p.t.Helper()
	d, hello := p.accept()
	d.send(&happycityv1.PlayResponse{Welcome: welcome})
	return d, hello
}

// A dialogue is the server's end of a stream.
type dialogue struct {
	t        *testing.T
	stream   grpc.BidiStreamingServer[happycityv1.PlayRequest, happycityv1.PlayResponse]
	received chan *happycityv1.PlayRequest // closed when the bot closed its side
	end      chan error
}

func (d *dialogue) read() {
	defer close(d.received)
	for {
		request, err := d.stream.Recv()
		if err != nil {
			if err == io.EOF {
				d.end <- nil
			}
			return
		}
		d.received <- request
	}
}

func (d *dialogue) send(batch *happycityv1.PlayResponse) {
	d.t.Helper()
	if err := d.stream.Send(batch); err != nil {
		d.t.Fatalf("sending to the bot: %v", err)
	}
}

// ask sends decisions in one batch.
func (d *dialogue) ask(decisions ...*happycityv1.Decision) {
	d.t.Helper()
	d.send(&happycityv1.PlayResponse{Decisions: decisions})
}

// start begins games in one batch, with the bot in seat 0.
func (d *dialogue) start(ids ...int64) {
	d.t.Helper()
	batch := &happycityv1.PlayResponse{}
	for _, id := range ids {
		batch.GamesStarted = append(batch.GamesStarted, &GameStarted{MatchId: id, Bots: []string{"a", "b"}, Seed: uint64(id)})
	}
	d.send(batch)
}

// next returns the bot's next message.
func (d *dialogue) next() *happycityv1.PlayRequest {
	d.t.Helper()
	return within(d.t, d.received, "message")
}

// answers returns the bot's next message, which holds answers and nothing else, as positions by match.
func (d *dialogue) answers() map[int64]uint32 {
	d.t.Helper()
	request := d.next()
	if request.GetPong() != nil || request.GetGoodbye() != nil || len(request.GetResigns()) > 0 {
		d.t.Fatalf("more than answers: %v", request)
	}
	return movesOf(request)
}

// gather returns the bot's next answers as positions by match, of so many matches, in one message or several.
func (d *dialogue) gather(matches int) map[int64]uint32 {
	d.t.Helper()
	moves := d.answers()
	for len(moves) < matches {
		maps.Copy(moves, d.answers())
	}
	return moves
}

// movesOf returns a message's answers as positions by match.
func movesOf(request *happycityv1.PlayRequest) map[int64]uint32 {
	moves := map[int64]uint32{}
	for _, answer := range request.GetAnswers() {
		moves[answer.GetMatchId()] = answer.GetMove()
	}
	return moves
}

// pause sends a ping, and returns what the bot sent before the pong, pong included.
func (d *dialogue) pause() []*happycityv1.PlayRequest {
	d.t.Helper()
	const nonce = 1<<60 + 1
	d.send(&happycityv1.PlayResponse{Ping: &happycityv1.Ping{Nonce: nonce}})
	var sent []*happycityv1.PlayRequest
	for {
		request := d.next()
		sent = append(sent, request)
		if request.GetPong().GetNonce() == nonce {
			return sent
		}
	}
}

// answersPing returns whether the bot answers a ping; false if it has ended the stream.
func (d *dialogue) answersPing() bool {
	d.t.Helper()
	_ = d.stream.Send(&happycityv1.PlayResponse{Ping: &happycityv1.Ping{Nonce: 1}})
	select {
	case _, open := <-d.received:
		return open
	case <-time.After(patience):
		d.t.Fatalf("no pong within %v", patience)
	}
	panic("unreachable")
}

// cut ends the stream as a network failure does.
func (d *dialogue) cut() {
	d.end <- status.Error(codes.Unavailable, "connection reset")
}

// refuse ends the stream with a reason.
func (d *dialogue) refuse(code codes.Code, reason string) {
	d.t.Helper()
	d.end <- refusal(d.t, code, &errdetails.ErrorInfo{Reason: reason, Domain: "happycity.dev"})
}

// refusal returns an error with details, as a server sends it.
func refusal(t *testing.T, code codes.Code, details ...protoadapt.MessageV1) error {
	t.Helper()
	s, err := status.New(code, "no").WithDetails(details...)
	if err != nil {
		t.Fatal(err)
	}
	return s.Err()
}

// authorization returns what the call brought with it.
func (d *dialogue) authorization() []string {
	incoming, _ := metadata.FromIncomingContext(d.stream.Context())
	return incoming.Get("authorization")
}

// A program is a bot that plays in the background.
type program struct {
	t     *testing.T
	stop  context.CancelFunc
	ended chan error
}

// play starts a bot on a peer. It is stopped at the end of the test.
func (p *peer) play(factory Factory, settings Settings) *program {
	p.t.Helper()
	settings.Server = cmp.Or(settings.Server, p.address)
	settings.Name = cmp.Or(settings.Name, "tester")
	settings.Logger = cmp.Or(settings.Logger, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(context.Background())
	program := &program{t: p.t, stop: stop, ended: make(chan error, 1)}
	go func() { program.ended <- Play(ctx, factory, settings) }()
	p.t.Cleanup(stop)
	return program
}

// end returns what Play returned.
func (p *program) end() error {
	p.t.Helper()
	return within(p.t, p.ended, "end of the bot")
}

// within waits for a value. A closed channel fails the test.
func within[T any](t *testing.T, channel <-chan T, what string) T {
	t.Helper()
	select {
	case value, ok := <-channel:
		if !ok {
			t.Fatalf("no %s: the bot ended its stream", what)
		}
		return value
	case <-time.After(patience):
		t.Fatalf("no %s within %v", what, patience)
	}
	panic("unreachable")
}

// decision returns a decision of seat 0 between three moves.
func decision(matchID int64, decisionID uint32) *happycityv1.Decision {
	return &happycityv1.Decision{MatchId: matchID, DecisionId: decisionID, View: &View{}, Moves: []*Move{{}, {}, {}}}
}
