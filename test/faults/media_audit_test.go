package faults

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	"reservation.dev/test/harness"
)

// fileRow is an object that a row names.
type fileRow struct {
	Key    string
	Size   int64
	SHA256 string `db:"sha256"`
}

// namedSQL returns the files of items, and the parts of uploads that are not complete.
const namedSQL = `select concat(company_id, '/', item_id, '/', id) as key, size, sha256 from media_files where company_id = $1
	union all select concat(p.company_id, '/', u.item_id, '/', p.object_id), p.size, p.sha256
		from upload_parts p join uploads u on u.company_id = p.company_id and u.id = p.upload_id where p.company_id = $1`

// probeObject is written by every start of the service, to check that it can use the bucket.
const probeObject = "probe"

// objects returns the files in the directory of the bucket.
func (c *mediaCluster) objects(t *testing.T) (keys []string) {
	t.Helper()
	err := filepath.WalkDir(c.MediaDir(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		key, err := filepath.Rel(c.MediaDir(), path)
		if key != probeObject {
			keys = append(keys, key)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// audit checks that the films play, that the bucket has each file that a row names, and that it keeps nothing
// else.
func (c *mediaCluster) audit(t *testing.T) {
	t.Helper()
	if t.Failed() {
		return
	}
	for _, f := range c.films {
		want := http.StatusOK
		if f.deleted {
			want = http.StatusNotFound
		}
		if err := c.playUntil(t.Context(), f.link, f.content, want); err != nil {
			t.Errorf("%s: %v", f.id, err)
		}
	}
	c.checkVerification(t)
	left := len(c.checkObjects(t))
	c.awaitRemoval(t)
	c.checkVerification(t)
	t.Logf("%d kills, %d films, %d complete plays, %d objects to remove", c.kills, len(c.films), c.played.Load(), left)
	if left == 0 || c.played.Load() == 0 {
		t.Error("nothing was left to remove, or nothing was played")
	}
}

// checkObjects compares the objects that rows name with the bucket, and returns the other objects.
func (c *mediaCluster) checkObjects(t *testing.T) (unnamed []string) {
	t.Helper()
	named := map[string]bool{}
	for _, row := range rows[fileRow](t, c.db, namedSQL, companyID(t, c.company.ID)) {
		named[row.Key] = true
		content, err := os.ReadFile(filepath.Join(c.MediaDir(), row.Key))
		if sum := fmt.Sprintf("%x", sha256.Sum256(content)); err != nil || int64(len(content)) != row.Size || sum != row.SHA256 {
			t.Errorf("the file of %+v has %d bytes and the checksum %s: %v", row, len(content), sum, err)
		}
	}
	if len(named) == 0 {
		t.Error("no row names a file")
	}
	return slices.DeleteFunc(c.objects(t), func(key string) bool { return named[key] })
}

// awaitRemoval makes all objects older than the service keeps unnamed ones, and lets its jobs run, which begin
// when it starts. The first run finds what a killed process left, and a later one removes it.
func (c *mediaCluster) awaitRemoval(t *testing.T) {
	t.Helper()
	old := time.Now().Add(-72 * time.Hour)
	harness.Eventually(t, 2*time.Minute, func() error {
		c.Part("media").Stop(t)
		for _, key := range c.objects(t) {
			if err := os.Chtimes(filepath.Join(c.MediaDir(), key), old, old); err != nil {
				t.Fatal(err)
			}
		}
		c.release(t)
		c.Part("media").Restart(t)
		if unnamed, due := c.checkObjects(t), number(t, c.db, `select count(*) from removed_objects`); len(unnamed)+due > 0 {
			return fmt.Errorf("%d objects are to be removed, and no row names %v", due, unnamed)
		}
		return nil
	})
}

// checkVerification checks that the service finds nothing that differs from its rows.
func (c *mediaCluster) checkVerification(t *testing.T) {
	t.Helper()
	var checked int64
	found := collect(t, func() (received[*mediav1.VerifyMediaResponse], error) {
		return c.op.Media.VerifyMedia(c.company.Ctx(t.Context()), &mediav1.VerifyMediaRequest{})
	}, func(r *mediav1.VerifyMediaResponse) []string {
		checked += r.GetChecked()
		return differences(r.GetDifference())
	})
	if len(found) > 0 || checked == 0 {
		t.Errorf("of %d values, these differ: %v", checked, found)
	}
}
