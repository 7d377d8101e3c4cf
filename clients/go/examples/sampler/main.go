// Sampler has the server play out each of its moves in many worlds that agree with what it sees, and plays the one with
// the best mean lead. It knows no rules.
package main

import (
	"fmt"
	"os"

	happycity "github.com/happycity-arena/happycity/clients/go"
	pb "github.com/happycity-arena/happycity/clients/go/happycitymodelv1beta1"
)

func main() {
	channel, err := happycity.Settings{}.Dial()
	if err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(2)
	}
	defer channel.Close()
	s := newSampler(pb.NewModelServiceClient(channel))
	happycity.Run(happycity.Stateless(s.choose), happycity.Settings{Thinkers: thinkers})
}
