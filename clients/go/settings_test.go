package happycity

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is left out comes from the environment; a setting in code beats it, also one that is false.
func TestEnvironment(t *testing.T) {
	for variable, value := range map[string]string{
		"NAME": "env", "SERVER": "host:1", "TOKEN": "secret", "GAMES": "5",
		"TLS": "1", "CA": "ca.pem", "CERT": "cert.pem", "KEY": "key.pem", "INSECURE": "1",
	} {
		t.Setenv("HAPPYCITY_"+variable, value)
	}
	s, err := Settings{Name: "code"}.FromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "code" || s.Server != "host:1" || s.Token != "secret" || s.Games != 5 {
		t.Errorf("settings: %+v", s)
	}
	if !*s.TLS || !*s.Insecure || s.CA != "ca.pem" || s.Cert != "cert.pem" || s.Key != "key.pem" {
		t.Errorf("settings: %+v", s)
	}
	if s, err := (Settings{TLS: new(false), Insecure: new(false)}).FromEnvironment(); err != nil || *s.TLS || *s.Insecure {
		t.Errorf("settings: %+v, error: %v", s, err)
	}
}

// Without an environment there are defaults.
func TestDefaults(t *testing.T) {
	s, err := Settings{}.FromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	if s.Server != DefaultServer || s.Games != DefaultGames || s.Reconnect != DefaultReconnect || s.Thinkers < 1 {
		t.Errorf("settings: %+v", s)
	}
	if s.encrypted() || s.Name == "" || s.Logger == nil {
		t.Errorf("settings: %+v", s)
	}
}

// A variable whose value can't be used is an error that names it; 0 games mean any number.
func TestStrangeEnvironment(t *testing.T) {
	for _, variable := range []string{"HAPPYCITY_GAMES", "HAPPYCITY_TLS", "HAPPYCITY_INSECURE"} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv(variable, "many")
			var wrong *SettingError
			if _, err := (Settings{}).FromEnvironment(); !errors.As(err, &wrong) || wrong.Setting != variable {
				t.Errorf("error: %v", err)
			}
			t.Setenv(variable, "0")
			if s, err := (Settings{}).FromEnvironment(); err != nil || *s.TLS || *s.Insecure {
				t.Errorf("0: %v", err)
			}
		})
	}
	t.Setenv("HAPPYCITY_GAMES", "0")
	if s, _ := (Settings{}).FromEnvironment(); s.Games != Unlimited {
		t.Errorf("%d games", s.Games)
	}
	var wrong *SettingError
	if _, err := (Settings{Games: -1}).FromEnvironment(); !errors.As(err, &wrong) || wrong.Setting != "Games" {
		t.Errorf("error: %v", err)
	}
}

// Only addresses that can't leave the machine are loopback.
func TestLoopback(t *testing.T) {
	for server, expected := range map[string]bool{
		"127.0.0.1:50051": true, "127.8.8.8:1": true, "localhost:1": true, "localhost": true, "[::1]:1": true,
		"unix:/tmp/socket": true, "dns:///127.0.0.1:1": true, "dns:localhost:1": true,
		"10.0.0.1:1": false, "0.0.0.0:1": false, "example.org:1": false, "localhost.example.org:1": false,
		"dns://127.0.0.1/example.org:1": false, "passthrough:///127.0.0.1:1": false, "": false, "[fe80::1]:1": false,
	} {
		if isLoopback(server) != expected {
			t.Errorf("%q: %v", server, !expected)
		}
	}
}

// A token doesn't travel unencrypted to another machine unless that is allowed.
func TestUnencryptedToken(t *testing.T) {
	err := dialError(Settings{Server: "example.org:1", Token: "secret"})
	if err == nil || !strings.Contains(err.Error(), "HAPPYCITY_INSECURE=1") {
		t.Errorf("error: %v", err)
	}
	for _, allowed := range []Settings{
		{Server: "example.org:1", Token: "secret", Insecure: new(true)},
		{Server: "example.org:1", Token: "secret", TLS: new(true)},
		{Server: "127.0.0.1:1", Token: "secret"},
		{Server: "example.org:1"},
	} {
		if err := dialError(allowed); err != nil {
			t.Errorf("%+v: %v", allowed, err)
		}
	}
}

// Files that are missing or hold something else are errors that name the setting.
func TestCredentialFiles(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text.pem")
	if err := os.WriteFile(text, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for setting, settings := range map[string][]Settings{
		"CA":   {{CA: text}, {CA: filepath.Join(t.TempDir(), "missing.pem")}},
		"Cert": {{Cert: text, Key: text}, {Key: text}},
		"Key":  {{Cert: text}},
	} {
		for _, s := range settings {
			var wrong *SettingError
			if err := dialError(s); !errors.As(err, &wrong) || wrong.Setting != setting {
				t.Errorf("%+v: %v", s, err)
			}
		}
	}
}

func dialError(s Settings) error {
	channel, err := s.Dial()
	if err == nil {
		channel.Close()
	}
	return err
}
