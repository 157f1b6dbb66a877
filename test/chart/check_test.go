package chart

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPartsTakeTheirSettings runs the services' `check` command, which starts nothing, with the
// environment and the files from the chart, and expects no error. `make chart` builds the
// services.
func TestPartsTakeTheirSettings(t *testing.T) {
	bin, err := filepath.Abs(root + "/bin")
	if err != nil {
		t.Fatal(err)
	}
	for environmentOf, args := range map[string][]string{
		"development": nil,
		"production":  {"--set", "environment=production,faces.admin.url=https://dashboard.example.com"},
	} {
		m := render(t, "minimal", args...)
		for _, p := range m.pods() {
			part, ok := strings.CutPrefix(p.name, "Deployment "+fullname("minimal")+"-")
			if !ok {
				continue
			}
			t.Run(part+" in "+environmentOf, func(t *testing.T) {
				c := p.Spec.Containers[0]
				there, dir := files(p, c), t.TempDir()
				var env []string
				for name, value := range environment(c) {
					if source, ok := there[value]; ok {
						s := m.secrets[source[0]]
						text := s.Data[source[1]]
						if len(text) == 0 {
							text = []byte(s.StringData[source[1]])
						}
						value = filepath.Join(dir, name)
						if err := os.WriteFile(value, text, 0o600); err != nil {
							t.Fatal(err)
						}
					}
					env = append(env, name+"="+value)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, filepath.Join(bin, part), "check")
				cmd.Env = env
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("%s check: %v\n%s", part, err, out)
				}
				if strings.Contains(string(out), "is not a known setting") {
					t.Errorf("%s", out)
				}
			})
		}
	}
}
