package happycity

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

const (
	// protocolVersion is that of the contract from which the stubs are generated.
	protocolVersion = 1
	// welcomeTime is how long the server may take to welcome the bot.
	welcomeTime = 20 * time.Second
	// goodbyeTime is how long the server may take to end the stream after a goodbye, endTime how long bots may
	// take to return then.
	goodbyeTime = 5 * time.Second
	endTime     = time.Second
	// holdTime is how long answers wait for others at most, while bots think about those.
	holdTime = 5 * time.Millisecond
)

// A session is what a bot and its server have said to each other, on one stream after the other.
type session struct {
	settings   Settings
	player     *player
	token      string // of the last welcome, to resume with
	isShutDown bool   // whether the server has said since then that it shuts down
}

// run opens one stream after the other, until one of them ends for good.
func (s *session) run(ctx context.Context) error {
	p := &pauses{reconnect: s.settings.Reconnect}
	for ctx.Err() == nil {
		messages, e := s.connect(ctx)
		if e == nil || ctx.Err() != nil {
			return nil
		}
		s.isShutDown = s.isShutDown || e.Reason == "SHUTTING_DOWN"
		now := time.Now()
		pause, isLeft := p.next(now, messages, e.retryDelay, rand.Float64())
		lostFor := now.Sub(p.lostAt)
		switch {
		case !e.isRetryable, p.lostAt.IsZero():
			return e
		case !isLeft && s.isShutDown:
			slog.Info("the server has shut down")
			return nil
		case !isLeft && lostFor >= time.Second:
			e.Text = fmt.Sprintf("no connection to %s for %d s: %s", s.settings.Server, lostFor/time.Second, e.Text)
			return e
		case !isLeft:
			return e
		case messages > 0:
			slog.Warn(e.Text + "; trying again")
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	return nil
}

// connect plays on one stream until it ends, and says goodbye when ctx ends. It returns how many messages came, and no
// error if the stream ended normally.
func (s *session) connect(ctx context.Context) (messages int, e *Error) {
	channel, err := s.settings.dial()
	if err != nil {
		return 0, s.unreachable(err)
	}
	defer channel.Close()
	// A stream that ended with ctx could send no goodbye.
	streamCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	out := newOutbox()
	defer context.AfterFunc(ctx, func() {
		out.add(&happycityv1.PlayRequest{Goodbye: &happycityv1.Goodbye{}}, true)
		time.AfterFunc(goodbyeTime, cancel)
	})()
	stream, err := happycityv1.NewPlayServiceClient(channel).Play(streamCtx)
	if err != nil {
		return 0, s.unreachable(err)
	}
	welcome := time.AfterFunc(welcomeTime, cancel)
	defer welcome.Stop()
	go out.write(stream, s.hello())
	for {
		batch, err := stream.Recv()
		switch {
		case err == io.EOF:
			return messages, nil
		case messages == 0 && streamCtx.Err() != nil:
			return 0, s.unreachable(fmt.Errorf("no welcome within %.0f s", welcomeTime.Seconds()))
		case err != nil:
			return messages, s.ended(err, messages > 0)
		}
		welcome.Stop()
		messages++
		if e := s.handle(batch, out, messages == 1); e != nil {
			return messages, e
		}
	}
}

func (s *session) hello() *happycityv1.PlayRequest {
	hello := &happycityv1.Hello{
		ProtocolVersion: protocolVersion, Software: new("happycity-go/" + Version), Info: s.settings.Info,
	}
	if s.settings.Name != "" {
		hello.Name = new(s.settings.Name)
	}
	if s.settings.Games > 0 {
		hello.MaxGames = new(uint32(s.settings.Games))
	}
	if s.token != "" {
		hello.ResumeToken = new(s.token)
	}
	return &happycityv1.PlayRequest{Hello: hello}
}

// handle handles a batch. It never waits for a bot, so pings are answered while bots think.
func (s *session) handle(batch *happycityv1.PlayResponse, out *outbox, isFirst bool) *Error {
	if ping := batch.GetPing(); ping != nil {
		out.add(&happycityv1.PlayRequest{Pong: &happycityv1.Pong{Nonce: ping.GetNonce()}}, true)
	}
	if isFirst {
		if batch.GetWelcome() == nil {
			return s.broke("the stream began without a welcome")
		}
		s.greet(batch.GetWelcome())
	}
	for _, notice := range batch.GetNotices() { // about what happened before the other parts
		s.isShutDown = s.isShutDown || notice.GetKind() == happycityv1.NoticeKind_NOTICE_KIND_SHUTDOWN
		if notice.GetKind() != happycityv1.NoticeKind_NOTICE_KIND_FORFEIT { // the end of the game says it
			where := place(notice.GetMatchId(), notice.GetRound(), notice.GetDecisionId())
			slog.Warn(where + oneLine(notice.GetText()))
		}
	}
	for _, decision := range batch.GetDecisions() {
		if decision.View == nil || len(decision.Moves) == 0 {
			return s.broke("a decision has no view or no moves")
		}
	}
	s.player.handle(batch, out)
	return nil
}

func (s *session) greet(welcome *happycityv1.Welcome) {
	text := "connected to " + s.settings.Server
	if len(welcome.GetMatchIds()) > 0 {
		text += ", and the games go on"
	}
	slog.Info(text)
	if welcome.GetCatalogueDigest() != catalogue().GetDigest() {
		slog.Warn("the server's cards are not those of this SDK: some are new or changed")
	}
	s.token, s.isShutDown = welcome.GetResumeToken(), false
}

// An outbox gathers a batch while the last one is being sent, and for a moment while bots think.
type outbox struct {
	mu    sync.Mutex
	batch *happycityv1.PlayRequest // nil if there is nothing to send
	timer *time.Timer              // fires when the batch is to be sent
}

func newOutbox() *outbox {
	timer := time.NewTimer(0)
	timer.Stop()
	return &outbox{timer: timer}
}

// add adds a part to the batch, which has one pong: the newest says all that an older one would.
func (o *outbox) add(part *happycityv1.PlayRequest, hurry bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case hurry:
		o.timer.Reset(0)
	case o.batch == nil:
		o.timer.Reset(holdTime)
	}
	if o.batch == nil {
		o.batch = &happycityv1.PlayRequest{}
	}
	proto.Merge(o.batch, part)
}

// write sends a hello, and then one batch after the other, until the bot has said goodbye or the stream ends.
func (o *outbox) write(stream happycityv1.PlayService_PlayClient, hello *happycityv1.PlayRequest) {
	batch := hello
	for stream.Send(batch) == nil { // else the reader gets the status
		if batch.Goodbye != nil {
			_ = stream.CloseSend()
			return
		}
		select {
		case <-o.timer.C:
		case <-stream.Context().Done():
			return
		}
		o.mu.Lock()
		o.timer.Stop() // what has been hurried since is in the batch
		batch, o.batch = o.batch, nil
		o.mu.Unlock()
	}
}
