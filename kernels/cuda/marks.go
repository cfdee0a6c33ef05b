//go:build gpu

package cuda

import (
	"fmt"

	"gorgonia.org/cu"
)

// marks are events on the stream of launches. They belong to the device's goroutine.
type marks struct {
	events []cu.Event // made so far; they are used again
	used   int
	failed error
}

// Mark implements [kernels.Marker].
func (b *Backend) Mark() {
	if !b.device.closed.Load() {
		b.device.jobs <- job{mark: true}
	}
}

// Marks implements [kernels.Marker].
func (b *Backend) Marks() (seconds []float64, err error) {
	err = b.device.do(func() (err error) {
		seconds, err = b.device.marks.read()
		if err != nil {
			return b.device.blame(err)
		}
		return nil
	})
	return seconds, err
}

func (m *marks) add(stream cu.Stream) {
	if m.failed != nil {
		return
	}
	if m.used == len(m.events) {
		e, err := cu.MakeEvent(cu.DefaultEvent)
		if err != nil {
			m.failed = fmt.Errorf("cuEventCreate: %w", err)
			return
		}
		m.events = append(m.events, e)
	}
	if err := m.events[m.used].Record(stream); err != nil {
		m.failed = fmt.Errorf("cuEventRecord: %w", err)
		return
	}
	m.used++
}

// read waits for the last mark, which comes after all others.
func (m *marks) read() ([]float64, error) {
	list, err := m.events[:m.used], m.failed
	m.used, m.failed = 0, nil
	if err != nil || len(list) == 0 {
		return nil, err
	}
	if err := list[len(list)-1].Synchronize(); err != nil {
		return nil, fmt.Errorf("cuEventSynchronize: %w", err)
	}
	seconds := make([]float64, len(list))
	for i := range list {
		milliseconds, err := list[0].Elapsed(list[i])
		if err != nil {
			return nil, fmt.Errorf("cuEventElapsedTime: %w", err)
		}
		seconds[i] = milliseconds / 1000
	}
	return seconds, nil
}
