package happycity

import "google.golang.org/grpc/codes"

// A SettingError is a setting that makes no sense.
type SettingError struct {
	// Setting is the field of [Settings] or the variable of the environment.
	Setting string
	// Text tells what is wrong, and what to do.
	Text string
}

func (e *SettingError) Error() string {
	return e.Setting + ": " + e.Text
}

// A ConnectionError is why a bot plays no more: the server can't be reached, refused it, or went away for too
// long.
type ConnectionError struct {
	// Server is the address.
	Server string
	// Name is the bot's.
	Name string
	// Code is the status with which the server, or gRPC, ended the stream.
	Code codes.Code
	// Reason is the server's, as in the protocol, such as "REPLACED"; "" if it gave none.
	Reason string
	// Text tells what happened, and what to do.
	Text string
}

func (e *ConnectionError) Error() string {
	return e.Text
}
