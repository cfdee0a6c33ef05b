package token

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// hfPart is what parts of a tokenizer.json have in common: a type.
type hfPart struct {
	Type string
	raw  json.RawMessage
}

// hfType returns the value of a part's key type, "" where it has none.
func hfType(part []member, key string) (kind string, err error) {
	if value := valueOf(part, "type"); value != nil {
		if err := json.Unmarshal(value, &kind); err != nil {
			return "", fmt.Errorf("%s.type: %w", key, err)
		}
	}
	return kind, nil
}

// flatten returns the parts that a part consists of: those of a sequence, in order, or itself. null has none.
func flatten(key string, part json.RawMessage) ([]hfPart, error) {
	if null(part) {
		return nil, nil
	}
	list, err := members(part, key+": ")
	if err != nil {
		return nil, err
	}
	kind, err := hfType(list, key)
	if err != nil || kind != "Sequence" {
		return []hfPart{{kind, part}}, err
	}
	var parts []hfPart
	for _, name := range []string{"pretokenizers", "processors", "decoders"} {
		var raw []json.RawMessage
		if value := valueOf(list, name); value != nil {
			if err := json.Unmarshal(value, &raw); err != nil {
				return nil, fmt.Errorf("%s.%s: %w", key, name, err)
			}
		}
		for i := range raw {
			place := fmt.Sprintf("%s.%s[%d]", key, name, i)
			inner, err := members(raw[i], place+": ")
			if err != nil {
				return nil, err
			}
			if kind, err = hfType(inner, place); err != nil {
				return nil, err
			}
			parts = append(parts, hfPart{kind, raw[i]})
		}
	}
	return parts, nil
}

// onlyTypes refuses parts of other types, and where there must be a part, its absence.
func onlyTypes(key string, part json.RawMessage, absent bool, types ...string) error {
	parts, err := flatten(key, part)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if !slices.Contains(types, p.Type) {
			return fmt.Errorf("%s: type %q is not supported (want %s)", key, shorten(p.Type), strings.Join(types, " or "))
		}
	}
	if len(parts) == 0 && !absent {
		return fmt.Errorf("%s: null is not supported (want %s)", key, strings.Join(types, " or "))
	}
	return nil
}

type hfByteLevel struct {
	Type        string `json:"type"`
	PrefixSpace bool   `json:"add_prefix_space"`
	TrimOffsets bool   `json:"trim_offsets"`
	UseRegex    *bool  `json:"use_regex"`
}

type hfSplit struct {
	Type     string            `json:"type"`
	Pattern  map[string]string `json:"pattern"`
	Behavior string            `json:"behavior"`
	Invert   bool              `json:"invert"`
}

// hfPattern returns the name of the pattern that a pre-tokenizer splits by: ByteLevel with its own, or Split with a known one and then
// ByteLevel without.
func hfPattern(part json.RawMessage) (string, error) {
	const key = "pre_tokenizer"
	parts, err := flatten(key, part)
	if err != nil {
		return "", err
	}
	var types []string
	for _, p := range parts {
		types = append(types, p.Type)
	}
	found := strings.Join(types, ", ")
	if found != "ByteLevel" && found != "Split, ByteLevel" {
		return "", fmt.Errorf("%s: %s is not supported (want ByteLevel, or Split and then ByteLevel)", key, shorten("["+found+"]"))
	}
	var level hfByteLevel
	if err := decodeKnown(parts[len(parts)-1].raw, &level, key+": "); err != nil {
		return "", err
	}
	if level.PrefixSpace {
		return "", fmt.Errorf("%s: ByteLevel with add_prefix_space is not supported: it changes the text, which then does not come back", key)
	}
	own := level.UseRegex == nil || *level.UseRegex
	if own != (len(parts) == 1) {
		return "", fmt.Errorf("%s: ByteLevel with use_regex %v is not supported in %s", key, own, "["+found+"]")
	}
	if own {
		return patterns[0].name, nil
	}
	return knownSplit(parts[0].raw)
}

func knownSplit(part json.RawMessage) (string, error) {
	const key = "pre_tokenizer: Split"
	var s hfSplit
	if err := decodeKnown(part, &s, key+": "); err != nil {
		return "", err
	}
	// The patterns match all of any text, so that what is between matches is empty.
	if !(s.Behavior == "Isolated" && !s.Invert || s.Behavior == "Removed" && s.Invert) {
		return "", fmt.Errorf("%s: behavior %q with invert %v is not supported (want Isolated)", key, shorten(s.Behavior), s.Invert)
	}
	for _, p := range patterns {
		if s.Pattern["Regex"] == p.regex {
			return p.name, nil
		}
	}
	form, pattern := "Regex", s.Pattern["Regex"]
	if len(s.Pattern) != 1 || pattern == "" {
		form, pattern = "String", s.Pattern["String"]
	}
	return "", fmt.Errorf("%s: pattern.%s: %q is not supported (want the regular expression of %s)", key, form, pattern, strings.Join(Patterns(), ", "))
}
