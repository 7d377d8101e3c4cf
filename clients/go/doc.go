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
// A bot with a memory is a type with a method [Bot.Choose]; a [Factory] makes one for each game. Both may be
// asked about many games at once. Connecting, batches, signs of life, lost connections and the goodbye are
// the package's business; [Run] is all of a program, [Play] is for programs that do other things too.
//
// The messages are those of the protocol, package happycityv1, under shorter names.
package happycity
