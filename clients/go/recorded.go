package happycity

import (
	"context"
	"fmt"
	"os"

	"google.golang.org/protobuf/proto"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// ReadDecision reads a decision of a recorded game, for the tests of a bot, with the start of its game and all that
// happened before. `happycity ask GAME@DECISION --out FILE` writes the file: the message with which a server would
// send this decision to a bot that begins there.
func ReadDecision(path string) (*GameStarted, *Decision, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	var batch happycityv1.PlayResponse
	if proto.Unmarshal(content, &batch) != nil || len(batch.GamesStarted) != 1 || len(batch.Decisions) != 1 {
		const advice = "happycity ask GAME@DECISION --out FILE"
		return nil, nil, fmt.Errorf("%s is not a decision as this writes it: %s", path, advice)
	}
	return batch.GamesStarted[0], &Decision{Decision: batch.Decisions[0]}, nil
}

// Ask makes a bot for the game of such a file, and returns the move that it chooses there. The error is the bot's, or
// says that its choice is not a move, or that the file can't be read.
func Ask(ctx context.Context, factory Factory, path string) (*happycityv1.Move, error) {
	start, d, err := ReadDecision(path)
	if err != nil {
		return nil, err
	}
	position, err := factory(start).Choose(ctx, d)
	if err == nil && (position < 0 || position >= len(d.Moves)) {
		err = fmt.Errorf("the bot chose move %d of %d", position, len(d.Moves))
	}
	if err != nil {
		return nil, err
	}
	return d.Moves[position], nil
}
