package safetensors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// entry is a tensor's entry in the header, as read.
type entry struct {
	name       string
	dtype      string
	shape      []int
	begin, end int
}

// decodeHeader reads the header token by token: encoding/json's own structs would let the last of two equal names win in silence.
func decodeHeader(header []byte) ([]entry, map[string]string, error) {
	var entries []entry
	var metadata map[string]string
	d := decoder{json.NewDecoder(bytes.NewReader(header))}
	d.UseNumber()
	err := d.object("header", func(key string) error {
		if key == metadataKey {
			metadata = map[string]string{}
			return d.object(metadataKey, func(key string) (err error) {
				metadata[key], err = d.text(metadataKey, key)
				return err
			})
		}
		e, err := d.entry(key)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", key, err)
		}
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if rest := bytes.TrimRight(header[d.InputOffset():], " "); len(rest) > 0 {
		return nil, nil, fmt.Errorf("header has %d bytes after its end, only spaces may follow", len(rest))
	}
	return entries, metadata, nil
}

type decoder struct{ *json.Decoder }

// token is Token with an end of input told as what it is here.
func (d decoder) token() (json.Token, error) {
	t, err := d.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("header is not JSON: %w", err)
	}
	return t, nil
}

// object reads an object, calling field with each key where its value begins. No key may occur twice.
func (d decoder) object(what string, field func(key string) error) error {
	if err := d.delim(what, '{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.token()
		if err != nil {
			return err
		}
		key, ok := t.(string)
		if !ok {
			return fmt.Errorf("%s: key %v is not a string", what, t)
		}
		if seen[key] {
			return fmt.Errorf("%s: %q occurs twice", what, key)
		}
		seen[key] = true
		if err := field(key); err != nil {
			return err
		}
	}
	return d.delim(what, '}')
}

func (d decoder) delim(what string, want json.Delim) error {
	t, err := d.token()
	if err != nil {
		return err
	}
	if t != want {
		return fmt.Errorf("%s: has %v where %v belongs", what, t, want)
	}
	return nil
}

func (d decoder) text(what, key string) (string, error) {
	t, err := d.token()
	if err != nil {
		return "", err
	}
	s, ok := t.(string)
	if !ok {
		return "", fmt.Errorf("%s: %q is not a string", what, key)
	}
	return s, nil
}

// ints reads an array of numbers from 0 to the largest int.
func (d decoder) ints(key string) ([]int, error) {
	if err := d.delim(key, '['); err != nil {
		return nil, err
	}
	values := []int{}
	for d.More() {
		t, err := d.token()
		if err != nil {
			return nil, err
		}
		number, _ := t.(json.Number)
		n, err := strconv.ParseUint(number.String(), 10, strconv.IntSize-1)
		if err != nil {
			return nil, fmt.Errorf("%s: %v is not a whole number from 0 to %d", key, t, uint64(1)<<(strconv.IntSize-1)-1)
		}
		values = append(values, int(n))
	}
	return values, d.delim(key, ']')
}

func (d decoder) entry(name string) (entry, error) {
	e := entry{name: name}
	found := map[string]bool{}
	err := d.object("entry", func(key string) (err error) {
		found[key] = true
		switch key {
		case "dtype":
			e.dtype, err = d.text("entry", key)
		case "shape":
			e.shape, err = d.ints(key)
		case "data_offsets":
			var offsets []int
			if offsets, err = d.ints(key); err != nil {
				return err
			}
			if len(offsets) != 2 {
				return fmt.Errorf("data_offsets has %d numbers, wants begin and end", len(offsets))
			}
			e.begin, e.end = offsets[0], offsets[1]
		default:
			err = fmt.Errorf("has the unknown key %q", key)
		}
		return err
	})
	if err != nil {
		return entry{}, err
	}
	for _, key := range []string{"dtype", "shape", "data_offsets"} {
		if !found[key] {
			return entry{}, fmt.Errorf("has no %s", key)
		}
	}
	return e, nil
}
