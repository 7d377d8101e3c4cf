package main

import (
	"testing"

	happycity "github.com/happycity-arena/happycity/clients/go"
	pb "github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// It builds the most expensive card.
func TestFirstDecision(t *testing.T) {
	move, err := happycity.Ask(t.Context(), happycity.Stateless(choose), "first.decision")
	if err != nil || move.GetCard() != pb.Card_CARD_SPA {
		t.Errorf("it chose %v (error %v)", move, err)
	}
}
