package happycity

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/happycity-arena/happycity-go/happycityv1"
)

// A busySimulator refuses every call with the token that it was shown.
type busySimulator struct {
	happycityv1.UnimplementedSimulationServiceServer
}

func (busySimulator) Explore(ctx context.Context, _ *happycityv1.ExploreRequest) (*happycityv1.ExploreResponse, error) {
	shown, _ := metadata.FromIncomingContext(ctx)
	token := ""
	for _, value := range shown.Get("authorization") {
		token += value
	}
	refusal, _ := status.New(codes.ResourceExhausted, token).WithDetails(&errdetails.ErrorInfo{
		Reason: "RATE_LIMITED", Metadata: map[string]string{"retry_after_ms": "1500"}})
	return nil, refusal.Err()
}

// Calls go to the bot's server with its token, and a refusal tells when to come back.
func TestDial(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	happycityv1.RegisterSimulationServiceServer(server, busySimulator{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)

	channel, err := Settings{Server: listener.Addr().String(), Token: "hc_secret"}.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer channel.Close()
	_, err = happycityv1.NewSimulationServiceClient(channel).Explore(t.Context(), &happycityv1.ExploreRequest{})
	if text := status.Convert(err).Message(); text != "Bearer hc_secret" {
		t.Errorf("the server was shown %q", text)
	}
	if pause, limited := RetryAfter(err); !limited || pause != 1500*time.Millisecond {
		t.Errorf("retry after %v, %v", pause, limited)
	}
	if _, limited := RetryAfter(errors.New("anything else")); limited {
		t.Error("any error is taken for a limit")
	}
}

// A token is not sent in the clear to another machine.
func TestDialGuardsTheToken(t *testing.T) {
	var wrong *SettingError
	if _, err := (Settings{Server: "arena.example.org:50051", Token: "hc_secret"}).Dial(); !errors.As(err, &wrong) {
		t.Errorf("error %v", err)
	}
}
