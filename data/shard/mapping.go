package shard

import (
	"fmt"
	"sync"

	"github.com/edsrzf/mmap-go"
)

// mapping is a file in memory that may be closed while others read it.
type mapping struct {
	name   string
	mutex  sync.RWMutex // held for writing by close only
	bytes  []byte       // what is read of the file; nil once closed
	mapped mmap.MMap    // nil for a file that was in memory
}

func (m *mapping) close() error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.bytes = nil
	if m.mapped == nil {
		return nil
	}
	if err := m.mapped.Unmap(); err != nil {
		return fmt.Errorf("token shard %s: %w", m.name, err)
	}
	return nil
}
