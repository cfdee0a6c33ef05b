// Command gen writes the assembly of package cpu and the Go declarations that go with it:
//
//	go run . DIRECTORY
//
// It is a module of its own, so that its assembler stays out of the program's dependencies.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

// files are the names of what is written, without endings, and what writes their functions.
var files = []struct {
	name string
	fill func(a *assembler)
}{
	{"product_amd64", products},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen DIRECTORY")
		os.Exit(2)
	}
	for _, f := range files {
		if err := write(filepath.Join(os.Args[1], f.name), f.fill); err != nil {
			fmt.Fprintf(os.Stderr, "gen: %s: %v\n", f.name, err)
			os.Exit(1)
		}
	}
}

// write makes one pair of files, path.s and path.go.
func write(path string, fill func(a *assembler)) error {
	a := &assembler{Context: build.NewContext()}
	a.ConstraintExpr("amd64")
	fill(a)
	f, err := a.Result()
	if err != nil {
		return err
	}
	config := printer.Config{Name: "kernels/cpu/gen", Pkg: "cpu"}
	for ending, p := range map[string]printer.Printer{".s": printer.NewGoAsm(config), ".go": printer.NewStubs(config)} {
		w, err := os.Create(path + ending)
		if err != nil {
			return err
		}
		output := pass.Output{Writer: w, Printer: p}
		if err := pass.Concat(pass.Compile, &output).Execute(f); err != nil {
			return err
		}
	}
	return nil
}
