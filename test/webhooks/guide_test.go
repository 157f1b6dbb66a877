package webhooks

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"reservation.dev/devkit/testkit/openapitest"
	"reservation.dev/platform/webhookevent"
	"reservation.dev/test/harness"
)

var jsonBlock = regexp.MustCompile("(?s)```json\n(.*?)```")

// TestSchemas checks the examples of the guide and the bodies of the vectors against the
// published schemas.
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
		for _, event := range append(webhookevent.DefaultNames(), "customer.updated") {
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
		for _, event := range webhookevent.Names() {
			if seen[event] == 0 {
				t.Errorf("there is no body of %s", event)
			}
		}
	})
}

// TestGuideCommands checks that the commands of the guide exist, with their flags.
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

// programBlock matches the guide's programs that verify a webhook: three code blocks, one for
// each language.
var programBlock = regexp.MustCompile("(?s)```js\n(.*?)```\n```python\n(.*?)```\n```go\n(.*?)```\n")

// TestGuidePrograms checks that the guide's programs accept only the vectors whose Standard
// Webhooks signature is valid.
func TestGuidePrograms(t *testing.T) {
	guide, err := os.ReadFile("../../docs/WEBHOOKS.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := programBlock.FindStringSubmatch(string(guide))
	if blocks == nil {
		t.Fatal("the guide has no programs in JavaScript, Python and Go")
	}
	text, all := readVectors(t)
	dir := copyGo(t, map[string]string{"check.go": "testdata/guide.go.txt"})
	for i, name := range []string{"verify.mjs", "verify.py", "verify.go"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(blocks[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for language, command := range map[string]func(t *testing.T) []string{
		"JavaScript": func(t *testing.T) []string {
			return []string{program(t, "node"), absolute(t, "testdata/guide.mjs"), filepath.Join(dir, "verify.mjs")}
		},
		"Python": func(t *testing.T) []string {
			return []string{program(t, "python3"), absolute(t, "testdata/guide.py"), filepath.Join(dir, "verify.py")}
		},
		"Go": func(t *testing.T) []string { return []string{buildGo(t, dir)} },
	} {
		t.Run(language, func(t *testing.T) {
			var verdicts map[string]bool
			judge(t, dir, text, &verdicts, command(t)...)
			for _, v := range all {
				if got, ok := verdicts[v.Name]; !ok || got != v.Standard {
					t.Errorf("%s: the verdict is %v, want %v", v.Name, got, v.Standard)
				}
			}
		})
	}
}
