package admin

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"path"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/nicksnyder/go-i18n/v2/i18n"
	i18ntemplate "github.com/nicksnyder/go-i18n/v2/i18n/template"
	"golang.org/x/text/language"
)

// catalogue holds the dashboard's texts in every language that has a file in locales.
type catalogue struct {
	languages []language.Tag // English, the default, is the first
	matcher   language.Matcher
	texts     map[language.Tag]*texts
}

// parseCatalogue reads the message files of a file system: locales/<area>.<language>.toml.
func parseCatalogue(fsys fs.FS) (*catalogue, error) {
	bundle := i18n.NewBundle(language.English)
	bundle.RegisterUnmarshalFunc("toml", toml.Unmarshal)
	names, err := fs.Glob(fsys, "locales/*.toml")
	if err != nil {
		return nil, err
	}
	c := &catalogue{texts: map[language.Tag]*texts{}}
	for _, name := range names {
		file, err := bundle.LoadMessageFileFS(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path.Base(name), err)
		}
		x := c.texts[file.Tag]
		if x == nil {
			x = &texts{language: file.Tag, ids: map[string]bool{}, localizer: i18n.NewLocalizer(bundle, file.Tag.String())}
			c.texts[file.Tag] = x
		}
		for _, m := range file.Messages {
			x.ids[m.ID] = true
		}
	}
	if c.texts[language.English] == nil {
		return nil, errors.New("locales: there are no English messages")
	}
	for _, tag := range bundle.LanguageTags() {
		if c.texts[tag] != nil {
			c.languages = append(c.languages, tag)
		}
	}
	c.matcher = language.NewMatcher(c.languages)
	return c, nil
}

// of returns the texts in the language that a browser prefers, by its Accept-Language
// header; English if the catalogue has none of its languages.
func (c *catalogue) of(acceptLanguage string) *texts {
	preferred, _, err := language.ParseAcceptLanguage(acceptLanguage)
	if err != nil {
		return c.texts[c.languages[0]]
	}
	_, i, _ := c.matcher.Match(preferred...)
	return c.texts[c.languages[i]]
}

// texts are the messages of one language.
type texts struct {
	language  language.Tag
	ids       map[string]bool
	localizer *i18n.Localizer
}

// message is a text that is looked up in the catalogue when it is shown, in the language
// of the request. Code that has no request returns one; nil shows nothing.
type message struct {
	id   string
	args []any
	// fallback is shown if the catalogue has no message with the id: an id that is made
	// from what a service answers.
	fallback *message
	// text is shown as it is, without the catalogue.
	text string
}

// msg returns the message with an id: msg("desk.book.booked", "count", 2, "name", name).
func msg(id string, args ...any) *message { return &message{id: id, args: args} }

// literal returns a message that is not in the catalogue: a name, or the words of a service.
func literal(text string) *message { return &message{text: text} }

// or returns the message with a text for an id that the catalogue does not have.
func (m message) or(text string) *message { return m.orElse(literal(text)) }

// orElse returns the message with another one for an id that the catalogue does not have.
func (m message) orElse(other *message) *message {
	m.fallback = other
	return &m
}

// String marks a message that a template prints without t; the tests look for the mark.
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
		return thousands(toInt(v)), nil
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
