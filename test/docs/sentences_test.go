package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// sentence is a sentence that people read.
type sentence struct{ place, text string }

// files returns the files of the tree with one of the endings, without generated and
// vendored ones.
func files(t *testing.T, endings ...string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || slices.Contains([]string{"gen", "bin", "node_modules", "testdata", "buf"}, name)) {
				return filepath.SkipDir
			}
			return nil
		}
		if slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(name, end) }) {
			rel, err := filepath.Rel(root, path)
			found = append(found, rel)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatalf("there are no files with the endings %v", endings)
	}
	return found
}

// sentences returns the sentences of all pages, OpenAPI descriptions, message catalogues,
// charts, alerts, protos and Go files.
func sentences(t *testing.T) []sentence {
	t.Helper()
	var all []sentence
	for ending, read := range map[string]func(path, text string) []sentence{
		".md": markdownSentences, ".proto": commentSentences("//"), ".go": goSentences,
		".yaml": yamlSentences, ".yml": yamlSentences, ".toml": quotedSentences, ".html": commentSentences("{{/*"),
	} {
		for _, path := range files(t, ending) {
			all = append(all, read(path, page(t, path))...)
		}
	}
	return all
}

var (
	// endOfSentence matches where a sentence ends: not after "e.g." or in "v1.2".
	endOfSentence = regexp.MustCompile(`[.!?:;]["')*_]*\s+|\s+[–—]\s+`)
	// inlineCode matches what is quoted literally, and the target of a link.
	inlineCode = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)|\"[^\"]*\"|“[^”]*”|<[^>]*>")
	marker     = regexp.MustCompile(`^(?:[-*>]|\d+\.)\s+`)
)

// split returns the sentences of a paragraph, without what it quotes literally.
func split(place, paragraph string) []sentence {
	var all []sentence
	text := strings.Join(strings.Fields(inlineCode.ReplaceAllString(paragraph, "`…`")), " ")
	from := 0
	for _, end := range append(endOfSentence.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		if s := strings.Trim(text[from:end[1]], " *_"); s != "" {
			all = append(all, sentence{place, s})
		}
		from = end[1]
	}
	return all
}

// markdownSentences returns the sentences of a page: of its paragraphs, list items and
// table cells, but not of headings and code.
func markdownSentences(path, text string) []sentence {
	var all []sentence
	var paragraph []string
	start, fenced := 0, false
	flush := func() {
		all = append(all, split(fmt.Sprintf("%s:%d", path, start), strings.Join(paragraph, " "))...)
		paragraph = nil
	}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			flush()
			fenced = !fenced
		case fenced:
		case strings.HasPrefix(line, "|"):
			flush()
			for cell := range strings.SplitSeq(strings.Trim(line, "|"), " |") {
				all = append(all, split(fmt.Sprintf("%s:%d", path, i+1), cell)...)
			}
		case line == "" || strings.HasPrefix(line, "#"):
			flush()
		default:
			if marker.MatchString(line) || len(paragraph) == 0 {
				flush()
				start, line = i+1, marker.ReplaceAllString(line, "")
			}
			paragraph = append(paragraph, line)
		}
	}
	flush()
	return all
}

// commentSentences returns a reader of the comments that begin with the given mark.
func commentSentences(mark string) func(path, text string) []sentence {
	return func(path, text string) []sentence {
		var all []sentence
		var paragraph []string
		start := 0
		flush := func() {
			all = append(all, split(fmt.Sprintf("%s:%d", path, start), strings.Join(paragraph, " "))...)
			paragraph = nil
		}
		for i, line := range append(strings.Split(text, "\n"), "") {
			comment, found := strings.CutPrefix(strings.TrimSpace(line), mark)
			if !found || strings.TrimSpace(comment) == "" {
				flush()
				continue
			}
			if len(paragraph) == 0 {
				start = i + 1
			}
			paragraph = append(paragraph, strings.TrimSuffix(comment, "*/}}"))
		}
		return all
	}
}

// goSentences returns the sentences of a Go file's comments and of its settings'
// descriptions.
func goSentences(path, text string) []sentence {
	var all []sentence
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.ParseComments)
	if err != nil {
		return []sentence{{path, err.Error()}}
	}
	place := func(n ast.Node) string { return fmt.Sprintf("%s:%d", path, set.Position(n.Pos()).Line) }
	for _, group := range file.Comments {
		for paragraph := range strings.SplitSeq(group.Text(), "\n\n") {
			all = append(all, split(place(group), paragraph)...)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if f, ok := n.(*ast.Field); ok && f.Tag != nil {
			if tag, err := strconv.Unquote(f.Tag.Value); err == nil {
				all = append(all, split(place(f), reflect.StructTag(tag).Get("doc"))...)
			}
		}
		return true
	})
	return all
}

// yamlSentences returns the sentences of a file's comments, and of the values that
// people read.
func yamlSentences(path, text string) []sentence {
	all := commentSentences("#")(path, text)
	if strings.Contains(text, "{{") && !strings.Contains(path, "alerts") {
		return all // a template is not YAML yet
	}
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return all
	}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		for i, child := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 1 && child.Kind == yaml.ScalarNode &&
				slices.Contains([]string{"summary", "description", "title"}, n.Content[i-1].Value) {
				for paragraph := range strings.SplitSeq(child.Value, "\n\n") {
					all = append(all, split(fmt.Sprintf("%s:%d", path, child.Line), paragraph)...)
				}
			}
			walk(child)
		}
	}
	walk(&document)
	return all
}

var catalogueText = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)

// quotedSentences returns the sentences of a message catalogue.
func quotedSentences(path, text string) []sentence {
	var all []sentence
	for i, line := range strings.Split(text, "\n") {
		for _, value := range catalogueText.FindAllStringSubmatch(line, -1) {
			all = append(all, split(fmt.Sprintf("%s:%d", path, i+1), value[1])...)
		}
	}
	return all
}
