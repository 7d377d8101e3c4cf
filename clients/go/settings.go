package happycity

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/proto"
)

const (
	// Unlimited is the [Settings.Games] of a bot that plays as many games at once as the server likes.
	Unlimited = -1
	// Never is the [Settings.Reconnect] of a bot that ends when it has lost its server.
	Never time.Duration = -1
)

// Settings are where and as whom a bot plays. What is left out comes from the environment, or has a default. The file
// happycity.env, or that of HAPPYCITY_ENV, has what the environment lacks.
//
// With grpcs, the variable HAPPYCITY_CA names a file of the certificates to trust instead of the system's, and
// HAPPYCITY_CERT and HAPPYCITY_KEY the bot's own certificate and its key, for servers that ask for one; all in PEM.
type Settings struct {
	// Server is the address: grpcs://host:port with TLS, grpc://host:port or host:port without, or the path of a
	// socket, unix:/path; HAPPYCITY_SERVER, or grpc://127.0.0.1:50051.
	Server string
	// Name is the bot's, 1 to 64 letters, digits or any of "._-+"; HAPPYCITY_NAME. By default it is the name that the
	// token is for, and without a token the program's.
	Name string
	// Token is the bot's, for a server that asks for one; HAPPYCITY_TOKEN, or that of the name in HAPPYCITY_TOKENS.
	Token string
	// Games is the maximum number of games at once, or [Unlimited]; HAPPYCITY_GAMES (0: unlimited), or 8, which is few,
	// so that a bot that takes a second for a move answers all of them in time.
	Games int
	// Thinkers is the maximum number of bots that think at once; by default GOMAXPROCS.
	Thinkers int
	// Reconnect is how long to look for a server that was lost, or [Never]; by default a minute.
	Reconnect time.Duration
	// Info is what the bot says of itself, for lists, standings and reports; its Language is Go's version by default,
	// its Version HAPPYCITY_VERSION.
	Info *BotInfo

	url       string // the address with its scheme
	transport credentials.TransportCredentials
}

// complete fills in what is left out, reads the files of TLS, and leaves of the address what gRPC and messages need.
func (s Settings) complete() (Settings, error) {
	file, err := readSettingsFile()
	if err != nil {
		return s, err
	}
	s.Name = cmp.Or(s.Name, file.get("NAME"))
	if s.Token == "" {
		own, err := tokenOf(s.Name, file.get("TOKENS"))
		if err != nil {
			return s, err
		}
		s.Token = cmp.Or(own, file.get("TOKEN"))
	}
	if strings.ContainsFunc(s.Token, func(r rune) bool { return r < '!' || r > '~' }) {
		return s, errorf("HAPPYCITY_TOKEN: it has a character that no token has")
	}
	if s.Name == "" && s.Token == "" {
		s.Name = strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	}
	if text := file.get("GAMES"); s.Games == 0 && text != "" {
		games, err := strconv.ParseUint(text, 10, 31)
		if err != nil || len(text) > 9 {
			return s, errorf("HAPPYCITY_GAMES: '%s' is not a number of games; 0 is any number", text)
		}
		s.Games = cmp.Or(int(games), Unlimited)
	}
	s.Games = cmp.Or(s.Games, 8)
	s.Thinkers = cmp.Or(s.Thinkers, runtime.GOMAXPROCS(0))
	s.Reconnect = cmp.Or(s.Reconnect, time.Minute)
	info := &BotInfo{Language: new(strings.Replace(runtime.Version(), "go", "Go ", 1))}
	if version := file.get("VERSION"); version != "" {
		info.Version = new(strings.ToValidUTF8(version, "\uFFFD")) // other bytes can't be sent
	}
	proto.Merge(info, s.Info)
	s.Info = info

	s.url = cmp.Or(s.Server, file.get("SERVER"), "grpc://127.0.0.1:50051")
	parts := addressPattern.FindStringSubmatch(s.url)
	if parts == nil || len(parts[4]) > 0 && !isPort(parts[4]) {
		const examples = "grpc://127.0.0.1:50051 or grpcs://arena.example:443"
		return s, errorf("HAPPYCITY_SERVER: '%s' is not an address such as %s", s.url, examples)
	}
	s.Server = parts[1] + parts[3]
	s.transport = insecure.NewCredentials()
	if parts[2] == "grpcs://" {
		s.transport, err = file.tlsCredentials()
	}
	return s, err
}

// addressPattern matches a socket, or a scheme, a host with its port, and the port.
var addressPattern = regexp.MustCompile(`^(?:(unix:.+)|(grpcs?://)?((?:[\w.-]+|\[[0-9A-Fa-f:.]+(?:%\w+)?\]):(\d{1,5})))$`)

func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

// A settingsFile has what the environment lacks, by variable.
type settingsFile map[string]string

// get returns a variable of the environment, or else of the file; the name is without HAPPYCITY_.
func (f settingsFile) get(name string) string {
	if value, isSet := os.LookupEnv("HAPPYCITY_" + name); isSet {
		return value
	}
	return f[name]
}

