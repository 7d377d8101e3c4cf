// Greedy plays with a rule of thumb: whatever gains most at once. It decides as the arena's reference bot of
// this name does.
package main

import "github.com/happycity-arena/happycity-go"

func main() {
	happycity.Run(happycity.Stateless(choose), happycity.Settings{Games: happycity.Unlimited})
}
