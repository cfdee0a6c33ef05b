package train

import (
	"errors"

	"prenorm/data/shard"
)

// DiskFull says whether an error is that of a disk without room, or of a quota that is used up.
func DiskFull(err error) bool { return shard.Full(err) }

// saveInWhatIsLeft saves the present state after something else had no room, as a moment later there may be some. What was measured comes first:
// a checkpoint whose steps are not in the measurements would leave a hole in them.
func (l *loop) saveInWhatIsLeft() error {
	if l.metrics.Again() != nil {
		return nil // of which the error that ended the run tells
	}
	return errors.Join(l.save(), l.settle())
}
