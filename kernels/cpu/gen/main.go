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
	"strings"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/mmcloughlin/avo/reg"
)

// files are the names of what is written, without endings, and what writes their functions.
var files = []struct {
	name string
	fill func(a *assembler)
}{
	{"product_amd64", products},
	{"vector_amd64", vectors},
	{"tanh_amd64", tanhs},
	{"packed_amd64", packedFunctions},
}

// vectors writes everything that goes over rows and elements.
func vectors(a *assembler) {
	for _, l := range levels {
		for _, a.far = range []bool{false, true} {
			for _, c := range curveList {
				a.curve(l, c)
			}
			a.norms(l)
			a.plain(l)
			a.dropout(l)
		}
		a.far = false
		a.addTo(l)
		a.adamw(l)
		a.softmax(l)
		a.finite(l)
		a.converts(l)
	}
	a.fence()
}

// packedFunctions writes what reads stored weights, and keys and values.
func packedFunctions(a *assembler) {
	for _, l := range levels {
		a.packed(l)
		a.halves(l)
	}
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen DIRECTORY")
		os.Exit(2)
	}
	for _, f := range files {
		if err := write(filepath.Join(os.Args[1], f.name), f.fill); err != nil {
			fail(f.name, err)
		}
	}
	if err := writeSums(os.Args[1]); err != nil {
		fail(sumsName, err)
	}
}

func fail(name string, err error) {
	fmt.Fprintf(os.Stderr, "gen: %s: %v\n", name, err)
	os.Exit(1)
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
	if err := pass.Compile.Execute(f); err != nil {
		return err
	}
	if err := checkRegisters(f); err != nil {
		return err
	}
	config := printer.Config{Name: "kernels/cpu/gen", Pkg: "cpu"}
	for ending, p := range map[string]printer.Printer{".s": printer.NewGoAsm(config), ".go": printer.NewStubs(config)} {
		text, err := p.Print(f)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path+ending, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// checkRegisters wants 256-bit functions to use the sixteen vector registers that every processor with AVX2 has.
func checkRegisters(f *ir.File) error {
	for _, fn := range f.Functions() {
		for _, i := range fn.Instructions() {
			for _, r := range i.Registers() {
				if strings.Contains(fn.Name, "256") && r.Kind() == reg.KindVector && (r.(reg.Physical).PhysicalIndex() > 15 || r.Size() > 32) {
					return fmt.Errorf("%s: %s uses %s", fn.Name, i.Opcode, r.Asm())
				}
			}
		}
	}
	return nil
}
