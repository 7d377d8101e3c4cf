package happycity

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
)

// Kinds of crashes that are counted separately; all further ones count as one kind.
const mostCrashKinds = 100

var digits = regexp.MustCompile(`[0-9]+`)

// A crashLog logs each kind of crash once in full, then only how often it came again. Two crashes are of one kind if
// they have one place in the author's code, or if their texts differ in numbers alone where the place isn't known.
type crashLog struct {
	log   *slog.Logger
	kinds map[string]*crashKind
	keys  []string // in their order
}

type crashKind struct {
	firstMatch int64
	text       string
	count      int
	logged     int // the count that the last line gives
}

func newCrashLog(log *slog.Logger) *crashLog {
	return &crashLog{log: log, kinds: map[string]*crashKind{}}
}

// add logs a crash; what says what became of it.
func (c *crashLog) add(what string, s *seat, err error) {
	key, text := what+crashKey(err), oneLine(err.Error())
	if c.kinds[key] == nil && len(c.kinds) >= mostCrashKinds {
		key, text = "", "various"
	}
	kind := c.kinds[key]
	if kind == nil {
		c.kinds[key] = &crashKind{firstMatch: s.key.matchID, text: text, count: 1, logged: 1}
		c.keys = append(c.keys, key)
		c.log.Error(what+": "+inFull(err), s.place()...)
		return
	}
	kind.count++
	if strings.TrimRight(fmt.Sprint(kind.count), "0") == "1" { // a power of ten
		kind.logged = kind.count
		c.log.Error(fmt.Sprintf("the same crash as in match %d (%d so far): %s",
			kind.firstMatch, kind.count, kind.text), s.place()...)
	}
}

// close logs how often each kind came in all, where the last line doesn't say it.
func (c *crashLog) close() {
	for _, key := range c.keys {
		if kind := c.kinds[key]; kind.count > kind.logged {
			kind.logged = kind.count
			c.log.Error(fmt.Sprintf("the same crash in %d games, first in match %d: %s",
				kind.count, kind.firstMatch, kind.text))
		}
	}
}

func crashKey(err error) string {
	var panicked *panicError
	if errors.As(err, &panicked) && panicked.place != "" {
		return panicked.place
	}
	return digits.ReplaceAllString(err.Error(), "0")
}

// inFull returns an error with the stack of a panic.
func inFull(err error) string {
	var panicked *panicError
	if errors.As(err, &panicked) {
		return err.Error() + "\n" + strings.TrimRight(string(panicked.stack), "\n")
	}
	return oneLine(err.Error())
}
