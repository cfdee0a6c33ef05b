package kernels

import (
	"errors"
	"fmt"
	"time"
)

// ErrUnsuitable is in the error of opening a backend whose device is there and cannot run it.
var ErrUnsuitable = errors.New("the device is not suitable")

// ErrNoDriver is in the error of opening a backend whose device's driver is not installed.
var ErrNoDriver = errors.New("no NVIDIA driver")

// OutOfMemory is the error of [Backend.NewArena] where the device has less memory than is asked for.
type OutOfMemory struct {
	Device      string
	Wanted      int64 // bytes of the arena
	Held        int64 // by the backend's arenas at that time
	Free, Total int64 // of the device
	Precision   Precision
}

func (e *OutOfMemory) Error() string {
	narrower := "--set precision=bf16, "
	if e.Precision == PrecisionBF16 {
		narrower = ""
	}
	return fmt.Sprintf("out of memory on %s: %d bytes wanted, %d bytes free of %d, %d bytes taken before (lower train.batch and raise train.accumulate, "+
		"lower model.context or the model's sizes, %sor stop what else uses the GPU)", e.Device, e.Wanted, e.Free, e.Total, e.Held, narrower)
}

// Fact is one thing that a backend found out about its device.
type Fact struct {
	Name, Value string
	Remedy      string // where something is amiss, "" where nothing is
}

// Describer is implemented by backends that can tell of their device and its libraries.
type Describer interface{ Describe() ([]Fact, error) }

// Marker notes when the device gets to places in its queue of launches.
type Marker interface {
	// Mark puts a mark behind the launches and copies so far. It waits for nothing.
	Mark()
	// Marks waits for the marks since it was called last, and returns when the device passed each, in seconds after the first.
	Marks() ([]float64, error)
}

// MarkerOf is the backend's own marker where it has one. Otherwise it is the clock of the host, for backends whose launches have ended when
// they return.
func MarkerOf(be Backend) Marker {
	if m, ok := be.(Marker); ok {
		return m
	}
	return &hostMarker{}
}

// hostMarker reads the clock.
type hostMarker struct{ at []time.Time }

func (m *hostMarker) Mark() { m.at = append(m.at, time.Now()) }

func (m *hostMarker) Marks() ([]float64, error) {
	seconds := make([]float64, len(m.at))
	for i, t := range m.at {
		seconds[i] = t.Sub(m.at[0]).Seconds()
	}
	m.at = m.at[:0]
	return seconds, nil
}

// Prober is implemented by backends that can measure what their hardware does at most, whatever their kernels do. Both take about a second.
type Prober interface {
	// PeakFLOPs is the floating-point operations a second of multiply-adds in registers, in float32.
	PeakFLOPs() float64
	// Bandwidth is the bytes a second that are read from memory, and that are read and written by a copy; both 0 where there is no room to probe.
	Bandwidth() (read, copied float64)
}

// Finder is implemented by backends on the host that find the largest of many numbers faster than a loop does.
type Finder interface {
	// Largest is the index of the largest element of x, which has elements, and the first of several. Where one is NaN or infinite, finite is false
	// and the index says nothing.
	Largest(x []float32) (index int, finite bool)
}

// Multiplier is implemented by backends that have more than one way to multiply matrices.
type Multiplier interface {
	// Multiplies says which one was taken: "cublas" or "own".
	Multiplies() string
}

// Remote is implemented by backends whose memory is that of a device.
type Remote interface {
	// Device is the device's name.
	Device() string
}

// OnDevice says whether a backend's memory is that of a device, so that reading a value costs a copy.
func OnDevice(be Backend) bool {
	_, ok := be.(Remote)
	return ok
}

// Limited is a backend whose device has memory of its own.
type Limited interface {
	// FreeMemory is how many bytes of it nobody holds.
	FreeMemory() (free int64, err error)
}
