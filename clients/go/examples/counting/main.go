package main

import (
	"context"
	"log"
	"math/rand/v2"

	"github.com/happycity-arena/happycity-go"
	pb "github.com/happycity-arena/happycity-go/happycityv1"
)

// A bot plays one game, so its fields are the memory of that game.
type bot struct {
	seat uint32
	rng  *rand.Rand
	seen map[happycity.Card]int
}

func newBot(start *happycity.GameStarted) happycity.Bot {
	return &bot{
		seat: start.GetSeat(),
		rng:  rand.New(rand.NewPCG(start.GetSeed(), 0)), // a match that is played again goes the same way
		seen: map[happycity.Card]int{},
	}
}

func (b *bot) Choose(_ context.Context, d *happycity.Decision) (int, error) {
	for _, event := range d.GetEvents() {
		if event.GetKind() == pb.EventKind_EVENT_KIND_DRAW {
			b.seen[event.GetCard()]++
		}
	}
	return b.rng.IntN(len(d.GetMoves())), nil
}

func (b *bot) GameOver(over *happycity.GameOver) {
	result := over.GetResult()
	log.Printf("place %d with %d points; saw %d cards",
		result.GetPlaces()[b.seat], result.GetOutcome().GetPoints()[b.seat], len(b.seen))
}

func main() {
	happycity.Run(newBot, happycity.Settings{})
}
