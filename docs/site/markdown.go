package site

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// document is a rendered Markdown file.
type document struct {
	file, title string
	html        []byte
	headings    []heading // of levels 2 and 3
	ids         map[string]bool
	sections    []section
}

// heading is an entry of the table of contents.
type heading struct {
	Level    int
	ID, Text string
}

// converter renders the Markdown files of docs/.
type converter struct {
	files fs.FS
	// problems are links that lead nowhere and HTML that is not shown.
	problems []string
}

// convert renders a Markdown file.
func (c *converter) convert(file string) (*document, error) {
	source, err := fs.ReadFile(c.files, file)
	if err != nil {
		return nil, err
	}
	d := &document{file: file, ids: map[string]bool{}}
	p := &pass{converter: c, document: d, source: source}
	md := goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
			extension.Strikethrough, extension.Linkify, extension.TaskList),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(&writer{pass: p}, 1))),
	)
	tree := md.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext()))
	p.prepare(tree)
	var b bytes.Buffer
	if err := md.Renderer().Render(&b, source, tree); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if d.title == "" {
		return nil, fmt.Errorf("%s has no heading of level 1", file)
	}
	d.html = b.Bytes()
	d.sections = p.sections(tree)
	return d, nil
}

// pass is the rendering of one document.
type pass struct {
	*converter
	document *document
	source   []byte
}

func (p *pass) problem(format string, args ...any) {
	p.problems = append(p.problems, p.document.file+": "+fmt.Sprintf(format, args...))
}

// prepare gives headings their anchors, makes links lead to the site, and puts tables and
// code into the elements that hold them.
func (p *pass) prepare(tree ast.Node) {
	var tables, code []ast.Node
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			p.heading(n)
		case *ast.Link:
			p.link(n)
		case *ast.Image:
			n.Destination = []byte(p.target(string(n.Destination)))
		case *east.Table:
			tables = append(tables, n)
		case *ast.FencedCodeBlock:
			code = append(code, n)
		}
		return ast.WalkContinue, nil
	})
	for _, n := range tables {
		scroll := &scrollNode{}
		n.Parent().ReplaceChild(n.Parent(), n, scroll)
		scroll.AppendChild(scroll, n)
	}
	p.groupTabs(code)
}

// heading gives a heading the anchor that GitHub gives it.
func (p *pass) heading(n *ast.Heading) {
	words := plainText(n, p.source)
	id := anchor(words)
	for i := 1; p.document.ids[id]; i++ {
		id = fmt.Sprintf("%s-%d", anchor(words), i)
	}
	p.document.ids[id] = true
	n.SetAttributeString("id", []byte(id))
	switch {
	case n.Level == 1 && p.document.title == "":
		p.document.title = words
	case n.Level == 2 || n.Level == 3:
		p.document.headings = append(p.document.headings, heading{n.Level, id, words})
	}
}

// anchor returns the anchor of a heading as GitHub makes it: lower case, without
// punctuation, with hyphens for spaces.
func anchor(words string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r):
			return unicode.ToLower(r)
		}
		return -1
	}, words)
}

// link makes a link lead to the site. A link to a file that only the repository has gets
// the attribute outside.
func (p *pass) link(n *ast.Link) {
	destination := string(n.Destination)
	target := p.target(destination)
	if target == "" {
		file, _, _ := strings.Cut(destination, "#")
		n.SetAttributeString("outside", []byte(path.Join("docs", path.Dir(p.document.file), file)))
		return
	}
	n.Destination = []byte(target)
}

// descriptions are the OpenAPI descriptions, by their paths in the repository, and the
// pages that show them.
func descriptions() map[string]string {
	return map[string]string{
		"gateway-a/openapi/openapi.yaml":        "/docs/interface-a",
		"gateway-b/openapi/openapi.yaml":        "/docs/interface-b",
		"services/webhook/openapi/openapi.yaml": "/docs/webhooks-reference",
	}
}

// target returns the address in the site of a link's destination; "" for a file that only
// the repository has.
func (p *pass) target(destination string) string {
	u, err := url.Parse(destination)
	if err != nil {
		p.problem("the link %q is not a URL", destination)
		return ""
	}
	if u.Scheme == "https" || u.Scheme == "http" {
		return destination
	}
	if u.Scheme != "" || u.Host != "" {
		p.problem("the link %q is neither a path nor a web address", destination)
		return ""
	}
	fragment := ""
	if u.Fragment != "" {
		fragment = "#" + u.EscapedFragment()
	}
	if u.Path == "" {
		return pathOf(p.document.file) + fragment
	}
	inRepository := path.Join("docs", path.Dir(p.document.file), u.Path)
	if page := descriptions()[inRepository]; page != "" {
		return page
	}
	file, ok := strings.CutPrefix(inRepository, "docs/")
	if !ok {
		return ""
	}
	info, err := fs.Stat(p.files, file)
	switch {
	case err != nil:
		p.problem("the link %q leads to no file", destination)
		return ""
	case info.IsDir():
		if _, err := fs.Stat(p.files, path.Join(file, "README.md")); err != nil {
			return ""
		}
		return pathOf(path.Join(file, "README.md")) + fragment
	case path.Ext(file) == ".md":
		return pathOf(file) + fragment
	}
	return path.Join(root, file)
}

// plainText returns the words of a node without markup.
func plainText(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(util.UnescapePunctuations(n.Segment.Value(source)))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}
