// Greedy plays with a rule of thumb: the move that gains most at once. It decides as the arena's reference bot of
// this name does.
package main

import happycity "github.com/happycity-arena/happycity/clients/go"

func main() {
	happycity.Run(happycity.Stateless(choose), happycity.Settings{Games: happycity.Unlimited})
}
