package main

import (
	"testing"

	happycity "github.com/happycity-arena/happycity/clients/go"
)

// It chooses a move, the same one for the same seed.
func TestSearcher(t *testing.T) {
	const path = "../../../conformance/first.decision"
	one, err := happycity.Ask(t.Context(), newSearcher, path)
	if err != nil {
		t.Fatal(err)
	}
	if other, err := happycity.Ask(t.Context(), newSearcher, path); err != nil || other.GetCard() != one.GetCard() {
		t.Errorf("%v, then %v, error %v", one, other, err)
	}
}
