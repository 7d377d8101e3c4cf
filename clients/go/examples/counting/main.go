package main

import (
	"context"
	"log"
	"math/rand/v2"

	happycity "github.com/happycity-arena/happycity/clients/go"
	pb "github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// A bot plays one seat of one match, so its fields are the memory of that game.
type bot struct {
	seat uint32
	rng  *rand.Rand
	seen map[happycity.Card]int
}

func newBot(start *happycity.GameStarted) happycity.Bot {
	return &bot{
		seat: start.Seat,
		rng:  rand.New(rand.NewPCG(start.Seed, 0)), // a match that is played again goes the same way
		seen: map[happycity.Card]int{},
	}
}

func (b *bot) Choose(_ context.Context, d *happycity.Decision) (int, error) {
	for _, event := range d.Events {
		if event.Kind == pb.EventKind_EVENT_KIND_DRAW {
			b.seen[event.Card]++
		}
	}
	return b.rng.IntN(len(d.Moves)), nil
}

func (b *bot) GameOver(over *happycity.GameOver) {
	own := over.GetOutcome().GetResult().Seats[b.seat]
	log.Printf("place %d with %d points; saw %d cards", own.Place, own.Points, len(b.seen))
}

func main() {
	happycity.Run(newBot, happycity.Settings{})
}
