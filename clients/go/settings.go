package happycity

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

const (
	// DefaultServer is where a server listens by default.
	DefaultServer = "127.0.0.1:50051"
	// DefaultGames is few, so that a bot that takes a second for a move answers all of them in time.
	DefaultGames = 8
	// Unlimited is the [Settings.Games] of a bot that plays as many games at once as the server likes.
	Unlimited = math.MaxInt32
	// DefaultReconnect is how long a bot that lost its server tries to find it again.
	DefaultReconnect = time.Minute
	// Never is the [Settings.Reconnect] of a bot that doesn't try.
	Never time.Duration = -1
)

// Settings are where and as whom a bot plays. What is left out comes from the environment, or has a default.
type Settings struct {
	// Name is the bot's, 1 to 64 letters, digits or any of "._-+"; HAPPYCITY_NAME, or the program's.
	Name string
	// Info is what the bot says of itself, for lists, standings and reports; its Language is Go's version by default.
	Info *BotInfo
	// Server is an address, host:port; HAPPYCITY_SERVER, or [DefaultServer].
	Server string
	// Token is the bot's, for a server that needs one; HAPPYCITY_TOKEN.
	Token string
	// Games is the maximum number of games at once, or [Unlimited]; HAPPYCITY_GAMES (0: unlimited), or [DefaultGames].
	Games int
	// Thinkers is the maximum number of bots that think at once; by default GOMAXPROCS.
	Thinkers int

	// TLS is whether to encrypt; CA, Cert and Key imply it; HAPPYCITY_TLS (0 or 1). In code: new(true) or new(false).
	TLS *bool
	// CA is a file of the certificates to trust, in PEM; HAPPYCITY_CA, or those of the system.
	CA string
	// Cert is a file of the bot's own certificate, in PEM, for servers that demand one; HAPPYCITY_CERT.
	Cert string
	// Key is a file of the certificate's key, in PEM; HAPPYCITY_KEY.
	Key string
	// Insecure is whether a token may travel unencrypted to another machine; HAPPYCITY_INSECURE (0 or 1).
	Insecure *bool

	// Wait is how long to wait for a server that isn't there yet; 0 fails at once.
	Wait time.Duration
	// Reconnect is how long to try after a connection was lost, or [Never]; by default [DefaultReconnect].
	Reconnect time.Duration

	// Logger gets what a bot's author should know; by default lines on the standard error, with the time in UTC.
	Logger *slog.Logger
}

// FromEnvironment fills in what is left out: from the environment, else by default. [Run] and [Play] do it
// themselves; this is for programs that want to look at the result. The error is a [*SettingError].
func (s Settings) FromEnvironment() (Settings, error) {
	s.Name = cmp.Or(s.Name, os.Getenv("HAPPYCITY_NAME"), programName())
	s.Info = withLanguage(s.Info)
	s.Server = cmp.Or(s.Server, os.Getenv("HAPPYCITY_SERVER"), DefaultServer)
	s.Token = cmp.Or(s.Token, os.Getenv("HAPPYCITY_TOKEN"))
	s.CA = cmp.Or(s.CA, os.Getenv("HAPPYCITY_CA"))
	s.Cert = cmp.Or(s.Cert, os.Getenv("HAPPYCITY_CERT"))
	s.Key = cmp.Or(s.Key, os.Getenv("HAPPYCITY_KEY"))
	if s.Thinkers < 1 {
		s.Thinkers = runtime.GOMAXPROCS(0)
	}
	if s.Reconnect == 0 {
		s.Reconnect = DefaultReconnect
	}
	if s.Logger == nil {
		s.Logger = slog.New(newLineHandler(os.Stderr))
	}
	err := cmp.Or(
		setGames(&s.Games, "HAPPYCITY_GAMES"),
		setSwitch(&s.TLS, "HAPPYCITY_TLS"),
		setSwitch(&s.Insecure, "HAPPYCITY_INSECURE"),
	)
	return s, err
}

// withLanguage returns what a bot says of itself, with the language if its author left it out.
func withLanguage(info *BotInfo) *BotInfo {
	language := strings.Replace(runtime.Version(), "go", "Go ", 1)
	return &BotInfo{
		Author:      info.GetAuthor(),
		Version:     info.GetVersion(),
		Language:    cmp.Or(info.GetLanguage(), language),
		Description: info.GetDescription(),
	}
}

func programName() string {
	return strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
}

func setGames(games *int, variable string) error {
	if *games < 0 || *games > Unlimited {
		return &SettingError{Setting: "Games", Text: fmt.Sprintf("%d is not a number of games", *games)}
	}
	if *games > 0 {
		return nil
	}
	*games = DefaultGames
	if text := os.Getenv(variable); text != "" {
		number, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return &SettingError{Setting: variable, Text: fmt.Sprintf("%q is not a number of games", text)}
		}
		*games = int(number)
	}
	if *games == 0 {
		*games = Unlimited
	}
	return nil
}

func setSwitch(on **bool, variable string) error {
	text := os.Getenv(variable)
	switch {
	case *on != nil:
	case text == "" || text == "0" || text == "1":
		*on = new(text == "1")
	default:
		return &SettingError{Setting: variable, Text: fmt.Sprintf("%q is neither 0 nor 1", text)}
	}
	return nil
}
