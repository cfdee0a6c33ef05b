package corpus

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// expand replaces $NAME and ${NAME} by environment variables. GOROOT is known even where the environment lacks it.
func (r *resolver) expand(key, pattern string) (string, error) {
	var missing string
	path := os.Expand(pattern, func(name string) string {
		if value, ok := os.LookupEnv(name); ok && value != "" {
			return value
		}
		if name == "GOROOT" {
			if root := goRoot(); root != "" {
				return root
			}
		}
		missing = name
		return ""
	})
	switch {
	case missing == "GOROOT":
		return "", fmt.Errorf("%s: %s: the folder of the Go installation is not known: put the go command on the PATH, set GOROOT, or name another text %s", key, pattern, r.remedy(key))
	case missing != "":
		return "", fmt.Errorf("%s: %s: the environment has no %s: set it, or name another text %s", key, pattern, missing, r.remedy(key))
	}
	return path, nil
}

// goRoot is the folder of the Go installation: what the go command on the PATH says, else where this program was compiled.
func goRoot() string {
	if out, err := exec.Command("go", "env", "GOROOT").Output(); err == nil {
		if root := strings.TrimSpace(string(out)); root != "" {
			return root
		}
	}
	//lint:ignore SA1019 the better answer, from the go command, was tried first
	return runtime.GOROOT()
}
