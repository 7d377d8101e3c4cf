package happycity

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

const (
	// DefaultServer is where a server listens unless it is told otherwise.
	DefaultServer = "127.0.0.1:50051"
	// DefaultGames are few, so that a bot that takes a second for a move answers all of them in time.
	DefaultGames = 8
	// Unlimited leaves it to the server how many games a bot plays at once.
	Unlimited = -1
	// DefaultReconnect is how long a bot that lost its server tries to find it again.
	DefaultReconnect = time.Minute
	// Never is the [Settings.Reconnect] of a bot that doesn't try.
	Never time.Duration = -1
)

// Settings are where and as whom a bot plays. What is left out comes from the environment, or has a default.
type Settings struct {
	// Name is the bot's, 1 to 64 letters, digits or any of "._-+"; HAPPYCITY_NAME, or the program's.
	Name string
	// Server is an address, host:port; HAPPYCITY_SERVER, or [DefaultServer].
	Server string
	// Token is the bot's, for a server that asks for one; HAPPYCITY_TOKEN.
	Token string
	// Games are played at once at most, or [Unlimited]; HAPPYCITY_GAMES (0: unlimited), or [DefaultGames].
	Games int
	// Thinkers are the decisions that are thought about at once at most; by default GOMAXPROCS.
	Thinkers int

	// TLS encrypts the connection, as CA, Cert and Key do; HAPPYCITY_TLS (0 or 1).
	TLS bool
	// CA is a file of the certificates to trust, in PEM; HAPPYCITY_CA, or those of the system.
	CA string
	// Cert is a file of the bot's own certificate, in PEM, for servers that ask for one; HAPPYCITY_CERT.
	Cert string
	// Key is a file of the certificate's key, in PEM; HAPPYCITY_KEY.
	Key string
	// Insecure lets a token travel in the clear to another machine; HAPPYCITY_INSECURE (0 or 1).
	Insecure bool

	// Wait is how long to wait for a server that isn't there yet; 0 fails at once.
	Wait time.Duration
	// Reconnect is how long to try after a connection was lost; by default [DefaultReconnect].
	Reconnect time.Duration

	// Logger hears what a bot's author will want to know; by default [slog.Default].
	Logger *slog.Logger
}

// FromEnvironment fills in what is left out: from the environment, else by default. [Run] and [Play] do it
// themselves; this is for programs that want to look at the result.
func (s Settings) FromEnvironment() (Settings, error) {
	s.Name = firstOf(s.Name, os.Getenv("HAPPYCITY_NAME"), programName())
	s.Server = firstOf(s.Server, os.Getenv("HAPPYCITY_SERVER"), DefaultServer)
	s.Token = firstOf(s.Token, os.Getenv("HAPPYCITY_TOKEN"))
	s.CA = firstOf(s.CA, os.Getenv("HAPPYCITY_CA"))
	s.Cert = firstOf(s.Cert, os.Getenv("HAPPYCITY_CERT"))
	s.Key = firstOf(s.Key, os.Getenv("HAPPYCITY_KEY"))
	if s.Thinkers < 1 {
		s.Thinkers = runtime.GOMAXPROCS(0)
	}
	if s.Reconnect == 0 {
		s.Reconnect = DefaultReconnect
	}
	if s.Logger == nil {
		s.Logger = slog.Default()
	}
	if s.Games == 0 {
		games, err := gamesFrom("HAPPYCITY_GAMES")
		if err != nil {
			return s, err
		}
		s.Games = games
	}
	if err := setSwitch(&s.TLS, "HAPPYCITY_TLS"); err != nil {
		return s, err
	}
	return s, setSwitch(&s.Insecure, "HAPPYCITY_INSECURE")
}

func firstOf(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}

func programName() string {
	return strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
}

func gamesFrom(variable string) (int, error) {
	text := os.Getenv(variable)
	if text == "" {
		return DefaultGames, nil
	}
	games, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, &SettingError{Setting: variable, Text: fmt.Sprintf("%q is not a number of games", text)}
	}
	if games == 0 {
		return Unlimited, nil
	}
	return int(games), nil
}

func setSwitch(on *bool, variable string) error {
	switch text := os.Getenv(variable); text {
	case "", "0":
	case "1":
		*on = true
	default:
		return &SettingError{Setting: variable, Text: fmt.Sprintf("%q is neither 0 nor 1", text)}
	}
	return nil
}
