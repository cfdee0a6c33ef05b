package kerneltest

import (
	"bytes"
	"fmt"
	"unsafe"

	"prenorm/kernels"
)

const (
	guard     = 64   // bytes between views, at least
	guardByte = 0xA5 // what they hold

	garbageNaN   = 0xFF // a byte that makes floats which are NaN
	garbageLarge = 0x7F // a byte that makes floats which are huge and finite
)

// region is a range of bytes of the arena.
type region struct{ from, to int }

// layout is a case in memory: where its views lie in one arena, and the bytes of the whole arena before a launch.
type layout struct {
	args    kernels.Args // views of the arena
	image   []byte
	host    kernels.Args // the same views in image
	written []region     // what the launch writes: outputs and statistics
	work    region
}

// planner places views one after another.
type planner struct{ end int }

func (p *planner) place(bytes, shift int) region {
	from := (p.end+guard+63)/64*64 + shift
	p.end = from + bytes
	return region{from, p.end}
}

// newLayout places a case and allocates its arena.
func newLayout(be kernels.Backend, c testCase, dtype kernels.DType, t types, v variant) (*layout, kernels.Arena, error) {
	shapes := kernels.Args{}
	for i, x := range c.in {
		shapes.In = append(shapes.In, x.view(of(t.in, i, dtype)))
	}
	if v.saved {
		for _, x := range c.saved {
			shapes.Saved = append(shapes.Saved, x.view(dtype))
		}
	}
	out, aux, err := c.call.Infer(kernels.Widened(shapes).In)
	if err != nil {
		return nil, nil, err
	}
	for i := range out {
		if out[i].DType == kernels.F32 {
			out[i].DType = of(t.out, i, kernels.F32)
		}
	}
	shapes.Out = out
	if v.aux {
		shapes.Aux = aux
	}
	workspace, err := be.Workspace(c.call, shapes)
	if err != nil {
		return nil, nil, err
	}
	return place(be, c, shapes, workspace, v)
}

// place gives every view of shapes its place in a new arena.
func place(be kernels.Backend, c testCase, shapes kernels.Args, workspace int, v variant) (*layout, kernels.Arena, error) {
	var p planner
	n := 0
	spots := func(views []kernels.View) []region {
		var all []region
		for _, view := range views {
			shift := 0
			if n++; v.moves(n) {
				shift = view.DType.Size()
			}
			all = append(all, p.place(view.Bytes(), shift))
		}
		return all
	}
	in, saved, out, aux := spots(shapes.In), spots(shapes.Saved), spots(shapes.Out), spots(shapes.Aux)
	for i := range out {
		if c.alias != nil && c.alias[i] >= 0 {
			out[i] = in[c.alias[i]]
		}
	}
	if v.inPlace >= 0 {
		out[0] = in[v.inPlace]
	}
	work := p.place(workspace, 0)
	size := p.end + guard
	arena, err := be.NewArena(size)
	if err != nil {
		return nil, nil, err
	}
	image, err := kernels.NewHostArena(size)
	if err != nil {
		return nil, nil, err
	}
	l := &layout{image: image.View(0, kernels.I8, size).Host, work: work, written: append(append([]region{}, out...), aux...)}
	views := func(from kernels.Arena) kernels.Args {
		at := func(shapes []kernels.View, spots []region) []kernels.View {
			var all []kernels.View
			for i, s := range shapes {
				all = append(all, from.View(spots[i].from, s.DType, s.Shape...))
			}
			return all
		}
		return kernels.Args{Out: at(shapes.Out, out), Aux: at(shapes.Aux, aux), In: at(shapes.In, in), Saved: at(shapes.Saved, saved),
			Work: from.View(work.from, kernels.I8, workspace)}
	}
	l.args, l.host = views(arena), views(image)
	return l, arena, nil
}

// fill sets the image: guards everywhere, garbage where the launch writes, then the inputs.
func (l *layout) fill(c testCase, garbage byte) {
	for i := range l.image {
		l.image[i] = guardByte
	}
	for _, r := range append([]region{l.work}, l.written...) {
		for i := r.from; i < r.to; i++ {
			l.image[i] = garbage
		}
	}
	if c.initial != nil {
		put(l.host.Out[0], *c.initial)
	}
	for i, x := range c.in {
		put(l.host.In[i], x)
	}
	for i := range l.host.Saved {
		put(l.host.Saved[i], c.saved[i])
	}
}

