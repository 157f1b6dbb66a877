package move

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// completeCell returns a cell with every member.
func completeCell() map[string]any {
	databases := map[string]string{}
	for _, service := range Services() {
		databases[service] = "postgres://admin:s3cret@db/" + service
	}
	return map[string]any{
		"databases": databases, "nats": map[string]string{"url": "nats://n:4222"}, "credentials": "/c.json", "bucket": "file:///media",
	}
}

func with(cell map[string]any, member string, value any) map[string]any {
	changed := maps.Clone(cell)
	changed[member] = value
	return changed
}

func readCells(t *testing.T, file any, env map[string]string) (Cells, error) {
	t.Helper()
	text, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cells.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return ReadCells(path, func(name string) string { return env[name] })
}

func TestReadCells(t *testing.T) {
	t.Parallel()
	one := func(name string, cell any) map[string]any { return map[string]any{"cells": map[string]any{name: cell}} }
	t.Run("reads values from the environment", func(t *testing.T) {
		t.Parallel()
		cell := with(completeCell(), "bucket", "env:BUCKET")
		cells, err := readCells(t, one("eu1", cell), map[string]string{"BUCKET": "s3://media"})
		if err != nil {
			t.Fatal(err)
		}
		c, err := cells.Find("eu1")
		if err != nil || c.Bucket != "s3://media" || c.Name != "eu1" || c.reachableAs("auth") != c.Databases["auth"] {
			t.Errorf("%+v, %v", c, err)
		}
	})
	for name, test := range map[string]struct {
		file any
		want string
	}{
		"refuses a variable that is not set":    {one("eu1", with(completeCell(), "bucket", "env:NOTHING")), "eu1.bucket: the environment variable NOTHING is not set"},
		"refuses an unknown member":             {one("eu1", with(completeCell(), "buckets", "x")), "buckets"},
		"refuses an unknown service":            {one("eu1", with(completeCell(), "databases", map[string]string{"s3cret": "postgres://x/y"})), "there is no service"},
		"refuses a name with a space":           {one("e u", completeCell()), "a name has 1 to 63"},
		"refuses a cell that is not an object":  {one("eu1", nil), "its cell is an object"},
		"refuses a file without an object":      {[]string{}, "is not a file of cells"},
		"names the cells if one is not found":   {one("eu2", completeCell()), "it has eu2"},
		"names each member that is missing":     {one("eu1", with(with(completeCell(), "bucket", ""), "credentials", "")), "eu1.credentials: is required"},
		"refuses a URL of something else":       {one("eu1", with(completeCell(), "databases", map[string]string{"auth": "mysql://s3cret/x"})), "eu1.databases.auth: must be a URL"},
		"refuses a URL that names no database":  {one("eu1", with(completeCell(), "databases", map[string]string{"auth": "postgres://s3cret@db/"})), "eu1.databases.auth"},
		"refuses a cell without every database": {one("eu1", with(completeCell(), "databases", map[string]string{})), "eu1.databases.webhook"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cells, err := readCells(t, test.file, nil)
			if err == nil {
				_, err = cells.Find("eu1")
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if strings.Contains(err.Error(), "s3cret@") || strings.Contains(err.Error(), "mysql://") {
				t.Errorf("the error shows a URL: %v", err)
			}
		})
	}
}
