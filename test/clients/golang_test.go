package clients

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// golang returns a program that runs the scenario with the client that oapi-codegen has generated in
// the package api.
func golang(operations map[string]operation, given []string, steps []step) string {
	var b strings.Builder
	b.WriteString(`package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"

	"reservation.dev/tools/clients/api"
)

var (
	ctx    = context.Background()
	values = map[string]string{}
)

// authorize adds the token to a request.
func authorize(_ context.Context, r *http.Request) error {
	if token := values["accessToken"]; token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return nil
}

func must(step string, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, step+":", err)
		os.Exit(1)
	}
}

// fill decodes JSON, in which "$name" is a variable, into a generated type without unknown members.
func fill(step, text string, v any) {
	for name, value := range values {
		text = strings.ReplaceAll(text, strconv.Quote("$"+name), strconv.Quote(value))
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	must(step, decoder.Decode(v))
}

// check fails unless the response has the status and the generated client has decoded its body.
func check(step string, err error, response any, status int) {
	must(step, err)
	v := reflect.Indirect(reflect.ValueOf(response))
	got := v.FieldByName("HTTPResponse").Interface().(*http.Response).StatusCode
	body := v.FieldByName("Body").Bytes()
	if got != status {
		must(step, fmt.Errorf("%d, not %d: %s", got, status, body))
	}
	if typed := v.FieldByName("JSON" + strconv.Itoa(status)); typed.IsValid() && typed.IsNil() {
		must(step, fmt.Errorf("the client did not decode %s", body))
	}
}

// save stores the value at a path of a response in a variable.
func save(step, name string, body []byte, path string) {
	var v any
	decoder := json.NewDecoder(bytes.NewReader(body))
	must(step, decoder.Decode(&v))
	for part := range strings.SplitSeq(path, ".") {
		if list, ok := v.([]any); ok {
			i, err := strconv.Atoi(part)
			must(step, err)
			v = list[i]
			continue
		}
		v = v.(map[string]any)[part]
	}
	values[name] = fmt.Sprint(v)
}

func main() {
	client, err := api.NewClientWithResponses(os.Getenv("BASE"), api.WithRequestEditorFn(authorize))
	must("client", err)
`)
	for _, name := range given {
		fmt.Fprintf(&b, "\tvalues[%q] = os.Getenv(%q)\n", name, strings.ToUpper(name))
	}
	for i, s := range steps {
		writeStep(&b, fmt.Sprintf("step %d (%s)", i, s.operation), operations[s.operation], s)
	}
	fmt.Fprintf(&b, "\tfmt.Println(%q)\n}\n", fmt.Sprintf("%d steps", len(steps)))
	return b.String()
}

// writeStep writes the call of one step.
func writeStep(b *strings.Builder, name string, o operation, s step) {
	title := strings.ToUpper(o.id[:1]) + o.id[1:]
	args := []string{"ctx"}
	fmt.Fprintf(b, "\t{\n\t\tstep := %q\n", name)
	for _, value := range s.path {
		if variable, ok := strings.CutPrefix(value, "$"); ok {
			args = append(args, fmt.Sprintf("values[%q]", variable))
		} else {
			args = append(args, quoted(value))
		}
	}
	if o.params {
		fmt.Fprintf(b, "\t\tvar params api.%sParams\n\t\tfill(step, `%s`, &params)\n", title, jsonText(merged(s.query, s.header)))
		args = append(args, "&params")
	}
	if o.body {
		fmt.Fprintf(b, "\t\tvar body api.%sJSONRequestBody\n\t\tfill(step, `%s`, &body)\n", title, jsonText(s.body))
		args = append(args, "body")
	}
	fmt.Fprintf(b, "\t\tr, err := client.%sWithResponse(%s)\n\t\tcheck(step, err, r, %d)\n", title, strings.Join(args, ", "), s.want())
	for _, variable := range slices.Sorted(maps.Keys(s.save)) {
		fmt.Fprintf(b, "\t\tsave(step, %q, r.Body, %q)\n", variable, s.save[variable])
	}
	b.WriteString("\t}\n")
}

// merged returns the members of both objects.
func merged(a, b object) object {
	all := object{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// jsonText returns a value as JSON; nil is an empty object.
func jsonText(v any) string {
	if v == nil {
		v = object{}
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // a scenario has only JSON values
	}
	return string(text)
}
