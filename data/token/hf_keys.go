package token

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// member is a key of a JSON object and its value.
type member struct {
	key   string
	value json.RawMessage
}

// members lists what an object has, in order; a value that is no object has none. place names it in messages. A key that is given twice is an
// error, as which of both another program takes is not known.
func members(text []byte, place string) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, err
	}
	var list []member
	seen := map[string]bool{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{key: key.(string)} // as the decoder allows no other
		if seen[m.key] {
			return nil, fmt.Errorf("%sthe key %q is given twice", place, shorten(m.key))
		}
		seen[m.key] = true
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	_, err := d.Token()
	return list, err
}

// valueOf returns the value of a key, nil where an object lacks it.
func valueOf(list []member, key string) json.RawMessage {
	for _, m := range list {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// exactKeys refuses keys that a target does not have and those given twice, also inside of its fields. encoding/json takes a key in any case, and of
// two the last.
func exactKeys(text []byte, target reflect.Type, place string) error {
	switch {
	case target.Kind() == reflect.Pointer:
		return exactKeys(text, target.Elem(), place)
	case target.Kind() == reflect.Map:
		_, err := members(text, place)
		return err
	case target.Kind() == reflect.Slice && target.Elem().Kind() == reflect.Struct:
		var list []json.RawMessage
		if json.Unmarshal(text, &list) != nil {
			return nil // decoding it tells what is wrong
		}
		for i, item := range list {
			if err := exactKeys(item, target.Elem(), inside(place, fmt.Sprintf("[%d]", i))); err != nil {
				return err
			}
		}
	case target.Kind() == reflect.Struct:
		list, err := members(text, place)
		if err != nil {
			return err
		}
		for _, m := range list {
			field, near := fieldOf(target, m.key)
			if field == nil {
				if near != "" {
					near = fmt.Sprintf(" (did you mean %q?)", near)
				}
				return fmt.Errorf("%sthe key %q is not supported, as what it changes is not known%s", place, shorten(m.key), near)
			}
			if err := exactKeys(m.value, field, inside(place, "."+m.key)); err != nil {
				return err
			}
		}
	}
	return nil
}

// inside is the place of a part of what place names.
func inside(place, part string) string {
	return strings.TrimPrefix(strings.TrimSuffix(place, ": ")+part, ".") + ": "
}

// fieldOf returns the type of the field that has a key, or nil and the key that it is but for its case.
func fieldOf(target reflect.Type, key string) (field reflect.Type, near string) {
	for i := range target.NumField() {
		switch name := target.Field(i).Tag.Get("json"); {
		case name == key:
			return target.Field(i).Type, ""
		case strings.EqualFold(name, key):
			near = name
		}
	}
	return nil, near
}
