package happycity

import (
	"testing"

	"github.com/happycity-arena/happycity-go/happycityv1"
)

// What has gathered is sent as one message, and then there is nothing left.
func TestOutbox(t *testing.T) {
	o := newOutbox()
	o.answer(&happycityv1.Answer{GameId: 1})
	o.answer(&happycityv1.Answer{GameId: 2, Metrics: map[string]float64{"depth": 3}})
	o.resign(3, "tired")
	o.pong(&happycityv1.Heartbeat{Nonce: 1})
	o.pong(&happycityv1.Heartbeat{Nonce: 2})
	within(t, o.due, "token")
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

// A held answer is due after a while, even if nothing else happens.
func TestOutboxHolds(t *testing.T) {
	o := newOutbox()
	o.answer(&happycityv1.Answer{GameId: 1})
	within(t, o.due, "token")
}

// Nothing is never due.
func TestOutboxEmpty(t *testing.T) {
	o := newOutbox()
	o.flush()
	if len(o.due) > 0 {
		t.Error("an empty outbox is due")
	}
}

// After the end of a game nothing is sent about it.
func TestOutboxForgets(t *testing.T) {
	o := newOutbox()
	o.answer(&happycityv1.Answer{GameId: 1})
	o.answer(&happycityv1.Answer{GameId: 2})
	o.resign(1, "tired")
	o.forget(1)
	request := o.take()
	if len(request.GetAnswers()) != 1 || request.GetAnswers()[0].GetGameId() != 2 || len(request.GetResigns()) != 0 {
		t.Errorf("request: %v", request)
	}
}
