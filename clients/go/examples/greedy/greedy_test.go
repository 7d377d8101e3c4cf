package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	happycity "github.com/happycity-arena/happycity/clients/go"
	pb "github.com/happycity-arena/happycity/clients/go/happycityv1"
)

// Greedy decides as the arena's reference bot does.
func TestLikeTheReference(t *testing.T) {
	lines, err := os.Open("../../../conformance/greedy.jsonl")
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
	var message pb.Decision
	if err := protojson.Unmarshal(parts.Decision, &message); err != nil {
		t.Fatal(err)
	}
	return &happycity.Decision{Decision: &message}, parts.Move
}
