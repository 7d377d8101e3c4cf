package main

import (
	"context"
	"slices"
	"testing"

	happycity "github.com/happycity-arena/happycity/clients/go"
)

// A game with the same seed is played alike, all moves occur, and another seed gives another game.
func TestRepeatable(t *testing.T) {
	one := played(t, 7)
	if !slices.Equal(one, played(t, 7)) {
		t.Error("the same seed, another game")
	}
	if slices.Equal(one, played(t, 8)) {
		t.Error("another seed, the same game")
	}
	for move := range 3 {
		if !slices.Contains(one, move) {
			t.Errorf("never move %d", move)
		}
	}
}

func played(t *testing.T, seed uint64) []int {
	t.Helper()
	bot := newBot(&happycity.GameStarted{Seed: seed})
	d := &happycity.Decision{Moves: make([]*happycity.Move, 3)}
	moves := make([]int, 50)
	for i := range moves {
		move, err := bot.Choose(context.Background(), d)
		if err != nil {
			t.Fatal(err)
		}
		moves[i] = move
	}
	return moves
}
