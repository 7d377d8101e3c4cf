package happycity

import (
	"context"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// ask puts a decision to a bot. The clock has settled the one that it still thinks about, if any.
func (p *player) ask(s *seat, d *Decision) {
	p.drop(s)
	ctx, cancel := d.context(p.ctx)
	s.asked, s.round, s.answer, s.cancel = d.DecisionID, d.View.GetRound(), nil, cancel
	p.expect(s)
	p.call(s, func() { p.think(ctx, s, d) })
}

// think answers a decision, unless it is void or late before its turn comes.
func (p *player) think(ctx context.Context, s *seat, d *Decision) {
	move, err := uint32(0), ctx.Err()
	if err == nil {
		move, err = choose(ctx, s.bot, d)
	}
	late := err != nil && ctx.Err() != nil
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || s.asked != d.DecisionID || s.cancel == nil {
		return
	}
	switch {
	case err == nil:
		p.settle(s, move, d.Notes())
	case late:
		p.drop(s)
		p.log.Warn("the bot had no answer in time", s.place()...)
		p.flushIfDone()
	default:
		p.crash(s, err)
	}
}

// settle keeps a bot's answer, and sends it if the server waits for it.
func (p *player) settle(s *seat, move uint32, notes map[string]float64) {
	s.answer = &happycityv1.Answer{MatchId: s.key.matchID, DecisionId: s.asked, Move: move, Metrics: notes}
	if s.due {
		p.out.answer(s.answer)
	}
	p.drop(s)
	p.flushIfDone()
}

// drop ends what the bot thinks about, and waits for no answer of it.
func (p *player) drop(s *seat) {
	if s.cancel != nil {
		s.cancel()
		s.cancel = nil
	}
	if s.due {
		s.due = false
		p.due--
	}
}

// expect notes that the server waits for a bot's answer.
func (p *player) expect(s *seat) {
	if !s.due {
		s.due = true
		p.due++
	}
}

// flushIfDone sends the answers that have gathered, if the server waits for no others.
func (p *player) flushIfDone() {
	if p.due == 0 && p.out != nil {
		p.out.flush()
	}
}

// call has the author's code called for a seat, after the seat's other calls.
func (p *player) call(s *seat, code func()) {
	s.calls = append(s.calls, code)
	if len(s.calls) == 1 {
		p.calling.Go(func() { p.makeCalls(s, code) })
	}
}

// makeCalls makes the calls of a seat, each when there is a slot for it.
func (p *player) makeCalls(s *seat, code func()) {
	for code != nil {
		p.slots <- struct{}{}
		code()
		<-p.slots
		code = p.nextCall(s)
	}
}

// nextCall returns the seat's next call after the one that was made; nil if there is none.
func (p *player) nextCall(s *seat) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.calls = s.calls[1:]
	if len(s.calls) == 0 {
		return nil
	}
	return s.calls[0]
}
