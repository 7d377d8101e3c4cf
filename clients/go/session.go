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
	protocolVersion = 1
	// welcomeTime is how long the server may take to welcome the bot.
	welcomeTime = 20 * time.Second
	// goodbyeTime is how long the server may take to end the stream after a goodbye.
	goodbyeTime = time.Second
	// holdTime is how long answers wait for others at most, while bots think about those.
	holdTime     = 5 * time.Millisecond
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
)

var errNoWelcome = fmt.Errorf("no welcome within %.0f s", welcomeTime.Seconds())

// A session is what a bot and its server have said to each other, on one stream after the other.
type session struct {
	settings   Settings
	server     *server
	player     *player
	token      string // of the last welcome, to resume with
	isWelcome  bool   // whether there was one
	isShutDown bool   // whether the server has said since then that it shuts down
	lostAt     time.Time
	patience   time.Duration // how long to look for the server since then
}

// run opens one stream after the other, until one of them ends for good.
func (s *session) run(ctx context.Context) error {
	bound := firstPause
	s.lostAt, s.patience = time.Now(), s.settings.Wait
	for ctx.Err() == nil {
		messages, err := s.connect(ctx)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		e := s.server.explain(err, messages > 0)
		s.isShutDown = s.isShutDown || e.Reason == "SHUTTING_DOWN"
		if messages > 0 {
			s.lostAt, s.patience = time.Now(), s.settings.Reconnect
		}
		if messages > 1 { // a server that only welcomes and drops bots is not to be hammered
			bound = firstPause
		}
		left := s.patience - time.Since(s.lostAt)
		switch {
		case !e.isRetryable, e.isTLS && !s.isWelcome:
			return e
		case left <= 0, left < e.retryDelay:
			return s.giveUp(e)
		case messages > 0:
			slog.Warn(e.Text + "; trying again")
		}
		select { // for a random time, to spread the bots of a server
		case <-time.After(min(left, max(e.retryDelay, rand.N(bound)))):
		case <-ctx.Done():
		}
		bound = min(2*bound, longestPause)
	}
	return nil
}

// giveUp ends the search for the server. It is no error if the server said that it shuts down.
func (s *session) giveUp(e *Error) error {
	if s.isWelcome && s.isShutDown {
		slog.Info("the server has shut down")
		return nil
	}
	if seconds := int(time.Since(s.lostAt).Seconds()); s.isWelcome && seconds > 0 {
		e.Text = fmt.Sprintf("no connection to %s for %d s: %s", s.server.name, seconds, e.Text)
	}
	return e
}

// connect plays on one stream until it ends, and says goodbye when ctx ends. It returns how many messages came, and no
// error if the stream ended in good order.
func (s *session) connect(ctx context.Context) (messages int, err error) {
	channel, err := s.server.dial()
	if err != nil {
		return 0, err
	}
	defer channel.Close()
	// A stream that ended with ctx could send no goodbye.
	streamCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	welcome := time.AfterFunc(welcomeTime, func() { cancel(errNoWelcome) })
	defer welcome.Stop()
	out := newOutbox()
	defer context.AfterFunc(ctx, func() {
		s.player.stop()
		out.add(&happycityv1.PlayRequest{Goodbye: &happycityv1.Goodbye{}}, true)
		time.AfterFunc(goodbyeTime, func() { cancel(nil) })
	})()
	stream, err := happycityv1.NewPlayServiceClient(channel).Play(streamCtx)
	if err == nil {
		go write(stream, s.hello(), out)
	}
	for err == nil {
		var batch *happycityv1.PlayResponse
		if batch, err = stream.Recv(); err == nil {
			welcome.Stop()
			messages++
			err = s.handle(batch, out, messages == 1)
		}
	}
	switch {
	case err == io.EOF:
		return messages, nil
	case context.Cause(streamCtx) == errNoWelcome:
		return messages, errNoWelcome
	}
	return messages, err
}

