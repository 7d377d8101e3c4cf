package main

import (
	"context"

	happycity "github.com/happycity-arena/happycity/clients/go"
	pb "github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// choose buys the most expensive card on offer, and takes any special.
func choose(_ context.Context, d *happycity.Decision) (int, error) {
	best, most := 0, int32(0)
	for i, move := range d.Moves {
		price := -move.Coins // coins are negative for a purchase
		if move.Kind == pb.MoveKind_MOVE_KIND_TAKE {
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
