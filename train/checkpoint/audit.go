package checkpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"prenorm/train/safetensors"
)

// Audited is what [Audit] saw of a checkpoint.
type Audited struct {
	Dir   string
	Step  int64 // 0 where the manifest cannot be read
	Files int
	Bytes int64 // of the files, the manifest apart
}

// Audit reads every file of a checkpoint and holds it against its size and checksum. The error says what is wrong with the first that is not
// whole.
func Audit(fsys FS, dir string) (Audited, error) {
	a := Audited{Dir: dir}
	f, err := verify(fsys, dir)
	if err != nil {
		return a, err
	}
	a.Step, a.Files = f.manifest.Step, len(f.manifest.Files)
	for _, e := range f.manifest.Files {
		a.Bytes += e.Size
	}
	return a, nil
}

// TensorDifference is how a tensor differs between two checkpoints, a and b.
type TensorDifference struct {
	Name     string
	Only     string  // "a" or "b" where the other lacks it, "" where both have it
	Shapes   string  // both types and shapes, where these differ
	Elements int     // of the tensor
	Changed  int     // elements whose bits differ
	Largest  float64 // |a - b|; NaN where one of them is
	Relative float64 // ‖a - b‖ / ‖a‖; infinite where a is zero
}

// Difference is how two checkpoints differ. Both have the same state where it is empty.
type Difference struct {
	Tensors []TensorDifference // of weights and optimizer, in the order of a, then those that only b has
	State   []string           // keys of the state
	Files   []string           // names of other files
}

// Same says whether nothing differs.
func (d Difference) Same() bool { return len(d.Tensors)+len(d.State)+len(d.Files) == 0 }

// Compare tells how two checkpoints differ, bit by bit.
func Compare(a, b *Loaded) (Difference, error) {
	var d Difference
	x, y := slices.Concat(a.Weights, a.Optimizer), slices.Concat(b.Weights, b.Optimizer)
	others := make(map[string]safetensors.Tensor, len(y))
	for _, t := range y {
		others[t.Name] = t
	}
	for _, t := range x {
		other, both := others[t.Name]
		delete(others, t.Name)
		if !both {
			d.Tensors = append(d.Tensors, TensorDifference{Name: t.Name, Only: "a", Elements: elements(t)})
			continue
		}
		one, err := compareTensor(t, other)
		if err != nil {
			return d, err
		}
		if one.Shapes != "" || one.Changed > 0 {
			d.Tensors = append(d.Tensors, one)
		}
	}
	for _, t := range y {
		if _, left := others[t.Name]; left {
			d.Tensors = append(d.Tensors, TensorDifference{Name: t.Name, Only: "b", Elements: elements(t)})
		}
	}
	var err error
	if d.State, err = compareState(a.State, b.State); err != nil {
		return d, err
	}
	names := map[string]bool{}
	for name := range a.Files {
		names[name] = true
	}
	for name := range b.Files {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		one, inA := a.Files[name]
		other, inB := b.Files[name]
		if inA != inB || !bytes.Equal(one, other) {
			d.Files = append(d.Files, name)
		}
	}
	return d, nil
}

func elements(t safetensors.Tensor) int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// compareTensor compares two tensors of one name.
func compareTensor(a, b safetensors.Tensor) (d TensorDifference, err error) {
	d = TensorDifference{Name: a.Name, Elements: elements(a)}
	if a.DType != b.DType || !slices.Equal(a.Shape, b.Shape) {
		d.Shapes = fmt.Sprintf("%s%v, %s%v", a.DType, a.Shape, b.DType, b.Shape)
		return d, nil
	}
	if bytes.Equal(a.Data, b.Data) {
		return d, nil
	}
	x, err := a.ToF32()
	if err != nil {
		return d, fmt.Errorf("%s: %w", a.Name, err)
	}
	y, err := b.ToF32()
	if err != nil {
		return d, fmt.Errorf("%s: %w", b.Name, err)
	}
	var squares, whole float64
	size := len(a.Data) / max(len(x), 1)
	for i := range x {
		if bytes.Equal(a.Data[i*size:(i+1)*size], b.Data[i*size:(i+1)*size]) {
			whole += float64(x[i]) * float64(x[i])
			continue
		}
		d.Changed++
		diff := math.Abs(float64(x[i]) - float64(y[i]))
		if diff > d.Largest || math.IsNaN(diff) {
			d.Largest = diff
		}
		squares += diff * diff
		whole += float64(x[i]) * float64(x[i])
	}
	d.Relative = math.Sqrt(squares / whole)
	return d, nil
}

// compareState names the keys of two JSON objects whose values differ.
func compareState(a, b json.RawMessage) ([]string, error) {
	var x, y map[string]json.RawMessage
	for _, s := range []struct {
		text json.RawMessage
		into *map[string]json.RawMessage
	}{{a, &x}, {b, &y}} {
		if len(s.text) == 0 {
			continue
		}
		if err := json.Unmarshal(s.text, s.into); err != nil {
			return nil, fmt.Errorf("%s: %w", stateFile, err)
		}
	}
	keys := map[string]bool{}
	for k := range x {
		keys[k] = true
	}
	for k := range y {
		keys[k] = true
	}
	var differ []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		var one, other bytes.Buffer
		_ = json.Compact(&one, x[k]) // what Unmarshal took is valid
		_ = json.Compact(&other, y[k])
		if !bytes.Equal(one.Bytes(), other.Bytes()) {
			differ = append(differ, k)
		}
	}
	return differ, nil
}
