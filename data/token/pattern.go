package token

import (
	"fmt"
	"strings"
)

// pretokens is a way to split text into pre-tokens that has a hand-written splitter.
type pretokens struct {
	name  string // in this program's files and flags
	split splitter
	// regex is the pattern for the engines that read tokenizer.json, where $ is the end of a line and {1,3}+ more than three: it says \z, and
	// leaves out what makes a repetition possessive, which changes no match here.
	regex string
}

const (
	restOfLlama3 = ` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	headOfLlama3 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|`
)

// patterns are all that there are. The first is the default.
var patterns = []pretokens{
	{"gpt2", splitGPT2, `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`},
	{"cl100k", splitCL100K, `'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+\z|\s*[\r\n]|\s+(?!\S)|\s`},
	{"llama3", splitLlama3, headOfLlama3 + `\p{N}{1,3}|` + restOfLlama3},
	{"qwen2", splitQwen2, headOfLlama3 + `\p{N}|` + restOfLlama3},
	{"o200k", splitO200K, `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`},
}

// Patterns returns the names of all patterns.
func Patterns() []string {
	var names []string
	for _, p := range patterns {
		names = append(names, p.name)
	}
	return names
}

func patternNamed(name string) (pretokens, error) {
	for _, p := range patterns {
		if p.name == name {
			return p, nil
		}
	}
	return pretokens{}, fmt.Errorf("pattern %q is not known (allowed: %s)", shorten(name), strings.Join(Patterns(), ", "))
}
