package happycity

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// encrypted returns whether the connection is by TLS.
func (s *Settings) encrypted() bool {
	return *s.TLS || s.CA != "" || s.Cert != "" || s.Key != ""
}

// credentials reads the files of TLS. It refuses a token that could be read on its way.
func (s *Settings) credentials() (credentials.TransportCredentials, error) {
	if !s.encrypted() {
		if s.Token != "" && !*s.Insecure && !isLoopback(s.Server) {
			return nil, &SettingError{Setting: "Token", Text: fmt.Sprintf(
				"it would travel unencrypted to %s; use TLS (HAPPYCITY_TLS=1 or HAPPYCITY_CA=FILE), "+
					"or allow it with HAPPYCITY_INSECURE=1", s.Server)}
		}
		return insecure.NewCredentials(), nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if err := s.trust(config); err != nil {
		return nil, err
	}
	if err := s.identify(config); err != nil {
		return nil, err
	}
	return credentials.NewTLS(config), nil
}

func (s *Settings) trust(config *tls.Config) error {
	if s.CA == "" {
		return nil
	}
	pem, err := os.ReadFile(s.CA)
	if err != nil {
		return &SettingError{Setting: "CA", Text: fmt.Sprintf("it can't be read: %v", err)}
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return &SettingError{Setting: "CA", Text: fmt.Sprintf("%q holds no certificates in PEM", s.CA)}
	}
	return nil
}

func (s *Settings) identify(config *tls.Config) error {
	switch {
	case s.Cert == "" && s.Key == "":
		return nil
	case s.Cert == "":
		return &SettingError{Setting: "Cert", Text: "it is missing; Key needs it too"}
	case s.Key == "":
		return &SettingError{Setting: "Key", Text: "it is missing; Cert needs it too"}
	}
	pair, err := tls.LoadX509KeyPair(s.Cert, s.Key)
	if err != nil {
		return &SettingError{Setting: "Cert", Text: fmt.Sprintf(
			"%q and %q are not a certificate and its key in PEM: %v", s.Cert, s.Key, err)}
	}
	config.Certificates = []tls.Certificate{pair}
	return nil
}

// isLoopback returns whether an address, as gRPC takes it, stays on this machine. Names are not looked up.
func isLoopback(server string) bool {
	if strings.HasPrefix(server, "unix:") || strings.HasPrefix(server, "unix-abstract:") {
		return true
	}
	target := strings.TrimPrefix(server, "dns:")
	if rest, found := strings.CutPrefix(target, "//"); found { // dns://authority/host:port
		_, target, _ = strings.Cut(rest, "/")
	}
	target = strings.TrimPrefix(target, "/")
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		host = strings.Trim(target, "[]")
	}
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}
