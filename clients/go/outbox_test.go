package happycity

import (
	"testing"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// What has gathered is sent as one message, and the next batch begins empty.
func TestOutbox(t *testing.T) {
	o := newOutbox()
	o.answer(&happycityv1.Answer{MatchId: 1})
	o.answer(&happycityv1.Answer{MatchId: 2, Metrics: map[string]float64{"depth": 3}})
	o.resign(&happycityv1.Resign{MatchId: 3})
	o.pong(1)
	o.pong(2)
	within(t, o.ready, "token")
	request := o.take()
	if len(request.GetAnswers()) != 2 || len(request.GetResigns()) != 1 || request.GetPong().GetNonce() != 2 {
		t.Errorf("request: %v", request)
	}
	if metrics := request.GetAnswers()[1].GetMetrics(); metrics["depth"] != 3 {
		t.Errorf("metrics: %v", metrics)
	}
	if rest := o.take(); rest != nil {
		t.Errorf("left: %v", rest)
	}
}

// An answer is sent after a while, even if no other joins it.
func TestOutboxHolds(t *testing.T) {
	o := newOutbox()
	o.answer(&happycityv1.Answer{MatchId: 1})
	within(t, o.ready, "token")
}

// An empty batch is not sent.
func TestOutboxEmpty(t *testing.T) {
	o := newOutbox()
	o.flush()
	if len(o.ready) > 0 {
		t.Error("an empty batch is to be sent")
	}
}

// After the end of a match nothing is sent about it.
func TestOutboxForgets(t *testing.T) {
	o := newOutbox()
	o.answer(&happycityv1.Answer{MatchId: 1})
	o.answer(&happycityv1.Answer{MatchId: 2})
	o.resign(&happycityv1.Resign{MatchId: 1})
	o.forget(1)
	request := o.take()
	if len(request.GetAnswers()) != 1 || request.GetAnswers()[0].GetMatchId() != 2 || len(request.GetResigns()) != 0 {
		t.Errorf("request: %v", request)
	}
}
