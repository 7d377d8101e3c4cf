package happycity

import (
	"fmt"
	"regexp"
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
	return e
}

// causes tell by patterns of gRPC's texts why there is no connection. The first that matches counts.
var causes = []struct{ pattern, text string }{
	{"name resolver error", "the host name of %[1]s can't be resolved"},
	{"refused|no such file", "nothing listens on %[1]s; start a server there with: happycity serve"},
	{"x509: .* (valid for|IP SANs|Common Name)", "the certificate of %[1]s is for another name"},
	{"x509: ", "the certificate of %[1]s is not trusted; set HAPPYCITY_CA to the file of its CA"},
	{"while dialing|remote error: tls", "%[1]s can't be reached: %[2]s"},
	{"ALPN", "%[1]s uses TLS, but does not speak gRPC"},
	{"handshake failed", "%[1]s does not use TLS; write HAPPYCITY_SERVER=grpc://%[1]s"},
}

// unreachable explains why no stream could be opened.
func (s *session) unreachable(err error) *Error {
	text := oneLine(status.Convert(err).Message())
	last := strings.Trim(text[strings.LastIndex(text, ": ")+1:], ` "`)
	format := "%[1]s can't be reached: %[2]s"
	if s.settings.transport.Info().SecurityProtocol == "insecure" && status.Code(err) == codes.Unavailable {
		format = "%[1]s does not answer without TLS; if it uses TLS, write HAPPYCITY_SERVER=grpcs://%[1]s"
	}
	for _, cause := range causes {
		if regexp.MustCompile(cause.pattern).MatchString(text) {
			format = cause.text
			break
		}
	}
	return &Error{Text: fmt.Sprintf(format, s.settings.Server, last), ExitStatus: 2, isRetryable: true}
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
