package main

import (
	happycity "github.com/happycity-arena/happycity/clients/go"
	pb "github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// A city is what greedy needs to know of one, the sums of the printed values.
type city struct {
	early       bool
	inhabitants int
	hearts      int
	scoring     pb.Scoring
}

func cityOf(state *pb.SeatState, scoring pb.Scoring) city {
	c := city{early: len(state.GetCity()) < earlyCards, scoring: scoring}
	for _, card := range state.GetCity() {
		info := happycity.InfoOf(card)
		c.inhabitants += int(info.GetInhabitants())
		c.hearts += int(info.GetHearts())
	}
	return c
}

// score returns what a card is worth to the city: early its income and symbols, late the points that it adds, then its
// symbols, then its income. A special with an effect is worth 1 more for each card in its condition.
func (c city) score(card *happycity.CardInfo) int {
	income, inhabitants, hearts := int(card.GetIncome()), int(card.GetInhabitants()), int(card.GetHearts())
	score := 4*income + inhabitants + hearts
	if !c.early {
		after := c.with(inhabitants, hearts).points()
		score = 100*(after-c.points()) + 10*(inhabitants+hearts) + income
	}
	if card.GetSpecialSet() == pb.Mode_MODE_EXPERT { // all of these have an effect, and no others
		for _, need := range card.GetCondition() {
			score += int(need.GetCount())
		}
	}
	return score
}

func (c city) with(inhabitants, hearts int) city {
	c.inhabitants += inhabitants
	c.hearts += hearts
	return c
}

// points returns what the city's totals make, each counting at least 0.
func (c city) points() int {
	inhabitants, hearts := max(0, c.inhabitants), max(0, c.hearts)
	if c.scoring == pb.Scoring_SCORING_SUM {
		return inhabitants + hearts
	}
	return inhabitants * hearts
}
