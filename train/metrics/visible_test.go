package metrics

import "testing"

// TestVisible wants a terminal to be given nothing that it would obey.
func TestVisible(t *testing.T) {
	for text, want := range map[string]string{"a\tb\n\u00e9\u4e16": "a\tb\n\u00e9\u4e16", "\x1b[31mred\r": "\ufffd[31mred", "\xffx\xe4\xb8": "\ufffdx\ufffd\ufffd", "\u009b": "\ufffd"} {
		if got := string(Visible([]byte(text))); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
