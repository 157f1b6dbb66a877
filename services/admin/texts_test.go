package admin

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"html/template"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"text/template/parse"

	"github.com/BurntSushi/toml"
	"github.com/nicksnyder/go-i18n/v2/i18n"
)

// messageFile is one file of a catalogue: its messages by id.
type messageFile map[string]*i18n.Message

// messageFiles returns the messages of every language, by the language's name.
func messageFiles(t *testing.T, fsys fs.FS) map[string]messageFile {
	t.Helper()
	names, err := fs.Glob(fsys, "locales/*.toml")
	if err != nil || len(names) == 0 {
		t.Fatalf("no message files: %v", err)
	}
	all := map[string]messageFile{}
	for _, name := range names {
		body, err := fs.ReadFile(fsys, name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := i18n.ParseMessageFileBytes(body, name, map[string]i18n.UnmarshalFunc{"toml": toml.Unmarshal})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		area, _, _ := strings.Cut(path.Base(name), ".")
		messages := all[file.Tag.String()]
		if messages == nil {
			messages = messageFile{}
			all[file.Tag.String()] = messages
		}
		for _, m := range file.Messages {
			if !strings.HasPrefix(m.ID, area+".") {
				t.Errorf("%s: the id %s does not begin with %s", name, m.ID, area)
			}
			if messages[m.ID] != nil {
				t.Errorf("%s: the id %s is in two files", name, m.ID)
			}
			messages[m.ID] = m
		}
	}
	return all
}

// forms returns the texts of a message, by plural form.
func forms(m *i18n.Message) map[string]string {
	all := map[string]string{"zero": m.Zero, "one": m.One, "two": m.Two, "few": m.Few, "many": m.Many, "other": m.Other}
	for form, text := range all {
		if text == "" {
			delete(all, form)
		}
	}
	return all
}

// placeholders returns the arguments that a text needs, sorted.
func placeholders(t *testing.T, id, text string) []string {
	t.Helper()
	trees, err := parse.Parse(id, text, "", "")
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	var names []string
	for _, tree := range trees {
		walk(tree.Root, func(n parse.Node) {
			if field, ok := n.(*parse.FieldNode); ok {
				names = append(names, strings.ToLower(field.Ident[0][:1])+field.Ident[0][1:])
			}
		})
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// walk calls visit for every node of a template.
func walk(n parse.Node, visit func(parse.Node)) {
	visit(n)
	branch := func(b *parse.BranchNode) {
		walk(b.Pipe, visit)
		walk(b.List, visit)
		if b.ElseList != nil {
			walk(b.ElseList, visit)
		}
	}
	switch n := n.(type) {
	case *parse.ListNode:
		for _, child := range n.Nodes {
			walk(child, visit)
		}
	case *parse.ActionNode:
		walk(n.Pipe, visit)
	case *parse.TemplateNode:
		if n.Pipe != nil {
			walk(n.Pipe, visit)
		}
	case *parse.PipeNode:
		for _, command := range n.Cmds {
			walk(command, visit)
		}
	case *parse.CommandNode:
		for _, arg := range n.Args {
			walk(arg, visit)
		}
	case *parse.IfNode:
		branch(&n.BranchNode)
	case *parse.RangeNode:
		branch(&n.BranchNode)
	case *parse.WithNode:
		branch(&n.BranchNode)
	}
}

// messageUse is a place at which a message is used.
type messageUse struct {
	at, id string
	// prefix says that only the id's beginning is known; args are not checked then.
	prefix bool
	args   []string
	// plain says that the text is not markup.
	plain bool
}

// templateUses returns the messages that the templates use.
func templateUses(t *testing.T, p *pages) []messageUse {
	t.Helper()
	var uses []messageUse
	for name, page := range p.templates[p.catalogue.texts[0]] {
		for _, block := range page.Templates() {
			if block.Tree == nil {
				continue
			}
			walk(block.Tree.Root, func(n parse.Node) {
				c, ok := n.(*parse.CommandNode)
				if !ok || len(c.Args) < 2 || c.Args[0].String() != "t" {
					return
				}
				at := fmt.Sprintf("%s.html, block %s", name, block.Name())
				id, ok := c.Args[1].(*parse.StringNode)
				if !ok {
					return // a *message, whose id is in Go
				}
				use := messageUse{at: at, id: id.Text}
				for i := 2; i < len(c.Args); i += 2 {
					key, ok := c.Args[i].(*parse.StringNode)
					if !ok {
						t.Errorf("%s: %s: the argument name %s is not a string", at, id.Text, c.Args[i])
						continue
					}
					use.args = append(use.args, key.Text)
				}
				uses = append(uses, use)
			})
		}
	}
	return uses
}

// isID matches what a message id looks like.
var isID = regexp.MustCompile(`^(data|locale|shared|changes|desk|sales|settings|plans|library|appointments|refusals|audit|door|reports)\.[A-Za-z0-9_.]+$`)

// goUses returns the messages that the Go code uses.
func goUses(t *testing.T) []messageUse {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var uses []messageUse
	fset := token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		uses = append(uses, fileUses(t, fset, file)...)
	}
	return uses
}

// fileUses returns the messages that a Go file uses.
func fileUses(t *testing.T, fset *token.FileSet, file *ast.File) []messageUse {
	t.Helper()
	var uses []messageUse
	called := map[ast.Node]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			name := ""
			switch fun := n.Fun.(type) {
			case *ast.Ident:
				name = fun.Name
			case *ast.SelectorExpr:
				name = fun.Sel.Name
			}
			if (name != "msg" && name != "text" && name != "html") || len(n.Args) == 0 {
				return true
			}
			id, ok := n.Args[0].(*ast.BasicLit)
			if !ok {
				return true
			}
			if !isID.MatchString(unquoted(id)) {
				return true // the text of a form's field
			}
			called[id] = true
			use := messageUse{at: fset.Position(n.Pos()).String(), id: unquoted(id), plain: name == "text"}
			for i := 1; i < len(n.Args); i += 2 {
				key, ok := n.Args[i].(*ast.BasicLit)
				if !ok {
					t.Errorf("%s: an argument name of %s is not a literal", use.at, use.id)
					continue
				}
				use.args = append(use.args, unquoted(key))
			}
			uses = append(uses, use)
		case *ast.BasicLit:
			// An id elsewhere: in a table, or the beginning of one.
			if id := unquoted(n); !called[n] && isID.MatchString(id) && !strings.HasSuffix(id, ".js") {
				uses = append(uses, messageUse{at: fset.Position(n.Pos()).String(), id: id, prefix: true})
			}
		}
		return true
	})
	return uses
}

