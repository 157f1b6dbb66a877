package docs

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reservation.dev/test/harness"
)

const secretsScript = "../../deploy/compose/make-secrets.sh"

// readSecrets returns the files of a directory of secrets.
func readSecrets(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(text)
	}
	return files
}

func makeSecrets(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), secretsScript, args...).CombinedOutput(); err != nil {
		t.Fatalf("make-secrets.sh %v: %v\n%s", args, err, out)
	}
}

// TestMakeSecrets runs the script that makes the secrets of docker-compose.yml, which needs no Docker.
func TestMakeSecrets(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not installed")
	}
	t.Run("makes the secrets of the repository", func(t *testing.T) {
		dir := filepath.Join(harness.TempDir(t), "secrets")
		makeSecrets(t, dir, "insecure")
		if diff := cmp.Diff(readSecrets(t, "../../deploy/compose/secrets"), readSecrets(t, dir)); diff != "" {
			t.Errorf("(-repository +script):\n%s", diff)
		}
	})
	t.Run("adds the secrets of a new service, and keeps all others", func(t *testing.T) {
		dir := filepath.Join(harness.TempDir(t), "secrets")
		makeSecrets(t, dir)
		before := readSecrets(t, dir)
		type entry struct {
			ID, Name, Secret string
			Scopes           []string
		}
		var all []entry
		if err := json.Unmarshal([]byte(before["bootstrap_credentials"]), &all); err != nil {
			t.Fatal(err)
		}
		last := all[len(all)-1]
		// The directory of a release that does not have the last service yet, with an entry that the
		// operator has added.
		all[len(all)-1] = entry{ID: "svc_01jb4x9m3vf6ksn8w2d7pq5r0t", Name: "of our own", Secret: "5", Scopes: []string{}}
		earlier, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"_credential", "_database_url", "_migration_database_url"} {
			if err := os.Remove(filepath.Join(dir, last.Name+name)); err != nil {
				t.Fatal(err)
			}
		}
		bootstrap := filepath.Join(dir, "bootstrap_credentials")
		if err := os.Remove(bootstrap); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(bootstrap, append(earlier, '\n'), 0o444); err != nil {
			t.Fatal(err)
		}
		makeSecrets(t, dir, "add")
		after := readSecrets(t, dir)
		var now []entry
		if err := json.Unmarshal([]byte(after["bootstrap_credentials"]), &now); err != nil {
			t.Fatal(err)
		}
		if len(now) != len(all)+1 || !cmp.Equal(now[:len(all)], all) {
			t.Fatalf("got the entries %v, want %v and one more", now, all)
		}
		added := now[len(all)]
		if added.Name != last.Name || added.ID != last.ID || added.Secret+"\n" != after[last.Name+"_credential"] || added.Secret == last.Secret {
			t.Errorf("added %v", added)
		}
		if len(after) != len(before) {
			t.Errorf("got %d files, want %d", len(after), len(before))
		}
		for _, name := range []string{"bootstrap_credentials", last.Name + "_credential", last.Name + "_database_url", last.Name + "_migration_database_url"} {
			delete(before, name)
			delete(after, name)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("other secrets changed:\n%s", diff)
		}
	})
}
