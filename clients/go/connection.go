package happycity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"github.com/happycity-arena/happycity-go/happycityv1"
)

const (
	// A server that has not welcomed the bot by then is given up.
	welcomeTime = 20 * time.Second
	// A server that is silent for so many of its own heartbeats is taken for dead.
	silentHeartbeats = 3
	// As much as the server may send: any number of games can be in one batch.
	largestMessage = 64 << 20
)

// The server has so long to end the stream after a goodbye. Tests give it longer, where a bot may be slow to say it.
var goodbyeTime = time.Second

var (
	errSilent  = errors.New("no sign of life from the server")
	errStopped = errors.New("the bot was stopped")
)

type stream = grpc.BidiStreamingClient[happycityv1.PlayRequest, happycityv1.PlayResponse]

// A connection is one stream to the server, from the hello to its end.
type connection struct {
	settings    *Settings
	credentials credentials.TransportCredentials
	games       *games
	out         *outbox

	welcome  *happycityv1.Welcome    // nil until the server answered the hello
	welcomed atomic.Bool             // the same for [connection.leave], which is called from elsewhere
	heard    int                     // messages
	cancel   context.CancelCauseFunc // breaks the stream off
	silence  *time.Timer             // fires when the server has been silent for too long
}

// run plays until the stream ends, and tells how it did. When ctx ends, it says goodbye first.
func (c *connection) run(ctx context.Context, hello *happycityv1.Hello) parting {
	channel, err := c.dial()
	if err != nil {
		return partingOf(err)
	}
	defer channel.Close()
	// A stream that ends with ctx could not be bidden goodbye.
	streamCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	c.cancel = cancel
	defer cancel(nil)
	c.silence = time.AfterFunc(welcomeTime, func() { cancel(errSilent) })
	defer c.silence.Stop()
	defer context.AfterFunc(ctx, c.leave)()

	err = c.exchange(streamCtx, happycityv1.NewPlayServiceClient(channel), hello)
	c.games.detach()
	if cause := context.Cause(streamCtx); cause == errSilent {
		err = cause
	}
	return partingOf(err)
}

// dial prepares a connection of its own: a new stream must not come back to an old one's dead socket.
func (c *connection) dial() (*grpc.ClientConn, error) {
	channel, err := grpc.NewClient(c.settings.Server,
		grpc.WithTransportCredentials(c.credentials),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(largestMessage)),
		// The server allows a ping every 10 s. These find a dead machine below our own heartbeats.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
	)
	if err != nil {
		return nil, &SettingError{Setting: "Server", Text: fmt.Sprintf("%q is no address: %v", c.settings.Server, err)}
	}
	return channel, nil
}

// exchange reads and writes until the stream ends; nil means in good order.
func (c *connection) exchange(ctx context.Context, client happycityv1.PlayServiceClient, hello *happycityv1.Hello) error {
	if c.settings.Token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+c.settings.Token)
	}
	play, err := client.Play(ctx)
	if err != nil {
		return err
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		c.write(ctx, play, hello)
	}()
	err = c.read(play)
	c.cancel(nil)
	<-written
	return err
}

// leave says goodbye, if there is anybody to say it to.
func (c *connection) leave() {
	if !c.welcomed.Load() {
		c.cancel(errStopped)
		return
	}
	c.games.close()
	c.out.goodbye()
	time.AfterFunc(goodbyeTime, func() { c.cancel(errStopped) })
}

func (c *connection) write(ctx context.Context, play stream, hello *happycityv1.Hello) {
	request := &happycityv1.PlayRequest{Hello: hello}
	for {
		if request != nil && play.Send(request) != nil {
			return // whoever reads hears of it
		}
		if request.GetGoodbye() != nil {
			_ = play.CloseSend()
			return
		}
		select {
		case <-c.out.due:
			request = c.out.take()
		case <-ctx.Done():
			return
		}
	}
}

func (c *connection) read(play stream) error {
	for {
		batch, err := play.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		c.heard++
		if err := c.take(batch); err != nil {
			return err
		}
	}
}

// take deals with a batch. It never waits for a bot, so pings are answered while bots think.
func (c *connection) take(batch *happycityv1.PlayResponse) error {
	if ping := batch.GetPing(); ping != nil {
		c.out.pong(ping)
	}
	if c.welcome == nil {
		if err := c.greet(batch.GetWelcome()); err != nil {
			return err
		}
	}
	if heartbeat := c.welcome.GetHeartbeatMs(); heartbeat > 0 {
		c.silence.Reset(silentHeartbeats * time.Duration(heartbeat) * time.Millisecond)
	}
	c.games.handle(batch)
	for _, notice := range batch.GetNotices() {
		c.settings.Logger.Warn(notice.GetText(), "bot", c.settings.Name, "game", notice.GetGameId())
	}
	return nil
}

// greet takes the server's first words.
func (c *connection) greet(welcome *happycityv1.Welcome) error {
	if welcome == nil {
		return c.unusable("it began without a welcome; is it a Happy City server?")
	}
	if version := welcome.GetProtocolVersion(); version != ProtocolVersion {
		return c.unusable(fmt.Sprintf("it wants to speak version %d of the protocol, this bot speaks version %d", version, ProtocolVersion))
	}
	c.welcome = welcome
	c.welcomed.Store(true)
	c.silence.Stop()
	c.settings.Logger.Info("connected", "bot", c.settings.Name, "server", c.settings.Server, "resumed", welcome.GetResumed())
	c.games.attach(c.out, welcome.GetResumed())
	return nil
}

func (c *connection) unusable(text string) error {
	return &ConnectionError{
		Server: c.settings.Server, Name: c.settings.Name, Code: codes.FailedPrecondition,
		Text: fmt.Sprintf("%s can't be played on: %s", c.settings.Server, text),
	}
}
