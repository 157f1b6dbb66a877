package reservectl

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

type mediaCounts struct {
	Read, Created, Updated, Existed, Refused int
	Report                                   string
}

func importedMedia(t *testing.T, r result) (c mediaCounts) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.out), &c); err != nil {
		t.Fatalf("exit status %d: %v in %q; %s", r.code, err, r.out, r.errOut)
	}
	return c
}

// mediaFiles writes files into a directory of the world and returns it.
func (w *world) mediaFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(w.dir, "library")
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestMediaImport(t *testing.T) {
	w := newWorld(t)
	dir := w.mediaFiles(t, map[string]string{
		"videos/flow.mp4": "a film of several parts", "flow.jpg": "a picture", "notes.pdf": "a document", "scan.bin": "a document too",
	})
	items := filepath.Join(dir, "items.csv")
	write := func(t *testing.T, lines string) {
		t.Helper()
		if err := os.WriteFile(items, []byte("reference,title,kind,description,tags,collection,file,cover,status,duration\n"+lines), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	published, draft := mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED, mediav1.MediaStatus_MEDIA_STATUS_DRAFT
	t.Run("items are created with their files and collections", func(t *testing.T) {
		write(t, "M-1,Morning flow,video,All levels,yoga;calm,Home practice; Yoga,videos/flow.mp4,flow.jpg,published,90\nM-2,Notes,,,,Yoga,notes.pdf,,draft,\n")
		r := run(t, "", "media", "import", items)
		if sum := importedMedia(t, r); r.code != 0 || sum != (mediaCounts{Read: 2, Created: 2}) {
			t.Fatalf("got %+v", r)
		}
		one, two := w.library.items[0], w.library.items[1]
		if one.GetStatus() != published || one.GetFile().GetName() != "flow.mp4" || one.GetFile().GetContentType() != "video/mp4" || one.GetFile().GetSize() != 23 ||
			one.GetCover().GetContentType() != "image/jpeg" || one.GetDurationSeconds() != 90 || !slices.Equal(one.GetTags(), []string{"yoga", "calm"}) ||
			!slices.Equal(one.GetCollectionIds(), []string{"col_1", "col_2"}) {
			t.Errorf("created %v", one)
		}
		if two.GetStatus() != draft || two.GetKind() != mediav1.MediaKind_MEDIA_KIND_DOCUMENT || two.GetFile().GetContentType() != "application/pdf" ||
			!slices.Equal(two.GetCollectionIds(), []string{"col_2"}) || len(w.library.collections) != 2 {
			t.Errorf("created %v in %v", two, w.library.collections)
		}
	})
	t.Run("a repeated import sends nothing", func(t *testing.T) {
		puts := w.library.puts
		r := run(t, "", "media", "import", items)
		if sum := importedMedia(t, r); r.code != 0 || sum != (mediaCounts{Read: 2, Existed: 2}) || w.library.puts != puts || len(w.library.items) != 2 {
			t.Errorf("got %+v after %d parts", r, w.library.puts-puts)
		}
	})
	t.Run("a changed file is uploaded, a draft is published, and the texts stay", func(t *testing.T) {
		w.mediaFiles(t, map[string]string{"videos/flow.mp4": "another film"})
		write(t, "M-1,Renamed,video,,,,videos/flow.mp4,flow.jpg,,\nM-2,Notes,,,,,notes.pdf,,published,\n")
		r := run(t, "", "media", "import", items)
		if sum := importedMedia(t, r); r.code != 0 || sum != (mediaCounts{Read: 2, Updated: 2}) {
			t.Fatalf("got %+v", r)
		}
		one, two := w.library.items[0], w.library.items[1]
		if one.GetTitle() != "Morning flow" || one.GetFile().GetSize() != 12 || len(w.library.uploads) != 4 || two.GetStatus() != published {
			t.Errorf("%v after %d uploads; %v", one, len(w.library.uploads), two)
		}
	})
	t.Run("an import that fails later reports what was updated", func(t *testing.T) {
		w.mediaFiles(t, map[string]string{"videos/flow.mp4": "film", "lost.mp3": "lost"})
		write(t, "M-1,Morning flow,video,,,,videos/flow.mp4,flow.jpg,,\nM-9,Lost,,,,,lost.mp3,,,\n")
		w.library.puts, w.library.failAt = 0, 2
		r := run(t, "", "media", "import", items)
		if want := "the import stopped after 1 item: 0 created, 1 updated, 0 existed before, 0 refused"; r.code != 1 || !strings.Contains(r.errOut, want) {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("an interrupted upload continues with the missing parts", func(t *testing.T) {
		w.mediaFiles(t, map[string]string{"talk.mp3": "words and more words"}) // 5 parts
		write(t, "M-3,Talk,,,,,talk.mp3,,,\n")
		w.library.puts, w.library.failAt = 0, 3
		r := run(t, "", "media", "import", items)
		if r.code != 1 || r.out != "" || !strings.Contains(r.errOut, "part 3 of talk.mp3: the media service answered 410 Gone") || strings.Contains(r.errOut, w.library.url) {
			t.Fatalf("got %+v", r)
		}
		w.library.puts, w.library.failAt = 0, 0
		r = run(t, "", "media", "import", items)
		if sum := importedMedia(t, r); r.code != 0 || sum != (mediaCounts{Read: 1, Updated: 1}) || w.library.puts != 3 {
			t.Fatalf("got %+v after %d parts", r, w.library.puts)
		}
		if three := w.library.items[3]; three.GetStatus() != published || three.GetKind() != mediav1.MediaKind_MEDIA_KIND_AUDIO {
			t.Errorf("got %v", three)
		}
	})
	t.Run("lines are refused one by one, and no path leads out of the directory", func(t *testing.T) {
		w.mediaFiles(t, map[string]string{"empty.mp3": "", "lie.mp4": "lie", "../outside.mp3": "private"})
		if err := os.Symlink("../outside.mp3", filepath.Join(dir, "link.mp3")); err != nil {
			t.Fatal(err)
		}
		write(t, "R-1,A,,,,,nowhere.mp4,,,\nR-2,A,,,,,../outside.mp3,,,\nR-3,A,,,,,link.mp3,,,\nR-4,A,video,,,,videos,,,\nR-5,A,,,,,empty.mp3,,,\n"+
			"R-6,A,film,,,,talk.mp3,,,\nR-7,A,document,,,,scan.bin,,,\nR-8,A,video,,,,lie.mp4,,,\n,A,,,,,talk.mp3,,,\nR-10,A,,,,,,,,\n"+
			"R-11,A,,,,,scan.bin,,,\nR-12,A,,,,,talk.mp3,gone.png,,\nR-13,A,,,"+strings.Repeat("x", 51)+",,talk.mp3,,,\nR-14,A,,,,,talk.mp3,,hidden,\nM-4,Talk again,,,,,talk.mp3,,,\n")
		before := len(w.library.items)
		r := run(t, "", "media", "import", items)
		report := filepath.Join(dir, "items.refused.csv")
		if sum := importedMedia(t, r); r.code != 3 || sum != (mediaCounts{Read: 15, Created: 1, Refused: 14, Report: report}) {
			t.Fatalf("got %+v", r)
		}
		text, err := os.ReadFile(report)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"2,R-1,file,file nowhere.mp4 does not exist in " + dir, "3,R-2,file,file cannot be read: openat ../outside.mp3: path escapes", "4,R-3,file,file cannot be read: openat link.mp3: path escapes",
			"5,R-4,file,file must be a file", "6,R-5,file,file is an empty file", `7,R-6,kind,"kind must be video, audio, document or image"`, `8,R-7,file,"file has an extension of no known type`,
			"9,R-8,file,file is refused: the content is text/plain (FILE_TYPE_NOT_SUPPORTED)", "10,,reference,reference is required", "11,R-10,file,file is required",
			"12,R-11,kind,kind is required: the file's extension does not show it", "13,R-12,cover,cover gone.png does not exist", "14,R-13,tags[0],tags[0] must", "15,R-14,status,status must be draft or published",
		} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
		if len(w.library.items) != before+2 { // M-4, and R-8 without a file
			t.Errorf("%d items were created", len(w.library.items)-before)
		}
	})
	t.Run("the files of a list from standard input are in --files", func(t *testing.T) {
		line := `{"reference":"N-1","title":"Talk","file":"talk.mp3","tags":["a"],"collection":["Yoga","Yoga"]}`
		r := run(t, line, "media", "import", "-", "--format", "ndjson", "--files", dir)
		if r.code != 0 || importedMedia(t, r).Created != 1 || !slices.Equal(w.library.items[len(w.library.items)-1].GetCollectionIds(), []string{"col_2"}) {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("files go to --media-url instead of the public address", func(t *testing.T) {
		reachable := w.library.url
		w.library.url = "https://media.invalid"
		line := `{"reference":"N-2","title":"Talk","file":"talk.mp3"}`
		if r := run(t, line, "media", "import", "-", "--format", "ndjson", "--files", dir, "--media-url", reachable); r.code != 0 || importedMedia(t, r).Created != 1 {
			t.Errorf("got %+v", r)
		}
		w.library.url = reachable
	})
}

func TestMediaUpload(t *testing.T) {
	w := newWorld(t)
	dir := w.mediaFiles(t, map[string]string{"flow.mp4": "a film", "flow.png": "a picture", "notes.txt": "text", "lie.mp4": "lie"})
	w.library.items = []*mediav1.MediaItem{{Id: "media_1"}}
	t.Run("uploads a file or a cover, and prints the item", func(t *testing.T) {
		out := ok(t, "media", "upload", "media_1", filepath.Join(dir, "flow.mp4"))
		if !strings.Contains(out, `"name": "flow.mp4"`) || w.library.items[0].GetFile().GetSize() != 6 {
			t.Errorf("printed %s", out)
		}
		ok(t, "media", "upload", "media_1", filepath.Join(dir, "flow.png"), "--cover")
		if w.library.items[0].GetCover().GetContentType() != "image/png" || w.library.items[0].GetFile().GetName() != "flow.mp4" {
			t.Errorf("got %v", w.library.items[0])
		}
	})
	for name, want := range map[string]struct {
		code int
		text string
	}{
		"notes.txt":   {2, "FILE has an extension of no known type"},
		"nowhere.mp4": {1, "nowhere.mp4: no such file"},
		"lie.mp4":     {1, "FILE is refused: the content is text/plain (FILE_TYPE_NOT_SUPPORTED)"},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			if r := run(t, "", "media", "upload", "media_1", filepath.Join(dir, name)); r.code != want.code || r.out != "" || !strings.Contains(r.errOut, want.text) {
				t.Errorf("got %+v", r)
			}
		})
	}
}
