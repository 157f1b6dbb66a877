package site

import (
	"bytes"
	"html"
	"io"
	"strings"

	"github.com/alecthomas/chroma/v2"
	chromahtml "github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/alecthomas/chroma/v2/styles"
	"github.com/yuin/goldmark/ast"
)

// Tabs hold code blocks that follow each other in different programming languages: the
// same example for different readers.
type tabsNode struct{ ast.BaseBlock }

var (
	kindTabs   = ast.NewNodeKind("Tabs")
	kindScroll = ast.NewNodeKind("Scroll")
)

func (*tabsNode) Kind() ast.NodeKind             { return kindTabs }
func (n *tabsNode) Dump(source []byte, at int)   { ast.DumpHelper(n, source, at, nil, nil) }
func (*scrollNode) Kind() ast.NodeKind           { return kindScroll }
func (n *scrollNode) Dump(source []byte, at int) { ast.DumpHelper(n, source, at, nil, nil) }

// scrollNode holds a table, which scrolls in it if it is wider than the page.
type scrollNode struct{ ast.BaseBlock }

// language returns the name of the tab of a code block; "" if it is not in a programming
// language.
func language(n *ast.FencedCodeBlock, source []byte) string {
	switch strings.ToLower(string(n.Language(source))) {
	case "sh", "bash", "shell", "console":
		if strings.Contains(string(n.Lines().Value(source)), "curl ") {
			return "curl"
		}
		return "Shell"
	case "js", "javascript", "mjs", "node", "ts", "typescript":
		return "JavaScript"
	case "py", "python":
		return "Python"
	case "go":
		return "Go"
	case "php":
		return "PHP"
	}
	return ""
}

// groupTabs puts code blocks that follow each other in different languages into tabs.
func (p *pass) groupTabs(blocks []ast.Node) {
	grouped := map[ast.Node]bool{}
	for _, first := range blocks {
		if grouped[first] {
			continue
		}
		seen := map[string]bool{}
		var run []ast.Node
		for n := first; n != nil; n = n.NextSibling() {
			code, ok := n.(*ast.FencedCodeBlock)
			if !ok {
				break
			}
			name := language(code, p.source)
			if name == "" || seen[name] {
				break
			}
			seen[name] = true
			run = append(run, n)
		}
		if len(run) < 2 {
			continue
		}
		tabs := &tabsNode{}
		first.Parent().InsertBefore(first.Parent(), first, tabs)
		for _, n := range run {
			tabs.AppendChild(tabs, n) // removes it from its parent
			grouped[n] = true
		}
	}
}

// highlight writes code with classes for its tokens. Code in an unknown language is plain.
func highlight(w io.Writer, lang, code string) error {
	lexer := lexers.Get(lang)
	if lang == "" || lexer == nil {
		_, err := io.WriteString(w, `<pre class="scroll"><code>`+html.EscapeString(code)+"</code></pre>\n")
		return err
	}
	tokens, err := chroma.Coalesce(lexer).Tokenise(nil, code)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := chromahtml.New(chromahtml.WithClasses(true), chromahtml.PreventSurroundingPre(true)).Format(&b, styles.Fallback, tokens); err != nil {
		return err
	}
	_, err = io.WriteString(w, `<pre class="code scroll"><code>`+b.String()+"</code></pre>\n")
	return err
}
