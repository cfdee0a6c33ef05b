// Compiles CUDA C++ to PTX with NVIDIA's run-time compiler, whose library is loaded when the program runs:
//
//	compile LIBNVRTC FOLDER NAME.cu > NAME.ptx
//
// The output holds no path and no date.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef void *Program;

static void *library;

static void *function(const char *name) {
	void *f = dlsym(library, name);
	if (!f) {
		fprintf(stderr, "compile: no %s in the library\n", name);
		exit(2);
	}
	return f;
}

static void *allocate(size_t bytes) {
	void *p = malloc(bytes);
	if (!p) {
		fprintf(stderr, "compile: out of memory\n");
		exit(2);
	}
	return p;
}

static char *contents(const char *folder, const char *name) {
	char path[4096];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "rb");
	if (!f || fseek(f, 0, SEEK_END)) {
		perror(path);
		exit(2);
	}
	const long bytes = ftell(f);
	char *text = allocate(bytes + 1);
	rewind(f);
	if (fread(text, 1, bytes, f) != (size_t)bytes) {
		perror(path);
		exit(2);
	}
	fclose(f);
	text[bytes] = 0;
	return text;
}

// result fetches the log or the PTX of a program.
static char *result(Program p, const char *size_name, const char *name, size_t *bytes) {
	int (*size)(Program, size_t *) = (int (*)(Program, size_t *))function(size_name);
	int (*get)(Program, char *) = (int (*)(Program, char *))function(name);
	if (size(p, bytes)) exit(2);
	char *text = allocate(*bytes + 1);
	if (get(p, text)) exit(2);
	return text;
}

int main(int count, char **argument) {
	if (count != 4) {
		fprintf(stderr, "usage: compile LIBNVRTC FOLDER NAME.cu\n");
		return 2;
	}
	library = dlopen(argument[1], RTLD_NOW);
	if (!library) {
		fprintf(stderr, "compile: %s\n", dlerror());
		return 2;
	}
	char include[4096];
	snprintf(include, sizeof include, "--include-path=%s", argument[2]);
	const char *options[] = {"--gpu-architecture=compute_80", "--std=c++17", "--device-as-default-execution-space", include};
	int (*create)(Program *, const char *, const char *, int, const char *const *, const char *const *);
	create = (int (*)(Program *, const char *, const char *, int, const char *const *, const char *const *))function("nvrtcCreateProgram");
	int (*compile)(Program, int, const char *const *) = (int (*)(Program, int, const char *const *))function("nvrtcCompileProgram");
	Program p;
	if (create(&p, contents(argument[2], argument[3]), argument[3], 0, NULL, NULL)) return 2;
	const int failed = compile(p, sizeof options / sizeof *options, options);
	size_t bytes;
	char *log = result(p, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog", &bytes);
	if (bytes > 1) fprintf(stderr, "%s\n", log);
	if (failed) return 1;
	char *ptx = result(p, "nvrtcGetPTXSize", "nvrtcGetPTX", &bytes);
	return fwrite(ptx, 1, bytes - 1, stdout) != bytes - 1; // without the zero at the end
}
