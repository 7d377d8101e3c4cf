package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	happycity "github.com/happycity-arena/happycity/clients/go"
	pb "github.com/happycity-arena/happycity/clients/go/happycitymodelv1beta1"
)

const (
	// playouts of each move. The standard error of a mean of 40 is some 5 points, but all moves are tried in the same
	// worlds, so their differences are known better than that.
	playouts = 40
	// thinkers at once: they wait for the server, so they may be more than there are cores.
	thinkers = 8
)

// A sampler is the same for all games, and safe for concurrent use.
type sampler struct {
	model pb.ModelServiceClient
	turn  chan struct{} // filled by the game whose call is under way
}

func newSampler(model pb.ModelServiceClient) *sampler {
	return &sampler{model: model, turn: make(chan struct{}, 1)}
}

// choose plays the move that ends best on average; if the server doesn't simulate in time, the neutral one.
func (s *sampler) choose(ctx context.Context, d *happycity.Decision) (int, error) {
	if deadline, isLimited := ctx.Deadline(); isLimited { // the answer needs some of the time too
		shorter, cancel := context.WithTimeout(ctx, time.Until(deadline)*3/4)
		defer cancel()
		ctx = shorter
	}
	results, err := s.rollout(ctx, d)
	if err != nil {
		log.Printf("no playouts: %v", err)
		return 0, nil
	}
	if len(results) != len(d.Moves) {
		return 0, fmt.Errorf("%d rollouts of %d moves", len(results), len(d.Moves))
	}
	best, lead := furthestAhead(results, int(d.View.Seat))
	d.Note("playouts", playouts)
	d.Note("lead", lead)
	return best, nil
}

// rollout asks for playouts of all moves. The games take turns, and wait when there were too many calls of late: if
// they all called at once, each might be refused again and again.
func (s *sampler) rollout(ctx context.Context, d *happycity.Decision) ([]*pb.RolloutResult, error) {
	request := &pb.RolloutRequest{
		Lines:    []*pb.Line{{View: d.View, Seed: uint64(d.DecisionId)}},
		Playouts: playouts,
		Policy:   pb.PlayoutPolicy_PLAYOUT_POLICY_QUICK,
		EachMove: true,
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for {
		response, err := s.model.Rollout(ctx, request)
		pause, limited := retryDelay(err)
		if !limited {
			return response.GetResults(), err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// retryDelay returns how long to wait before the same call may succeed; false if the server didn't say.
func retryDelay(err error) (time.Duration, bool) {
	for _, detail := range status.Convert(err).Details() {
		if retry, ok := detail.(*errdetails.RetryInfo); ok {
			return retry.GetRetryDelay().AsDuration(), true
		}
	}
	return 0, false
}

// furthestAhead returns the position of the first result with the greatest lead of a seat, and that lead.
func furthestAhead(results []*pb.RolloutResult, seat int) (best int, most float64) {
	most = math.Inf(-1)
	for i, result := range results {
		if lead := leadOf(result.Seats, seat); lead > most {
			best, most = i, lead
		}
	}
	return best, most
}

// leadOf returns by how much a seat's mean points exceed those of the best other seat.
func leadOf(seats []*pb.SeatEstimate, seat int) float64 {
	most := 0.0
	for other, estimate := range seats {
		if other != seat {
			most = max(most, estimate.PointsMean)
		}
	}
	return seats[seat].PointsMean - most
}
