package happycity

import (
	"sync"
	"time"
)

// A pool does chores on a bounded number of goroutines, in the order in which they come. It never makes
// anybody wait who brings it one.
type pool struct {
	limit int

	mu      sync.Mutex
	workers int
	queue   []func()
	idle    chan struct{} // closed when there are no workers; nil if nobody waits for that
}

func (p *pool) submit(chore func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.workers == p.limit {
		p.queue = append(p.queue, chore)
		return
	}
	p.workers++
	go p.work(chore)
}

func (p *pool) work(chore func()) {
	for chore != nil {
		chore()
		chore = p.next()
	}
}

// next returns the chore that has waited longest; without one, the worker that asks is let go.
func (p *pool) next() func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) > 0 {
		chore := p.queue[0]
		p.queue[0] = nil
		p.queue = p.queue[1:]
		return chore
	}
	p.workers--
	if p.workers == 0 && p.idle != nil {
		close(p.idle)
		p.idle = nil
	}
	return nil
}

// wait returns when all chores are done, or too long.
func (p *pool) wait(atMost time.Duration) {
	p.mu.Lock()
	if p.workers == 0 {
		p.mu.Unlock()
		return
	}
	if p.idle == nil {
		p.idle = make(chan struct{})
	}
	idle := p.idle
	p.mu.Unlock()
	select {
	case <-idle:
	case <-time.After(atMost):
	}
}
