package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"reservation.dev/platform/reference"
)

// The types of the Postman Collection Format 2.1.0.
type (
	collection struct {
		Info     collectionInfo `json:"info"`
		Auth     bearerAuth     `json:"auth"`
		Event    []listener     `json:"event"`
		Variable []variable     `json:"variable"`
		Item     []folder       `json:"item"`
	}
	collectionInfo struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Schema      string `json:"schema"`
	}
	bearerAuth struct {
		Type   string     `json:"type"`
		Bearer []variable `json:"bearer"`
	}
	listener struct {
		Listen string `json:"listen"`
		Script struct {
			Type string   `json:"type"`
			Exec []string `json:"exec"`
		} `json:"script"`
	}
	variable struct {
		Key   string `json:"key"`
		Value string `json:"value"`
		Type  string `json:"type"`
	}
	folder struct {
		Name        string    `json:"name"`
		Description string    `json:"description"`
		Item        []request `json:"item"`
	}
	request struct {
		Name    string `json:"name"`
		Request struct {
			Method      string         `json:"method"`
			Header      []header       `json:"header"`
			Body        *rawBody       `json:"body,omitempty"`
			URL         address        `json:"url"`
			Description string         `json:"description"`
			Auth        map[string]any `json:"auth,omitempty"`
		} `json:"request"`
		Response []struct{} `json:"response"`
	}
	header struct {
		Key      string `json:"key"`
		Value    string `json:"value"`
		Disabled bool   `json:"disabled,omitempty"`
	}
	rawBody struct {
		Mode    string         `json:"mode"`
		Raw     string         `json:"raw"`
		Options map[string]any `json:"options"`
	}
	address struct {
		Raw      string     `json:"raw"`
		Host     []string   `json:"host"`
		Path     []string   `json:"path"`
		Query    []argument `json:"query,omitempty"`
		Variable []argument `json:"variable,omitempty"`
	}
	argument struct {
		Key         string `json:"key"`
		Value       string `json:"value"`
		Description string `json:"description"`
		Disabled    bool   `json:"disabled,omitempty"`
	}
)

// tokenScript gets a token before a request.
//
//go:embed token.js
var tokenScript string

// access is how a collection gets its token.
type access struct{ base, id, secret, script string }

func accessOf(face string) access {
	if face == "a" {
		return access{
			base: "http://127.0.0.1:8080", id: "clientId", secret: "clientSecret",
			script: script("clientId", "clientSecret", "/token", "client_id", "client_secret", "access_token", "expires_in"),
		}
	}
	return access{
		base: "http://127.0.0.1:8081/api/v1", id: "apiKey", secret: "apiSecret",
		script: script("apiKey", "apiSecret", "/auth/token", "apiKey", "apiSecret", "token", "expiresIn"),
	}
}

// script returns tokenScript with the names of an interface.
func script(id, secret, path, idMember, secretMember, token, lifetime string) string {
	return strings.NewReplacer("ID_NAME", id, "SECRET_NAME", secret, "TOKEN_PATH", path,
		"ID_MEMBER", idMember, "SECRET_MEMBER", secretMember, "TOKEN_MEMBER", token, "LIFETIME_MEMBER", lifetime).Replace(tokenScript)
}

// postman returns the collection of a description: a folder for each tag, with a request for each
// operation.
func postman(d *description, face string) (string, error) {
	how := accessOf(face)
	c := collection{
		Info: collectionInfo{
			Name: d.title, Schema: "https://schema.getpostman.com/json/collection/v2.1.0/collection.json",
			Description: fmt.Sprintf("%s\n\nSet the variables `base`, `%s` and `%s`. A script gets a token before the first request, "+
				"and a new one before it expires or if you change the variables. Each write has a new `Idempotency-Key`.", d.summary, how.id, how.secret),
		},
		Auth: bearerAuth{Type: "bearer", Bearer: []variable{{Key: "token", Value: "{{token}}", Type: "string"}}},
		Variable: []variable{
			{Key: "base", Value: how.base, Type: "string"}, {Key: how.id, Type: "string"}, {Key: how.secret, Type: "string"},
			{Key: "token", Type: "string"}, {Key: "tokenOwner", Type: "string"}, {Key: "tokenEnd", Type: "string"},
		},
	}
	fetch := listener{Listen: "prerequest"}
	fetch.Script.Type, fetch.Script.Exec = "text/javascript", strings.Split(strings.TrimSuffix(how.script, "\n"), "\n")
	c.Event = []listener{fetch}
	for _, t := range d.tags {
		f := folder{Name: t.name, Description: t.description, Item: []request{}}
		for _, o := range d.operations {
			if o.tag != t.name {
				continue
			}
			r, err := d.request(o, how)
			if err != nil {
				return "", err
			}
			f.Item = append(f.Item, r)
		}
		c.Item = append(c.Item, f)
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(c)
	return b.String(), err
}

// request returns the request of an operation. Optional parameters are switched off.
func (d *description) request(o operation, how access) (request, error) {
	r := request{Name: o.summary, Response: []struct{}{}}
	r.Request.Method, r.Request.Description, r.Request.Header = o.method, o.text, []header{}
	if o.tokens {
		r.Request.Auth = map[string]any{"type": "noauth"}
	}
	r.Request.URL = d.address(o)
	if o.idempotent {
		r.Request.Header = append(r.Request.Header, header{Key: "Idempotency-Key", Value: "{{$guid}}"})
	}
	if o.ifMatch {
		r.Request.Header = append(r.Request.Header, header{Key: "If-Match", Disabled: true})
	}
	if o.body == nil {
		return r, nil
	}
	r.Request.Header = append(r.Request.Header, header{Key: "Content-Type", Value: "application/json"})
	text, err := bodyText(o, how)
	r.Request.Body = &rawBody{Mode: "raw", Raw: text, Options: map[string]any{"raw": map[string]string{"language": "json"}}}
	return r, err
}

// bodyText returns the example of an operation's body. A token request has the variables instead.
func bodyText(o operation, how access) (string, error) {
	if o.bodyExample == nil {
		return "{}", nil
	}
	text, err := yaml.Marshal(o.bodyExample)
	if err != nil {
		return "", err
	}
	compact, err := reference.JSON(text)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(compact), "", "  "); err != nil {
		return "", err
	}
	body := b.String()
	if o.tokens {
		body = regexp.MustCompile(`"(key|m2m)_[^"]*"`).ReplaceAllString(body, `"{{`+how.id+`}}"`)
		body = regexp.MustCompile(`"[0-9a-f]{64}"`).ReplaceAllString(body, `"{{`+how.secret+`}}"`)
	}
	return body, nil
}

func (d *description) address(o operation) address {
	a := address{Host: []string{"{{base}}"}, Path: []string{}}
	for part := range strings.SplitSeq(strings.TrimPrefix(o.path, "/"), "/") {
		a.Path = append(a.Path, strings.NewReplacer("{", ":", "}", "").Replace(part))
	}
	for _, p := range o.pathParams {
		a.Variable = append(a.Variable, argument{Key: p.name, Value: scalar(p.example), Description: p.description})
	}
	var required []string
	for _, p := range o.query {
		value := scalar(p.example)
		if value == "" {
			value = d.text(p.schema, "default")
		}
		a.Query = append(a.Query, argument{Key: p.name, Value: value, Description: p.description, Disabled: !p.required})
		if p.required {
			required = append(required, p.name+"="+value)
		}
	}
	a.Raw = "{{base}}/" + strings.Join(a.Path, "/")
	if required != nil {
		a.Raw += "?" + strings.Join(required, "&")
	}
	return a
}

func scalar(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	return n.Value
}
