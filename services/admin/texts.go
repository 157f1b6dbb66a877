package admin

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/nicksnyder/go-i18n/v2/i18n"
	i18ntemplate "github.com/nicksnyder/go-i18n/v2/i18n/template"
	"golang.org/x/text/language"
)

// catalogue holds the dashboard's texts in every language and region that has a file in locales.
type catalogue struct {
	texts []*texts // the default, British English, is the first
}

// parseCatalogue reads the message files of a file system: locales/<area>.<language>.toml. A file of a region, such
// as locale.en-US.toml, has what differs from the files of its language.
func parseCatalogue(fsys fs.FS) (*catalogue, error) {
	names, err := fs.Glob(fsys, "locales/*.toml")
	if err != nil {
		return nil, err
	}
	all := map[language.Tag]map[string]*i18n.Message{}
	for _, name := range names {
		body, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		file, err := i18n.ParseMessageFileBytes(body, name, map[string]i18n.UnmarshalFunc{"toml": toml.Unmarshal})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path.Base(name), err)
		}
		if all[file.Tag] == nil {
			all[file.Tag] = map[string]*i18n.Message{}
		}
		for _, m := range file.Messages {
			all[file.Tag][m.ID] = m
		}
	}
	if all[language.English] == nil {
		return nil, errors.New("locales: there are no English messages")
	}
	c := &catalogue{}
	for tag, messages := range all {
		if parent := tag.Parent(); all[parent] != nil {
			messages = withParent(messages, all[parent])
		}
		x, err := textsOf(tag, messages)
		if err != nil {
			return nil, fmt.Errorf("locales: %s: %w", tag, err)
		}
		c.texts = append(c.texts, x)
	}
	slices.SortFunc(c.texts, compareTexts)
	return c, nil
}

// withParent returns the messages of a region with those of its language that the region does not change.
func withParent(region, parent map[string]*i18n.Message) map[string]*i18n.Message {
	all := maps.Clone(parent)
	maps.Copy(all, region)
	return all
}

