package reference

import (
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"

	"reservation.dev/platform/jsontext"
)

// JSON returns an OpenAPI description in YAML as JSON, with its members in the same order.
func JSON(description []byte) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(description, &document); err != nil {
		return nil, err
	}
	if document.IsZero() { // an empty text
		return []byte("null\n"), nil
	}
	b, err := appendNode(nil, &document)
	return append(b, '\n'), err
}

func appendNode(b []byte, n *yaml.Node) ([]byte, error) {
	switch n.Kind {
	case yaml.DocumentNode:
		return appendNode(b, n.Content[0])
	case yaml.AliasNode: // descriptions are part of the program, and no anchor contains its own alias
		return appendNode(b, n.Alias)
	case yaml.MappingNode:
		return appendPairs(b, n)
	case yaml.SequenceNode:
		return appendItems(b, n)
	case yaml.ScalarNode:
		return appendScalar(b, n)
	}
	return b, fmt.Errorf("line %d: a node without a kind", n.Line)
}

func appendPairs(b []byte, n *yaml.Node) (_ []byte, err error) {
	b = append(b, '{')
	for i := 0; i < len(n.Content); i += 2 {
		name := n.Content[i]
		if name.Kind != yaml.ScalarNode || name.Tag == "!!merge" {
			return b, fmt.Errorf("line %d: the name of a member is not text", name.Line)
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsontext.AppendString(b, name.Value), ':')
		if b, err = appendNode(b, n.Content[i+1]); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

func appendItems(b []byte, n *yaml.Node) (_ []byte, err error) {
	b = append(b, '[')
	for i, item := range n.Content {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendNode(b, item); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

// appendScalar writes numbers, booleans and null as they are, and everything else, such as a date, as
// a string.
func appendScalar(b []byte, n *yaml.Node) ([]byte, error) {
	switch n.Tag {
	case "!!int", "!!float", "!!bool", "!!null":
		var value any
		if err := n.Decode(&value); err != nil {
			return b, err
		}
		text, err := json.Marshal(value)
		return append(b, text...), err
	}
	return jsontext.AppendString(b, n.Value), nil
}
