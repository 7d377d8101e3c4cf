package happycity

import (
	"slices"
	"sync"
	"time"

	"github.com/happycity-arena/happycity-go/happycityv1"
)

// holdTime is how long an answer waits for company at most, while bots think about other decisions.
const holdTime = 5 * time.Millisecond

// An outbox gathers what is to be sent over one connection, until it is due.
type outbox struct {
	due  chan struct{} // holds a token while something is due
	hold time.Duration // how long an answer waits for company at most

	mu      sync.Mutex
	request *happycityv1.PlayRequest
	holding *time.Timer // runs while answers wait for company
}

func newOutbox() *outbox {
	return &outbox{due: make(chan struct{}, 1), hold: holdTime, request: &happycityv1.PlayRequest{}}
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

// resign adds that a game is given up.
func (o *outbox) resign(gameID uint64, reason string) {
	o.addNow(func(request *happycityv1.PlayRequest) {
		request.Resigns = append(request.Resigns, &happycityv1.Resign{GameId: gameID, Reason: reason})
	})
}

// pong answers a ping. A batch holds one: the newest says all that an older one would.
func (o *outbox) pong(ping *happycityv1.Heartbeat) {
	o.addNow(func(request *happycityv1.PlayRequest) { request.Pong = ping })
}

// goodbye adds the last words.
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

// forget takes back what is still to be sent about a game.
func (o *outbox) forget(gameID uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.request.Answers = slices.DeleteFunc(o.request.Answers, func(answer *happycityv1.Answer) bool {
		return answer.GetGameId() == gameID
	})
	o.request.Resigns = slices.DeleteFunc(o.request.Resigns, func(resign *happycityv1.Resign) bool {
		return resign.GetGameId() == gameID
	})
}

// flush makes due what has gathered. Nothing is never due: what came soon after would be sent on its own.
func (o *outbox) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.empty() {
		return
	}
	select {
	case o.due <- struct{}{}:
	default:
	}
}

// take returns what has gathered, and begins anew; nil if that is nothing.
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
