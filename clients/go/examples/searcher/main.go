// Searcher searches with the native engine: sequential halving in sampled worlds.
package main

import happycity "github.com/happycity-arena/happycity/clients/go"

func main() {
	happycity.Run(newSearcher, happycity.Settings{Games: happycity.Unlimited})
}
