// Package happycity connects bots to a Happy City arena.
//
// A bot is one function that answers a decision with the position of a move:
//
//	func first(ctx context.Context, d *happycity.Decision) (int, error) {
//		return 0, nil // the first move is always the neutral one
//	}
//
//	func main() {
//		happycity.Run(happycity.Stateless(first), happycity.Settings{})
//	}
//
// A bot with a memory is a type with a method [Bot.Choose]; a [Factory] makes one for each seat of each match. [Run] is
// the whole program of a bot, [Play] is for programs that do other things too. What the author should know goes to the
// default logger of the package log/slog.
package happycity

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"google.golang.org/grpc/grpclog"
)

// Version is this package's.
const Version = "0.1.0"

// Run is the whole program of a bot: it plays until the server ends the session for good, or until SIGINT or SIGTERM,
// and then returns. If the bot can't play, one line says why, and the process exits with [Error.ExitStatus].
func Run(factory Factory, settings Settings) {
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard)) // its errors are logged here
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := Play(ctx, factory, settings)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(err.(*Error).ExitStatus)
	}
}

// Play plays all games that the server offers, until the server ends the session for good; then it returns nil.
//
// A connection that is lost is made again, and the games go on. When ctx ends, Play says goodbye to the server and
// returns nil. The error is an [*Error].
func Play(ctx context.Context, factory Factory, settings Settings) error {
	settings, err := settings.complete()
	if err != nil {
		return err
	}
	playing, stop := context.WithCancel(ctx)
	slots := make(chan struct{}, settings.Thinkers)
	p := &player{ctx: playing, factory: factory, slots: slots, seats: map[seatKey]*seat{}}
	defer p.wait()
	defer stop()
	s := &session{settings: settings, player: p}
	return s.run(ctx)
}
