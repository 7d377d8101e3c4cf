package happycity

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// A lineHandler writes records as lines, such as
//
//	2026-11-22T15:23:03Z INFO mine: match 7, round 1, decision 3: your answer came 0.20 s too late and was ignored
//
// with the time in UTC. The attributes bot, match, round and decision become the beginning of the line; others follow
// the text.
type lineHandler struct {
	mu    *sync.Mutex
	out   io.Writer
	attrs []slog.Attr
}

func newLineHandler(out io.Writer) *lineHandler {
	return &lineHandler{mu: &sync.Mutex{}, out: out}
}

// Enabled leaves out debugging.
func (h *lineHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo
}

// Handle writes a record.
func (h *lineHandler) Handle(_ context.Context, record slog.Record) error {
	var bot, rest string
	var place []string
	add := func(attr slog.Attr) bool {
		switch attr.Key {
		case "bot":
			bot = attr.Value.String() + ": "
		case "match", "round", "decision":
			place = append(place, attr.Key+" "+attr.Value.String())
		default:
			rest += " " + attr.Key + "=" + attr.Value.String()
		}
		return true
	}
	for _, attr := range h.attrs {
		add(attr)
	}
	record.Attrs(add)
	where := strings.Join(place, ", ")
	if where != "" {
		where += ": "
	}
	level := strings.Replace(record.Level.String(), "WARN", "WARNING", 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := fmt.Fprintf(h.out, "%s %s %s%s%s%s\n",
		record.Time.UTC().Format(time.RFC3339), level, bot, where, record.Message, rest)
	return err
}

// WithAttrs returns a handler whose records have these attributes too.
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &lineHandler{mu: h.mu, out: h.out, attrs: append(h.attrs[:len(h.attrs):len(h.attrs)], attrs...)}
}

// WithGroup ignores the group: this package has none.
func (h *lineHandler) WithGroup(string) slog.Handler { return h }

// place returns the attributes that say where in a game something happened, without those that are 0.
func place(matchID int64, round, decisionID uint32) []any {
	var attrs []any
	if matchID != 0 {
		attrs = append(attrs, "match", matchID)
	}
	if round != 0 {
		attrs = append(attrs, "round", round)
	}
	if decisionID != 0 {
		attrs = append(attrs, "decision", decisionID)
	}
	return attrs
}

// logNotice logs a notice, but not that a seat was forfeited: the end of the game says it, with the reason.
func logNotice(log *slog.Logger, notice *happycityv1.Notice) {
	if notice.GetKind() != happycityv1.NoticeKind_NOTICE_KIND_FORFEIT {
		where := place(notice.GetMatchId(), notice.GetRound(), notice.GetDecisionId())
		log.Warn(oneLine(notice.GetText()), where...)
	}
}

// logForfeit logs that the server gave a seat up, if it did.
func logForfeit(log *slog.Logger, s *seat, result *happycityv1.MatchResult) {
	seats := result.GetSeats()
	if int(s.key.seat) >= len(seats) || seats[s.key.seat].GetEnding() <= happycityv1.Ending_ENDING_FINISHED {
		return
	}
	own := seats[s.key.seat]
	text := "the seat was forfeited: " + strings.ToLower(strings.TrimPrefix(own.GetEnding().String(), "ENDING_"))
	if own.GetReason() != "" {
		text += ": " + oneLine(own.GetReason())
	}
	log.Warn(text, s.place()...)
}
