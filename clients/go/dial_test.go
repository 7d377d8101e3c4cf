package happycity

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// A busySimulator refuses every call, with the token that the call brought in the status message.
type busySimulator struct {
	happycityv1.UnimplementedSimulationServiceServer
	t *testing.T
}

func (s busySimulator) ApplyMoves(ctx context.Context, _ *happycityv1.ApplyMovesRequest) (*happycityv1.ApplyMovesResponse, error) {
	incoming, _ := metadata.FromIncomingContext(ctx)
	limited := status.New(codes.ResourceExhausted, strings.Join(incoming.Get("authorization"), ""))
	limited, err := limited.WithDetails(
		&errdetails.ErrorInfo{Reason: "RATE_LIMITED", Domain: "happycity.dev"},
		&errdetails.RetryInfo{RetryDelay: durationpb.New(1500 * time.Millisecond)},
	)
	if err != nil {
		s.t.Error(err)
	}
	return nil, limited.Err()
}

// Calls go to the bot's server with its token, and a refusal says when to call again.
func TestDial(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	happycityv1.RegisterSimulationServiceServer(server, busySimulator{t: t})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)

	channel, err := Settings{Server: listener.Addr().String(), Token: "hc_secret"}.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer channel.Close()
	_, err = happycityv1.NewSimulationServiceClient(channel).ApplyMoves(t.Context(), &happycityv1.ApplyMovesRequest{})
	if text := status.Convert(err).Message(); text != "Bearer hc_secret" {
		t.Errorf("the call brought %q", text)
	}
	if pause, limited := RetryAfter(err); !limited || pause != 1500*time.Millisecond {
		t.Errorf("retry after %v, %v", pause, limited)
	}
	if _, limited := RetryAfter(errors.New("anything else")); limited {
		t.Error("any error is taken for a limit")
	}
}
