package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestManyKeys wants a line of short keys to take no more memory than one of a long text.
func TestManyKeys(t *testing.T) {
	line := []byte{'{'}
	for i := range 300_000 {
		line = fmt.Appendf(line, `"%x":1,`, i)
	}
	line = append(line, `"text":"x","b":{}}`...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	documents, err := read(t, "a.jsonl", line)
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; err != nil || strings.Join(documents, " ") != "x" || taken > 8*uint64(len(line)) {
		t.Errorf("%q, %v, %d KiB were given for %d", documents, err, taken>>10, len(line)>>10)
	}
	line = bytes.Replace(line, []byte("text"), []byte("body"), 1)
	runtime.ReadMemStats(&before)
	_, err = read(t, "a.jsonl", line)
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; err == nil || lacking(err.Error(), "no field text (there are: 0, 1,") != "" || taken > 8*uint64(len(line)) {
		t.Errorf("%v, %d KiB were given for %d", err, taken>>10, len(line)>>10)
	}
}

// TestBlankLines wants empty lines to cost no memory, nor the time that it takes.
func TestBlankLines(t *testing.T) {
	text := []byte(strings.Repeat("\n", 1<<20) + `{"text":"a"}` + strings.Repeat("\r\n", 1<<19))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	documents, err := read(t, "a.jsonl", text)
	runtime.ReadMemStats(&after)
	if taken := after.Mallocs - before.Mallocs; err != nil || strings.Join(documents, " ") != "a" || taken > 1000 {
		t.Errorf("%q, %v, memory was given %d times", documents, err, taken)
	}
}

// TestOtherSpaceIsNoJSON wants characters that look like space, and are none to JSON, to be an error and not passed over, before and behind an
// object, and alone.
func TestOtherSpaceIsNoJSON(t *testing.T) {
	for _, space := range []string{"\v", "\f", "\u0085", "\u00A0", "\u2028", "\u3000"} {
		for _, line := range []string{space, space + `{"text":"a"}`, `{"text":"a"}` + space} {
			documents, err := read(t, "a.jsonl", []byte("{\"text\":\"b\"}\n"+line+"\n"))
			if err == nil || lacking(err.Error(), "a.jsonl:2: the line is not JSON: ", "mend the line") != "" || len(documents) != 1 {
				t.Errorf("%q: %q, %v", line, documents, err)
			}
		}
	}
}

// TestOtherKeysMayRepeat reads objects in which what is not asked for stands more than once, and any white space.
func TestOtherKeysMayRepeat(t *testing.T) {
	for line, want := range map[string]string{
		`{"text": null }`: "",
		`{"id": 1, "text": "a", "id": 2, "m": {"text": "b"}}`:                          "a",
		"{ \t\"id\" : [ {\"text\":\"}\\\"\"} , [ ] ] ,\"text\"\t: \"a\" \r}":           "a",
		`{"":"\\", "\"text":"b", "text\\":-1.5e3, "te\u0078t":"a", "t":true}`:          "a",
		`{"\u0074\u0065\u0078\u0074":"a"}`:                                             "a",
		`{"texts":"b","text":"","\u0074\u0065\u0078\u0074\u0074":"c"}`:                 "",
		`{"id":{"text":"b","x":[1,{"text":"c"}]},"n":null,"text":"a","z":false,"y":0}`: "a",
	} {
		documents, err := read(t, "a.jsonl", []byte(line))
		if got := strings.Join(documents, " "); got != want || err != nil {
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
	tree(t, map[string]string{"a.jsonl": "\xFF {\"text\":\"a\"}", "a.csv": "id,text,id\n1,a,2\n"})
	for name, want := range map[string]string{"a.jsonl": "[a.jsonl:1|a]", "a.csv": "[a.csv:2|a]"} {
		cfg := config(name)
		cfg.Invalid = "drop"
		if got, err := all(cfg, nil); err != nil || got != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// FuzzMembers holds the members of an object to what encoding/json finds in it, which takes the last of those with one key.
func FuzzMembers(f *testing.F) {
	f.Add([]byte(`{"a": [1, {"b": "}"}], "\"": "\\", "c" : {} , "d":-1e3,"a":null}`))
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"a":5 ,"b":null }`))
	f.Add([]byte("{\"\":true\n}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		text = bytes.TrimSpace(text)
		var want map[string]json.RawMessage
		if json.Unmarshal(text, &want) != nil || want == nil {
			return
		}
		got := map[string]json.RawMessage{}
		members(text, func(key, value []byte) bool {
			got[unquoted(key)] = value
			return true
		})
		if len(got) != len(want) {
			t.Fatalf("%q: %d keys, want %d", text, len(got), len(want))
		}
		for key, value := range want {
			if !bytes.Equal(got[key], value) {
				t.Fatalf("%q: %q is %q, want %q", text, key, got[key], value)
			}
		}
	})
}
