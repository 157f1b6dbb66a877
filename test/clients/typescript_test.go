package clients

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// typescript returns a program that runs the scenario with openapi-fetch and the types that
// openapi-typescript has generated in b.d.ts.
func typescript(operations map[string]operation, given, names []string, steps []step) string {
	var b strings.Builder
	b.WriteString(`import createClient from "openapi-fetch";
import type { paths } from "./api.js";

const environment = (name: string): string => process.env[name] ?? "";
let token = "";
const client = createClient<paths>({ baseUrl: environment("BASE") });
client.use({ onRequest({ request }) { if (token !== "") request.headers.set("Authorization", "Bearer " + token); return request; } });

function expect(step: string, response: Response, status: number, error?: unknown): void {
  if (response.status !== status) throw new Error(step + ": " + response.status + ", not " + status + ": " + JSON.stringify(error));
}

`)
	for _, name := range given {
		fmt.Fprintf(&b, "const %s = environment(%q);\n", name, strings.ToUpper(name))
	}
	for _, name := range names {
		fmt.Fprintf(&b, "let %s: string;\n", name)
	}
	for i, s := range steps {
		o := operations[s.operation]
		fmt.Fprintf(&b, "{\n  const r = await client.%s(%q, { ", o.method, o.path)
		if params := s.parameters(o); params != "" {
			fmt.Fprintf(&b, "params: { %s }, ", params)
		}
		if s.body != nil {
			fmt.Fprintf(&b, "body: %s, ", literal(s.body))
		}
		fmt.Fprintf(&b, "});\n  expect(%q, r.response, %d, r.error);\n", fmt.Sprintf("step %d (%s)", i, s.operation), s.want())
		for _, name := range slices.Sorted(maps.Keys(s.save)) {
			fmt.Fprintf(&b, "  %s = r.data!%s;\n", name, member(s.save[name]))
			if name == "accessToken" {
				b.WriteString("  token = accessToken;\n")
			}
		}
		b.WriteString("}\n")
	}
	fmt.Fprintf(&b, "console.log(%q);\n", fmt.Sprintf("%d steps", len(steps)))
	return b.String()
}

// parameters returns the arguments of a step as members of a literal.
func (s *step) parameters(o operation) string {
	var parts []string
	if len(s.path) > 0 {
		path := object{}
		for i, name := range o.pathParams {
			path[name] = s.path[i]
		}
		parts = append(parts, "path: "+literal(path))
	}
	if s.query != nil {
		parts = append(parts, "query: "+literal(s.query))
	}
	if s.header != nil {
		parts = append(parts, "header: "+literal(s.header))
	}
	return strings.Join(parts, ", ")
}

// literal returns a value as a literal of TypeScript, in which variables are identifiers.
func literal(v any) string {
	switch v := v.(type) {
	case string:
		if name, ok := strings.CutPrefix(v, "$"); ok {
			return name
		}
	case object:
		var members []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			members = append(members, fmt.Sprintf("%q: %s", name, literal(v[name])))
		}
		return "{ " + strings.Join(members, ", ") + " }"
	case []object:
		var items []string
		for _, item := range v {
			items = append(items, literal(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case []any:
		var items []string
		for _, item := range v {
			items = append(items, literal(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // a scenario has only JSON values
	}
	return string(text)
}

// member returns the access to a path in a value: "dates.0.id" is ["dates"]![0]!["id"]!.
func member(path string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(path, ".") {
		if strings.Trim(part, "0123456789") == "" {
			fmt.Fprintf(&b, "[%s]!", part)
		} else {
			fmt.Fprintf(&b, "[%q]!", part)
		}
	}
	return b.String()
}
