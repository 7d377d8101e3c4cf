package happycity

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The programs in the README are example bots, which are compiled with all others.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	programs := ""
	files, _ := filepath.Glob("examples/*/main.go")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		programs += string(text)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	if len(blocks) != 2 {
		t.Errorf("%d programs", len(blocks))
	}
	for _, block := range blocks {
		if !strings.Contains(programs, block[1]) {
			t.Errorf("this is no example:\n%s", block[1])
		}
	}
}
