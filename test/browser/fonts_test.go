package browser

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/css"
	"github.com/chromedp/cdproto/dom"
	"github.com/go-fonts/dejavu/dejavusans"
	"github.com/go-fonts/dejavu/dejavusansbold"
	"github.com/go-fonts/dejavu/dejavusansmono"
	"github.com/go-fonts/liberation/liberationmonoregular"
	"github.com/go-fonts/liberation/liberationsansbold"
	"github.com/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"

	"reservation.dev/test/harness"
)

// fontSet is the set of fonts of a test's browser. The fonts come from Go modules, so the pages
// look the same on every machine. The zero value is the machine's own fonts.
type fontSet struct {
	family, monospace string
	files             [][]byte
}

// liberation has the widths of Arial. All tests except the layout tests use it.
func liberation() fontSet {
	return fontSet{"Liberation Sans", "Liberation Mono", [][]byte{liberationsansregular.TTF, liberationsansbold.TTF, liberationmonoregular.TTF}}
}

// fontSets are a font of ordinary width, the widest default font of a common system (with the widths
// of Verdana), and a set with a wide monospace font.
func fontSets() []fontSet {
	return []fontSet{
		liberation(),
		{"DejaVu Sans", "DejaVu Sans Mono", [][]byte{dejavusans.TTF, dejavusansbold.TTF, dejavusansmono.TTF}},
		{"Go", "Go Mono", [][]byte{goregular.TTF, gobold.TTF, gomono.TTF}},
	}
}

// environment returns the environment variables that give a browser the fonts.
func (f fontSet) environment(t *testing.T) []string {
	t.Helper()
	if len(f.files) == 0 {
		return nil
	}
	return []string{"FONTCONFIG_FILE=" + f.install(t)}
}

// install writes the fonts and a fontconfig configuration with only these fonts, and returns the
// configuration's path.
func (f fontSet) install(t *testing.T) string {
	t.Helper()
	dir := harness.TempDir(t)
	for i, file := range f.files {
		write(t, filepath.Join(dir, string('a'+rune(i))+".ttf"), file)
	}
	path := filepath.Join(dir, "fonts.conf")
	write(t, path, []byte(`<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>`+dir+`</dir>
  <cachedir>`+filepath.Join(dir, "cache")+`</cachedir>
  <alias binding="same"><family>monospace</family><prefer><family>`+f.monospace+`</family></prefer></alias>
  <alias binding="same"><family>sans-serif</family><prefer><family>`+f.family+`</family></prefer></alias>
  <match target="pattern">
    <edit name="family" mode="append_last"><string>`+f.family+`</string></edit>
    <edit name="hintstyle" mode="assign"><const>hintnone</const></edit>
  </match>
</fontconfig>
`))
	return path
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o644)); err != nil {
		t.Fatal(err)
	}
}

// uses fails the test unless the dashboard's text is in the fonts of the set, because a browser may
// ignore FONTCONFIG_FILE. The tab cannot be used afterwards: the debugger has renumbered its
// elements.
func (b *tab) uses(f fontSet) {
	b.t.Helper()
	if runtime.GOOS != "linux" {
		b.t.Skip("only Chromium on Linux takes its fonts from fontconfig")
	}
	b.open("/sign-in")
	command(b, dom.Enable, dom.EnableParams{})
	command(b, css.Enable, cdp.Empty{})
	root := command(b, dom.GetDocument, dom.GetDocumentParams{}).Root
	heading := command(b, dom.QuerySelector, dom.QuerySelectorParams{NodeID: root.NodeID, Selector: "h1"}).NodeID
	fonts := command(b, css.GetPlatformFontsForNode, css.GetPlatformFontsForNodeParams{NodeID: heading}).Fonts
	if len(fonts) == 0 {
		b.t.Fatalf("%s has no text", b.path())
	}
	for _, used := range fonts {
		if used.FamilyName != f.family {
			b.t.Fatalf("%s uses the font %q instead of %q", b.path(), used.FamilyName, f.family)
		}
	}
}