func (s *session) hello() *happycityv1.Hello {
	hello := &happycityv1.Hello{Software: new("happycity-go/" + Version), Info: s.settings.Info}
	if s.settings.Name != "" {
		hello.Name = new(s.settings.Name)
	}
	if s.settings.Games > 0 {
		hello.MaxGames = new(uint32(s.settings.Games))
	}
	if s.token != "" {
		hello.ResumeToken = new(s.token)
	}
	return hello
}

// write sends the hello, and then what has gathered.
func write(stream happycityv1.PlayService_PlayClient, hello *happycityv1.Hello, out *outbox) {
	request := &happycityv1.PlayRequest{Hello: hello}
	for request != nil && stream.Send(request) == nil { // else the reader gets the status
		if request.Goodbye != nil {
			_ = stream.CloseSend()
			return
		}
		request = out.take(stream.Context())
	}
}

// handle handles a batch. It never waits for a bot, so pings are answered while bots think.
func (s *session) handle(batch *happycityv1.PlayResponse, out *outbox, isFirst bool) error {
	if ping := batch.GetPing(); ping != nil {
		out.add(&happycityv1.PlayRequest{Pong: &happycityv1.Pong{Nonce: ping.GetNonce()}}, true)
	}
	if isFirst {
		if batch.GetWelcome() == nil {
			return s.server.broke("the stream began without a welcome")
		}
		s.greet(batch.GetWelcome())
	}
	for _, notice := range batch.GetNotices() { // about what happened before the other parts
		s.isShutDown = s.isShutDown || notice.GetKind() == happycityv1.NoticeKind_NOTICE_KIND_SHUTDOWN
		if notice.GetKind() != happycityv1.NoticeKind_NOTICE_KIND_FORFEIT { // the end of the game says it
			text := oneLine(notice.GetText())
			slog.Warn(place(notice.GetMatchId(), notice.GetRound(), notice.GetDecisionId(), text))
		}
	}
	if what := s.player.handle(batch, out); what != "" {
		return s.server.broke(what)
	}
	return nil
}

func (s *session) greet(welcome *happycityv1.Welcome) {
	text := "connected to " + s.server.name
	if len(welcome.GetMatchIds()) > 0 {
		text += ", and the games go on"
	}
	slog.Info(text)
	if version := welcome.GetProtocolVersion(); version > protocolVersion {
		slog.Warn(fmt.Sprintf("the server speaks protocol version %d, this SDK version %d: what is new is left out",
			version, protocolVersion))
	}
	if welcome.GetCatalogueDigest() != catalogue().GetDigest() {
		slog.Warn("the server's cards are not those of this SDK: some are new or changed")
	}
	s.token, s.isWelcome, s.isShutDown = welcome.GetResumeToken(), true, false
}

// An outbox gathers a batch while the last one is being sent, and for a moment while bots think.
type outbox struct {
	batch chan *happycityv1.PlayRequest // holds the batch, if there is something to send
	hurry chan struct{}                 // holds a token if the batch should not wait for more
	mu    sync.Mutex                    // held while the batch is added to
}

func newOutbox() *outbox {
	return &outbox{batch: make(chan *happycityv1.PlayRequest, 1), hurry: make(chan struct{}, 1)}
}

// add adds a part to the batch, which has one pong: the newest says all that an older one would.
func (o *outbox) add(part *happycityv1.PlayRequest, hurry bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	request := &happycityv1.PlayRequest{}
	select {
	case request = <-o.batch:
	default:
	}
	proto.Merge(request, part)
	o.batch <- request // there is room: nothing else fills it
	if hurry {
		select {
		case o.hurry <- struct{}{}:
		default: // it has a token already
		}
	}
}

// take waits for a batch; nil if ctx ends before there is one.
func (o *outbox) take(ctx context.Context) *happycityv1.PlayRequest {
	select {
	case request := <-o.batch:
		select {
		case <-o.hurry:
		case <-time.After(holdTime):
		}
		select {
		case rest := <-o.batch:
			proto.Merge(request, rest)
		default:
		}
		return request
	case <-ctx.Done():
		return nil
	}
}
