//go:build gpu

package cuda

/*
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

// prenorm_library_path is the file that a loaded library came from, NULL where it is not loaded. The text stays with the library.
static const char *prenorm_library_path(const char *name) {
	void *library = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
	if (!library) return NULL;
	struct link_map *map = NULL;
	dlinfo(library, RTLD_DI_LINKMAP, &map);
	dlclose(library); // the program holds it open all the same
	return map ? map->l_name : NULL;
}
*/
import "C"

import (
	"fmt"
	"os"
	"unsafe"

	"gorgonia.org/cu"

	"prenorm/kernels"
)

// oldest is the compute capability that the kernels are compiled for: Ampere, which brought bf16 and copies behind the threads' back.
const oldest = 8

// suitable refuses a GPU that cannot run the kernels.
func suitable(gpu cu.Device, name string) error {
	major, minor, err := gpu.ComputeCapability()
	if err != nil {
		return fmt.Errorf("cuda: cuDeviceGetAttribute: %w", err)
	}
	if major < oldest {
		return fmt.Errorf("cuda: %w: %s has compute capability %d.%d, wants %d.0 or newer (an A100, RTX 30 or later; or use the device cpu)",
			kernels.ErrUnsuitable, name, major, minor, oldest)
	}
	return nil
}

// Describe implements [kernels.Describer].
func (b *Backend) Describe() ([]kernels.Fact, error) {
	var facts []kernels.Fact
	err := b.device.do(func() (err error) {
		facts, err = b.device.describe()
		return err
	})
	return facts, err
}

func (d *device) describe() ([]kernels.Fact, error) {
	var gpu cu.Device
	var major, minor, processors int
	var free, total int64
	err := inOrder([]step{
		{"cuDeviceGet", func() (err error) { gpu, err = cu.GetDevice(0); return }},
		{"cuDeviceGetAttribute", func() (err error) { major, minor, err = gpu.ComputeCapability(); return }},
		{"cuDeviceGetAttribute", func() (err error) { processors, err = gpu.Attribute(cu.MultiprocessorCount); return }},
		{"cuMemGetInfo", func() (err error) { free, total, err = cu.MemInfo(); return }},
	})
	if err != nil {
		return nil, err
	}
	version := cu.Version()
	driver := kernels.Fact{Name: "driver", Value: fmt.Sprintf("%s, CUDA %d.%d", libraryPath("PRENORM_LIBCUDA", "libcuda.so.1"), version/1000, version%1000/10)}
	if version < 11080 {
		driver.Remedy = "the kernels want a driver of CUDA 11.8 or newer: update it"
	}
	memory := kernels.Fact{Name: "memory", Value: fmt.Sprintf("%.1f GiB free of %.1f GiB", float64(free)/(1<<30), float64(total)/(1<<30))}
	if free < total/2 {
		memory.Remedy = "something else uses the GPU: nvidia-smi shows what"
	}
	return []kernels.Fact{
		driver,
		{Name: "gpu", Value: fmt.Sprintf("%s, compute capability %d.%d, %d multiprocessors", d.name, major, minor, processors)},
		memory,
		d.describeBLAS(),
	}, nil
}

// describeBLAS looks for cuBLAS as the first matrix product would.
func (d *device) describeBLAS() kernels.Fact {
	f := kernels.Fact{Name: "cuBLAS"}
	switch err := d.blas.open(d.compute); {
	case d.blas.handle != nil:
		f.Value = libraryPath("PRENORM_LIBCUBLAS", "libcublas.so.13", "libcublas.so.12", "libcublas.so.11")
	case d.blas.use == "own":
		f.Value = "not used"
	default:
		if err == nil {
			err = d.blas.absent
		}
		// The error says where it was looked for and how to point at it.
		f.Value, f.Remedy = fmt.Sprint(err), "without it prenorm's own kernels multiply, which is slower"
	}
	return f
}

// libraryPath is where a library was loaded from: the one that a variable names, or else the first of the usual names that is loaded.
func libraryPath(variable string, names ...string) string {
	if named := os.Getenv(variable); named != "" {
		names = []string{named}
	}
	for _, name := range names {
		text := C.CString(name)
		path := C.prenorm_library_path(text)
		C.free(unsafe.Pointer(text))
		if path != nil {
			return C.GoString(path)
		}
	}
	return names[0]
}
