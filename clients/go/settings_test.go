package happycity

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var variables = []string{"SERVER", "NAME", "TOKEN", "TOKENS", "CA", "CERT", "KEY", "GAMES", "ENV"}

// setEnvironment sets these variables, and no others of the SDK.
func setEnvironment(t *testing.T, values map[string]string) {
	t.Helper()
	for _, name := range variables {
		t.Setenv("HAPPYCITY_"+name, values[name])
	}
}

// What is left out comes from the environment.
func TestEnvironment(t *testing.T) {
	setEnvironment(t, map[string]string{"NAME": "env", "SERVER": "host:1", "TOKEN": "secret", "GAMES": "0"})
	s, err := Settings{}.complete()
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "env" || s.Token != "secret" || s.Games != Unlimited || s.Server != "host:1" {
		t.Errorf("settings %+v", s)
	}
	given := Settings{Name: "code", Server: "[::1]:2", Token: "other", Games: 3, Thinkers: 4, Reconnect: Never}
	s, err = given.complete()
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "code" || s.Token != "other" || s.Games != 3 || s.Thinkers != 4 || s.Reconnect != Never {
		t.Errorf("settings %+v", s)
	}
	if s.Server != "[::1]:2" {
		t.Errorf("server %s", s.Server)
	}
}

// An empty variable counts as absent, and then there are defaults.
func TestDefaults(t *testing.T) {
	setEnvironment(t, nil)
	s, err := Settings{Info: &BotInfo{Author: new("Ann")}}.complete()
	if err != nil {
		t.Fatal(err)
	}
	if s.Games != 8 || s.Reconnect != time.Minute || s.Thinkers < 1 || s.Server != "127.0.0.1:50051" {
		t.Errorf("settings %+v", s)
	}
	if s.Name == "" || s.Info.GetAuthor() != "Ann" || !strings.HasPrefix(s.Info.GetLanguage(), "Go 1.") {
		t.Errorf("name %q, info %v", s.Name, s.Info)
	}
	if s, _ := (Settings{Token: "secret"}).complete(); s.Name != "" {
		t.Errorf("the name %q besides a token", s.Name)
	}
}

// The scheme of an address decides on TLS.
func TestSchemes(t *testing.T) {
	setEnvironment(t, nil)
	for _, c := range []struct{ server, address, protocol string }{
		{"host:1", "host:1", "insecure"},
		{"grpc://host:1", "host:1", "insecure"},
		{"grpcs://host:1", "host:1", "tls"},
		{"unix:/socket", "unix:/socket", "insecure"},
	} {
		s, err := Settings{Server: c.server}.complete()
		if err != nil || s.Server != c.address || s.transport.Info().SecurityProtocol != c.protocol {
			t.Errorf("%+v: %+v, error %v", c, s, err)
		}
	}
}

// A variable whose value can't be used is an error that names it.
func TestUnusable(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text.pem")
	if err := os.WriteFile(text, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	const tls, absent = "grpcs://host:1", "/absent.pem"
	for _, c := range []struct {
		variables map[string]string
		expected  string
	}{
		{map[string]string{"GAMES": "many"}, "HAPPYCITY_GAMES: 'many' is not a number of games; 0 is any number"},
		{map[string]string{"SERVER": "host"}, "HAPPYCITY_SERVER: 'host' is not an address such as "},
		{map[string]string{"SERVER": "host:65536"}, "HAPPYCITY_SERVER: 'host:65536' is not an address such as "},
		{map[string]string{"SERVER": "http://host:1"}, "HAPPYCITY_SERVER: 'http://host:1' is not an address such as "},
		{map[string]string{"SERVER": tls, "CA": absent}, "HAPPYCITY_CA: /absent.pem can't be read: no such file"},
		{map[string]string{"SERVER": tls, "CA": text}, "HAPPYCITY_CA: " + text + " holds no certificates in PEM"},
		{map[string]string{"SERVER": tls, "CERT": text, "KEY": text}, "HAPPYCITY_CERT, HAPPYCITY_KEY: tls: failed to find"},
	} {
		setEnvironment(t, c.variables)
		_, err := Settings{}.complete()
		if err == nil || !strings.HasPrefix(err.Error(), c.expected) || err.(*Error).ExitStatus != 2 {
			t.Errorf("%v: %v", c.variables, err)
		}
	}
	setEnvironment(t, map[string]string{"SERVER": "grpc://host:1", "CA": absent})
	if _, err := (Settings{}).complete(); err != nil {
		t.Errorf("a file of TLS that isn't used: %v", err)
	}
}

// The file has what the environment lacks; its paths are relative to it.
func TestSettingsFile(t *testing.T) {
	content := "# text\n\nHAPPYCITY_SERVER=grpcs://a:1\r\nHAPPYCITY_CA=ca.pem\nHAPPYCITY_TOKEN=first\n" +
		"HAPPYCITY_TOKENS=ann=first,bob=second\nHAPPYCITY_NAME=\n"
	other := filepath.Join(t.TempDir(), "other.env")
	if err := os.WriteFile(other, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		content, name, server, token, ca, problem string
		environment                               map[string]string
	}{
		{content: content, server: "grpcs://a:1", token: "first", ca: "ca.pem"},
		{content: content, name: "bob", server: "grpcs://a:1", token: "second", ca: "ca.pem"},
		{environment: map[string]string{"ENV": other},
			server: "grpcs://a:1", token: "first", ca: filepath.Join(filepath.Dir(other), "ca.pem")},
		{content: content, environment: map[string]string{"SERVER": ""}},
		{content: content, environment: map[string]string{"TOKENS": "", "TOKEN": "own"},
			server: "grpcs://a:1", token: "own", ca: "ca.pem"},
		{},
		{content: "HAPPYCITY_TOKEN=1\nPATH=/tmp\n", problem: "happycity.env:2: it is not HAPPYCITY_NAME=VALUE"},
		{content: "\xff", problem: "happycity.env can't be read as text in UTF-8"},
		{content: "HAPPYCITY_TOKENS=ann", problem: "HAPPYCITY_TOKENS: entry 1 is not NAME=TOKEN"},
		{environment: map[string]string{"ENV": "/absent.env"}, problem: "HAPPYCITY_ENV: there is no file /absent.env"},
	} {
		setEnvironment(t, c.environment) // whose end restores what is unset here
		for _, name := range variables {
			if _, isSet := c.environment[name]; !isSet {
				os.Unsetenv("HAPPYCITY_" + name)
			}
		}
		t.Chdir(t.TempDir())
		if c.content != "" {
			if err := os.WriteFile("happycity.env", []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := readSettingsFile()
		token, tokenErr := tokenOf(c.name)
		if err = errors.Join(err, tokenErr); err != nil || c.problem != "" {
			if err == nil || err.Error() != c.problem {
				t.Errorf("%+v: error %v", c, err)
			}
			continue
		}
		token = cmp.Or(token, os.Getenv("HAPPYCITY_TOKEN"))
		found := [3]string{os.Getenv("HAPPYCITY_SERVER"), token, os.Getenv("HAPPYCITY_CA")}
		if found != [3]string{c.server, c.token, c.ca} {
			t.Errorf("%+v: %q", c, found)
		}
	}
}
