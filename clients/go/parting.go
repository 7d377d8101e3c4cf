package happycity

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A parting is how a stream ended.
type parting struct {
	code       codes.Code
	reason     string // the server's, as in the protocol; "" if it gave none
	text       string // one line for a person
	metadata   map[string]string
	retryAfter time.Duration // how long the server wants to be left alone
	final      error         // what this side found wrong with the server or the settings; else nil
}

// partingOf reads a stream's last error; nil means that it ended in good order.
func partingOf(err error) parting {
	var setting *SettingError
	var connection *ConnectionError
	switch {
	case errors.As(err, &setting), errors.As(err, &connection):
		return parting{code: codes.FailedPrecondition, final: err}
	case err == errSilent:
		return parting{code: codes.Unavailable, text: err.Error()}
	}
	s := status.Convert(err)
	p := parting{code: s.Code(), text: strings.Join(strings.Fields(s.Message()), " ")}
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			p.reason, p.metadata = info.GetReason(), info.GetMetadata()
			break
		}
	}
	if wait, err := strconv.ParseUint(p.metadata["retry_after_ms"], 10, 32); err == nil {
		p.retryAfter = time.Duration(wait) * time.Millisecond
	}
	return p
}

// passing tells whether another attempt may go well.
func (p parting) passing() bool {
	if p.final != nil {
		return false
	}
	switch p.reason {
	case "SHUTTING_DOWN", "NO_HEARTBEAT", "STALLED", "RATE_LIMITED", "TOO_MANY_STREAMS":
		return true
	case "":
		return !refusals[p.code]
	default:
		return p.code == codes.Unavailable
	}
}

// refusals are status codes that mean no even without a reason of the server's.
var refusals = map[codes.Code]bool{
	codes.Unauthenticated:    true,
	codes.PermissionDenied:   true,
	codes.Unimplemented:      true,
	codes.InvalidArgument:    true,
	codes.FailedPrecondition: true,
	codes.NotFound:           true,
}

// refused returns the error of a bot that the server won't have.
func (p parting) refused(s *Settings) error {
	if p.final != nil {
		return p.final
	}
	text := fmt.Sprintf("%s ended the session of %q: %s", s.Server, s.Name, p.text)
	if p.reason == "UNSUPPORTED_VERSION" {
		text = fmt.Sprintf("%s speaks versions %s to %s of the protocol, this bot version %d; update whichever is older",
			s.Server, p.metadata["supported_min"], p.metadata["supported_max"], ProtocolVersion)
	}
	return p.error(s, text)
}

// lost returns the error of a bot that found no server, or lost it for good.
func (p parting) lost(s *Settings) error {
	advice := "is the server running there? (start one with: happycity serve)"
	if s.encrypted() {
		advice = "is the server running there, and does it use TLS with a certificate of that CA?"
	}
	return p.error(s, fmt.Sprintf("no connection to %s: %s; %s", s.Server, p.text, advice))
}

func (p parting) error(s *Settings, text string) error {
	return &ConnectionError{Server: s.Server, Name: s.Name, Code: p.code, Reason: p.reason, Text: text}
}
