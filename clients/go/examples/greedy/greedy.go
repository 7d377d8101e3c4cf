package main

import (
	"context"
	"fmt"

	happycity "github.com/happycity-arena/happycity/clients/go"
	pb "github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// A city with fewer cards than this one (the Happy Market counts) is early: it looks for income.
const earlyCards = 5

// deckPurse is the purse from which decks 1, 2 and 3 are drawn: the cheapest card of the deck.
var deckPurse = [...]uint32{1, 4, 6}

// choose takes the best immediate gain: income early, points late. All is in integers, and "first" always means in
// the order of the moves.
//
//   - Market: for the colour of each market offered, count the specials on the table whose condition has that colour;
//     the first market with the highest count.
//   - Discard: nothing.
//   - Draw: the highest deck whose cheapest card the own purse can pay; if there is none, the first move.
//   - Buy, special and Sphinx: the first move with the highest score, see [city.score]; a move without a card scores 0.
//
// It ignores effects, other cities (except for the special that the Sphinx would copy), the price of a card that it
// can pay, and randomness.
func choose(_ context.Context, d *happycity.Decision) (int, error) {
	if int(d.View.Seat) >= len(d.View.Seats) {
		return 0, fmt.Errorf("the view has no seat %d", d.View.Seat)
	}
	own := d.View.Seats[d.View.Seat]
	switch d.Moves[0].Kind {
	case pb.MoveKind_MOVE_KIND_KEEP:
		return 0, nil
	case pb.MoveKind_MOVE_KIND_DRAW:
		return richestDraw(d.Moves, own.Coins), nil
	case pb.MoveKind_MOVE_KIND_MARKET:
		return mostWantedMarket(d.Moves, d.View.Specials), nil
	default:
		return bestCard(d.Moves, d.View, cityOf(own, d.View.Config.GetScoring())), nil
	}
}

func richestDraw(moves []*pb.Move, coins uint32) int {
	for i := len(moves) - 1; i > 0; i-- {
		if deckPurse[moves[i].Deck-1] <= coins {
			return i
		}
	}
	return 0
}

func mostWantedMarket(moves []*pb.Move, specials []pb.Card) int {
	wanted := map[pb.Colour]int{}
	for _, special := range specials {
		for _, need := range happycity.InfoOf(special).GetCondition() {
			wanted[need.GetColour()]++
		}
	}
	return best(moves, func(move *pb.Move) int {
		return wanted[happycity.InfoOf(move.Card).GetColour()]
	})
}

func bestCard(moves []*pb.Move, view *pb.View, own city) int {
	return best(moves, func(move *pb.Move) int {
		if card := gained(move, view); card != pb.Card_CARD_UNSPECIFIED {
			return own.score(happycity.InfoOf(card))
		}
		return 0
	})
}

// best returns the position of the first move with the highest score.
func best(moves []*pb.Move, score func(*pb.Move) int) int {
	first, most := 0, score(moves[0])
	for i, move := range moves[1:] {
		if s := score(move); s > most {
			first, most = i+1, s
		}
	}
	return first
}

// gained returns the card whose values a move brings to the own city, if it brings any.
func gained(move *pb.Move, view *pb.View) pb.Card {
	switch move.Kind {
	case pb.MoveKind_MOVE_KIND_BUILD, pb.MoveKind_MOVE_KIND_DWELL, pb.MoveKind_MOVE_KIND_TAKE:
		return move.Card
	case pb.MoveKind_MOVE_KIND_COPY:
		return copied(move, view)
	default:
		return pb.Card_CARD_UNSPECIFIED
	}
}

// copied returns the special that the Sphinx would copy from another city; none for the one from the box.
func copied(move *pb.Move, view *pb.View) pb.Card {
	if move.Seat == nil {
		return pb.Card_CARD_UNSPECIFIED
	}
	for _, card := range view.Seats[*move.Seat].City {
		if happycity.InfoOf(card).GetKind() == pb.CardKind_CARD_KIND_SPECIAL {
			return card
		}
	}
	return pb.Card_CARD_UNSPECIFIED
}
