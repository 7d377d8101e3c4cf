package main

import (
	"context"

	"github.com/happycity-arena/happycity-go"
)

// choose buys the dearest card there is, and takes any special.
func choose(_ context.Context, d *happycity.Decision) (int, error) {
	best, most := 0, uint32(0)
	for i, move := range d.GetMoves() {
		price := max(move.GetBuild().GetPrice(), move.GetDwell().GetPrice())
		if move.GetTake() != nil {
			price = 100
		}
		if price > most {
			best, most = i, price
		}
	}
	return best, nil // the first move is always the neutral one: keep, the lowest deck, a coin, decline
}

func main() {
	happycity.Run(happycity.Stateless(choose), happycity.Settings{})
}
