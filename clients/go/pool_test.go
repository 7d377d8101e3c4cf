package happycity

import (
	"slices"
	"testing"
	"time"
)

// Chores beyond the limit wait, and are done in their order.
func TestPool(t *testing.T) {
	p := &pool{limit: 2}
	begun, release := make(chan int, 10), make(chan bool)
	for i := range 5 {
		p.submit(func() {
			begun <- i
			<-release
		})
	}
	if p.workers != 2 || len(p.queue) != 3 {
		t.Errorf("%d workers, %d chores wait", p.workers, len(p.queue))
	}
	order := []int{within(t, begun, "chore"), within(t, begun, "chore")}
	slices.Sort(order)
	for range 3 {
		release <- true
		order = append(order, within(t, begun, "chore"))
	}
	if !slices.Equal(order, []int{0, 1, 2, 3, 4}) {
		t.Errorf("order: %v", order)
	}
	close(release)
	p.wait(patience)
	if p.workers != 0 {
		t.Errorf("%d workers are left", p.workers)
	}
}

// Whoever waits for chores that don't end goes on after a time.
func TestPoolWaitsNotForever(t *testing.T) {
	p := &pool{limit: 1}
	p.wait(patience) // nothing to wait for
	release := make(chan bool)
	p.submit(func() { <-release })
	p.wait(time.Millisecond)
	close(release)
	p.wait(patience)
}
