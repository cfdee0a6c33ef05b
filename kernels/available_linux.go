package kernels

import (
	"bufio"
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
)

// AvailableMemory is how many bytes of the host's memory a process can still take without swapping: what the system counts as available, or
// what the limits of this process's control groups leave, where that is less; 0 = not known.
func AvailableMemory() uint64 { return availableIn(os.DirFS("/")) }

// availableIn is AvailableMemory under a root folder.
func availableIn(root fs.FS) uint64 {
	available, ok := meminfo(root)
	if !ok {
		return 0
	}
	for _, g := range groupsOf(root) {
		if left, limited := g.left(root); limited {
			available = min(available, left)
		}
	}
	return max(available, 1) // nothing left is not the same as not known
}

// meminfo reads MemAvailable.
func meminfo(root fs.FS) (uint64, bool) {
	kib, ok := field(root, "proc/meminfo", "MemAvailable:")
	return kib << 10, ok && kib < math.MaxUint64>>10
}

// field reads the number behind a word that a line of a file begins with.
func field(root fs.FS, file, word string) (uint64, bool) {
	f, err := root.Open(file)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if words := strings.Fields(lines.Text()); len(words) >= 2 && words[0] == word {
			n, err := strconv.ParseUint(words[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// group is a control group's folder and the names of its files, which differ between the versions of control groups.
type group struct {
	dir                 string
	limit, usage, cache string
}

// groupsOf are the control groups of this process that may limit its memory, with all above them. In a container the path that the system
// tells may be that of the host, so that only the top is there.
func groupsOf(root fs.FS) []group {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return nil
	}
	var groups []group
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // number:controllers:path
		if len(parts) != 3 {
			continue
		}
		g, top := group{limit: "memory.max", usage: "memory.current", cache: "inactive_file"}, "sys/fs/cgroup"
		switch {
		case parts[0] == "0" && parts[1] == "":
		case strings.Contains(","+parts[1]+",", ",memory,"):
			g, top = group{limit: "memory.limit_in_bytes", usage: "memory.usage_in_bytes", cache: "total_inactive_file"}, "sys/fs/cgroup/memory"
		default:
			continue
		}
		for below := path.Clean("/" + parts[2]); ; below = path.Dir(below) {
			g.dir = path.Join(top, below)
			groups = append(groups, g)
			if below == "/" {
				break
			}
		}
	}
	return groups
}

// number reads one of the group's files, which hold "max" where there is no limit.
func (g group) number(root fs.FS, name string) (uint64, bool) {
	text, err := fs.ReadFile(root, path.Join(g.dir, name))
	n, bad := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil && bad == nil
}

// left is what the group's limit leaves. Pages of files that were not used lately count as free: the system gives them up first.
func (g group) left(root fs.FS) (bytes uint64, limited bool) {
	limit, limited := g.number(root, g.limit)
	usage, known := g.number(root, g.usage)
	if !limited || !known {
		return 0, false
	}
	cache, _ := field(root, path.Join(g.dir, "memory.stat"), g.cache)
	usage -= min(usage, cache)
	return limit - min(limit, usage), true
}

// limitedIn is the least of a machine's memory and the limits of this process's control groups, under a root folder.
func limitedIn(root fs.FS, total uint64) uint64 {
	for _, g := range groupsOf(root) {
		if limit, limited := g.number(root, g.limit); limited {
			total = min(total, limit)
		}
	}
	return total
}
