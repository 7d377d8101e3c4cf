package happycity

import (
	_ "embed"
	"sync"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

//go:embed catalogue.json
var catalogueJSON []byte

var catalogue = sync.OnceValue(func() *happycityv1.Catalogue {
	var cards happycityv1.Catalogue
	if err := protojson.Unmarshal(catalogueJSON, &cards); err != nil {
		panic("happycity: catalogue.json is damaged: " + err.Error())
	}
	return &cards
})

// Cards returns the printed values of all cards, in the order of their numbers, which begin with 1. The list
// is shared: don't change it.
func Cards() []*CardInfo {
	return catalogue().GetCards()
}

// InfoOf returns the printed values of a card. Of a card that this version doesn't know, all are 0.
func InfoOf(card Card) *CardInfo {
	cards := Cards()
	if card < 1 || int(card) > len(cards) {
		return &CardInfo{Card: card}
	}
	return cards[card-1]
}
