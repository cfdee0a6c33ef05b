package profile

import (
	"encoding/json"
	"fmt"
	"io"

	"prenorm/kernels"
)

// event is one entry of Chrome's trace-event format, which Perfetto reads too. Times are in microseconds.
type event struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"` // X: with a duration; M: the name of a track
	Start float64        `json:"ts"`
	Took  float64        `json:"dur,omitempty"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Args  map[string]any `json:"args,omitempty"`
}

// The tracks, in the order in which they are shown.
const (
	hostTrack = 1 + iota
	copyTrack
	deviceTrack
)

// WriteChrome writes the recording. title names the process: what was run on what.
func (r *Recorder) WriteChrome(w io.Writer, title string) error {
	events := []event{named("process_name", 0, title)}
	for track, name := range []string{hostTrack: "host", copyTrack: "uploads and downloads, as the host sees them", deviceTrack: "kernels on " + r.be.Name()} {
		if name != "" {
			events = append(events, named("thread_name", track, name), sorted(track))
		}
	}
	for _, s := range r.Spans {
		events = append(events, complete(s.Name, hostTrack, s.Begin, s.End, nil))
	}
	for _, c := range r.Copies {
		events = append(events, complete(c.Kernel, copyTrack, c.Begin, c.End, map[string]any{"path": c.Path, "bytes": c.Bytes}))
	}
	for _, l := range r.Launches {
		events = append(events, complete(l.Kernel, deviceTrack, l.Begin, l.End, l.arguments()))
	}
	return json.NewEncoder(w).Encode(map[string]any{"traceEvents": events, "displayTimeUnit": "ms"})
}

func named(what string, track int, name string) event {
	return event{Name: what, Phase: "M", PID: 1, TID: track, Args: map[string]any{"name": name}}
}

func sorted(track int) event {
	return event{Name: "thread_sort_index", Phase: "M", PID: 1, TID: track, Args: map[string]any{"sort_index": track}}
}

func complete(name string, track int, begin, end float64, args map[string]any) event {
	return event{Name: name, Phase: "X", Start: 1e6 * begin, Took: 1e6 * (end - begin), PID: 1, TID: track, Args: args}
}

// arguments are what is shown of a launch that is selected.
func (l Launch) arguments() map[string]any {
	args := map[string]any{
		"path": l.Path, "call": fmt.Sprintf("%+v", l.Call), "out": shapes(l.Args.Out), "in": shapes(l.Args.In), "flops": l.FLOPs, "bytes": l.Bytes,
	}
	if s := l.Seconds(); s > 0 {
		args["GFLOP/s"], args["GB/s"] = float64(l.FLOPs)/s/1e9, float64(l.Bytes)/s/1e9
	}
	return args
}

func shapes(views []kernels.View) []string {
	list := make([]string, len(views))
	for i, v := range views {
		list[i] = v.String()
	}
	return list
}
