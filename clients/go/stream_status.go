package happycity

import (
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// reasonDomain is the domain of the contract's reasons.
	reasonDomain = "happycity.dev"
	// longestRetry bounds the delay that a server asks for.
	longestRetry = time.Hour
)

// A streamStatus is how a stream or a call ended.
type streamStatus struct {
	code       codes.Code
	reason     string        // the name of an ErrorReason without its prefix; "" if the contract has no such reason
	text       string        // one line for a person
	retryAfter time.Duration // how long to wait before another attempt; 0 if the server didn't say
}

// statusOf reads a stream's or a call's error; nil means that it ended in good order.
func statusOf(err error) streamStatus {
	s := status.Convert(err)
	result := streamStatus{code: s.Code(), text: oneLine(s.Message())}
	var retry *errdetails.RetryInfo
	for _, detail := range s.Details() { // a malformed detail is an error among them
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			if detail.GetDomain() == reasonDomain {
				result.reason = detail.GetReason()
			}
		case *errdetails.RetryInfo:
			retry = detail
		}
	}
	if result.reason != "" {
		result.retryAfter = min(max(0, retry.GetRetryDelay().AsDuration()), longestRetry)
	}
	return result
}

// retryable returns whether another attempt may succeed.
func (s streamStatus) retryable() bool {
	if s.reason != "" {
		// A newer server's reason says it by its status code.
		return retryableReasons[s.reason] || s.code == codes.Unavailable
	}
	return !refusals[s.code]
}

// refusals are the status codes that mean no even without a reason of the contract.
var refusals = map[codes.Code]bool{
	codes.Unauthenticated:    true,
	codes.PermissionDenied:   true,
	codes.Unimplemented:      true,
	codes.InvalidArgument:    true,
	codes.FailedPrecondition: true,
	codes.NotFound:           true,
}

// refused returns the error of a bot that the server refused.
func (s streamStatus) refused(settings *Settings) error {
	return s.error(settings, fmt.Sprintf("%s ended the session of %q: %s", settings.Server, settings.Name, s.text))
}

// lost returns the error of a bot that found no server, or lost it for good.
func (s streamStatus) lost(settings *Settings) error {
	advice := "is the server running there? (start one with: happycity serve)"
	if settings.encrypted() {
		advice = "is the server running there, and does it use TLS with a certificate of that CA?"
	}
	return s.error(settings, fmt.Sprintf("no connection to %s: %s; %s", settings.Server, s.text, advice))
}

func (s streamStatus) error(settings *Settings, text string) error {
	return &ConnectionError{Server: settings.Server, Name: settings.Name, Code: s.code, Reason: s.reason, Text: text}
}
