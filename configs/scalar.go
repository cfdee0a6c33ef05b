package configs

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

var (
	decimal = regexp.MustCompile(`^[-+]?[0-9]+(_[0-9]+)*$`)
	real    = regexp.MustCompile(`^[-+]?([0-9]+(_[0-9]+)*\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$`)
)

// wholeNumber reads decimal digits, with _ between groups if wanted, or a real number that is whole, such as 1e3. It returns what is wrong
// otherwise. YAML 1.1's octal (010 is 8) is refused because nobody means it.
func wholeNumber(n *yaml.Node) (int64, string) {
	if what := notPlain(n, "a whole number"); what != "" {
		return 0, what
	}
	if !decimal.MatchString(n.Value) {
		if !real.MatchString(n.Value) {
			return 0, said(n) + " is not a whole number in decimal"
		}
		x, what := realNumber(n)
		if what != "" {
			return 0, what
		}
		if x != math.Trunc(x) || math.Abs(x) > 1<<53 {
			return 0, said(n) + " is not a whole number"
		}
		return int64(x), ""
	}
	digits := strings.ReplaceAll(n.Value, "_", "")
	if bare := strings.TrimLeft(digits, "+-"); len(bare) > 1 && bare[0] == '0' {
		return 0, said(n) + " starts with a 0 (write it without)"
	}
	x, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, said(n) + " does not fit 64 bits"
	}
	return x, ""
}

// realNumber reads a finite decimal number.
func realNumber(n *yaml.Node) (float64, string) {
	if what := notPlain(n, "a number"); what != "" {
		return 0, what
	}
	if !real.MatchString(n.Value) {
		return 0, said(n) + " is not a finite number in decimal"
	}
	x, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, said(n) + " is too large"
	}
	return x, ""
}

// truth reads true or false, and none of YAML 1.1's other spellings.
func truth(n *yaml.Node) (bool, string) {
	if what := notPlain(n, "true or false"); what != "" {
		return false, what
	}
	switch n.Value {
	case "true":
		return true, ""
	case "false":
		return false, ""
	}
	return false, said(n) + " is neither true nor false"
}

// text reads quoted or plain text. A plain number or truth value is refused because YAML readers disagree on its spelling as text.
func text(n *yaml.Node) (string, string) {
	switch n.ShortTag() {
	case "!!str", "!!timestamp":
		return n.Value, ""
	case "!!int", "!!float":
		return "", said(n) + " is a number, want text (write " + strconv.Quote(n.Value) + ")"
	case "!!bool":
		return "", said(n) + " is true/false, want text (write " + strconv.Quote(n.Value) + ")"
	}
	return "", "is " + kind(n) + ", want text"
}

// notPlain returns what is wrong with a node that is not a plain scalar.
func notPlain(n *yaml.Node, want string) string {
	switch {
	case n.Kind != yaml.ScalarNode:
		return "is " + kind(n) + ", want " + want
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return said(n) + " is quoted and so text, want " + want + " (remove the quotes)"
	case n.ShortTag() == "!!str":
		return said(n) + " is text, want " + want
	}
	return ""
}

// kind says what a node is.
func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a section"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!null":
		return "empty"
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true/false"
	}
	return "text"
}

// said quotes a scalar for a message.
func said(n *yaml.Node) string {
	if n.ShortTag() == "!!str" {
		return strconv.Quote(printable(n.Value))
	}
	return printable(n.Value)
}
