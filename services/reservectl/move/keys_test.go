package move

import (
	"context"
	"strings"
	"testing"
)

func TestATargetWithoutTheKeyOfTheSourceIsRefused(t *testing.T) {
	t.Parallel()
	keys := map[string][][]byte{"eu1": {[]byte("one1"), []byte("old1")}, "eu2": {[]byte("two2"), []byte("one1")}, "eu3": {[]byte("old1")}}
	for to, want := range map[string]string{
		"eu2": "", "eu3": "cell eu3 does not have the master key with the identifier 6f6e6531, with which eu1 has encrypted values",
	} {
		m := &Mover{From: &Cell{Name: "eu1"}, To: &Cell{Name: to}, Keys: func(_ context.Context, c *Cell) ([][]byte, error) { return keys[c.Name], nil }}
		err := m.checkKeys(t.Context())
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", to, err)
		}
	}
}
