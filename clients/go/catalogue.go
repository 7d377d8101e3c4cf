package happycity

import (
	_ "embed"
	"sync"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

//go:embed catalogue.json
var catalogueJSON []byte

var catalogue = sync.OnceValue(func() []*CardInfo {
	var response happycityv1.GetCatalogueResponse
	if err := protojson.Unmarshal(catalogueJSON, &response); err != nil {
		panic("happycity: catalogue.json is damaged: " + err.Error())
	}
	return response.GetCards()
})

// Cards returns the printed values of all cards, in the order of their numbers, which begin with 1. The list
// is shared: don't change it.
func Cards() []*CardInfo {
	return catalogue()
}

// InfoOf returns the printed values of a card. Of a card that this version doesn't know, all are 0.
func InfoOf(card Card) *CardInfo {
	cards := catalogue()
	if card < 1 || int(card) > len(cards) {
		return &CardInfo{Card: card}
	}
	return cards[card-1]
}
