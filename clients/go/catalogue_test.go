package happycity

import "testing"

// The catalogue holds every card at its number, and unknown cards are worth nothing.
func TestCatalogue(t *testing.T) {
	if len(catalogue().GetDigest()) != 64 || len(Cards()) == 0 {
		t.Errorf("digest %q of %d cards", catalogue().GetDigest(), len(Cards()))
	}
	for i, info := range Cards() {
		if int(info.GetCard()) != i+1 || InfoOf(info.GetCard()) != info || info.GetId() == "" {
			t.Errorf("card %d: %v", i+1, info)
		}
	}
	for _, unknown := range []Card{-1, 0, Card(len(Cards()) + 1)} {
		if info := InfoOf(unknown); info.GetCard() != unknown || info.GetCost() != 0 {
			t.Errorf("card %d: %v", unknown, info)
		}
	}
}