func unquoted(l *ast.BasicLit) string {
	text, err := strconv.Unquote(l.Value)
	if err != nil {
		return ""
	}
	return text
}

func TestMessagesAreUsedAsTheCatalogueHasThem(t *testing.T) {
	t.Parallel()
	p, err := parsePages(files)
	if err != nil {
		t.Fatal(err)
	}
	english := messageFiles(t, files)["en"]
	used := map[string]bool{}
	for _, use := range slices.Concat(templateUses(t, p), goUses(t)) {
		if use.prefix {
			known := false
			for id := range english {
				if id == use.id || strings.HasSuffix(use.id, ".") && strings.HasPrefix(id, use.id) {
					known, used[id] = true, true
				}
			}
			if !known {
				t.Errorf("%s: the catalogue has nothing for %s", use.at, use.id)
			}
			continue
		}
		m := english[use.id]
		if m == nil {
			t.Errorf("%s: the catalogue has no message %s", use.at, use.id)
			continue
		}
		used[use.id] = true
		needed := []string{}
		for _, text := range forms(m) {
			needed = append(needed, placeholders(t, m.ID, text)...)
			if use.plain && strings.ContainsAny(text, "<&") {
				t.Errorf("%s: %s has markup, but is used as plain text", use.at, use.id)
			}
		}
		given := slices.Clone(use.args)
		if len(forms(m)) > 1 {
			needed = append(needed, "count")
		}
		slices.Sort(needed)
		slices.Sort(given)
		if needed = slices.Compact(needed); !slices.Equal(needed, given) {
			t.Errorf("%s: %s needs the arguments %q and is given %q", use.at, use.id, needed, given)
		}
	}
	for id := range english {
		if !used[id] && !strings.HasPrefix(id, localePrefix) {
			t.Errorf("the message %s is not used", id)
		}
	}
}

func TestLanguagesHaveTheSameMessages(t *testing.T) {
	t.Parallel()
	all := messageFiles(t, files)
	english := all["en"]
	for name, messages := range all {
		parent, region, _ := strings.Cut(name, "-")
		for id, m := range english {
			other := messages[id]
			if other == nil {
				if region == "" {
					t.Errorf("%s lacks the message %s: %q", name, id, m.Other)
				}
				continue
			}
			needed := placeholders(t, id, m.Other)
			if slices.Contains([]string{"en", "de"}, parent) && (m.One == "") != (other.One == "") {
				t.Errorf("%s: %s has one of the forms one and other, and English both, or the other way round", name, id)
			}
			for form, text := range forms(other) {
				// The form for one thing may say it in words.
				got := placeholders(t, id, text)
				if form == "other" && !slices.Equal(got, needed) || slices.ContainsFunc(got, func(arg string) bool { return !slices.Contains(needed, arg) }) {
					t.Errorf("%s: %s (%s) has the placeholders %q, and English %q", name, id, form, got, needed)
				}
			}
		}
		for id := range messages {
			if english[id] == nil && !strings.HasPrefix(id, localePrefix+"symbol.") && id != localePrefix+"spelling" {
				t.Errorf("%s has the message %s, which English lacks", name, id)
			}
		}
		if all[parent] == nil {
			t.Errorf("%s has no files of its language", name)
		}
	}
}

