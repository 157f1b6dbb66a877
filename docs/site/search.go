package site

import (
	"encoding/json"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// section is what search finds: a heading of a page and the text up to the next heading.
type section struct {
	ID      int    `json:"id"`
	URL     string `json:"url"`
	Page    string `json:"page"`
	Section string `json:"section"` // "" before the first heading of level 2
	Text    string `json:"text"`
}

// sections returns the sections of a page in their order.
func (p *pass) sections(tree ast.Node) []section {
	at := pathOf(p.document.file)
	all := []section{{URL: at, Page: p.document.title}}
	var words strings.Builder
	finish := func() {
		all[len(all)-1].Text = strings.Join(strings.Fields(words.String()), " ")
		words.Reset()
	}
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			if h.Level > 1 {
				finish()
				all = append(all, section{URL: at + "#" + attribute(h, "id"), Page: p.document.title, Section: plainText(h, p.source)})
			}
			continue
		}
		p.words(n, &words)
		words.WriteByte(' ')
	}
	finish()
	return all
}

// words writes the text of a block: its paragraphs, cells and code.
func (p *pass) words(n ast.Node, b *strings.Builder) {
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			b.Write(n.Lines().Value(p.source))
			return ast.WalkSkipChildren, nil
		case *ast.Paragraph, *ast.TextBlock, *east.TableCell:
			b.WriteString(plainText(n, p.source))
			b.WriteByte(' ')
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
}

// searchIndex returns the JSON that the search box reads: every section, numbered.
func searchIndex(sections []section) ([]byte, error) {
	for i := range sections {
		sections[i].ID = i
	}
	return json.Marshal(sections)
}
