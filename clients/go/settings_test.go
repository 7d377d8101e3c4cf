package happycity

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// readCases reads a file of cases that hold for all SDKs.
func readCases[T any](t *testing.T, name string) []T {
	t.Helper()
	content, err := os.ReadFile("../conformance/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var cases []T
	for line := range strings.Lines(string(content)) {
		var c T
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases
}

type settingsCase struct {
	Name  string
	Given struct {
		Server, Name, Token, Version string
		Games                        *int
	}
	Environment, Files map[string]string
	Error              string
	Settings           struct {
		Server, Name, Token, Version *string
		TLS, Proxy                   *bool
		Games                        *int
	}
}

// Settings come from code, environment and file as in all SDKs.
func TestSettings(t *testing.T) {
	for _, c := range readCases[settingsCase](t, "settings.jsonl") {
		t.Run(c.Name, func(t *testing.T) {
			folder := t.TempDir()
			inFolder := strings.NewReplacer("{folder}", folder)
			for _, name := range []string{"SERVER", "NAME", "TOKEN", "TOKENS", "CA", "CERT", "KEY", "GAMES", "VERSION", "ENV"} {
				value, isSet := c.Environment["HAPPYCITY_"+name]
				t.Setenv("HAPPYCITY_"+name, inFolder.Replace(value)) // whose end restores what is unset here
				if !isSet {
					os.Unsetenv("HAPPYCITY_" + name)
				}
			}
			for name, text := range c.Files {
				var content []byte
				for _, r := range text { // each character is a byte
					content = append(content, byte(r))
				}
				if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			given := Settings{Server: c.Given.Server, Name: c.Given.Name, Token: c.Given.Token}
			if c.Given.Games != nil {
				given.Games = cmp.Or(*c.Given.Games, Unlimited)
			}
			if c.Given.Version != "" {
				given.Info = &BotInfo{Version: &c.Given.Version}
			}
			s, err := given.complete()
			if c.Error != "" {
				if err == nil || !strings.HasPrefix(err.Error(), inFolder.Replace(c.Error)) || err.(*Error).ExitStatus != 2 {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.Settings.Name != nil && *c.Settings.Name == "*" { // that of the program
				c.Settings.Name = new(filepath.Base(os.Args[0]))
			}
			check(t, "server", c.Settings.Server, s.Server)
			check(t, "name", c.Settings.Name, s.Name)
			check(t, "token", c.Settings.Token, s.Token)
			check(t, "TLS", c.Settings.TLS, s.isEncrypted())
			check(t, "proxy", c.Settings.Proxy, s.usesProxy())
			check(t, "version", c.Settings.Version, s.Info.GetVersion())
			check(t, "games", c.Settings.Games, max(0, s.Games))
		})
	}
}

// check compares what a case says of a setting, if it does.
func check[T comparable](t *testing.T, name string, expected *T, found T) {
	t.Helper()
	if expected != nil && *expected != found {
		t.Errorf("%s is %v, and not %v", name, found, *expected)
	}
}

// What no variable says has a default, and the language is filled in.
func TestSettingsOfCode(t *testing.T) {
	s, err := Settings{Info: &BotInfo{Author: new("Ann")}}.complete()
	if err != nil {
		t.Fatal(err)
	}
	if s.Reconnect != time.Minute || s.Thinkers < 1 || s.Info.GetAuthor() != "Ann" ||
		!strings.HasPrefix(s.Info.GetLanguage(), "Go 1.") {
		t.Errorf("settings %+v", s)
	}
}
