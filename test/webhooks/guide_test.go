package webhooks

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"reservation.dev/devkit/testkit/openapitest"
	"reservation.dev/platform/webhookevent"
	"reservation.dev/test/harness"
)

var jsonBlock = regexp.MustCompile("(?s)```json\n(.*?)```")

// The examples of the guide and the bodies of the vectors are what the schemas
// say.
func TestSchemas(t *testing.T) {
	guide, err := os.ReadFile("../../docs/WEBHOOKS.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	validate := func(t *testing.T, text string) {
		t.Helper()
		var body struct{ Event string }
		if err := json.Unmarshal([]byte(text), &body); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		schema := openapitest.Schema(t, "../../docs/webhooks/"+body.Event+".schema.json")
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		seen[body.Event]++
	}
	t.Run("examples of the guide", func(t *testing.T) {
		for _, block := range jsonBlock.FindAllStringSubmatch(string(guide), -1) {
			validate(t, block[1])
		}
		for _, event := range webhookevent.Names() {
			if seen[event] == 0 {
				t.Errorf("there is no example of %s", event)
			}
		}
	})
	t.Run("good vectors", func(t *testing.T) {
		_, all := readVectors(t)
		for _, v := range all {
			if v.JWT && v.Standard {
				validate(t, v.Body)
			}
		}
	})
}

// Commands that the guide names are there, with their flags.
func TestGuideCommands(t *testing.T) {
	guide, err := os.ReadFile("../../docs/WEBHOOKS.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`reservectl ((?:webhook )?[a-z]+)([^\n`+"`"+`]*)`).FindAllStringSubmatch(string(guide), -1)
	if len(commands) < 8 {
		t.Fatalf("found %d commands", len(commands))
	}
	for _, c := range commands {
		help := harness.Run(t, harness.Command{Program: "reservectl", Args: append(strings.Fields(c[1]), "--help")}).Succeeded(t)
		for _, flag := range regexp.MustCompile(`--[a-z-]+`).FindAllString(c[2], -1) {
			if !strings.Contains(help, flag+" ") {
				t.Errorf("reservectl %s has no %s", c[1], flag)
			}
		}
	}
}
