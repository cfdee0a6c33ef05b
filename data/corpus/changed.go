package corpus

import (
	"fmt"
	"os"
)

// Changed is [ErrChanged] of one side with the names of the files whose size or time is another now than when they were found; where none shows it,
// with all that it may be.
func (c *Corpus) Changed(side Side) error {
	files := c.files[side]
	if len(files) == 0 {
		files = c.files[Train]
	}
	var changed []File
	for _, f := range files {
		if f.Path == "" { // standard input is kept
			continue
		}
		if info, err := os.Stat(f.Path); err != nil || info.Size() != f.Size || !info.ModTime().Equal(f.Modified) {
			changed = append(changed, f)
		}
	}
	switch {
	case len(changed) > 0:
		return fmt.Errorf("%s: %w", listed(changed), ErrChanged)
	case len(files) > 1:
		return fmt.Errorf("one of %s: %w", listed(files), ErrChanged)
	}
	return fmt.Errorf("%s: %w", listed(files), ErrChanged)
}
