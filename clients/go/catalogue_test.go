package happycity

import "testing"

// The catalogue holds every card at its number, and unknown cards are worth nothing.
func TestCatalogue(t *testing.T) {
	cards := catalogue().GetCards()
	if len(catalogue().GetDigest()) != 64 || len(cards) == 0 {
		t.Errorf("digest %q of %d cards", catalogue().GetDigest(), len(cards))
	}
	for i, info := range cards {
		if int(info.GetCard()) != i+1 || InfoOf(info.GetCard()) != info || info.GetId() == "" {
			t.Errorf("card %d: %v", i+1, info)
		}
	}
	for _, unknown := range []Card{-1, 0, Card(len(cards) + 1)} {
		if info := InfoOf(unknown); info.GetCard() != unknown || info.GetCost() != 0 {
			t.Errorf("card %d: %v", unknown, info)
		}
	}
}
