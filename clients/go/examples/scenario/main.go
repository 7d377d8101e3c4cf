// Scenario does what the name of another bot in its game asks for. It is for `happycity check`.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	happycity "github.com/happycity-arena/happycity/clients/go"
)

// A bot obeys the names of the bots in its game.
type bot struct {
	names []string
}

func newBot(start *happycity.GameStarted) happycity.Bot {
	b := &bot{names: start.Bots}
	if b.isWith("crash-start") {
		panic("scenario")
	}
	return b
}

func (b *bot) isWith(name string) bool { return slices.Contains(b.names, name) }

func (b *bot) Choose(_ context.Context, d *happycity.Decision) (int, error) {
	switch {
	case b.isWith("crash-choose"):
		return 0, errors.New("scenario")
	case b.isWith("illegal"):
		return 99, nil
	case b.isWith("first"):
		return 0, nil
	case b.isWith("slow"):
		time.Sleep(2 * time.Second)
	case b.isWith("note"):
		d.Note("depth", 3)
		d.Note("nodes", 1200.5)
	}
	return len(d.Moves) - 1, nil
}

func (b *bot) GameOver(over *happycity.GameOver) {
	fmt.Println("over", over.MatchId)
	if b.isWith("crash-over") {
		panic("scenario")
	}
}

func (b *bot) GameVoided(matchID int64, _ happycity.VoidReason) { fmt.Println("void", matchID) }

func main() {
	settings := happycity.Settings{Thinkers: 8} // a slow game must not keep the others waiting
	if seconds, err := strconv.ParseFloat(os.Getenv("HAPPYCITY_RECONNECT"), 64); err == nil {
		settings.Reconnect = cmp.Or(time.Duration(seconds*float64(time.Second)), happycity.Never)
	}
	happycity.Run(newBot, settings)
}
