package happycity

import (
	"slices"
	"sync"
	"time"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// holdTime is how long an answer waits for others to join it, while bots think about other decisions.
const holdTime = 5 * time.Millisecond

// An outbox gathers a batch for one connection, until it is to be sent.
type outbox struct {
	ready chan struct{} // holds a token when the batch is to be sent
	hold  time.Duration // how long an answer waits for others at most

	mu      sync.Mutex
	request *happycityv1.PlayRequest
	holding *time.Timer // runs while answers wait
}

func newOutbox() *outbox {
	return &outbox{ready: make(chan struct{}, 1), hold: holdTime, request: &happycityv1.PlayRequest{}}
}

// answer adds an answer; it waits for others, but not for long.
func (o *outbox) answer(answer *happycityv1.Answer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.request.Answers = append(o.request.Answers, answer)
	if o.holding == nil {
		o.holding = time.AfterFunc(o.hold, o.flush)
	}
}

// resign adds that the bot gives up a game.
func (o *outbox) resign(resign *happycityv1.Resign) {
	o.addNow(func(request *happycityv1.PlayRequest) { request.Resigns = append(request.Resigns, resign) })
}

// pong adds the answer to a ping. A batch holds one: the newest says all that an older one would.
func (o *outbox) pong(nonce uint64) {
	o.addNow(func(request *happycityv1.PlayRequest) { request.Pong = &happycityv1.Pong{Nonce: nonce} })
}

// goodbye adds that the bot leaves for good.
func (o *outbox) goodbye() {
	o.addNow(func(request *happycityv1.PlayRequest) { request.Goodbye = &happycityv1.Goodbye{} })
}

// addNow adds what doesn't wait for anything.
func (o *outbox) addNow(add func(*happycityv1.PlayRequest)) {
	o.mu.Lock()
	add(o.request)
	o.mu.Unlock()
	o.flush()
}

// forget removes what is still to be sent about a match.
func (o *outbox) forget(matchID int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.request.Answers = slices.DeleteFunc(o.request.Answers, func(answer *happycityv1.Answer) bool {
		return answer.GetMatchId() == matchID
	})
	o.request.Resigns = slices.DeleteFunc(o.request.Resigns, func(resign *happycityv1.Resign) bool {
		return resign.GetMatchId() == matchID
	})
}

// flush has the batch sent. An empty one stays: what joins it soon after would be sent on its own.
func (o *outbox) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.empty() {
		return
	}
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

// take returns the batch, and begins an empty one; nil if there is nothing to send.
func (o *outbox) take() *happycityv1.PlayRequest {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.holding != nil {
		o.holding.Stop()
		o.holding = nil
	}
	if o.empty() {
		return nil
	}
	request := o.request
	o.request = &happycityv1.PlayRequest{}
	return request
}

func (o *outbox) empty() bool {
	r := o.request
	return len(r.GetAnswers()) == 0 && len(r.GetResigns()) == 0 && r.GetPong() == nil && r.GetGoodbye() == nil
}
