package happycity

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Run is the whole program of a bot: it plays until the server ends the session for good, or until SIGINT or SIGTERM,
// and then returns. If there is no server to play on, or it refuses the bot, one line says so and the process exits
// with status 2.
func Run(factory Factory, settings Settings) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := Play(ctx, factory, settings); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(2)
	}
}
