package happycity

import "google.golang.org/grpc/codes"

// A SettingError is a setting that can't be used.
type SettingError struct {
	// Setting is the field of [Settings] or the variable of the environment.
	Setting string
	// Text says what is wrong, and what to do.
	Text string
}

func (e *SettingError) Error() string {
	return e.Setting + ": " + e.Text
}

// A ConnectionError is a server that can't be reached, that refused the bot, or that went away for too long.
type ConnectionError struct {
	// Server is the address.
	Server string
	// Name is the bot's.
	Name string
	// Code is the status with which the server, or gRPC, ended the stream.
	Code codes.Code
	// Reason is the server's, as in the protocol, such as "REPLACED"; "" if it gave none.
	Reason string
	// Text says what happened, and what to do.
	Text string
}

func (e *ConnectionError) Error() string {
	return e.Text
}
