package configs

import (
	"reflect"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"

	"prenorm/configs/problem"
)

// applySet decodes one argument of --set, "key=value" with a dotted key, onto the run.
func (d *decoder) applySet(run reflect.Value, argument string) {
	d.set = argument
	defer func() { d.set = "" }()
	key, value, found := strings.Cut(argument, "=")
	key = strings.TrimSpace(key)
	switch {
	case !found:
		d.report(0, "", "has no = (write --set key=value, such as --set train.steps=100)")
		return
	case !utf8.ValidString(argument):
		d.report(0, key, "is not UTF-8")
		return
	}
	into, ok := d.target(run, key)
	if !ok {
		return
	}
	if n := d.setNode(into.Type(), key, value); n != nil {
		d.value(n, into, key, 0)
	}
}

// target finds the value that a dotted key names.
func (d *decoder) target(run reflect.Value, key string) (reflect.Value, bool) {
	into, prefix := run, ""
	for rest := key; ; {
		name, below, more := strings.Cut(rest, ".")
		f, ok := find(fieldsOf(into.Type()), name)
		if !ok {
			d.report(0, key, "unknown key (%s)", setHint(into.Type(), prefix, name, key))
			return into, false
		}
		into, prefix = into.Field(f.index), join(prefix, name)
		if !more {
			return into, true
		}
		if !isSection(f.typ) {
			d.report(0, key, "unknown key (%s is a %s and has no keys)", prefix, typeName(f.typ))
			return into, false
		}
		rest = below
	}
}

// setHint proposes what an unknown dotted key may have been meant for: the whole key where that is near one, else the part that is wrong.
func setHint(section reflect.Type, prefix, name, key string) string {
	if full := elsewhere(prefix, key); full != "" {
		return "did you mean " + full + "?"
	}
	if full := elsewhere(prefix, name); full != "" && key == join(prefix, name) {
		return "did you mean " + full + "?"
	}
	if near := problem.Closest(key, allKeys()); near != "" {
		return "did you mean " + near + "?"
	}
	return hint(section, prefix, name)
}

// setNode parses the value as YAML. Where text is wanted it is taken as it stands, so that a path may hold anything; only a value in quotes
// or brackets is read as YAML there, if it is some. It returns nil after reporting a problem.
func (d *decoder) setNode(t reflect.Type, key, value string) *yaml.Node {
	wantsText := t.Kind() == reflect.String || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String
	if wantsText && (value == "" || !strings.ContainsAny(value[:1], `"'[`)) {
		return textNode(t, value)
	}
	n, bad := parseYAML([]byte(value))
	switch {
	case wantsText && !(bad == nil && readsAsText(n, t)):
		return textNode(t, value)
	case bad != nil:
		d.report(0, key, "%s", bad.what)
		return nil
	case n == nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	}
	return n
}

// textNode is value as text, or as a list: of one text, or of none where value is empty.
func textNode(t reflect.Type, value string) *yaml.Node {
	if t.Kind() == reflect.Slice && value == "" {
		return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
}

// readsAsText reports whether n is quoted text, or a list of scalars where a list is wanted.
func readsAsText(n *yaml.Node, t reflect.Type) bool {
	if n == nil {
		return false
	}
	if n.Kind != yaml.SequenceNode || t.Kind() != reflect.Slice {
		return n.Kind == yaml.ScalarNode
	}
	for _, item := range n.Content {
		if item.Kind != yaml.ScalarNode {
			return false
		}
	}
	return true
}
