package happycity

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

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

	// largestMessage is as much as the server may send: any number of games can be in one batch.
	largestMessage = 64 << 20
)

// Settings are where and as whom a bot plays. What is left out comes from the environment, or has a default.
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
	// Token is the bot's, for a server that asks for one; HAPPYCITY_TOKEN.
	Token string
	// Games is the maximum number of games at once, or [Unlimited]; HAPPYCITY_GAMES (0: unlimited), or 8, which is few,
	// so that a bot that takes a second for a move answers all of them in time.
	Games int
	// Thinkers is the maximum number of bots that think at once; by default GOMAXPROCS.
	Thinkers int
	// Wait is how long to wait for a server that isn't there yet; 0 fails at once.
	Wait time.Duration
	// Reconnect is how long to look for a server that was lost, or [Never]; by default a minute.
	Reconnect time.Duration
	// Info is what the bot says of itself, for lists, standings and reports; its Language is Go's version by default.
	Info *BotInfo
}

// Dial prepares a connection for the other services of a server, such as its forward model: to the same address as
// the bot's, with the same token and certificates. [Play] makes its own connections. Nothing is sent before the first
// call. The error, an [*Error], is a setting that can't be used.
func (s Settings) Dial() (*grpc.ClientConn, error) {
	_, server, err := s.complete()
	if err != nil {
		return nil, err
	}
	return server.dial()
}

// complete fills in what is left out, and reads the address and the files of TLS.
func (s Settings) complete() (Settings, *server, error) {
	s.Token = cmp.Or(s.Token, os.Getenv("HAPPYCITY_TOKEN"))
	s.Name = cmp.Or(s.Name, os.Getenv("HAPPYCITY_NAME"))
	if s.Name == "" && s.Token == "" {
		s.Name = strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	}
	if text := os.Getenv("HAPPYCITY_GAMES"); s.Games == 0 && text != "" {
		games, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return s, nil, errorf("HAPPYCITY_GAMES: '%s' is not a number of games; 0 is any number", text)
		}
		s.Games = cmp.Or(int(games), Unlimited)
	}
	s.Games = cmp.Or(s.Games, 8)
	s.Thinkers = cmp.Or(s.Thinkers, runtime.GOMAXPROCS(0))
	s.Reconnect = cmp.Or(s.Reconnect, time.Minute)
	info := &BotInfo{Language: new(strings.Replace(runtime.Version(), "go", "Go ", 1))}
	proto.Merge(info, s.Info)
	s.Info = info
	server, err := newServer(cmp.Or(s.Server, os.Getenv("HAPPYCITY_SERVER"), "grpc://127.0.0.1:50051"), s.Token)
	return s, server, err
}

// A server is where a bot plays, and how it gets there.
type server struct {
	name    string      // as messages have it
	network string      // "tcp" or "unix"
	address string      // host:port, or a path
	tls     *tls.Config // nil for plain text
	token   string
}

// newServer reads an address, and the files of TLS if its scheme asks for them.
func newServer(text, token string) (*server, error) {
	if path, found := strings.CutPrefix(text, "unix:"); found {
		return &server{name: text, network: "unix", address: path, token: token}, nil
	}
	address, encrypted := strings.CutPrefix(text, "grpcs://")
	if !encrypted {
		address = strings.TrimPrefix(text, "grpc://")
	}
	host, port, err := net.SplitHostPort(address)
	_, portErr := strconv.ParseUint(port, 10, 16)
	if err != nil || portErr != nil || host == "" || strings.ContainsAny(host, "/@ ") {
		const examples = "grpc://127.0.0.1:50051 or grpcs://arena.example:443"
		return nil, errorf("HAPPYCITY_SERVER: '%s' is not an address such as %s", text, examples)
	}
	s := &server{name: address, network: "tcp", address: address, token: token}
	if encrypted {
		s.tls, err = tlsConfig()
	}
	return s, err
}

// dial prepares a connection.
func (s *server) dial() (*grpc.ClientConn, error) {
	creds := insecure.NewCredentials()
	if s.tls != nil {
		creds = credentials.NewTLS(s.tls)
	}
	// The server allows a ping every 10 s. These find a dead machine.
	alive := keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second, PermitWithoutStream: true}
	return grpc.NewClient(s.name,
		grpc.WithTransportCredentials(creds),
		grpc.WithPerRPCCredentials(bearer(s.token)),
		grpc.WithKeepaliveParams(alive),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(largestMessage)))
}

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

// tlsConfig reads the files that variables of the environment name.
func tlsConfig() (*tls.Config, error) {
	ca, caErr := readPEM("HAPPYCITY_CA", "CERTIFICATE-----", "certificates")
	cert, certErr := readPEM("HAPPYCITY_CERT", "CERTIFICATE-----", "certificates")
	key, keyErr := readPEM("HAPPYCITY_KEY", "PRIVATE KEY-----", "private key")
	config, err := &tls.Config{}, cmp.Or(caErr, certErr, keyErr)
	if ca != nil {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(ca)
	}
	switch {
	case err != nil || cert == nil && key == nil:
		return config, err
	case key == nil:
		return nil, errorf("HAPPYCITY_CERT: HAPPYCITY_KEY is needed too")
	case cert == nil:
		return nil, errorf("HAPPYCITY_KEY: HAPPYCITY_CERT is needed too")
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, errorf("HAPPYCITY_KEY: it is not the key of HAPPYCITY_CERT: %v", err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// readPEM returns the content of the file that a variable names; nil if the variable is absent.
func readPEM(variable, mark, what string) ([]byte, error) {
	path := os.Getenv(variable)
	if path == "" {
		return nil, nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, errorf("%s: %s can't be read: %v", variable, path, innermost(err))
	}
	if !bytes.Contains(content, []byte(mark)) {
		return nil, errorf("%s: %s holds no %s in PEM", variable, path, what)
	}
	return content, nil
}
