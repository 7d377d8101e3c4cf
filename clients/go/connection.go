package happycity

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

const (
	// A server that has not welcomed the bot after this time is given up.
	welcomeTime = 20 * time.Second
	// A server that is silent for so many of its ping intervals is taken for dead.
	silentPings = 3
	// longestInterval bounds the ping interval that a server announces.
	longestInterval = time.Hour
)

// The server has so long to end the stream after a goodbye. Tests give it longer, where a bot may be slow to say it.
var goodbyeTime = time.Second

var (
	errSilent    = status.Error(codes.Unavailable, "no sign of life from the server")
	errStopped   = status.Error(codes.Canceled, "the bot was stopped")
	errNoWelcome = status.Error(codes.FailedPrecondition,
		"the stream began without a welcome; is it a Happy City server?")
)

// A connection is one stream to the server, from the hello to its end.
type connection struct {
	settings  *Settings
	player    *player
	out       *outbox
	onWelcome func(*happycityv1.Welcome)

	welcome  *happycityv1.Welcome    // nil until the server answered the hello
	welcomed atomic.Bool             // the same for [connection.leave], which another goroutine calls
	messages int                     // from the server
	cancel   context.CancelCauseFunc // breaks the stream off
	silence  *time.Timer             // fires when the server has been silent for too long
}

// run plays until the stream ends, and returns how it did. When ctx ends, it says goodbye first. The error is a
// [*SettingError].
func (c *connection) run(ctx context.Context, hello *happycityv1.Hello) (streamStatus, error) {
	channel, err := c.settings.dial()
	if err != nil {
		return streamStatus{}, err
	}
	defer channel.Close()
	// On a stream that ends with ctx nobody could say goodbye.
	streamCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	c.cancel = cancel
	defer cancel(nil)
	c.silence = time.AfterFunc(welcomeTime, func() { cancel(errSilent) })
	defer c.silence.Stop()
	defer context.AfterFunc(ctx, c.leave)()

	err = c.exchange(streamCtx, happycityv1.NewPlayServiceClient(channel), hello)
	c.player.detach()
	if cause := context.Cause(streamCtx); cause == errSilent {
		err = cause
	}
	return statusOf(err), nil
}

// exchange reads and writes until the stream ends; nil means in good order.
func (c *connection) exchange(ctx context.Context, client happycityv1.PlayServiceClient, hello *happycityv1.Hello) error {
	stream, err := client.Play(ctx)
	if err != nil {
		return err
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		c.write(stream, hello)
	}()
	err = c.read(stream)
	c.cancel(nil)
	<-written
	return err
}

// leave says goodbye, if the server has welcomed the bot.
func (c *connection) leave() {
	if !c.welcomed.Load() {
		c.cancel(errStopped)
		return
	}
	c.player.close()
	c.out.goodbye()
	time.AfterFunc(goodbyeTime, func() { c.cancel(errStopped) })
}

func (c *connection) write(stream happycityv1.PlayService_PlayClient, hello *happycityv1.Hello) {
	request := &happycityv1.PlayRequest{Hello: hello}
	for {
		if request != nil && stream.Send(request) != nil {
			return // the reader gets the status
		}
		if request.GetGoodbye() != nil {
			_ = stream.CloseSend()
			return
		}
		select {
		case <-c.out.ready:
			request = c.out.take()
		case <-stream.Context().Done():
			return
		}
	}
}

func (c *connection) read(stream happycityv1.PlayService_PlayClient) error {
	for {
		batch, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		c.messages++
		if err := c.take(batch); err != nil {
			return err
		}
	}
}

// take handles a batch. It never waits for a bot, so pings are answered while bots think.
func (c *connection) take(batch *happycityv1.PlayResponse) error {
	if ping := batch.GetPing(); ping != nil {
		c.out.pong(ping.GetNonce())
	}
	if c.welcome == nil {
		if batch.GetWelcome() == nil {
			return errNoWelcome
		}
		c.greet(batch.GetWelcome())
	}
	if interval := c.welcome.GetPingInterval().AsDuration(); interval > 0 {
		c.silence.Reset(silentPings * min(interval, longestInterval))
	}
	for _, notice := range batch.GetNotices() { // about what happened before the other parts
		logNotice(c.settings.Logger.With("bot", c.settings.Name), notice)
	}
	c.player.handle(batch)
	return nil
}

func (c *connection) greet(welcome *happycityv1.Welcome) {
	c.welcome = welcome
	c.welcomed.Store(true)
	c.silence.Stop()
	text := "connected to " + c.settings.Server
	if welcome.GetResumed() {
		text += ", and the games go on"
	}
	c.settings.Logger.Info(text, "bot", c.settings.Name)
	c.player.attach(c.out, welcome.GetResumed())
	c.onWelcome(welcome)
}
