package happycity

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// The bytes of every message that a bot sends or receives decode to its fields.
func TestMessages(t *testing.T) {
	file, err := os.Open("../conformance/messages.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	count := 0
	for ; lines.Scan(); count++ {
		var line struct {
			Name   string
			Type   protoreflect.FullName
			Bytes  []byte
			Fields json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		kind, err := protoregistry.GlobalTypes.FindMessageByName("happycity.v1." + line.Type)
		if err != nil {
			t.Fatal(err)
		}
		decoded, expected := kind.New().Interface(), kind.New().Interface()
		if err := proto.Unmarshal(line.Bytes, decoded); err != nil {
			t.Errorf("%s: %v", line.Name, err)
		}
		if err := protojson.Unmarshal(line.Fields, expected); err != nil {
			t.Errorf("%s: %v", line.Name, err)
		}
		if !proto.Equal(decoded, expected) {
			t.Errorf("%s: %v, not %v", line.Name, decoded, expected)
		}
	}
	if err := lines.Err(); err != nil || count < 20 {
		t.Errorf("%d messages (error %v)", count, err)
	}
}
