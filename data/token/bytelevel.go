package token

import "unicode/utf8"

// byteLevel is the character that stands for each byte in GPT-2's files and in tokenizer.json (Radford et al. 2019, bytes_to_unicode in
// encoder.py): printable ones of Latin-1 stand for themselves, the others for U+0100 and on, in their order.
var byteLevel = func() (chars [256]rune) {
	next := rune(0x100)
	for value := range rune(256) {
		if value >= '!' && value <= '~' || value >= 0xA1 && value <= 0xAC || value >= 0xAE {
			chars[value] = value
		} else {
			chars[value] = next
			next++
		}
	}
	return chars
}()

// byteOf is the inverse of byteLevel.
var byteOf = func() map[rune]byte {
	bytes := make(map[rune]byte, 256)
	for value, char := range byteLevel {
		bytes[char] = byte(value)
	}
	return bytes
}()

// levelled writes bytes as characters.
func levelled(token []byte) string {
	var text []byte
	for _, value := range token {
		text = utf8.AppendRune(text, byteLevel[value])
	}
	return string(text)
}

// unlevelled reads bytes from characters; ok is false where one of them stands for no byte.
func unlevelled(text string) (token []byte, ok bool) {
	for _, char := range text {
		value, known := byteOf[char]
		if !known {
			return nil, false
		}
		token = append(token, value)
	}
	return token, true
}

// gpt2Bytes gives every byte its id in GPT-2's order, that of the characters that stand for the bytes.
func gpt2Bytes() (byteID [256]int32) {
	for value, char := range byteLevel {
		for _, other := range byteLevel {
			if other < char {
				byteID[value]++
			}
		}
	}
	return byteID
}
