package happycity

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
)

// Dial prepares a connection for the other services of a server, such as its simulations: to the same
// address as the bot's, with the same token and TLS. [Play] makes its own connections. Nothing is sent before
// the first call, so a server that isn't there is no error yet; a [*SettingError] is.
func (s Settings) Dial() (*grpc.ClientConn, error) {
	s, err := s.FromEnvironment()
	if err != nil {
		return nil, err
	}
	creds, err := s.credentials()
	if err != nil {
		return nil, err
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(largestMessage)),
	}
	if s.Token != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer(s.Token)))
	}
	channel, err := grpc.NewClient(s.Server, options...)
	if err != nil {
		return nil, &SettingError{Setting: "Server", Text: fmt.Sprintf("%q is no address: %v", s.Server, err)}
	}
	return channel, nil
}

// A bearer is a token that is shown with each call.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity leaves that to [Settings.credentials], which knows what stays on this machine.
func (b bearer) RequireTransportSecurity() bool {
	return false
}

// RetryAfter tells how long a server wants to be left alone that refused a call as one too many; false if it
// refused for anything else.
func RetryAfter(err error) (time.Duration, bool) {
	p := partingOf(err)
	return p.retryAfter, p.reason == "RATE_LIMITED"
}