// element matches a tag of a text, with its attributes.
var element = regexp.MustCompile(`</?\w[^>]*>`)

// TestMessagesAreTranslated tests that a message of another language has the markup of the English one, and that it
// is not still English. testdata/same-messages.<language>.txt lists the ids of those whose words are the same.
func TestMessagesAreTranslated(t *testing.T) {
	t.Parallel()
	all := messageFiles(t, files)
	for name, messages := range all {
		if name == "en" || strings.Contains(name, "-") {
			continue
		}
		list := "testdata/same-messages." + name + ".txt"
		body, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		same := map[string]bool{}
		for id := range strings.FieldsSeq(string(body)) {
			if same[id] = true; messages[id] == nil {
				t.Errorf("%s: there is no message %s", list, id)
			}
		}
		for id, m := range messages {
			english := all["en"][id]
			if english == nil || strings.HasPrefix(id, localePrefix) {
				continue // TestLanguagesHaveTheSameMessages
			}
			checkElements(t, name, m, english)
			switch isSame := m.Other == english.Other && hasWords(m.Other); {
			case isSame && !same[id]:
				t.Errorf("%s: %s is in English: %q; translate it, or add the id to %s", name, id, m.Other, list)
			case !isSame && same[id]:
				t.Errorf("%s: %s is not in English; remove it from %s", name, id, list)
			}
		}
	}
}

// checkElements tests that each form of a message has the elements of the English message.
func checkElements(t *testing.T, name string, m, english *i18n.Message) {
	t.Helper()
	want := slices.Sorted(slices.Values(element.FindAllString(english.Other, -1)))
	for form, text := range forms(m) {
		if got := slices.Sorted(slices.Values(element.FindAllString(text, -1))); !slices.Equal(got, want) {
			t.Errorf("%s: %s (%s) has the elements %q, and English %q", name, m.ID, form, got, want)
		}
	}
}

// noWord matches what is not a letter of a text's own words.
var noWord = regexp.MustCompile(`</?\w[^>]*>|{{[^}]*}}|[^\pL]`)

// hasWords reports whether a text has more than placeholders, elements and punctuation.
func hasWords(text string) bool { return noWord.ReplaceAllString(text, "") != "" }

// unquotedAttribute is a placeholder that could end an attribute, or lead elsewhere: only
// url may be an address.
var unquotedAttribute = regexp.MustCompile(`=\{\{|(?:href|src)="\{\{\.(?:[a-z]+_)?[^u}]|<(?:script|style)|\son\w+=`)

func TestMarkupOfMessagesIsSimple(t *testing.T) {
	t.Parallel()
	for name, messages := range messageFiles(t, files) {
		for id, m := range messages {
			for _, text := range forms(m) {
				if at := unquotedAttribute.FindString(text); at != "" {
					t.Errorf("%s: %s: %s", name, id, at)
				}
			}
		}
	}
}

// withFiles is the dashboard's files with some replaced or added.
type withFiles struct {
	fs.ReadFileFS
	more fstest.MapFS
}

func (f withFiles) ReadFile(name string) ([]byte, error) {
	if body, err := f.more.ReadFile(name); err == nil {
		return body, nil
	}
	return f.ReadFileFS.ReadFile(name)
}

func (f withFiles) Open(name string) (fs.File, error) {
	if _, ok := f.more[name]; ok {
		return f.more.Open(name)
	}
	return f.ReadFileFS.Open(name)
}

// Glob makes fs.Glob find the added files.
func (f withFiles) Glob(pattern string) ([]string, error) {
	names, err := fs.Glob(f.ReadFileFS, pattern)
	more, _ := fs.Glob(f.more, pattern)
	return slices.Compact(slices.Sorted(slices.Values(append(names, more...)))), err
}

