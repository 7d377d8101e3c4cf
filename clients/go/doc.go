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
// A bot with a memory is a type with a method [Bot.Choose]; a [Factory] makes one for each seat of each match. The
// package connects, batches, answers pings, makes lost connections again, and says goodbye. [Run] is the whole
// program of a bot, [Play] is for programs that do other things too.
//
// The messages are those of the protocol, package happycityv1, under shorter names.
package happycity
