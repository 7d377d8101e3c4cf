// Sampler has the server play each of its moves out in many worlds that look like what it sees, and plays the
// one after which it ends furthest ahead. It knows none of the rules.
package main

import (
	"fmt"
	"os"

	"github.com/happycity-arena/happycity-go"
	pb "github.com/happycity-arena/happycity-go/happycityv1"
)

func main() {
	channel, err := happycity.Settings{}.Dial()
	if err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(2)
	}
	defer channel.Close()
	s := newSampler(pb.NewSimulationServiceClient(channel))
	happycity.Run(happycity.Stateless(s.choose), happycity.Settings{Thinkers: thinkers})
}
