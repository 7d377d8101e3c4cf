package happycity

import (
	"errors"
	"math"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// A status has the contract's reason and the delay before another attempt.
func TestStatus(t *testing.T) {
	ours := &errdetails.ErrorInfo{Reason: "RATE_LIMITED", Domain: "happycity.dev"}
	retry := func(seconds int64) *errdetails.RetryInfo {
		return &errdetails.RetryInfo{RetryDelay: &durationpb.Duration{Seconds: seconds}}
	}
	for name, expected := range map[string]struct {
		err        error
		reason     string
		retryAfter time.Duration
	}{
		"reason":               {refusal(t, codes.ResourceExhausted, ours), "RATE_LIMITED", 0},
		"reason and delay":     {refusal(t, codes.ResourceExhausted, retry(2), ours), "RATE_LIMITED", 2 * time.Second},
		"delay of the past":    {refusal(t, codes.ResourceExhausted, retry(-5), ours), "RATE_LIMITED", 0},
		"delay of ages":        {refusal(t, codes.ResourceExhausted, retry(math.MaxInt64), ours), "RATE_LIMITED", time.Hour},
		"delay without reason": {refusal(t, codes.ResourceExhausted, retry(2)), "", 0},
		"reason of others": {
			refusal(t, codes.ResourceExhausted, &errdetails.ErrorInfo{Reason: "QUOTA", Domain: "example.org"}, retry(2)), "", 0,
		},
		"malformed details": {malformed(), "", 0},
		"no status":         {errors.New("no"), "", 0},
	} {
		if s := statusOf(expected.err); s.reason != expected.reason || s.retryAfter != expected.retryAfter {
			t.Errorf("%s: reason %q, retry after %v", name, s.reason, s.retryAfter)
		}
	}
}

// A status message is for a person: one line without control characters.
func TestStatusText(t *testing.T) {
	if s := statusOf(grpcstatus.Error(codes.Internal, "in\x1b[2J the\n test")); s.text != "in [2J the test" {
		t.Errorf("text %q", s.text)
	}
}

// Another attempt may succeed after a retryable reason, after a new one of a server that is unavailable, and after
// anything without a reason that is not a refusal.
func TestRetryable(t *testing.T) {
	for expected, statuses := range map[bool][]streamStatus{
		true: {
			{code: codes.ResourceExhausted, reason: "RATE_LIMITED"},
			{code: codes.Aborted, reason: "STALLED"},
			{code: codes.Unavailable, reason: "OF_A_NEW_SERVER"},
			{code: codes.Unavailable},
			{code: codes.Internal},
		},
		false: {
			{code: codes.Aborted, reason: "REPLACED"},
			{code: codes.ResourceExhausted, reason: "OF_A_NEW_SERVER"},
			{code: codes.PermissionDenied},
		},
	} {
		for _, s := range statuses {
			if s.retryable() != expected {
				t.Errorf("%v %q: %v", s.code, s.reason, !expected)
			}
		}
	}
}

// malformed returns an error whose details are not what their types say.
func malformed() error {
	return grpcstatus.FromProto(&status.Status{
		Code: int32(codes.ResourceExhausted),
		Details: []*anypb.Any{
			{TypeUrl: "type.googleapis.com/google.rpc.ErrorInfo", Value: []byte("\xff\xff")},
			{TypeUrl: "type.googleapis.com/google.rpc.RetryInfo", Value: []byte{0x0a, 0x7f}},
			{TypeUrl: "nonsense"},
		},
	}).Err()
}
