package site

import (
	"bytes"
	"fmt"
	"html"
	"image/png"
	"io/fs"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// writer writes the elements that differ from those of CommonMark.
type writer struct{ *pass }

// RegisterFuncs has the writer called for its kinds of nodes.
func (w *writer) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindHeading, w.writeHeading)
	reg.Register(ast.KindLink, w.writeLink)
	reg.Register(ast.KindImage, w.writeImage)
	reg.Register(ast.KindFencedCodeBlock, w.writeCode)
	reg.Register(ast.KindCodeBlock, w.writeCode)
	reg.Register(ast.KindHTMLBlock, w.writeBlock)
	reg.Register(ast.KindRawHTML, w.writeInline)
	reg.Register(kindTabs, element(`<div class="tabs">`, "</div>\n"))
	reg.Register(kindScroll, element(`<div class="scroll">`, "</div>\n"))
}

// element returns a function that writes an element around a node.
func element(start, end string) renderer.NodeRendererFunc {
	return func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			_, _ = w.WriteString(start)
		} else {
			_, _ = w.WriteString(end)
		}
		return ast.WalkContinue, nil
	}
}

func attribute(n ast.Node, name string) string {
	v, _ := n.AttributeString(name)
	b, _ := v.([]byte)
	return string(b)
}

func (w *writer) writeHeading(out util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	level, id := n.(*ast.Heading).Level, attribute(n, "id")
	switch {
	case entering:
		_, _ = fmt.Fprintf(out, `<h%d id="%s">`, level, html.EscapeString(id))
	case level == 1:
		_, _ = out.WriteString("</h1>\n")
	default:
		_, _ = fmt.Fprintf(out, ` <a class="anchor" href="#%s" aria-label="Link to the section %s">#</a></h%d>`+"\n",
			html.EscapeString(id), html.EscapeString(plainText(n, source)), level)
	}
	return ast.WalkContinue, nil
}

func (w *writer) writeLink(out util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	outside := attribute(n, "outside")
	switch {
	case outside != "" && entering:
		_, _ = fmt.Fprintf(out, `<code class="outside" title="%s in the repository">`, html.EscapeString(outside))
	case outside != "":
		_, _ = out.WriteString("</code>")
	case entering:
		_, _ = fmt.Fprintf(out, `<a href="%s">`, html.EscapeString(string(util.URLEscape(n.(*ast.Link).Destination, true))))
	default:
		_, _ = out.WriteString("</a>")
	}
	return ast.WalkContinue, nil
}

func (w *writer) writeImage(out util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		w.image(out, string(n.(*ast.Image).Destination), plainText(n, source), "")
	}
	return ast.WalkSkipChildren, nil
}

// image writes a picture of the site with its size, so that a page does not move when the
// picture arrives. Pictures of other servers are not shown.
func (w *writer) image(out util.BufWriter, src, alt, wanted string) {
	file, ok := strings.CutPrefix(src, root+"/")
	body, err := fs.ReadFile(w.files, file)
	width, height := sizeOf(file, body)
	if !ok || err != nil || width == 0 || height == 0 {
		w.problem("the picture %q is neither a PNG nor an SVG file in docs/", src)
		_, _ = out.WriteString(html.EscapeString(alt))
		return
	}
	if n := atoi(wanted); n > 0 {
		width, height = n, height*n/width
	}
	_, _ = fmt.Fprintf(out, `<a href="%[1]s"><img src="%[1]s" alt="%[2]s" width="%[3]d" height="%[4]d" loading="lazy"></a>`,
		html.EscapeString(src), html.EscapeString(alt), width, height)
}

var viewBox = regexp.MustCompile(`<svg[^>]*\sviewBox="[\d.-]+[ ,]+[\d.-]+[ ,]+([\d.]+)[ ,]+([\d.]+)"`)

// sizeOf returns the size of a picture in pixels; 0 if it is not a PNG file or an SVG file
// with a viewBox.
func sizeOf(file string, body []byte) (width, height int) {
	if strings.HasSuffix(file, ".svg") {
		if m := viewBox.FindSubmatch(body); m != nil {
			return atoi(string(m[1])), atoi(string(m[2]))
		}
		return 0, 0
	}
	config, err := png.DecodeConfig(bytes.NewReader(body))
	if err != nil {
		return 0, 0
	}
	return config.Width, config.Height
}

// atoi returns the whole number that s begins with; 0 if there is none.
func atoi(s string) (n int) {
	_, _ = fmt.Sscan(s, &n)
	return n
}

func (w *writer) writeCode(out util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	lang, name := "", ""
	if fenced, ok := n.(*ast.FencedCodeBlock); ok {
		lang, name = string(fenced.Language(source)), language(fenced, source)
	}
	inTabs := n.Parent().Kind() == kindTabs
	if inTabs {
		_, _ = fmt.Fprintf(out, `<div class="tab" data-tab="%[1]s"><p class="tab-name">%[1]s</p>`, html.EscapeString(name))
	}
	if err := highlight(out, lang, string(n.Lines().Value(source))); err != nil {
		return ast.WalkStop, err
	}
	if inTabs {
		_, _ = out.WriteString("</div>\n")
	}
	return ast.WalkSkipChildren, nil
}

func (w *writer) writeBlock(out util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		block := n.(*ast.HTMLBlock)
		raw := string(block.Lines().Value(source))
		if block.HasClosure() {
			raw += string(block.ClosureLine.Value(source))
		}
		w.html(out, raw)
	}
	return ast.WalkSkipChildren, nil
}

func (w *writer) writeInline(out util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		var raw strings.Builder
		segments := n.(*ast.RawHTML).Segments
		for i := range segments.Len() {
			s := segments.At(i)
			raw.Write(s.Value(source))
		}
		w.html(out, raw.String())
	}
	return ast.WalkSkipChildren, nil
}

var (
	comment   = regexp.MustCompile(`(?s)<!--.*?-->`)
	picture   = regexp.MustCompile(`(?s)<img\s+([^>]*?)/?>`)
	imageAttr = regexp.MustCompile(`(\w+)="([^"]*)"`)
	plainTag  = regexp.MustCompile(`^</?(?:br|kbd|sub|sup|p|details|summary)\s*/?>$`)
	anyTag    = regexp.MustCompile(`(?s)<[^>]*>`)
)

// html writes HTML of a page: pictures and a few elements without attributes. Comments are
// dropped, and everything else is shown as text.
func (w *writer) html(out util.BufWriter, raw string) {
	raw = comment.ReplaceAllString(raw, "")
	end := 0
	for _, at := range anyTag.FindAllStringIndex(raw, -1) {
		_, _ = out.WriteString(html.EscapeString(html.UnescapeString(raw[end:at[0]])))
		tag := raw[at[0]:at[1]]
		end = at[1]
		switch {
		case picture.MatchString(tag):
			attrs := map[string]string{}
			for _, m := range imageAttr.FindAllStringSubmatch(tag, -1) {
				attrs[m[1]] = html.UnescapeString(m[2])
			}
			w.image(out, w.target(attrs["src"]), attrs["alt"], attrs["width"])
		case plainTag.MatchString(tag):
			_, _ = out.WriteString(tag)
		default:
			w.problem("the HTML %s is not shown", tag)
			_, _ = out.WriteString(html.EscapeString(tag))
		}
	}
	_, _ = out.WriteString(html.EscapeString(html.UnescapeString(raw[end:])))
}
