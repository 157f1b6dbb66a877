package reservectl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// listing prints a list page by page, so that its memory does not grow with the list.
type listing struct {
	*app
	request *request
	limit   int
	follow  bool
	every   time.Duration // how often follow looks for further items
	printed int
}

const (
	// pageSize is the number of items on a page, which every list accepts.
	pageSize       = 200
	followInterval = 2 * time.Second
)

func (l *listing) addFlags(c *cobra.Command) {
	if l.paged() {
		c.Flags().IntVar(&l.limit, "limit", 50, "maximum number of items; 0: all")
	}
	if l.request.call.follow {
		c.Flags().BoolVar(&l.follow, "follow", false, "print all items, then wait for further ones until Ctrl-C; JSON has one object a line")
	}
}

// paged reports whether the list has pages.
func (l *listing) paged() bool {
	return l.request.message.Descriptor().Fields().ByName("page_token") != nil
}

func (l *listing) run(ctx context.Context) error {
	if l.limit < 0 {
		return usageError{errors.New("--limit must not be negative")}
	}
	if l.follow {
		l.limit = 0
	}
	table, err := l.table()
	if err != nil {
		return err
	}
	s, err := l.openFor(ctx, l.request.call)
	if err != nil {
		return err
	}
	defer s.close()
	if err := l.pages(s, l.printer(table)); err != nil {
		return err
	}
	if table && l.printed == 0 {
		fmt.Fprintln(l.errOut, l.request.call.none)
	}
	return nil
}

// pages fetches and prints all pages up to the limit.
func (l *listing) pages(s *session, p rowPrinter) error {
	for {
		if l.paged() {
			l.set("page_size", protoreflect.ValueOfInt32(int32(l.pageSize())))
		}
		res, err := l.request.send(s)
		if err != nil {
			return err
		}
		for _, item := range l.items(res) {
			l.printed++
			if err := p.print(item); err != nil {
				return err
			}
		}
		next, more := nextPage(res)
		if next != "" {
			l.set("page_token", protoreflect.ValueOfString(next))
		}
		switch {
		case more && l.limit > 0 && l.printed == l.limit:
			return l.stop(p)
		case more:
		case !l.follow:
			return p.end()
		case !l.wait(s.ctx, p):
			return nil
		}
	}
}

// pageSize returns the size of the next page.
func (l *listing) pageSize() int {
	if l.limit == 0 {
		return pageSize
	}
	return min(l.limit-l.printed, pageSize)
}

func (l *listing) set(field protoreflect.Name, value protoreflect.Value) {
	l.request.message.Set(l.request.message.Descriptor().Fields().ByName(field), value)
}

// items returns the items of a page, which are the only list of a response.
func (l *listing) items(res protoreflect.Message) []row {
	fields := res.Descriptor().Fields()
	for i := range fields.Len() {
		if items, ok := valueOf(res, fields.Get(i)).([]row); ok {
			return items
		}
	}
	return nil
}

// nextPage returns the token for the next call, and whether there is a page already.
func nextPage(res protoreflect.Message) (token string, more bool) {
	fields := res.Descriptor().Fields()
	if d := fields.ByName("next_page_token"); d != nil {
		token = res.Get(d).String()
	}
	if d := fields.ByName("has_more"); d != nil {
		return token, res.Get(d).Bool()
	}
	return token, token != ""
}

// stop ends a list at the limit, and says that it is not complete.
func (l *listing) stop(p rowPrinter) error {
	fmt.Fprintf(l.errOut, "there are more than %d; print all with --limit 0\n", l.limit)
	return p.end()
}

// wait prints what is there and waits for further items. It returns false if the caller stops it.
func (l *listing) wait(ctx context.Context, p rowPrinter) bool {
	if p.flush() != nil {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(l.every):
		return true
	}
}

// rowPrinter prints the items of a list one by one.
type rowPrinter interface {
	print(item row) error
	flush() error
	end() error
}

func (l *listing) printer(table bool) rowPrinter {
	switch {
	case table:
		return &tablePrinter{out: tabwriter.NewWriter(l.out, 0, 0, 2, ' ', 0), columns: l.request.call.columns, split: l.request.call.split}
	case l.follow:
		return linePrinter{l.out}
	}
	return &arrayPrinter{out: l.out}
}

// tablePrinter prints a table with a line for each item, or for each row that split returns for it. Its columns are aligned page by page.
type tablePrinter struct {
	out     *tabwriter.Writer
	columns []string
	split   func(row) []row
	lines   int
}

func (p *tablePrinter) print(item row) error {
	if p.split == nil {
		return p.line(item)
	}
	for _, r := range p.split(item) {
		if err := p.line(r); err != nil {
			return err
		}
	}
	return nil
}

func (p *tablePrinter) line(item row) error {
	titles, cells := make([]string, len(p.columns)), make([]string, len(p.columns))
	for i, column := range p.columns {
		title, path, renamed := strings.Cut(column, "=")
		if !renamed {
			path = title
		}
		titles[i], cells[i] = strings.ToUpper(title), cell(item.at(path))
	}
	if p.lines == 0 {
		fmt.Fprintln(p.out, strings.Join(titles, "\t")+"\t")
	}
	p.lines++
	fmt.Fprintln(p.out, strings.Join(cells, "\t")+"\t")
	if p.lines%pageSize == 0 {
		return p.out.Flush()
	}
	return nil
}

func (p *tablePrinter) flush() error { return p.out.Flush() }
func (p *tablePrinter) end() error   { return p.out.Flush() }

// linePrinter prints one JSON object a line.
type linePrinter struct{ out io.Writer }

func (p linePrinter) print(item row) error {
	text, err := encode(item)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "%s\n", text)
	return err
}

func (linePrinter) flush() error { return nil }
func (linePrinter) end() error   { return nil }

// arrayPrinter prints a JSON array.
type arrayPrinter struct {
	out   io.Writer
	items int
}

func (p *arrayPrinter) print(item row) error {
	text, err := encode(item)
	if err != nil {
		return err
	}
	b := bytes.NewBufferString(",\n  ")
	if p.items == 0 {
		b = bytes.NewBufferString("[\n  ")
	}
	p.items++
	if err := json.Indent(b, text, "  ", "  "); err != nil {
		return err
	}
	_, err = b.WriteTo(p.out)
	return err
}

func (*arrayPrinter) flush() error { return nil }

func (p *arrayPrinter) end() error {
	end := "\n]\n"
	if p.items == 0 {
		end = "[]\n"
	}
	_, err := io.WriteString(p.out, end)
	return err
}