func TestLanguageOfTheRequest(t *testing.T) {
	t.Parallel()
	french := func(name string) *fstest.MapFile {
		body, err := files.ReadFile("locales/locale.en.toml")
		if err != nil {
			t.Fatal(err)
		}
		return &fstest.MapFile{Data: []byte(strings.Replace(string(body), `"en-GB"`, strconv.Quote(name), 1))}
	}
	c, err := parseCatalogue(withFiles{files, fstest.MapFS{
		"locales/locale.fr.toml": french("fr-FR"), "locales/locale.fr-CH.toml": french("fr-CH"),
		"locales/shared.fr.toml": {Data: []byte("[shared.ago]\nnow = \"à l’instant\"\n")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ name, choice, accept, tag string }{
		{"British English without a header", "", "", "en-GB"},
		{"the language and the region", "", "en-US", "en-US"},
		{"the first known language", "", "nl, en-US;q=0.9, fr;q=0.8", "en-US"},
		{"the preferred language", "", "en-US;q=0.5, fr-CH", "fr-CH"},
		{"the first region of a language without one", "", "en", "en-GB"},
		{"the first region of a language without one", "", "fr", "fr-FR"},
		{"the closest region", "", "en-AU", "en-GB"},
		{"British English for unknown languages", "", "nl-BE", "en-GB"},
		{"British English for a damaged header", "", ";;", "en-GB"},
		{"the choice", "en-US", "fr-CH", "en-US"},
		{"the chosen language with the browser's region", "fr", "en-US, fr-CH;q=0.5", "fr-CH"},
		{"the chosen language, if the browser lacks it", "fr", "en-US", "fr-FR"},
		{"the browser's language for an unknown choice", "xx", "en-US", "en-US"},
		{"the browser's language for a damaged choice", "\x00", "en-US", "en-US"},
	} {
		if got := c.of(want.choice, want.accept).language.String(); got != want.tag {
			t.Errorf("%s: %q, %q: %s, want %s", want.name, want.choice, want.accept, got, want.tag)
		}
	}
	for tag, want := range map[string]string{"fr-FR": "à l’instant", "fr-CH": "à l’instant", "en-US": "just now"} {
		if got := c.of(tag, "").text("shared.ago.now"); got != want {
			t.Errorf("%s: %q, want %q", tag, got, want)
		}
	}
}

func TestMessageArguments(t *testing.T) {
	t.Parallel()
	c, err := parseCatalogue(withFiles{files, fstest.MapFS{"locales/test.en.toml": {Data: []byte(`
[test]
hello = "Hello <strong>{{.name}}</strong>"
link = "<a href=\"{{.url}}\">{{.Label}}</a>"
[test.spaces]
one = "{{.count}} space"
"other" = "{{.count}} spaces"
`)}}})
	if err != nil {
		t.Fatal(err)
	}
	x := c.of("", "")
	render := func(text string, data any) string {
		t.Helper()
		page, err := template.New("").Funcs(template.FuncMap{"t": x.html}).Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := page.Execute(&b, data); err != nil {
			return "error"
		}
		return b.String()
	}
	const evil = `"><script>alert(1)</script>`
	const escaped = `&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;`
	for _, c := range []struct {
		name, page string
		data       any
		want       string
	}{
		{"keeps the catalogue's markup and escapes arguments", `{{t "test.hello" "name" .}}`, evil, "Hello <strong>" + escaped + "</strong>"},
		{"strips markup in an attribute", `<p title="{{t "test.hello" "name" .}}">`, evil, `<p title="Hello ` + escaped + `">`},
		{"escapes markup in a title", `<title>{{t "test.hello" "name" .}}</title>`, evil, "<title>Hello &lt;strong&gt;" + escaped + "&lt;/strong&gt;</title>"},
		{"escapes a literal message", `{{t .}}`, literal(evil), escaped},
		{"shows a message within a message", `{{t "test.hello" "name" .}}`, msg("test.spaces", "count", 1200), "Hello <strong>1,200 spaces</strong>"},
		{"selects the plural form", `{{t "test.spaces" "count" .}}`, 1, "1 space"},
		{"begins with a capital", `{{t "test.link" "url" "/x" "label" .}}`, "day", `<a href="/x">Day</a>`},
		{"refuses a link that is not an address", `{{t "test.link" "url" . "label" "x"}}`, "javascript:alert(1)", "error"},
		{"refuses an unknown id", `{{t "test.nothing"}}`, nil, "error"},
		{"refuses a missing argument", `{{t "test.hello"}}`, nil, "error"},
		{"falls back to the words of a service", `{{t .}}`, msg("test.nothing").or("Words."), "Words."},
		{"shows nothing for no message", `{{t .}}`, (*message)(nil), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := render(c.page, c.data); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestUnknownMessageFailsThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	broken, err := parsePages(withFiles{files, fstest.MapFS{"templates/sign-in.html": {Data: []byte(`{{define "content"}}{{t "desk.nothing"}}{{end}}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	w.web.pages = broken
	if a := w.get("/sign-in"); a.StatusCode != http.StatusInternalServerError {
		t.Errorf("the page answers %s", describe(a))
	}
}
