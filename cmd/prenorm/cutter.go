package main

import (
	"bytes"
	"strings"
)

// cutter ends a text before the first of some stop texts. It looks at the text byte by byte, so that where the text is cut does not depend
// on the pieces that it comes in.
type cutter struct {
	stops []string
	held  []byte // the start of a stop text, perhaps
}

func newCutter(stops []string) *cutter { return &cutter{stops: stops} }

// write takes the next piece and returns what can be shown, and whether a stop text was found, before which it ends. The result is valid
// until the next call.
func (c *cutter) write(text []byte) (ready []byte, stop bool) {
	for _, b := range text {
		c.held = append(c.held, b)
		if n := c.found(); n > 0 {
			ready = append(ready, c.held[:len(c.held)-n]...)
			c.held = nil
			return ready, true
		}
		keep := c.begun()
		ready = append(ready, c.held[:len(c.held)-keep]...)
		c.held = c.held[len(c.held)-keep:]
	}
	return ready, false
}

// rest is what was held back when the text has ended.
func (c *cutter) rest() []byte { return c.held }

// found is the length of the longest stop text at the end of what is held.
func (c *cutter) found() int {
	n := 0
	for _, s := range c.stops {
		if len(s) > n && bytes.HasSuffix(c.held, []byte(s)) {
			n = len(s)
		}
	}
	return n
}

// begun is the length of the longest end of what is held that a stop text begins with.
func (c *cutter) begun() int {
	for n := len(c.held); n > 0; n-- {
		end := string(c.held[len(c.held)-n:])
		for _, s := range c.stops {
			if strings.HasPrefix(s, end) {
				return n
			}
		}
	}
	return 0
}
