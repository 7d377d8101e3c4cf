package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"time"

	"github.com/happycity-arena/happycity-go"
	pb "github.com/happycity-arena/happycity-go/happycityv1"
)

const (
	// playouts of each move. A standard error of a mean of 40 is some 5 points, but all moves are tried in the
	// same worlds, so their differences are known better than that.
	playouts = 40
	// thinkers at once: they wait for the server, so they may be more than there are cores.
	thinkers = 8
	// policy plays the seats in the playouts.
	policy = "quick"
)

// A sampler is the same for all games, and safe to be used by many at once.
type sampler struct {
	simulations pb.SimulationServiceClient
	playouts    uint32
	turn        chan struct{} // held by the game whose call it is
}

func newSampler(simulations pb.SimulationServiceClient) *sampler {
	return &sampler{simulations: simulations, playouts: playouts, turn: make(chan struct{}, 1)}
}

// choose plays the move that ends best on average; if the server doesn't simulate in time, the neutral one.
func (s *sampler) choose(ctx context.Context, d *happycity.Decision) (int, error) {
	if left := d.GetClock().GetTimeLeftMs(); left > 0 { // the answer needs some of it too
		limited, cancel := context.WithTimeout(ctx, time.Duration(left)*time.Millisecond*3/4)
		defer cancel()
		ctx = limited
	}
	rollOuts, err := s.rollOut(ctx, d)
	if err != nil {
		log.Printf("no simulations: %v", err)
		return 0, nil
	}
	if len(rollOuts) != len(d.GetMoves()) {
		return 0, fmt.Errorf("%d roll outs of %d moves", len(rollOuts), len(d.GetMoves()))
	}
	best, lead := furthestAhead(rollOuts, int(d.GetSeat()))
	happycity.Note(ctx, "playouts", float64(s.playouts))
	happycity.Note(ctx, "lead", lead)
	return best, nil
}

// rollOut asks for playouts of all moves. It waits for its turn, and when too many were asked for of late: if the
// games did so all at once, each might be refused again and again.
func (s *sampler) rollOut(ctx context.Context, d *happycity.Decision) ([]*pb.RollOut, error) {
	request := &pb.RollOutRequest{
		Lines:    []*pb.Line{{View: d.GetView(), Seed: uint64(d.GetDecisionId())}},
		Playouts: s.playouts,
		Policy:   policy,
		EachMove: true,
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for {
		response, err := s.simulations.RollOut(ctx, request)
		pause, limited := happycity.RetryAfter(err)
		if !limited {
			return response.GetRollOuts(), err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// furthestAhead returns the position of the first roll out with the greatest lead of a seat, and that lead.
func furthestAhead(rollOuts []*pb.RollOut, seat int) (best int, most float64) {
	most = math.Inf(-1)
	for i, rollOut := range rollOuts {
		if lead := leadOf(rollOut.GetPointsMean(), seat); lead > most {
			best, most = i, lead
		}
	}
	return best, most
}

// leadOf returns by how much a seat's points exceed those of the best other one.
func leadOf(points []float64, seat int) float64 {
	most := 0.0
	for other, p := range points {
		if other != seat {
			most = max(most, p)
		}
	}
	return points[seat] - most
}
