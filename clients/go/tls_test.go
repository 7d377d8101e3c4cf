package happycity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// A bot plays by TLS, with a CA of its own, a certificate of its own, and a token.
func TestTLS(t *testing.T) {
	cert, key := certificate(t)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(pair.Leaf)
	p := newPeer(t, grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
	})))
	p.play(Stateless(first), Settings{CA: cert, Cert: cert, Key: key, Token: "secret"})
	d, _ := p.accept()
	if token := d.authorization(); len(token) != 1 || token[0] != "Bearer secret" {
		t.Errorf("authorization: %q", token)
	}
}

// A bot doesn't play on a server whose certificate is not of a trusted CA.
func TestUntrustedServer(t *testing.T) {
	cert, key := certificate(t)
	creds, err := credentials.NewServerTLSFromFile(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	p := newPeer(t, grpc.Creds(creds))
	if err := p.play(Stateless(first), Settings{TLS: new(true)}).end(); err == nil {
		t.Error("it played")
	}
}

// certificate writes a certificate for loopback, which is its own CA, and its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	public, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pemFile(t, "CERTIFICATE", public), pemFile(t, "PRIVATE KEY", secret)
}

func pemFile(t *testing.T, kind string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
