package configs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"prenorm/configs/problem"
)

// A place is where a key got its value.
type place struct {
	line int
	set  string
}

// A decoder walks YAML nodes over the structs of a run. The walk goes no deeper than the structs, so neither deep nesting nor aliases to
// aliases can make it long.
type decoder struct {
	file     string
	set      string // the argument of --set that is being read, "" for the file
	lineless bool   // problems name no line of the file
	problems []Problem
	places   map[string]place
	broken   map[string]bool // keys with a problem already, which no rule needs to look at
}

// report adds a problem with the key at a line of what is being read.
func (d *decoder) report(line int, key, format string, args ...any) {
	if d.set != "" || d.lineless {
		line = 0
	}
	d.broken[key] = true
	d.problems = append(d.problems, Problem{d.file, line, d.set, key, fmt.Sprintf(format, args...)})
}

// value decodes a node onto the value of a key. line is where the key stands.
func (d *decoder) value(n *yaml.Node, into reflect.Value, key string, line int) {
	d.places[key] = place{line, d.set}
	if d.lineless {
		d.places[key] = place{0, d.set}
	}
	delete(d.broken, key)
	n, ok := d.plainNode(n, key, line)
	if !ok {
		return
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		d.report(line, key, "has no value (give one, or leave the key out for its default)")
		return
	}
	switch into.Kind() {
	case reflect.Struct:
		d.section(n, into, key, line)
	case reflect.Slice:
		d.list(n, into, key, line)
	default:
		if what := setScalar(n, into); what != "" {
			d.report(line, key, "%s", what)
		}
	}
}

// plainNode follows an alias and refuses tags that only YAML itself has.
func (d *decoder) plainNode(n *yaml.Node, key string, line int) (*yaml.Node, bool) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Style&yaml.TaggedStyle == 0 {
		return n, true
	}
	known := []string{"!!map"}
	switch n.Kind {
	case yaml.SequenceNode:
		known = []string{"!!seq"}
	case yaml.ScalarNode:
		known = []string{"!!str", "!!int", "!!float", "!!bool", "!!null"}
	}
	if !slices.Contains(known, n.ShortTag()) {
		d.report(line, key, "has the tag %s, which is not read here (remove it)", printable(n.Tag))
		return n, false
	}
	return n, true
}

func (d *decoder) section(n *yaml.Node, into reflect.Value, key string, line int) {
	keys := strings.Join(keysOf(into.Type()), ", ")
	if n.Kind != yaml.MappingNode {
		if key == "" {
			d.report(n.Line, key, "is %s, want keys with values (keys: %s)", kind(n), keys)
		} else {
			d.report(line, key, "is %s, want a section (keys: %s)", kind(n), keys)
		}
		return
	}
	fields := fieldsOf(into.Type())
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		switch {
		case name.Kind != yaml.ScalarNode:
			d.report(name.Line, key, "has a key that is no plain word (keys: %s)", keys)
			continue
		case name.ShortTag() == "!!merge":
			d.report(name.Line, key, "the merge key << is not read here (write the keys out)")
			continue
		}
		full := join(key, name.Value)
		if before, twice := first[name.Value]; twice {
			d.report(name.Line, full, "is given twice (first on line %d)", before)
			continue
		}
		first[name.Value] = name.Line
		f, ok := find(fields, name.Value)
		if !ok {
			d.report(name.Line, full, "unknown key (%s)", hint(into.Type(), key, name.Value))
			continue
		}
		d.value(value, into.Field(f.index), full, name.Line)
	}
}

// hint proposes what an unknown key may have been meant for.
func hint(section reflect.Type, prefix, key string) string {
	if full := elsewhere(prefix, key); full != "" {
		if strings.Contains(key, ".") { // the dotted form of --set, written in the file
			parts := strings.Split(full, ".")
			return "nest it: " + strings.Join(parts, ": {") + ": …" + strings.Repeat("}", len(parts)-1)
		}
		return "did you mean " + full + "?"
	}
	if near := problem.Closest(key, keysOf(section)); near != "" {
		return "did you mean " + join(prefix, near) + "?"
	}
	return "allowed: " + strings.Join(keysOf(section), ", ")
}

// list decodes a sequence, or one scalar as a list of one. An empty list is nil.
func (d *decoder) list(n *yaml.Node, into reflect.Value, key string, line int) {
	var items []*yaml.Node
	switch n.Kind {
	case yaml.SequenceNode:
		items = n.Content
	case yaml.ScalarNode:
		items = []*yaml.Node{n}
	default:
		d.report(line, key, "is %s, want a %s", kind(n), typeName(into.Type()))
		return
	}
	out := reflect.Zero(into.Type())
	for i, item := range items {
		item, ok := d.plainNode(item, key, item.Line)
		if !ok {
			return
		}
		element := reflect.New(into.Type().Elem()).Elem()
		if isSection(element.Type()) {
			if e, ok := element.Addr().Interface().(interface{ SetDefaults() }); ok {
				e.SetDefaults()
			}
			d.section(item, element, fmt.Sprintf("%s[%d]", key, i+1), item.Line)
			out = reflect.Append(out, element)
			continue
		}
		if what := setScalar(item, element); what != "" {
			if n.Kind == yaml.SequenceNode {
				what = fmt.Sprintf("value %d: %s", i+1, what)
			}
			d.report(item.Line, key, "%s", what)
			return
		}
		out = reflect.Append(out, element)
	}
	into.Set(out)
}

// setScalar decodes a scalar and returns what is wrong with it, "" for nothing. The kinds are those of Run's fields.
func setScalar(n *yaml.Node, into reflect.Value) (what string) {
	switch into.Kind() {
	case reflect.Int, reflect.Int64:
		var x int64
		if x, what = wholeNumber(n); what == "" {
			if into.OverflowInt(x) {
				return said(n) + " is too large"
			}
			into.SetInt(x)
		}
	case reflect.Float64:
		var x float64
		if x, what = realNumber(n); what == "" {
			into.SetFloat(x)
		}
	case reflect.Bool:
		var x bool
		if x, what = truth(n); what == "" {
			into.SetBool(x)
		}
	default:
		var s string
		if s, what = text(n); what == "" {
			into.SetString(s)
		}
	}
	return what
}
