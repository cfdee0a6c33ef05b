package configs

import (
	"bytes"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"prenorm/configs/problem"
)

// lineWidth is the longest line, in characters, that a section is written in.
const lineWidth = 120

// YAML writes the run as a run file: every key, in the order of the structs, short sections on one line. Parsing it gives r back.
func (r Run) YAML() []byte {
	root := sectionNode(reflect.ValueOf(r), 0)
	root.Style = 0
	return write(root)
}

// write prints a node. Nodes made by this file are all plain, so that a failure is a mistake of this file.
func write(n *yaml.Node) []byte {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(n), e.Close()); err != nil {
		panic("configs: a plain node cannot be written: " + err.Error())
	}
	return out.Bytes()
}

// sectionNode builds a section that stands depth levels deep; it is in flow style where its line would be short enough.
func sectionNode(section reflect.Value, depth int) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, f := range fieldsOf(section.Type()) {
		value := valueNode(section.Field(f.index), depth+1)
		if isSection(f.typ) && value.Style&yaml.FlowStyle != 0 && len(f.key)+len(flowText(value)) > lineWidth-2*depth {
			unfold(value)
		}
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: f.key}, value)
	}
	if !slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return c.Kind == yaml.MappingNode && c.Style&yaml.FlowStyle == 0 }) {
		n.Style = yaml.FlowStyle
	}
	return n
}

// unfold gives a section a line for each key.
func unfold(section *yaml.Node) { section.Style &^= yaml.FlowStyle }

func valueNode(v reflect.Value, depth int) *yaml.Node {
	if v.Kind() == reflect.Struct {
		return sectionNode(v, depth)
	}
	if v.Kind() != reflect.Slice {
		return scalarNode(v)
	}
	if v.Len() == 1 && v.Type().Elem().Kind() != reflect.String && !isSection(v.Type().Elem()) {
		return scalarNode(v.Index(0))
	}
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
	for i := range v.Len() {
		if isSection(v.Type().Elem()) {
			section := sectionNode(v.Index(i), depth+1)
			section.Style = yaml.FlowStyle
			n.Content = append(n.Content, section)
			continue
		}
		n.Content = append(n.Content, scalarNode(v.Index(i)))
	}
	return n
}

func scalarNode(v reflect.Value) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode}
	switch v.Kind() {
	case reflect.Bool:
		n.Value = strconv.FormatBool(v.Bool())
	case reflect.Int, reflect.Int64:
		n.Value = strconv.FormatInt(v.Int(), 10)
	case reflect.Float64:
		n.Value = problem.Number(v.Float())
	default:
		n.Tag, n.Value = "!!str", strings.ToValidUTF8(v.String(), "\uFFFD") // YAML holds no other bytes; no run file does either
		if !plainWord(n.Value) {
			n.Style = yaml.DoubleQuotedStyle
		}
	}
	return n
}

var word = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

// plainWord reports whether every YAML reader takes s for text without quotes.
func plainWord(s string) bool {
	special := []string{"true", "false", "yes", "no", "on", "off", "y", "n", "null"}
	return word.MatchString(s) && !slices.Contains(special, strings.ToLower(s))
}

// flowText writes a value on one line.
func flowText(n *yaml.Node) string {
	flow := *n
	if flow.Kind != yaml.ScalarNode {
		flow.Style = yaml.FlowStyle
	}
	return strings.TrimSuffix(string(write(&flow)), "\n")
}
