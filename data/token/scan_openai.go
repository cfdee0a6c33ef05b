package token

import (
	"bytes"
	"unicode/utf8"
)

// splitCL100K is the first match of cl100k_base's pattern (OpenAI's tiktoken, file openai_public.py):
//
//	'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s
func splitCL100K(text []byte) int {
	if n := foldedContraction(text, 0); n > 0 {
		return n
	}
	if n := prefixedLetters(text); n > 0 {
		return n
	}
	if end := run(text, 0, white); end == len(text) {
		return end // \s++$, which a text without white space at its start does not reach: its run is empty
	}
	return splitRest(text, 3, false)
}

// splitLlama3 is the first match of the pattern that Llama 3 made of cl100k_base's (its tokenizer.json), which differs at the end of a text
// alone, where it takes white space behind the last line break by itself:
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func splitLlama3(text []byte) int { return splitLikeLlama3(text, 3) }

// splitQwen2 is that of Qwen2, where every number is by itself: \p{N} in place of \p{N}{1,3}.
func splitQwen2(text []byte) int { return splitLikeLlama3(text, 1) }

func splitLikeLlama3(text []byte, digits int) int {
	if n := foldedContraction(text, 0); n > 0 {
		return n
	}
	if n := prefixedLetters(text); n > 0 {
		return n
	}
	return splitRest(text, digits, false)
}

// prefixedLetters matches [^\r\n\p{L}\p{N}]?\p{L}+. 0 means no match.
func prefixedLetters(text []byte) int {
	c, n := classify(text)
	if c&letter == 0 {
		if c&(line|number) != 0 {
			return 0
		}
		end := run(text, n, letter)
		if end == n {
			return 0
		}
		return end
	}
	return run(text, n, letter)
}

// splitO200K is the first match of o200k_base's pattern (OpenAI's tiktoken, file openai_public.py):
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//	\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
func splitO200K(text []byte) int {
	end := casedWord(text)
	if end == 0 {
		return splitRest(text, 3, true)
	}
	return end + foldedContraction(text, end)
}

const (
	heads = upper | caseless | mark // [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
	tails = lower | caseless | mark // [\p{Ll}\p{Lm}\p{Lo}\p{M}]
)

// casedWord matches the first two alternatives without their contraction: [^\r\n\p{L}\p{N}]?, then heads* tails+, or else heads+. 0 means no
// match. A mark is both in the first set and in the others.
func casedWord(text []byte) int {
	c, n := classify(text)
	switch {
	case c&(line|number) != 0:
		return 0
	case c&letter != 0:
		return headsTails(text, 0, true)
	}
	if end := headsTails(text, n, c != mark); end > 0 {
		return end
	}
	if c != mark {
		return 0
	}
	// The mark is a head or tail itself: alone it matches tails+, where the heads behind it, without a tail, do not.
	return n
}

// headsTails matches heads* tails+ at text[at:], and where there is no such match and upper is set, heads+.
func headsTails(text []byte, at int, upper bool) int {
	head := run(text, at, heads)
	if end := run(text, head, tails); end > head {
		return end
	}
	// No tail follows the heads, so they give back their last ones until one that is a tail too comes free: it is all that tails+ takes.
	for end := head; end > at; {
		r, n := utf8.DecodeLastRune(text[at:end])
		if classes[r]&tails != 0 {
			return end
		}
		end -= n
	}
	if upper && head > at {
		return head
	}
	return 0
}

// splitRest matches \p{N}{1,digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+, with slash [\r\n/]* in it; text does not begin with a
// letter.
func splitRest(text []byte, digits int, slash bool) int {
	start := 0
	if text[0] == ' ' && len(text) > 1 {
		start = 1
	}
	c, n := classify(text[start:])
	switch {
	case c&(other|mark) != 0:
		end := run(text, start+n, other|mark)
		for end < len(text) && (text[end] == '\r' || text[end] == '\n' || slash && text[end] == '/') {
			end++
		}
		return end
	case c == number && start == 0:
		return someNumbers(text, digits)
	}
	end := run(text, 0, white)
	if last := bytes.LastIndexAny(text[:end], "\r\n"); last >= 0 {
		return last + 1
	}
	return spaces(text, end)
}

// someNumbers matches \p{N}{1,most} on text that begins with a number.
func someNumbers(text []byte, most int) int {
	end := 0
	for range most {
		if end == len(text) {
			break
		}
		c, n := classify(text[end:])
		if c != number {
			break
		}
		end += n
	}
	return end
}

// foldedContraction matches (?i:'s|'t|'re|'ve|'m|'ll|'d) at text[at:] and returns its length, 0 for no match. Ignoring case, U+017F is an s.
func foldedContraction(text []byte, at int) int {
	text = text[at:]
	if len(text) < 2 || text[0] != '\'' {
		return 0
	}
	switch text[1] | 0x20 {
	case 's', 't', 'm', 'd':
		return 2
	}
	if len(text) < 3 {
		return 0
	}
	if text[1] == 0xC5 && text[2] == 0xBF { // U+017F in UTF-8
		return 3
	}
	switch string([]byte{text[1] | 0x20, text[2] | 0x20}) {
	case "re", "ve", "ll":
		return 3
	}
	return 0
}
