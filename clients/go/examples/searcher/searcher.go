package main

import (
	"cmp"
	"context"
	"math/bits"
	"math/rand/v2"
	"slices"

	happycity "github.com/happycity-arena/happycity/clients/go"
)

// playouts of all moves of a decision together, at most.
const playouts = 2000

// A searcher plays moves out in sampled worlds, good ones most often.
//
// Sequential halving: the playouts of a decision are shared among a few stages, and after each the worse half of the
// moves is dropped. All moves are tried in the same worlds, so that luck cancels out.
type searcher struct {
	random *rand.Rand
}

func newSearcher(start *happycity.GameStarted) happycity.Bot {
	return searcher{rand.New(rand.NewPCG(start.GetSeed(), 0))}
}

// Choose returns the best move by sequential halving.
func (s searcher) Choose(ctx context.Context, d *happycity.Decision) (int, error) {
	worth := make([]float64, len(d.Moves))
	alive := make([]int, len(d.Moves)) // positions in d.Moves
	for place := range alive {
		alive[place] = place
	}
	stages := bits.Len(uint(len(alive) - 1))
	for range stages {
		for range playouts / (stages * len(alive)) {
			if ctx.Err() != nil { // it is late
				return alive[0], nil
			}
			world, err := d.Position(s.random.Uint64())
			if err != nil {
				return 0, err
			}
			legal, moves := world.LegalMoves(), make([]int, len(alive))
			for i, place := range alive {
				moves[i] = legal[place]
			}
			values, err := world.Playouts(moves, 0)
			if err != nil {
				return 0, err
			}
			for i, place := range alive {
				worth[place] += values[i]
			}
		}
		slices.SortStableFunc(alive, func(one, other int) int { return cmp.Compare(worth[other], worth[one]) })
		alive = alive[:(len(alive)+1)/2]
	}
	return alive[0], nil
}
