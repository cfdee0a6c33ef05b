package token

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// What bounds the memory that a pickle can ask for.
const (
	maxPickle      = 4 << 20 // bytes: a table of every character that Unicode has takes fewer
	maxPickleStack = 1 << 14 // values: Python puts 1000 keys and values at a time on it
	memoBytes      = 4       // that each value to be remembered takes at least, on the average
)

// isPickle says whether a file looks like a pickle of Python's, of protocol 2 or later.
func isPickle(file []byte) bool {
	return len(file) > 2 && file[0] == 0x80 && file[1] >= 2 && file[1] <= 5
}

// unpickle reads a pickle of dicts, strings and integers, as map[any]any, string and int64. A pickle is a program; of its instructions those are
// known that make these, and none that could do anything else.
func unpickle(file []byte) (any, error) {
	if len(file) > maxPickle {
		return nil, fmt.Errorf("a pickle of more than %d MiB, which no table of characters has: is this the right file?", maxPickle>>20)
	}
	p := pickle{rest: file, memo: map[uint64]any{}, most: len(file) / memoBytes}
	for {
		at := len(file) - len(p.rest)
		done, err := p.step()
		if err != nil {
			return nil, fmt.Errorf("byte %d: %w", at, err)
		}
		if done {
			break
		}
		if len(p.stack)+len(p.marks) > maxPickleStack {
			return nil, fmt.Errorf("byte %d: more than %d values on the pickle's stack", at, maxPickleStack)
		}
	}
	if len(p.stack) != 1 || len(p.rest) > 0 {
		return nil, fmt.Errorf("byte %d: the pickle ends with %d values on its stack and %d bytes behind it, want one value and nothing", len(file)-len(p.rest), len(p.stack), len(p.rest))
	}
	return p.stack[0], nil
}

type pickle struct {
	rest  []byte
	stack []any
	marks []int // heights of the stack
	memo  map[uint64]any
	most  int // values in memo
}

var errPickle = errors.New("damaged: the pickle ends early, or takes what is not there")

// number takes an unsigned number of so many bytes.
func (p *pickle) number(bytes uint64) (n uint64, err error) {
	text, err := p.take(bytes)
	var wide [8]byte
	copy(wide[:], text)
	return binary.LittleEndian.Uint64(wide[:]), err
}

func (p *pickle) take(bytes uint64) ([]byte, error) {
	if bytes > uint64(len(p.rest)) {
		return nil, errPickle
	}
	text := p.rest[:bytes]
	p.rest = p.rest[bytes:]
	return text, nil
}

// operands are the bytes of the number that follows an instruction.
var operands = map[byte]uint64{0x80: 1, 0x95: 8, 'q': 1, 'r': 4, 'h': 1, 'j': 4, 0x8c: 1, 'X': 4, 'K': 1, 'M': 2, 'J': 4}

// step runs one instruction, named as in Python's pickletools.
func (p *pickle) step() (done bool, err error) {
	code, err := p.take(1)
	if err != nil {
		return false, err
	}
	n, err := p.number(operands[code[0]])
	if err != nil {
		return false, err
	}
	switch code[0] {
	case 0x80, 0x95: // PROTO, FRAME
	case '}': // EMPTY_DICT
		p.stack = append(p.stack, map[any]any{})
	case '(': // MARK
		p.marks = append(p.marks, len(p.stack))
	case 0x94: // MEMOIZE
		return false, p.remember(uint64(len(p.memo)))
	case 'q', 'r': // BINPUT, LONG_BINPUT
		return false, p.remember(n)
	case 'h', 'j': // BINGET, LONG_BINGET
		value, known := p.memo[n]
		if !known {
			return false, errPickle
		}
		p.stack = append(p.stack, value)
	case 0x8c, 'X': // SHORT_BINUNICODE, BINUNICODE
		text, err := p.take(n)
		p.stack = append(p.stack, string(text))
		return false, err
	case 'K', 'M': // BININT1, BININT2
		p.stack = append(p.stack, int64(n))
	case 'J': // BININT
		p.stack = append(p.stack, int64(int32(n)))
	case 's': // SETITEM
		return false, p.set(len(p.stack) - 2)
	case 'u': // SETITEMS
		if len(p.marks) == 0 {
			return false, errPickle
		}
		from := p.marks[len(p.marks)-1]
		p.marks = p.marks[:len(p.marks)-1]
		return false, p.set(from)
	case '.': // STOP
		return true, nil
	default:
		return false, fmt.Errorf("instruction 0x%02x, but a table of characters is made of dicts, strings and integers: others are not read, as a pickle could run anything", code[0])
	}
	return false, nil
}

func (p *pickle) remember(as uint64) error {
	if len(p.stack) == 0 || len(p.memo) >= p.most {
		return errPickle
	}
	p.memo[as] = p.stack[len(p.stack)-1]
	return nil
}

// set puts the keys and values on the stack from a height on into the dict below them.
func (p *pickle) set(from int) error {
	if from < 1 || from > len(p.stack) || (len(p.stack)-from)%2 != 0 {
		return errPickle
	}
	dict, ok := p.stack[from-1].(map[any]any)
	for at := from; ok && at < len(p.stack); at += 2 {
		if _, nested := p.stack[at].(map[any]any); nested {
			return errPickle // no key in Python either
		}
		dict[p.stack[at]] = p.stack[at+1]
	}
	p.stack = p.stack[:from]
	if !ok {
		return errPickle
	}
	return nil
}
