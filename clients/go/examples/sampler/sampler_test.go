package main

import (
	"context"
	"maps"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	happycity "github.com/happycity-arena/happycity/clients/go"
	pb "github.com/happycity-arena/happycity/clients/go/happycitymodelv1beta1"
	play "github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// A script answers calls one after the other; the last answer is repeated.
type script struct {
	pb.ModelServiceClient
	errors   []error
	results  []*pb.RolloutResult
	requests []*pb.RolloutRequest
}

func (s *script) Rollout(_ context.Context, request *pb.RolloutRequest, _ ...grpc.CallOption) (*pb.RolloutResponse, error) {
	s.requests = append(s.requests, request)
	if n := len(s.requests); n <= len(s.errors) {
		return nil, s.errors[n-1]
	}
	return &pb.RolloutResponse{Results: s.results}, nil
}

func points(means ...float64) *pb.RolloutResult {
	result := &pb.RolloutResult{}
	for _, mean := range means {
		result.Seats = append(result.Seats, &pb.SeatEstimate{PointsMean: mean})
	}
	return result
}

func decision() *happycity.Decision {
	return &happycity.Decision{Decision: &play.Decision{
		DecisionId: 7, View: &play.View{Seat: 1, Round: 3}, Moves: []*play.Move{{}, {}, {}},
	}}
}

// The sampler plays the move with the greatest lead of the own seat, not the one with the most points, and notes the
// lead.
func TestFurthestAhead(t *testing.T) {
	s := &script{results: []*pb.RolloutResult{points(50, 60, 10), points(20, 55, 30), points(70, 80, 20)}}
	d := decision()
	move, err := newSampler(s).choose(t.Context(), d)
	if move != 1 || err != nil {
		t.Errorf("move %d, error %v", move, err)
	}
	if notes := d.Notes(); !maps.Equal(notes, map[string]float64{"playouts": 40, "lead": 25}) {
		t.Errorf("notes %v", notes)
	}
	request := s.requests[0]
	if !request.EachMove || request.Playouts != 40 || request.Lines[0].View.Round != 3 {
		t.Errorf("request %v", request)
	}
}

// A sampler that called too often calls again when it may.
func TestLimited(t *testing.T) {
	refusal, err := status.New(codes.ResourceExhausted, "too many").WithDetails(
		&errdetails.ErrorInfo{Reason: "RATE_LIMITED", Domain: "happycity.dev"},
		&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Millisecond)},
	)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{
		errors:  []error{refusal.Err()},
		results: []*pb.RolloutResult{points(0, 0), points(0, 0), points(0, 1)},
	}
	move, err := newSampler(s).choose(t.Context(), decision())
	if move != 2 || err != nil || len(s.requests) != 2 {
		t.Errorf("move %d, error %v after %d calls", move, err, len(s.requests))
	}
}

// Without playouts the sampler plays the neutral move, and the game goes on.
func TestWithoutPlayouts(t *testing.T) {
	s := &script{errors: []error{status.Error(codes.Unimplemented, "turned off")}}
	d := decision()
	if move, err := newSampler(s).choose(t.Context(), d); move != 0 || err != nil {
		t.Errorf("move %d, error %v", move, err)
	}
	if notes := d.Notes(); notes != nil {
		t.Errorf("notes %v", notes)
	}
}
