package id_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"reservation.dev/platform/id"
)

func TestModes(t *testing.T) {
	t.Parallel()
	t.Run("a company in test mode has the identifier of the one in live mode, with a mark", func(t *testing.T) {
		t.Parallel()
		live := id.New[id.Company]()
		test := live.Test()
		if live.IsTest() || !test.IsTest() || test == live || test.Live() != live || test.Test() != test || live.Live() != live {
			t.Errorf("%s and %s", live, test)
		}
		if !strings.HasPrefix(test.String(), "comp_test_") || strings.HasPrefix(live.String(), "comp_test_") {
			t.Errorf("%s and %s", live, test)
		}
	})
	t.Run("the text of a credential has its mode, and parses only with it", func(t *testing.T) {
		t.Parallel()
		live := id.New[id.APIKey]()
		test := live.Test()
		for _, k := range []id.APIKey{live, test} {
			if got, err := id.Parse[id.APIKey](k.String()); err != nil || got != k {
				t.Errorf("%s: %s, %v", k, got, err)
			}
		}
		for _, text := range []string{
			strings.Replace(test.String(), "key_test_", "key_", 1), strings.Replace(live.String(), "key_", "key_test_", 1),
			strings.Replace(test.String(), "key_test_", "key_test_test_", 1), strings.Replace(test.String(), "key_test_", "m2m_test_", 1), "key_test_",
		} {
			if got, err := id.Parse[id.APIKey](text); !errors.Is(err, id.ErrMalformed) {
				t.Errorf("%s: %s, %v", text, got, err)
			}
		}
	})
	t.Run("a service credential of the platform can have any UUID", func(t *testing.T) {
		t.Parallel()
		c := id.New[id.ServiceCredential]().Test()
		chosen := strings.Replace(c.String(), "svc_test_", "svc_", 1)
		if got, err := id.Parse[id.ServiceCredential](chosen); err != nil || got != c {
			t.Errorf("%s: %s, %v", chosen, got, err)
		}
		live := strings.Replace(c.Live().String(), "svc_", "svc_test_", 1)
		if got, err := id.Parse[id.ServiceCredential](live); !errors.Is(err, id.ErrMalformed) {
			t.Errorf("%s: %s, %v", live, got, err)
		}
	})
	t.Run("other identifiers have no mark, whatever the version of their UUID", func(t *testing.T) {
		t.Parallel()
		c := id.Customer(id.NewUUID().Test())
		if got, err := id.Parse[id.Customer](c.String()); err != nil || got != c || strings.Contains(c.String(), "test") {
			t.Errorf("%s: %s, %v", c, got, err)
		}
	})
}

func TestAfter(t *testing.T) {
	t.Parallel()
	u := id.NewUUID()
	later := u.After(time.Hour + time.Millisecond)
	if got := uuid.UUID(later).Time() - uuid.UUID(u).Time(); got != 36_000_010_000 { // in units of 100 ns
		t.Errorf("%s is %d later than %s", later, got, u)
	}
	if !bytes.Equal(later[6:], u[6:]) || u.After(0) != u {
		t.Errorf("%s and %s differ in more than the time", later, u)
	}
}
