package site

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	gatewaya "reservation.dev/gateway-a/openapi"
	gatewayb "reservation.dev/gateway-b/openapi"
	webhook "reservation.dev/services/webhook/openapi"
)

// description is what search needs of an OpenAPI description.
type description struct {
	Info struct{ Title string }
	// Paths and Webhooks have path items, which have other members in addition to operations.
	Paths, Webhooks map[string]map[string]yaml.Node
}

// operation is an operation, or a message, of a description.
type operation struct {
	Tags                 []string
	Summary, Description string
}

// operationSections returns the operations and messages of the references as sections for
// the search.
func operationSections() ([]section, error) {
	var all []section
	for _, d := range []struct {
		page, title string
		text        []byte
	}{
		{"/docs/interface-a", "Interface A: reference", gatewaya.Description},
		{"/docs/interface-b", "Interface B: reference", gatewayb.Description},
		{"/docs/webhooks-reference", "Webhooks: reference", webhook.Description},
	} {
		var api description
		if err := yaml.Unmarshal(d.text, &api); err != nil {
			return nil, fmt.Errorf("%s: %w", d.title, err)
		}
		if api.Paths != nil {
			api.Webhooks = nil // the reference of the webhooks has them, too
		}
		for _, kind := range []struct {
			anchor string
			items  map[string]map[string]yaml.Node
		}{{"", api.Paths}, {"webhook/", api.Webhooks}} {
			for _, path := range slices.Sorted(maps.Keys(kind.items)) {
				sections, err := sectionsOf(d.page, d.title, kind.anchor, path, kind.items[path])
				if err != nil {
					return nil, fmt.Errorf("%s: %s: %w", d.title, path, err)
				}
				all = append(all, sections...)
			}
		}
	}
	return all, nil
}

// sectionsOf returns the sections of a path item.
func sectionsOf(page, title, kind, path string, item map[string]yaml.Node) ([]section, error) {
	var all []section
	for _, method := range slices.Sorted(maps.Keys(item)) {
		if !slices.Contains([]string{"get", "put", "post", "patch", "delete"}, method) {
			continue
		}
		var op operation
		node := item[method]
		if err := node.Decode(&op); err != nil {
			return nil, err
		}
		name := strings.ToUpper(method) + " " + path
		if kind != "" {
			name = path
		}
		all = append(all, section{
			URL: page + anchorOf(op, kind, method, path), Page: title, Section: op.Summary,
			Text: strings.Join(strings.Fields(name+". "+op.Description), " "),
		})
	}
	return all, nil
}

// anchorOf returns the anchor of an operation on its reference page, as Scalar makes it.
func anchorOf(op operation, kind, method, path string) string {
	tag := ""
	if len(op.Tags) > 0 {
		tag = "tag/" + anchor(op.Tags[0]) + "/"
	}
	return "#" + tag + kind + strings.ToUpper(method) + "/" + strings.TrimPrefix(path, "/")
}
