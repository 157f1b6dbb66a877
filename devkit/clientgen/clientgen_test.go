package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGenerated compares the generated files with the descriptions.
func TestGenerated(t *testing.T) {
	t.Parallel()
	root := "../.."
	files, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s does not match the OpenAPI description: run make client-files", name)
		}
	}
}

// TestCollections checks that a collection has every operation, and only variables that it defines.
func TestCollections(t *testing.T) {
	t.Parallel()
	for _, face := range []string{"a", "b"} {
		d, err := read("../../gateway-" + face + "/openapi/openapi.yaml")
		if err != nil {
			t.Fatal(err)
		}
		text, err := postman(d, face)
		if err != nil {
			t.Fatal(err)
		}
		var c collection
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		found, defined := map[string]int{}, map[string]bool{"{{$guid}}": true}
		for _, v := range c.Variable {
			defined["{{"+v.Key+"}}"] = true
		}
		for _, f := range c.Item {
			for _, r := range f.Item {
				found[r.Request.Method+" "+strings.Join(r.Request.URL.Path, "/")]++
				if b := r.Request.Body; b != nil && !json.Valid([]byte(b.Raw)) {
					t.Errorf("%s has the body %s", r.Name, b.Raw)
				}
			}
		}
		for _, o := range d.operations {
			if path := strings.NewReplacer("{", ":", "}", "").Replace(strings.TrimPrefix(o.path, "/")); found[o.method+" "+path] != 1 {
				t.Errorf("%s %s is in the collection %d times", o.method, o.path, found[o.method+" "+path])
			}
		}
		for _, name := range regexp.MustCompile(`\{\{[^}]*\}\}`).FindAllString(text, -1) {
			if !defined[name] {
				t.Errorf("the collection of Interface %s uses %s, which it does not define", face, name)
			}
		}
	}
}

// TestTokenScript runs the scripts of the collections.
func TestTokenScript(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("Node.js is not installed")
	}
	for _, tt := range []struct{ face, id, secret, want string }{
		{"a", "clientId", "clientSecret", `{"url":"http://base/token","body":{"client_id":"%s","client_secret":"secret-1"}}`},
		{"b", "apiKey", "apiSecret", `{"url":"http://base/auth/token","body":{"apiKey":"%s","apiSecret":"secret-1"}}`},
	} {
		file := "../../clients/postman/interface-" + tt.face + ".postman_collection.json"
		out, err := exec.CommandContext(t.Context(), "node", "testdata/script.mjs", file, tt.id, tt.secret).CombinedOutput()
		var requests []string
		for _, id := range []string{"id-1", "id-2", "id-2"} {
			requests = append(requests, fmt.Sprintf(tt.want, id))
		}
		want := `{"requests":[` + strings.Join(requests, ",") + `],"token":"token-3"}` + "\n"
		if err != nil || string(out) != want {
			t.Errorf("interface %s: %v\ngot  %swant %s", tt.face, err, out, want)
		}
	}
}
