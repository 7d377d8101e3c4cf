package happycity

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// largestMessage is as much as the server may send: any number of games can be in one batch.
const largestMessage = 64 << 20

// Dial prepares a connection for the other services of a server, such as its simulations: to the same address as
// the bot's, with the same token and TLS. [Play] makes its own connections. Nothing is sent before the first call, so
// a server that isn't there is no error yet; a [*SettingError] is.
func (s Settings) Dial() (*grpc.ClientConn, error) {
	s, err := s.FromEnvironment()
	if err != nil {
		return nil, err
	}
	return s.dial()
}

// dial does it with settings that are complete.
func (s *Settings) dial() (*grpc.ClientConn, error) {
	creds, err := s.credentials()
	if err != nil {
		return nil, err
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(largestMessage)),
		// The server allows a ping every 10 s. These find a dead machine before the protocol's pings do.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
	}
	if s.Token != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer(s.Token)))
	}
	channel, err := grpc.NewClient(s.Server, options...)
	if err != nil {
		return nil, &SettingError{Setting: "Server", Text: fmt.Sprintf("%q is not an address: %v", s.Server, err)}
	}
	return channel, nil
}

// A bearer is a token that travels with each call.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity leaves that to [Settings.credentials], which knows what stays on this machine.
func (b bearer) RequireTransportSecurity() bool {
	return false
}

// RetryAfter returns how long to wait before the same call may succeed; false if the server didn't say.
func RetryAfter(err error) (time.Duration, bool) {
	delay := statusOf(err).retryAfter
	return delay, delay > 0
}
