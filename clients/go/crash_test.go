package happycity_test

import (
	"context"
	"regexp"
	"slices"
	"testing"

	happycity "github.com/happycity-arena/happycity/clients/go"
)

// The reason of a panic has the place in the author's code, even if it is the standard library that panics.
func TestPlaceOfAPanic(t *testing.T) {
	for name, bot := range map[string]happycity.ChooseFunc{
		"own code": func(_ context.Context, d *happycity.Decision) (int, error) {
			return int(d.Moves[1].Deck), nil
		},
		"standard library": func(_ context.Context, d *happycity.Decision) (int, error) {
			return len(slices.Repeat(d.Moves, -1)), nil
		},
		"this package": func(context.Context, *happycity.Decision) (int, error) {
			return len((*happycity.Decision)(nil).Notes()), nil
		},
	} {
		_, err := happycity.Choose(t.Context(), bot, &happycity.Decision{})
		if err == nil || !regexp.MustCompile(`^panic: .+ \(crash_test\.go:\d+\)$`).MatchString(err.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
