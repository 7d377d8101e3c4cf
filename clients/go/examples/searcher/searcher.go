package main

import (
	"cmp"
	"context"
	"math/bits"
	"slices"

	happycity "github.com/happycity-arena/happycity/clients/go"
)

// playouts of all moves of a decision together, at most.
const playouts = 800

// A searcher plays moves out in sampled worlds, good ones most often.
//
// Sequential halving: the playouts of a decision are shared among a few stages, and after each the worse half of the
// moves is dropped. All moves are tried in the same worlds, so that luck cancels out. The worlds' seeds count up
// from the game's, so `happycity ask` repeats each choice.
type searcher struct {
	seed uint64
}

func newSearcher(start *happycity.GameStarted) happycity.Bot {
	return searcher{start.GetSeed()}
}

// Choose returns the best move by sequential halving.
func (s searcher) Choose(ctx context.Context, d *happycity.Decision) (int, error) {
	worth := make([]float64, len(d.Moves))
	alive := make([]int, len(d.Moves)) // positions in d.Moves
	for place := range alive {
		alive[place] = place
	}
	stages, seed := bits.Len(uint(len(alive)-1)), s.seed
	for range stages {
		for range playouts / (stages * len(alive)) {
			if ctx.Err() != nil { // it is late
				return alive[0], nil
			}
			seed++
			world, err := d.Position(seed)
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