// put copies a tensor into a view of the image.
func put(v kernels.View, x tensor) {
	switch v.DType {
	case kernels.I32:
		copy(v.I32(), x.ints)
	case kernels.F64:
		copy(v.F64(), x.floats)
	case kernels.F32:
		y := v.F32()
		for i, e := range x.floats {
			y[i] = float32(e)
		}
	case kernels.BF16:
		y := v.BF16()
		for i, e := range x.floats {
			y[i] = kernels.ToBF16(float32(e))
		}
	}
}

// launch uploads the image, runs the kernel and returns the whole arena. The kernel's own error comes second.
func (l *layout) launch(be kernels.Backend, arena kernels.Arena, run kernels.Launch) (after []byte, failed, err error) {
	all := arena.View(0, kernels.I8, len(l.image))
	if err := be.Upload(all, int8s(l.image)); err != nil {
		return nil, nil, fmt.Errorf("upload: %w", err)
	}
	failed = run()
	if err := be.Sync(); failed == nil {
		failed = err // a device may learn of a bad index only here
	}
	after = make([]byte, len(l.image))
	if err := be.Download(int8s(after), all); err != nil {
		return nil, failed, fmt.Errorf("download: %w", err)
	}
	return after, failed, be.Sync()
}

func int8s(b []byte) []int8 {
	return unsafe.Slice((*int8)(unsafe.Pointer(unsafe.SliceData(b))), len(b))
}

// untouched wants every byte that is neither output, statistic nor workspace to be as it was.
func (l *layout) untouched(after []byte) error {
	before := append([]byte(nil), l.image...)
	now := append([]byte(nil), after...)
	for _, r := range append([]region{l.work}, l.written...) {
		clear(before[r.from:r.to])
		clear(now[r.from:r.to])
	}
	if bytes.Equal(before, now) {
		return nil
	}
	for i := range before {
		if before[i] != now[i] {
			return fmt.Errorf("the launch wrote byte %d of the arena, outside its outputs: %s", i, l.describe(i))
		}
	}
	return nil
}

// describe says what lies nearest to a byte of the arena.
func (l *layout) describe(at int) string {
	text, best := "", -1
	look := func(what string, from, to int) {
		distance := max(from-at, at-to+1, 0)
		if best < 0 || distance < best {
			text, best = fmt.Sprintf("%d bytes beside %s", distance, what), distance
			if distance == 0 {
				text = fmt.Sprintf("byte %d of %s", at-from, what)
			}
		}
	}
	for i, v := range l.host.In {
		from := l.offset(v)
		look(fmt.Sprintf("input %d %v", i, v), from, from+v.Bytes())
	}
	for i, r := range l.written {
		look(fmt.Sprintf("written view %d", i), r.from, r.to)
	}
	look("the workspace", l.work.from, l.work.to)
	return text
}

// offset is where a view of the image starts.
func (l *layout) offset(v kernels.View) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(v.Host))) - uintptr(unsafe.Pointer(unsafe.SliceData(l.image))))
}

// results reads outputs and statistics out of the bytes of an arena after a launch.
func (l *layout) results(after []byte) (out, aux []tensor) {
	read := func(views []kernels.View, regions []region) []tensor {
		var all []kernels.View
		for i, v := range views {
			copied, _ := kernels.NewHostArena(v.Bytes())
			w := copied.View(0, v.DType, v.Shape...)
			copy(w.Host, after[regions[i].from:regions[i].to])
			all = append(all, w)
		}
		return contents(all)
	}
	n := len(l.host.Out)
	return read(l.host.Out, l.written[:n]), read(l.host.Aux, l.written[n:])
}

// bits are the bytes of the outputs, and of the statistics where both layouts have them.
func (l *layout) bits(after []byte, statistics bool) [][]byte {
	regions := l.written
	if !statistics {
		regions = regions[:len(l.host.Out)]
	}
	var all [][]byte
	for _, r := range regions {
		all = append(all, after[r.from:r.to])
	}
	return all
}
