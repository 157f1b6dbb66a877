package site

import (
	"image"
	"image/png"
	"strings"
	"testing"
	"testing/fstest"
)

// files has a page with the text, and others that it can link to.
func files(t *testing.T, text string) fstest.MapFS {
	t.Helper()
	var picture strings.Builder
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 40, 20))); err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{
		"GUIDE.md":             {Data: []byte("# Guide\n\n" + text)},
		"OTHER_PAGE.md":        {Data: []byte("# Other\n\n## A section\n")},
		"adr/README.md":        {Data: []byte("# Decisions\n")},
		"webhooks/x.json":      {Data: []byte("{}")},
		"runbooks/DiskFull.md": {Data: []byte("# Disk full\n\n[guide](../GUIDE.md) [code](../../services/x.go)\n")},
		"pictures/a.png":       {Data: []byte(picture.String())},
		"pictures/b.svg":       {Data: []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 32"></svg>`)},
	}
}

func convertText(t *testing.T, text string) (*document, *converter) {
	t.Helper()
	c := &converter{files: files(t, text)}
	d, err := c.convert("GUIDE.md")
	if err != nil {
		t.Fatal(err)
	}
	return d, c
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"a link to a page leads to the site":        {"[x](OTHER_PAGE.md#a-section)", `<a href="/docs/other-page#a-section">x</a>`},
		"a link to a section stays on the page":     {"[x](#y)", `<a href="/docs/guide#y">x</a>`},
		"a link to a folder leads to its README":    {"[x](adr)", `<a href="/docs/adr">x</a>`},
		"a link to a folder without one is code":    {"[x](runbooks/)", `<code class="outside" title="docs/runbooks in the repository">x</code>`},
		"a link to a file of the site leads to it":  {"[x](webhooks/x.json)", `<a href="/docs/webhooks/x.json">x</a>`},
		"a link to a file outside is code":          {"[x](../services/a.go#L3)", `<code class="outside" title="services/a.go in the repository">x</code>`},
		"a link to a description leads to its page": {"[x](../gateway-a/openapi/openapi.yaml)", `<a href="/docs/interface-a">x</a>`},
		"a link to another site stays":              {"[x](https://example.com/?a=1&b=2)", `<a href="https://example.com/?a=1&amp;b=2">x</a>`},
		"code is escaped":                           {"```\n<b>&</b>\n```", "<code>&lt;b&gt;&amp;&lt;/b&gt;\n</code></pre>"},
		"code in a language has classes":            {"```go\nfunc f() {}\n```", `<span class="kd">func</span>`},
		"code in an unknown language is plain":      {"```nolanguage\n<x>\n```", "<pre class=\"scroll\"><code>&lt;x&gt;\n</code></pre>"},
		"a table scrolls and has no inline style":   {"|a|b|\n|-:|-|\n|1|2|", `<div class="scroll"><table>`},
		"columns are aligned by an attribute":       {"|a|b|\n|-:|-|\n|1|2|", `<td align="right">1</td>`},
		"a picture has its size":                    {"![A & B](pictures/a.png)", `<a href="/docs/pictures/a.png"><img src="/docs/pictures/a.png" alt="A &amp; B" width="40" height="20" loading="lazy"></a>`},
		"a picture in HTML keeps its width":         {`<img src="pictures/a.png" alt="A" width="20">`, `alt="A" width="20" height="10"`},
		"an SVG picture has the size of its view":   {"![A](pictures/b.svg)", `width="64" height="32" loading="lazy"`},
		"a comment is dropped":                      {"a\n\n<!-- hidden -->\n\nb", "<p>a</p>\n\n<p>b</p>"},
		"a script is shown as text":                 {"<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"},
		"an attribute cannot add HTML":              {"[x](../a%22%3E%3Cscript%3E.go)", `title="a%22%3E%3Cscript%3E.go in the repository"`},
		"a link to a script leads nowhere":          {"[x](javascript:alert(1))", `<code class="outside"`},
		"a heading has GitHub's anchor":             {"## `PUT /x/{id}`: what's [new](OTHER_PAGE.md)?", `<h2 id="put-xid-whats-new">`},
		"an anchor keeps letters of all languages":  {"## Prüfung_1 – Öl", `<h2 id="prüfung_1--öl">`},
		"a second heading has a number":             {"## A\n\n## A\n\n## A", `<h2 id="a-2">`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d, _ := convertText(t, tt.text); !strings.Contains(string(d.html), tt.want) {
				t.Errorf("got  %s\nwant %s", d.html, tt.want)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[x](NONE.md)":             `GUIDE.md: the link "NONE.md" leads to no file`,
		"![x](pictures/none.png)":  `GUIDE.md: the link "pictures/none.png" leads to no file`,
		"[x](javascript:alert(1))": `GUIDE.md: the link "javascript:alert(1)" is neither a path nor a web address`,
		"<video>":                  "GUIDE.md: the HTML <video> is not shown",
	} {
		if _, c := convertText(t, text); len(c.problems) == 0 || c.problems[0] != want {
			t.Errorf("%s: got %q, want %q", text, c.problems, want)
		}
	}
	c := &converter{files: fstest.MapFS{"A.md": {Data: []byte("text")}}}
	if _, err := c.convert("A.md"); err == nil {
		t.Error("a page without a heading is accepted")
	}
}

func TestFolders(t *testing.T) {
	t.Parallel()
	c := &converter{files: files(t, "")}
	d, err := c.convert("runbooks/DiskFull.md")
	if err != nil || !strings.Contains(string(d.html), `<a href="/docs/guide">guide</a>`) || !strings.Contains(string(d.html), `title="services/x.go in`) {
		t.Errorf("%v, %v, %+v", err, c.problems, d)
	}
}

func TestTabs(t *testing.T) {
	t.Parallel()
	const curl, js, python, json = "```sh\ncurl x\n```\n", "```js\nx()\n```\n", "```python\nx()\n```\n", "```json\n{}\n```\n"
	for name, tt := range map[string]struct {
		text string
		want []string // of the tabs, in all groups
	}{
		"the same example in several languages":     {curl + js + python, []string{"curl", "JavaScript", "Python"}},
		"blocks with text between them stay apart":  {curl + "\ntext\n\n" + js, nil},
		"a response is not a tab":                   {curl + json, nil},
		"two blocks in one language stay apart":     {curl + curl, nil},
		"a second group begins with the repetition": {curl + js + curl + python, []string{"curl", "JavaScript", "curl", "Python"}},
		"tabs end where a response follows":         {curl + js + json + python, []string{"curl", "JavaScript"}},
		"commands without curl are called Shell":    {"```sh\nmake\n```\n" + js, []string{"Shell", "JavaScript"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _ := convertText(t, tt.text)
			var got []string
			for _, part := range strings.Split(string(d.html), `data-tab="`)[1:] {
				tab, _, _ := strings.Cut(part, `"`)
				got = append(got, tab)
			}
			if strings.Join(got, ",") != strings.Join(tt.want, ",") {
				t.Errorf("got tabs %q, want %q\n%s", got, tt.want, d.html)
			}
			if blocks := strings.Count(string(d.html), "<pre"); blocks != strings.Count(tt.text, "```")/2 {
				t.Errorf("%d blocks of code are left:\n%s", blocks, d.html)
			}
		})
	}
}

func TestSections(t *testing.T) {
	t.Parallel()
	d, _ := convertText(t, "Intro `x`.\n\n## One *two*\n\n- a\n- b\n\n|c|d|\n|-|-|\n|e|f|\n\n```sh\nrun it\n```\n")
	want := []section{
		{URL: "/docs/guide", Page: "Guide", Text: "Intro x."},
		{URL: "/docs/guide#one-two", Page: "Guide", Section: "One two", Text: "a b c d e f run it"},
	}
	if len(d.sections) != 2 || d.sections[0] != want[0] || d.sections[1] != want[1] {
		t.Errorf("got %+v\nwant %+v", d.sections, want)
	}
}
