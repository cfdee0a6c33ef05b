package configs

import (
	"reflect"
	"slices"
	"strings"
	"sync"
)

// A field is one key of a section.
type field struct {
	key   string
	index int // in the struct
	typ   reflect.Type
}

// fieldsOf returns the keys of a section in the order of the struct, which is the order they are written in.
func fieldsOf(section reflect.Type) []field {
	fields := make([]field, section.NumField())
	for i := range fields {
		f := section.Field(i)
		fields[i] = field{f.Tag.Get("yaml"), i, f.Type}
	}
	return fields
}

func find(fields []field, key string) (field, bool) {
	i := slices.IndexFunc(fields, func(f field) bool { return f.key == key })
	if i < 0 {
		return field{}, false
	}
	return fields[i], true
}

func keysOf(section reflect.Type) []string {
	var keys []string
	for _, f := range fieldsOf(section) {
		keys = append(keys, f.key)
	}
	return keys
}

func isSection(t reflect.Type) bool { return t.Kind() == reflect.Struct }

// typeName says in the words of messages and of the key list what a key takes.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return "whole number"
	case reflect.Float64:
		return "number"
	case reflect.Bool:
		return "true/false"
	case reflect.Slice:
		return "list of " + typeName(t.Elem()) + "s"
	case reflect.Struct:
		return "section"
	}
	return "text"
}

func join(section, key string) string {
	if section == "" {
		return key
	}
	return section + "." + key
}

// A leaf is a key that holds a value, with its full name.
type leaf struct {
	key   string
	value reflect.Value
}

// leavesOf lists every value below section in the order of the structs.
func leavesOf(section reflect.Value, prefix string) []leaf {
	var out []leaf
	for _, f := range fieldsOf(section.Type()) {
		value, key := section.Field(f.index), join(prefix, f.key)
		if isSection(f.typ) {
			out = append(out, leavesOf(value, key)...)
		} else {
			out = append(out, leaf{key, value})
		}
	}
	return out
}

// allKeys lists every leaf's full name.
var allKeys = sync.OnceValue(func() []string {
	var keys []string
	for _, l := range leavesOf(reflect.ValueOf(Run{}), "") {
		keys = append(keys, l.key)
	}
	return keys
})

// allNames lists every leaf's and every section's full name.
var allNames = sync.OnceValue(func() []string {
	return slices.Concat(allKeys(), allSections(reflect.TypeFor[Run](), ""))
})

// allSections lists every section's full name.
func allSections(section reflect.Type, prefix string) []string {
	var keys []string
	for _, f := range fieldsOf(section) {
		if isSection(f.typ) {
			key := join(prefix, f.key)
			keys = append(append(keys, key), allSections(f.typ, key)...)
		}
	}
	return keys
}

// elsewhere returns the one key or section of the run that is called key, those of the same top-level section first, or "" for none or
// several.
func elsewhere(section, key string) string {
	top, _, _ := strings.Cut(section, ".")
	var near, far []string
	for _, full := range allNames() {
		if full != key && !strings.HasSuffix(full, "."+key) {
			continue
		}
		if top != "" && strings.HasPrefix(full, top+".") {
			near = append(near, full)
		} else {
			far = append(far, full)
		}
	}
	switch {
	case len(near) == 1:
		return near[0]
	case len(near) == 0 && len(far) == 1:
		return far[0]
	}
	return ""
}