// textsOf returns the texts of a language and region with the given messages.
func textsOf(tag language.Tag, messages map[string]*i18n.Message) (*texts, error) {
	l, err := parseLocale(messages)
	if err != nil {
		return nil, err
	}
	bundle := i18n.NewBundle(tag)
	x := &texts{locale: l, language: l.tag, files: tag, ids: map[string]bool{}, localizer: i18n.NewLocalizer(bundle, tag.String())}
	for id, m := range messages {
		x.ids[id] = true
		if l.spelling != nil {
			spelled := *m
			spelled.One, spelled.Other = l.spelling.Replace(m.One), l.spelling.Replace(m.Other)
			m = &spelled
		}
		if err := bundle.AddMessages(tag, m); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// compareTexts orders texts: English before other languages, and a language before its regions.
func compareTexts(a, b *texts) int {
	order := func(x *texts) string {
		if x.isOf(language.English) {
			return "-" + x.files.String()
		}
		return x.files.String()
	}
	return strings.Compare(order(a), order(b))
}

// of returns the texts for a browser: in the chosen language and region, or else those that it prefers, by its
// Accept-Language header. A choice of a language alone leaves the region to the browser. If the catalogue has none
// of the languages, the texts are the first.
func (c *catalogue) of(choice, acceptLanguage string) *texts {
	for _, x := range c.texts {
		if x.language.String() == choice {
			return x
		}
	}
	preferred, _, err := language.ParseAcceptLanguage(acceptLanguage)
	if err != nil {
		preferred = nil
	}
	if chosen, err := language.ParseBase(choice); err == nil && choice != "" {
		preferred = slices.DeleteFunc(preferred, func(tag language.Tag) bool { base, _ := tag.Base(); return base != chosen })
		preferred = append(preferred, language.Make(choice))
	}
	for _, tag := range preferred {
		if x := c.closest(tag); x != nil {
			return x
		}
	}
	return c.texts[0]
}

// closest returns the texts in a language for its closest region; nil if the catalogue lacks the language. Without
// a region, they are the first in the language.
func (c *catalogue) closest(tag language.Tag) *texts {
	var regions []*texts
	var tags []language.Tag
	for _, x := range c.texts {
		if x.isOf(tag) {
			regions, tags = append(regions, x), append(tags, x.language)
		}
	}
	if len(regions) == 0 {
		return nil
	}
	if _, confidence := tag.Region(); confidence < language.Exact {
		return regions[0]
	}
	_, i, _ := language.NewMatcher(tags).Match(tag)
	return regions[i]
}

// texts are the messages of one language, with the formats of one region.
type texts struct {
	*locale
	// language is the language with its region; files is the language of the message files, which has a region only
	// in the names of the region's files.
	language, files language.Tag
	ids             map[string]bool
	localizer       *i18n.Localizer
}

// isOf reports whether the texts are in the language of a tag, in any region.
func (x *texts) isOf(tag language.Tag) bool {
	own, _ := x.language.Base()
	other, _ := tag.Base()
	return own == other
}

// message is a text that is looked up in the catalogue when it is shown, in the language
// of the request. Code that has no request returns one; nil shows nothing.
type message struct {
	id   string
	args []any
	// fallback is shown if the catalogue has no message with the id, which can happen if the id is
	// built from a service's response.
	fallback *message
	// text is shown as it is, without the catalogue.
	text string
	// print prints a message that is not a text: a date, a number or an amount.
	print func(*texts) string
}

// msg returns the message with an id: msg("desk.book.booked", "count", 2, "name", name).
func msg(id string, args ...any) *message { return &message{id: id, args: args} }

// literal returns a message that is not in the catalogue: a name, or the words of a service.
func literal(text string) *message { return &message{text: text} }

// or returns the message with text as its fallback.
func (m message) or(text string) *message { return m.orElse(literal(text)) }

// orElse returns the message with other as its fallback.
func (m message) orElse(other *message) *message {
	m.fallback = other
	return &m
}

// String marks a message that a template prints without calling t. The tests look for the mark.
func (m *message) String() string { return "⟦" + cmp.Or(m.id, m.text) + "⟧" }

// textParser makes a placeholder without an argument an error.
var textParser = &i18ntemplate.TextParser{Option: "missingkey=error"}

// html returns a message as markup, for templates: t "id" "key" value …. The first
// argument is an id or a *message; nil gives nothing. Arguments are escaped, except
// template.HTML, which is markup already; an argument called url, or whose name ends in
// _url, must be a path of this site or an http(s) address.
//
//   - An integer is printed with its digits grouped; count selects the plural form.
//   - A *message is shown in its place.
//   - {{.Label}} is {{.label}} with a capital first letter, for every argument.
func (x *texts) html(id any, args ...any) (template.HTML, error) {
	text, err := x.localize(id, args, true)
	return template.HTML(text), err // localize has escaped the arguments
}

// text returns a message as plain text, which templates escape. It panics if the
// catalogue has no such message, or the message has a placeholder without an argument.
func (x *texts) text(id any, args ...any) string {
	text, err := x.localize(id, args, false)
	if err != nil {
		panic(err)
	}
	return text
}

// localize returns a message as markup or as plain text.
func (x *texts) localize(id any, args []any, markup bool) (string, error) {
	name := ""
	switch id := id.(type) {
	case string:
		name = id
	case *message:
		if id == nil {
			return "", nil
		}
		if id.print != nil {
			return escape(id.print(x), markup), nil
		}
		if id.id == "" {
			return escape(id.text, markup), nil
		}
		if id.fallback != nil && !x.ids[id.id] {
			return x.localize(id.fallback, nil, markup)
		}
		name, args = id.id, id.args
	case nil:
		return "", nil
	default:
		return "", fmt.Errorf("%T is neither an id nor a message", id)
	}
	if len(args)%2 != 0 {
		return "", fmt.Errorf("message %q: an argument has no value", name)
	}
	config := i18n.LocalizeConfig{MessageID: name, TemplateParser: textParser}
	data := make(map[string]any, len(args))
	for i := 0; i < len(args); i += 2 {
		key, ok := args[i].(string)
		if !ok {
			return "", fmt.Errorf("message %q: the argument name %v is not a string", name, args[i])
		}
		value, err := x.argument(key, args[i+1], markup)
		if err != nil {
			return "", err
		}
		data[key], data[upperFirst(key)] = value, upperFirst(value)
		if key == "count" {
			config.PluralCount = toInt(args[i+1])
		}
	}
	config.TemplateData = data
	return x.localizer.Localize(&config)
}

// argument returns the value of a placeholder.
func (x *texts) argument(key string, value any, markup bool) (string, error) {
	switch v := value.(type) {
	case template.HTML:
		if !markup {
			return "", fmt.Errorf("argument %s: markup in a plain text", key)
		}
		return string(v), nil
	case *message:
		return x.localize(v, nil, markup)
	case int, int32, int64:
		return x.number(toInt(v)), nil
	}
	text := fmt.Sprint(value)
	if (key == "url" || strings.HasSuffix(key, "_url")) && !linkable(text) {
		return "", fmt.Errorf("argument %s: %q is not a link", key, text)
	}
	return escape(text, markup), nil
}

// linkable reports whether an address is a path of this site or an http(s) URL.
func linkable(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http" || u.Scheme == "")
}

func escape(text string, markup bool) string {
	if markup {
		return template.HTMLEscapeString(text)
	}
	return text
}
