package happycity

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// An Error is why a bot can't play, or plays no more.
type Error struct {
	// Text is one line that says what is wrong, and what to do.
	Text string
	// Reason is the server's, as in the protocol, such as "REPLACED"; "" if it gave none.
	Reason string
	// ExitStatus is the one with which [Run] ends the process: 1 if the server broke the protocol, else 2.
	ExitStatus int

	isRetryable bool
	retryDelay  time.Duration // what the server asked for
}

// Error returns the text.
func (e *Error) Error() string {
	return e.Text
}

func errorf(format string, args ...any) *Error {
	return &Error{Text: fmt.Sprintf(format, args...), ExitStatus: 2}
}

// broke returns the error of a server that broke the protocol.
func (s *session) broke(what string) *Error {
	return &Error{Text: fmt.Sprintf("%s broke the protocol: %s", s.settings.Server, what), ExitStatus: 1}
}

// ended explains the error of a stream; welcomed is whether the server had accepted the bot.
func (s *session) ended(err error, welcomed bool) *Error {
	// gRPC has no codes of its own for a message that can't be decoded, and for a stream that breaks.
	text := oneLine(status.Convert(err).Message())
	if strings.HasPrefix(text, "grpc: failed to unmarshal") {
		return s.broke("a message can't be decoded")
	}
	isBroken := strings.HasPrefix(text, "stream terminated by RST_STREAM") ||
		strings.HasPrefix(text, "server closed the stream without")
	e := errorf("%s refused the bot: %s", s.settings.Server, text)
	if welcomed {
		e = errorf("%s ended the session: %s", s.settings.Server, text)
	}
	e.isRetryable = isBroken || status.Code(err) == codes.Unavailable
	for _, detail := range status.Convert(err).Details() { // a malformed detail is an error among them
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			e.Reason = detail.GetReason()
		case *errdetails.RetryInfo:
			e.isRetryable, e.retryDelay = true, detail.GetRetryDelay().AsDuration()
		}
	}
	if status.Code(err) == codes.Canceled && e.Reason == "" { // by a server that closes
		e.isRetryable = true
	}
	return e
}

// unreachable returns the error of a server to which there is no connection, with what gRPC says of it.
func (s *session) unreachable(err error) *Error {
	const format = "%s can't be reached: %s; `happycity status %s` says why"
	e := errorf(format, s.settings.Server, oneLine(status.Convert(err).Message()), s.settings.url)
	e.isRetryable = true
	return e
}

// oneLine replaces the control characters of a text.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
}
