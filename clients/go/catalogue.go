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

// InfoOf returns the printed values of a card. Of a card that this version doesn't know, all are 0.
func InfoOf(card Card) *CardInfo {
	cards := catalogue().GetCards() // in the order of their numbers, which begin with 1
	if card < 1 || int(card) > len(cards) {
		return &CardInfo{Card: card}
	}
	return cards[card-1]
}
