package happycity

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"syscall"
	"time"
	"unicode"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// probeTime is how long a server may take to answer a probe.
	probeTime = 2 * time.Second
	// preface begins a connection of HTTP/2, with an empty SETTINGS frame; the type is a frame's fourth byte.
	preface       = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	settingsFrame = 4
	// connectionRefused is ECONNREFUSED on Windows.
	connectionRefused = syscall.Errno(10061)
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
	isTLS       bool          // whether only one side uses TLS, which is not retryable before the first welcome
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
func (s *server) broke(what string) *Error {
	return &Error{Text: fmt.Sprintf("%s broke the protocol: %s", s.name, what), ExitStatus: 1}
}

// explain returns why a stream ended; welcomed is whether the server had accepted the bot.
func (s *server) explain(err error, welcomed bool) *Error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	if err == errNoWelcome {
		return cmp.Or(s.probe(), s.unreachable(err))
	}
	code, text := status.Code(err), oneLine(status.Convert(err).Message())
	// gRPC has no codes of its own for a message that can't be decoded, and for a stream that breaks.
	if strings.HasPrefix(text, "grpc: failed to unmarshal") {
		return s.broke("a message can't be decoded")
	}
	e := errorf("%s refused the bot: %s", s.name, text)
	if welcomed {
		e = errorf("%s ended the session: %s", s.name, text)
	}
	e.Reason, e.retryDelay, e.isRetryable = details(err)
	isReset := strings.HasPrefix(text, "stream terminated by RST_STREAM")
	if code == codes.Unavailable || isReset || strings.HasPrefix(text, "server closed the stream without") {
		e.isRetryable = true
		if e.Reason == "" && !welcomed {
			return cmp.Or(s.probe(), e)
		}
	}
	return e
}

// RetryAfter returns how long to wait before the same call may succeed; false if the server didn't say.
func RetryAfter(err error) (time.Duration, bool) {
	_, delay, known := details(err)
	return delay, known
}

// details returns a server's reason, and what [RetryAfter] does.
func details(err error) (reason string, delay time.Duration, known bool) {
	for _, detail := range status.Convert(err).Details() { // a malformed detail is an error among them
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			reason = detail.GetReason()
		case *errdetails.RetryInfo:
			delay, known = detail.GetRetryDelay().AsDuration(), true
		}
	}
	return reason, delay, known
}

// probe finds out by a connection of its own why gRPC has none, as its errors don't tell; nil if that one is fine.
func (s *server) probe() *Error {
	conn, err := net.DialTimeout(s.network, s.address, probeTime)
	if err != nil {
		return s.unreachable(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(probeTime))
	e := errorf("%[1]s does not answer without TLS; if it uses TLS, write HAPPYCITY_SERVER=grpcs://%[1]s", s.name)
	if s.tls != nil {
		config := s.tls.Clone()
		config.ServerName, _, _ = net.SplitHostPort(s.address)
		err := tls.Client(conn, config).Handshake()
		switch {
		case err == nil:
			return nil
		case errors.As(err, new(x509.HostnameError)):
			return errorf("the certificate of %s is for another name", s.name)
		case errors.As(err, new(*tls.CertificateVerificationError)):
			return errorf("the certificate of %s is not trusted; set HAPPYCITY_CA to the file of its CA", s.name)
		case strings.HasPrefix(err.Error(), "remote error: tls"): // which has no type
			return s.unreachable(err)
		}
		e = errorf("%[1]s does not use TLS; write HAPPYCITY_SERVER=grpc://%[1]s", s.name)
	} else if answers(conn) {
		return nil
	}
	e.isRetryable, e.isTLS = true, true
	return e
}

// answers returns whether the server at the other end speaks HTTP/2.
func answers(conn net.Conn) bool {
	var frame [4]byte
	_, _ = io.WriteString(conn, preface) // its error is the reader's too
	_, err := io.ReadFull(conn, frame[:])
	return err == nil && frame[3] == settingsFrame
}

// unreachable explains why there is no connection.
func (s *server) unreachable(err error) *Error {
	e := errorf("%s can't be reached: %s", s.name, oneLine(innermost(err).Error()))
	switch {
	case errors.As(err, new(*net.DNSError)):
		e.Text = fmt.Sprintf("the host name of %s can't be resolved", s.name)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, connectionRefused), errors.Is(err, fs.ErrNotExist):
		e.Text = fmt.Sprintf("nothing listens on %s; start a server there with: happycity serve", s.name)
	}
	e.isRetryable = true
	return e
}

// innermost returns the cause of an error, without what the standard library says about where it happened.
func innermost(err error) error {
	for cause := errors.Unwrap(err); cause != nil; cause = errors.Unwrap(cause) {
		err = cause
	}
	return err
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
