package admin

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reservation.dev/platform/money"
	"reservation.dev/platform/scopes"
)

// grantNames returns the names of grants, sorted.
func grantNames(grants []grant) []string {
	var names []string
	for _, g := range grants {
		names = append(names, g.Name)
	}
	return slices.Sorted(slices.Values(names))
}

func TestEveryScopeIsExplained(t *testing.T) {
	t.Parallel()
	for field, c := range map[string]struct {
		grants []grant
		want   []string
	}{
		"scopes":      {clientScopes, scopes.InterfaceA()},
		"permissions": {keyPermissions, append(scopes.InterfaceB(), scopes.Everything)},
	} {
		if diff := cmp.Diff(slices.Sorted(slices.Values(c.want)), grantNames(c.grants)); diff != "" {
			t.Errorf("%s: %s", field, diff)
		}
	}
}

func TestEveryCurrencyHasANameAndASymbol(t *testing.T) {
	t.Parallel()
	messages := messageFiles(t, files)["en"]
	for _, code := range money.Currencies() {
		if messages[currencyName(code).id] == nil || currencySymbols[code] == "" {
			t.Errorf("%s has no name or no symbol", code)
		}
	}
}

func TestEveryWebhookEventIsExplained(t *testing.T) {
	t.Parallel()
	messages := messageFiles(t, files)["en"]
	for _, e := range webhookEvents() {
		if messages[e.Title.id] == nil || messages[e.About.id] == nil {
			t.Errorf("%s has no title or no explanation", e.Name)
		}
		if e.Group != nil && messages[e.Group.id] == nil {
			t.Errorf("the group of %s has no name: %s", e.Name, e.Group.id)
		}
	}
}

func TestReadmeListsTheFiles(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	everyService := []string{"doc.go", "config.go", "run.go"}
	for _, name := range files {
		if !strings.HasSuffix(name, "_test.go") && !slices.Contains(everyService, name) && !strings.Contains(string(readme), "`"+name+"`") {
			t.Errorf("the layout lacks %s", name)
		}
	}
}

func TestActionsListAllTheirEffects(t *testing.T) {
	t.Parallel()
	english := messageFiles(t, files)["en"]
	effects := map[string]int{}
	for action, n := range credentialEffects {
		action = strings.ReplaceAll(action, "-", "_")
		effects["settings.api_client.confirm."+action], effects["settings.api_key.confirm."+action] = n, n
	}
	for action, n := range endpointEffects {
		effects["settings.webhook.confirm."+action] = n
	}
	for action, n := range testModeEffects {
		effects["settings.test_mode.confirm."+action] = n
	}
	for action, n := range publishableEffects {
		effects["settings.publishable.confirm."+action] = n
	}
	for action, n := range endEffects {
		effects["appointments.end."+action] = n
	}
	for action, a := range administratorActions {
		effects["settings.administrator.confirm."+strings.ReplaceAll(action, "-", "_")] = a.effects
	}
	for id := range english {
		action, effect, ok := strings.Cut(id, ".effect_")
		if n, _ := strconv.Atoi(effect); ok && n > effects[action] {
			t.Errorf("the page before %s does not show %s", action, id)
		}
	}
	for action, n := range effects {
		for i := range n {
			if id := action + ".effect_" + strconv.Itoa(i+1); english[id] == nil {
				t.Errorf("the catalogue has no message %s", id)
			}
		}
	}
}