var settingsLine = regexp.MustCompile(`^HAPPYCITY_([A-Z_]+)=(.*)$`)

// readSettingsFile reads the file of `happycity join`. Its tokens are for one server: where the environment has an
// address, also an empty one, the file's CA alone counts, and that only where the environment has no access of its own.
// Paths in the file are relative to it.
func readSettingsFile() (settingsFile, error) {
	none := settingsFile{}
	_, isOtherServer := os.LookupEnv("HAPPYCITY_SERVER")
	if isOtherServer && cmp.Or(none.get("CA"), none.get("TOKEN"), none.get("TOKENS")) != "" {
		return none, nil
	}
	path := cmp.Or(none.get("ENV"), "happycity.env")
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if none.get("ENV") != "" && !isOtherServer {
			return nil, errorf("HAPPYCITY_ENV: there is no file %s", path)
		}
		return none, nil
	}
	if err != nil || !utf8.Valid(content) {
		return nil, errorf("%s can't be read as text in UTF-8", path)
	}
	found := settingsFile{}
	for number, line := range strings.Split(strings.TrimPrefix(string(content), "\ufeff"), "\n") {
		text := strings.TrimSpace(line)
		if text == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := settingsLine.FindStringSubmatch(text)
		if parts == nil {
			return nil, errorf("%s:%d: it is not HAPPYCITY_NAME=VALUE", path, number+1)
		}
		name, value := parts[1], parts[2]
		isPath := name == "CA" || name == "CERT" || name == "KEY"
		if isPath && value != "" && !filepath.IsAbs(value) {
			value = filepath.Join(filepath.Dir(path), value)
		}
		if _, isThere := found[name]; !isThere && (name == "CA" || !isOtherServer) {
			found[name] = value
		}
	}
	return found, nil
}

// tokenOf returns the token that a text such as ann=hc_1_x,bob=hc_2_y has for a name; "" if it has none.
func tokenOf(name, tokens string) (string, error) {
	own, number := "", 0
	for entry := range strings.FieldsFuncSeq(tokens, func(r rune) bool { return r == ',' }) {
		number++
		bot, token, _ := strings.Cut(strings.TrimSpace(entry), "=")
		if bot == "" || token == "" {
			return "", errorf("HAPPYCITY_TOKENS: entry %d is not NAME=TOKEN", number)
		}
		if bot == name {
			own = token
		}
	}
	return own, nil
}

// dial prepares a connection by complete settings.
func (s Settings) dial() (*grpc.ClientConn, error) {
	// The server allows a ping every 10 s. These find a dead machine.
	alive := keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second, PermitWithoutStream: true}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(s.transport),
		grpc.WithPerRPCCredentials(bearer(s.Token)),
		grpc.WithKeepaliveParams(alive),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64 << 20)), // any number of games can be in one batch
	}
	if !s.usesProxy() {
		options = append(options, grpc.WithNoProxy())
	}
	return grpc.NewClient(s.Server, options...)
}

func (s Settings) isEncrypted() bool {
	return s.transport.Info().SecurityProtocol == "tls"
}

// usesProxy returns whether a proxy of the environment may be used: none is for this machine, or could read tokens.
func (s Settings) usesProxy() bool {
	return s.isEncrypted() && !here.MatchString(s.Server)
}

// here matches addresses of this machine.
var here = regexp.MustCompile(`(?i)^(localhost|127[.0-9]+|\[::1\]|\[::ffff:127[.0-9]+\]):\d+$`)

// A bearer is a token that travels with each call, if there is one.
type bearer string

// GetRequestMetadata returns the token's header.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if b == "" {
		return nil, nil
	}
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity leaves that to the address.
func (b bearer) RequireTransportSecurity() bool {
	return false
}

// tlsCredentials reads the files that variables name.
func (f settingsFile) tlsCredentials() (credentials.TransportCredentials, error) {
	config, pem := &tls.Config{}, map[string][]byte{}
	for _, name := range []string{"CA", "CERT", "KEY"} {
		if path := f.get(name); path != "" {
			content, err := os.ReadFile(path)
			if err != nil {
				return nil, errorf("HAPPYCITY_%s: %s can't be read: %v", name, path, errors.Unwrap(err))
			}
			pem[name] = content
		}
	}
	if ca, isGiven := pem["CA"]; isGiven {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(ca) {
			return nil, errorf("HAPPYCITY_CA: %s holds no certificates in PEM", f.get("CA"))
		}
	}
	cert, hasCert := pem["CERT"]
	key, hasKey := pem["KEY"]
	switch {
	case hasCert && hasKey:
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, errorf("HAPPYCITY_CERT, HAPPYCITY_KEY: %s and %s are not a certificate and its key in PEM: %v",
				f.get("CERT"), f.get("KEY"), err)
		}
		config.Certificates = []tls.Certificate{pair}
	case hasCert:
		return nil, errorf("HAPPYCITY_CERT: HAPPYCITY_KEY is needed too")
	case hasKey:
		return nil, errorf("HAPPYCITY_KEY: HAPPYCITY_CERT is needed too")
	}
	return credentials.NewTLS(config), nil
}
