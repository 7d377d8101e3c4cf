package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/happycity-arena/happycity-go"
)

var file = flag.String("decisions", "../../../testdata/greedy.jsonl", "decisions with the reference bot's answers")

// Greedy decides as the arena's reference bot does.
func TestLikeTheReference(t *testing.T) {
	lines, err := os.Open(*file)
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	scanner := bufio.NewScanner(lines)
	number := 0
	for scanner.Scan() {
		number++
		d, expected := parsed(t, scanner.Bytes())
		if move, err := choose(context.Background(), d); err != nil || move != expected {
			t.Errorf("line %d: move %d (error %v), not %d\n%s", number, move, err, expected, scanner.Bytes())
		}
	}
	if err := scanner.Err(); err != nil || number < 100 {
		t.Fatalf("%d decisions (error %v)", number, err)
	}
}

func parsed(t *testing.T, line []byte) (*happycity.Decision, int) {
	t.Helper()
	var parts struct {
		Decision json.RawMessage
		Move     int
	}
	if err := json.Unmarshal(line, &parts); err != nil {
		t.Fatal(err)
	}
	var d happycity.Decision
	newer := protojson.UnmarshalOptions{DiscardUnknown: true}
	if err := newer.Unmarshal(parts.Decision, &d); err != nil {
		t.Fatal(err)
	}
	return &d, parts.Move
}
