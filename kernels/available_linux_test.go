package kernels

import (
	"testing"
	"testing/fstest"
)

// system is a root folder with the given files.
func system(files map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for path, text := range files {
		root[path] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

// TestLimited wants the least limit of a process's control groups, wherever in the tree and whichever version it is.
func TestLimited(t *testing.T) {
	const total = 16_000_000
	for name, c := range map[string]struct {
		files map[string]string
		want  uint64
	}{
		"no groups": {nil, total},
		"own":       {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "3000\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 3000},
		"above":     {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "5000\n", "sys/fs/cgroup/a/memory.max": "4000\n", "sys/fs/cgroup/memory.max": "6000\n"}, 4000},
		"top":       {map[string]string{"proc/self/cgroup": "0::/kubepods/x\n", "sys/fs/cgroup/memory.max": "2000\n"}, 2000},
		"first":     {map[string]string{"proc/self/cgroup": "5:cpu,memory:/docker/1\n", "sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes": "7000\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 7000},
		"roomy":     {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "30000000000\n"}, total},
		"others":    {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/b/memory.max": "5\n"}, total},
		"odd":       {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "x\n"}, total},
	} {
		if got := limitedIn(system(c.files), total); got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
}

// TestAvailable holds what is left against systems with and without control groups of both versions.
func TestAvailable(t *testing.T) {
	const info = "MemTotal:       16000 kB\nMemFree:  100 kB\nMemAvailable:    8000 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  uint64
	}{
		"not known": {map[string]string{"proc/meminfo": "MemTotal: 5 kB\n"}, 0},
		"no number": {map[string]string{"proc/meminfo": "MemAvailable: lots kB\n"}, 0},
		"nothing":   {map[string]string{"proc/meminfo": "MemAvailable: 0 kB\n"}, 1},
		"no groups": {map[string]string{"proc/meminfo": info}, 8000 << 10},
		"second": {map[string]string{"proc/meminfo": info, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/b/memory.current": "5\n",
			"sys/fs/cgroup/a/memory.max": "5000000\n", "sys/fs/cgroup/a/memory.current": "4000000\n", "sys/fs/cgroup/a/memory.stat": "anon 1\ninactive_file 600000\n"}, 1600000},
		"top alone": {map[string]string{"proc/meminfo": info, "proc/self/cgroup": "0::/kubepods/x\n", "sys/fs/cgroup/memory.max": "3000000\n",
			"sys/fs/cgroup/memory.current": "1000000\n"}, 2000000},
		"over": {map[string]string{"proc/meminfo": info, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "3\n", "sys/fs/cgroup/memory.current": "4\n"}, 1},
		"first": {map[string]string{"proc/meminfo": info, "proc/self/cgroup": "5:cpu,memory:/docker/1\n1:name=systemd:/x\n",
			"sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes": "7000000\n", "sys/fs/cgroup/memory/docker/1/memory.usage_in_bytes": "6000000\n",
			"sys/fs/cgroup/memory/docker/1/memory.stat": "inactive_file 1\ntotal_inactive_file 500000\n"}, 1500000},
		"roomy": {map[string]string{"proc/meminfo": info, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "30000000000\n", "sys/fs/cgroup/memory.current": "4\n"}, 8000 << 10},
		"odd":   {map[string]string{"proc/meminfo": info, "proc/self/cgroup": "0::/../..\nnonsense\n", "sys/fs/cgroup/memory.max": "x\n"}, 8000 << 10},
	} {
		if got := availableIn(system(c.files)); got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
	if here, all := AvailableMemory(), HostMemory(); here == 0 || all != 0 && here > all {
		t.Errorf("%d bytes of %d available here", here, all)
	}
}
