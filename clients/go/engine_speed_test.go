//go:build unix

package happycity

import (
	"syscall"
	"testing"
)

// The rows of the table of speed in docs/engine.md: go test -run ^$ -bench Engine .
func BenchmarkEnginePlayouts(b *testing.B) {
	world, moves := speedWorld(b)
	began := cpuSeconds(b)
	for b.Loop() {
		must(world.Playouts(moves, 0))
	}
	b.ReportMetric(float64(b.N*len(moves))/(cpuSeconds(b)-began), "playouts/CPU-s")
}

func BenchmarkEngineApply(b *testing.B) {
	world, moves := speedWorld(b)
	began := cpuSeconds(b)
	for b.Loop() {
		next := world
		if err := next.Apply(moves[0]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/(cpuSeconds(b)-began), "calls/CPU-s")
}

func speedWorld(b *testing.B) (Position, []int) {
	_, d, err := ReadDecision(firstDecision)
	if err != nil {
		b.Fatal(err)
	}
	world := must(d.Position(1))
	return world, world.LegalMoves()
}

func cpuSeconds(b *testing.B) float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}
