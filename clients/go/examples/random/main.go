// Random plays any legal move, all equally likely.
package main

import (
	"context"
	"math/rand/v2"

	happycity "github.com/happycity-arena/happycity/clients/go"
)

// A bot draws all its randomness from the seed of its game, so a match that is played again goes the same way.
type bot struct {
	rng *rand.Rand
}

func newBot(start *happycity.GameStarted) happycity.Bot {
	return &bot{rng: rand.New(rand.NewPCG(start.Seed, 0))}
}

func (b *bot) Choose(_ context.Context, d *happycity.Decision) (int, error) {
	return b.rng.IntN(len(d.Moves)), nil
}

func main() {
	happycity.Run(newBot, happycity.Settings{Games: happycity.Unlimited})
}
