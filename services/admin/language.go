package admin

import (
	"net/http"
	"time"

	"reservation.dev/platform/fault"
)

// languageCookie is the language of the pages in this browser: that of texts, such as de-AT, or a language alone,
// such as de, whose region the browser decides.
const languageCookie = "language"

// languageKept is how long a browser keeps the chosen language.
const languageKept = 400 * 24 * time.Hour

// offered reports whether the catalogue has a language, with or without a region.
func (c *catalogue) offered(choice string) bool {
	for _, x := range c.texts {
		if x.language.String() == choice || x.files.String() == choice {
			return true
		}
	}
	return false
}

// languageChoice is the language that a browser can choose on the sign-in page.
type languageChoice struct {
	Value, Name string
	Current     bool
}

// Languages returns the languages of the catalogue, each in its own words.
func (f *frame) Languages() []languageChoice {
	var all []languageChoice
	for _, x := range f.catalogue.texts {
		if _, _, region := x.files.Raw(); region.String() == "ZZ" {
			all = append(all, languageChoice{x.files.String(), x.ownName, x.isOf(f.texts.language)})
		}
	}
	return all
}

// languageForm returns the form with the language of this browser.
func (r *request) languageForm() *form {
	f := newForm()
	if r.web.pages.catalogue.offered(r.cookie(languageCookie)) {
		f.values.Set("language", r.language.String())
	}
	return f
}

// languageOptions are the languages with their regions, and the choice to follow the browser.
func (r *request) languageOptions() []option {
	all := []option{{"", r.text("settings.language.browser")}}
	for _, x := range r.web.pages.catalogue.texts {
		all = append(all, option{x.language.String(), x.title})
	}
	return all
}

// chooseLanguage keeps the chosen language in this browser, or forgets it. The message is in the new language.
func (r *request) chooseLanguage() error {
	choice, back := r.value("language"), local(r.value("back"), home)
	switch c := r.web.pages.catalogue; {
	case choice == "":
		r.forgetCookie(languageCookie)
	case c.offered(choice):
		r.setCookie(languageCookie, choice, r.web.now().Add(languageKept))
	default:
		return fault.Missing("language")
	}
	r.texts = r.web.texts(r.http, choice)
	if r.session == nil {
		return r.to(back)
	}
	return r.back(back, r.text("settings.language.saved"))
}

// texts returns the texts for a browser that has chosen a language.
func (web *web) texts(r *http.Request, choice string) *texts {
	return web.pages.catalogue.of(choice, r.Header.Get("Accept-Language"))
}
