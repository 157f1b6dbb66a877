package directory

import (
	"strings"
	"testing"

	"reservation.dev/platform/config"
)

const (
	credentialID = "svc_01jb4x9m3vf6ksn8w2d7pq5r0t"
	secret       = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
)

func cellText(name string) string {
	return `{"name":"` + name + `","auth_addr":"auth:9090","credential_id":"` + credentialID + `","credential_secret":"` + secret + `"}`
}

func TestConfig(t *testing.T) {
	t.Parallel()
	read := func(cells string, more config.Env) error {
		env := config.Env{"CELLS": cells, "MAP_DIR": "/maps", "HAPROXY_SOCKET": "/run/s"}
		for name, value := range more {
			env[name] = value
		}
		return config.Read(env, &Config{})
	}
	t.Run("accepts several cells", func(t *testing.T) {
		t.Parallel()
		if err := read("["+cellText("west")+","+cellText("east-2")+"]", nil); err != nil {
			t.Error(err)
		}
	})
	t.Run("reports every fault without showing secrets", func(t *testing.T) {
		t.Parallel()
		err := read(`[`+cellText("west")+`,`+cellText("west")+`,`+cellText("East")+`,{"name":"a"},{"name":"b","auth_addr":"x:1","credential_id":"key_1","credential_secret":"hidden"}]`,
			config.Env{"MAP_DIR": "maps", "HAPROXY_SOCKET": "s", "DIRECTORY_INTERVAL": "1ms", "DIRECTORY_FULL_INTERVAL": "48h"})
		for _, want := range []string{
			"CELLS[1]: name is that of another cell", "CELLS[2]: name must be", "CELLS[3]: auth_addr is missing", "CELLS[3]: credential_id and", "CELLS[4]: credential_id must",
			"MAP_DIR must", "HAPROXY_SOCKET must", "DIRECTORY_INTERVAL must", "DIRECTORY_FULL_INTERVAL must",
		} {
			if err == nil || strings.Count(err.Error(), want) != 1 {
				t.Errorf("%v does not say once: %s", err, want)
			}
		}
		if strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), secret) {
			t.Errorf("a secret is shown: %v", err)
		}
	})
	t.Run("refuses a text that is not a list of cells", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{"west", "{}", "[]"} {
			if err := read(text, nil); err == nil || !strings.Contains(err.Error(), "CELLS") {
				t.Errorf("%s: %v", text, err)
			}
		}
	})
}
