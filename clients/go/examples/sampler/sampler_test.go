package main

import (
	"context"
	"maps"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/happycity-arena/happycity-go"
	pb "github.com/happycity-arena/happycity-go/happycityv1"
)

// A script answers calls one after the other; the last answer is repeated.
type script struct {
	pb.SimulationServiceClient
	errors   []error
	rollOuts []*pb.RollOut
	requests []*pb.RollOutRequest
}

func (s *script) RollOut(_ context.Context, request *pb.RollOutRequest, _ ...grpc.CallOption) (*pb.RollOutResponse, error) {
	s.requests = append(s.requests, request)
	if n := len(s.requests); n <= len(s.errors) {
		return nil, s.errors[n-1]
	}
	return &pb.RollOutResponse{RollOuts: s.rollOuts}, nil
}

func points(means ...float64) *pb.RollOut {
	return &pb.RollOut{PointsMean: means}
}

var decision = &happycity.Decision{
	DecisionId: 7,
	Seat:       1,
	View:       &pb.View{Round: 3},
	Moves:      []*pb.Move{{}, {}, {}},
}

// The move after which the own seat leads by most is played, not the one with the most points; the lead is noted.
func TestFurthestAhead(t *testing.T) {
	s := &script{rollOuts: []*pb.RollOut{points(50, 60, 10), points(20, 55, 30), points(70, 80, 20)}}
	ctx, noted := happycity.WithNotes(t.Context())
	move, err := newSampler(s).choose(ctx, decision)
	if move != 1 || err != nil {
		t.Errorf("move %d, error %v", move, err)
	}
	if told := noted(); !maps.Equal(told, map[string]float64{"playouts": 40, "lead": 25}) {
		t.Errorf("noted %v", told)
	}
	asked := s.requests[0]
	if !asked.GetEachMove() || asked.GetPlayouts() != 40 || asked.GetLines()[0].GetView().GetRound() != 3 {
		t.Errorf("asked for %v", asked)
	}
}

// A sampler that asked too often asks again when it may.
func TestLimited(t *testing.T) {
	refusal, err := status.New(codes.ResourceExhausted, "too many").WithDetails(&errdetails.ErrorInfo{
		Reason: "RATE_LIMITED", Metadata: map[string]string{"retry_after_ms": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	s := &script{
		errors:   []error{refusal.Err()},
		rollOuts: []*pb.RollOut{points(0, 0), points(0, 0), points(0, 1)},
	}
	move, err := newSampler(s).choose(t.Context(), decision)
	if move != 2 || err != nil || len(s.requests) != 2 {
		t.Errorf("move %d, error %v after %d calls", move, err, len(s.requests))
	}
}

// Without simulations the neutral move is played, and the game goes on.
func TestWithoutSimulations(t *testing.T) {
	s := &script{errors: []error{status.Error(codes.Unimplemented, "turned off")}}
	ctx, noted := happycity.WithNotes(t.Context())
	if move, err := newSampler(s).choose(ctx, decision); move != 0 || err != nil {
		t.Errorf("move %d, error %v", move, err)
	}
	if told := noted(); told != nil {
		t.Errorf("noted %v", told)
	}
}
