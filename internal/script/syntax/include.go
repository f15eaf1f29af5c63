package syntax

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"trocar/internal/script/diag"
)

// IncludeOptions say where C headers are and what is defined before them.
type IncludeOptions struct {
	Dirs    []string // -I: searched first
	Files   []string // --include: read before the script's own C definitions
	System  []string // searched last; nil: SystemIncludeDirs
	HaveBTF bool     // define BPFTRACE_HAVE_BTF: the kernel's types are known without headers
	CPU     CPU      // whose headers and predefined macros are meant
}

// CPU is what C headers ask of a CPU. The zero value is none: then only what is the same on all of them is defined.
type CPU struct {
	Predefined []string // macros that a compiler for it defines, each "NAME VALUE"
	Triplet    string   // its name in folders of headers: "/usr/include/"+Triplet
	Tree       string   // its folder in the kernel's source, below "arch"
}

// SystemIncludeDirs are the directories where a C compiler for a CPU finds headers, and those of the headers of a
// kernel; "": of none.
func SystemIncludeDirs(cpu CPU, kernelRelease string) []string {
	dirs := []string{"/usr/local/include"}
	if cpu.Triplet != "" {
		dirs = append(dirs, "/usr/include/"+cpu.Triplet)
	}
	dirs = append(dirs, "/usr/include")
	if kernelRelease != "" {
		for _, tree := range []string{"source", "build"} {
			root := "/lib/modules/" + kernelRelease + "/" + tree
			arch := root + "/arch/" + cpu.Tree + "/include"
			if cpu.Tree != "" {
				dirs = append(dirs, arch, arch+"/generated")
			}
			dirs = append(dirs, root+"/include")
			if cpu.Tree != "" {
				dirs = append(dirs, arch+"/uapi", arch+"/generated/uapi")
			}
			dirs = append(dirs, root+"/include/uapi", root+"/include/generated/uapi")
		}
	}
	return dirs
}

// maxHeader is how many bytes one header may have, maxHeaders how many all together.
const (
	maxHeader  = 8 << 20
	maxHeaders = 64 << 20
)

// compilerHeaders are those that a compiler brings itself (ISO C11 7.18, 7.19, 7.16 and 5.2.4.2).
var compilerHeaders = map[string]string{
	"stddef.h": "typedef unsigned long size_t; typedef long ptrdiff_t; typedef int wchar_t; typedef unsigned int " +
		"wint_t;\n" +
		"typedef struct { long long __ll; long double __ld; } max_align_t;\n#define NULL ((void *)0)\n",
	"stdbool.h": "#define bool _Bool\n#define true 1\n#define false 0\n",
	"stdarg.h":  "typedef __builtin_va_list va_list; typedef __builtin_va_list __gnuc_va_list;\n",
	"float.h":   "",
	"limits.h": "#define CHAR_BIT 8\n#define SCHAR_MIN (-128)\n#define SCHAR_MAX 127\n#define UCHAR_MAX 255\n" +
		"#define CHAR_MIN (-128)\n#define CHAR_MAX 127\n#define SHRT_MIN (-32768)\n#define SHRT_MAX 32767\n" +
		"#define USHRT_MAX 65535\n#define INT_MAX 2147483647\n#define INT_MIN (-INT_MAX - 1)\n#define UINT_MAX " +
		"4294967295U\n" +
		"#define LONG_MAX 9223372036854775807L\n#define LONG_MIN (-LONG_MAX - 1L)\n#define ULONG_MAX " +
		"18446744073709551615UL\n" +
		"#define LLONG_MAX LONG_MAX\n#define LLONG_MIN LONG_MIN\n#define ULLONG_MAX ULONG_MAX\n#define PATH_MAX 4096\n",
}

// headers finds and keeps the text of headers.
type headers struct {
	opts  IncludeOptions
	files map[string]*diag.Source // by path; nil: there is none
	bytes int
}

// dirs are all directories that are searched.
func (h *headers) dirs() []string {
	system := h.opts.System
	if system == nil {
		system = SystemIncludeDirs(h.opts.CPU, "")
	}
	return append(append([]string(nil), h.opts.Dirs...), system...)
}

// find gives the header for a name in an #include. from is the directory of the including file, for quoted names, and
// after the number of directories to leave out, for #include_next. It tells where in the list of directories it was
// found and whether it counts as a system header.
func (h *headers) find(name string, quoted bool, from string,
	after int,
) (src *diag.Source, at int, sys bool, err error) {
	if filepath.IsAbs(name) {
		src, err = h.read(name)
		return src, 0, false, err
	}
	if quoted && after == 0 {
		if src, err := h.read(filepath.Join(from, name)); src != nil || err != nil {
			return src, 0, false, err
		}
	}
	for i, dir := range h.dirs() {
		if i < after {
			continue
		}
		if i == len(h.opts.Dirs) {
			if text, ok := compilerHeaders[name]; ok {
				return h.compiler(name, text), i, true, nil
			}
		}
		if src, err := h.read(filepath.Join(dir, name)); src != nil || err != nil {
			return src, i + 1, i >= len(h.opts.Dirs), err
		}
	}
	return nil, 0, false, nil
}

// compiler is one of the compiler's own headers.
func (h *headers) compiler(name, text string) *diag.Source {
	key := "<" + name + ">"
	if h.files[key] == nil {
		h.files[key] = &diag.Source{Name: key, Text: text}
	}
	return h.files[key]
}

// read gives the text of a file, or nil if there is none.
func (h *headers) read(path string) (*diag.Source, error) {
	if src, ok := h.files[path]; ok {
		return src, nil
	}
	text, err := readText(path, maxHeader)
	switch {
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, errNotRegular):
		h.files[path] = nil
		return nil, nil
	case err != nil:
		return nil, err
	}
	if h.bytes += len(text); h.bytes > maxHeaders {
		return nil, fmt.Errorf("%s: the headers have more than %d bytes in all", path, maxHeaders)
	}
	src := &diag.Source{Name: path, Text: text}
	h.files[path] = src
	return src, nil
}

var errNotRegular = errors.New("not a regular file")

// readText reads a regular file of bounded size.
func readText(path string, limit int64) (string, error) {
	st, err := os.Stat(path)
	if err != nil {
		if strings.Contains(err.Error(), "not a directory") {
			return "", os.ErrNotExist
		}
		return "", err
	}
	if !st.Mode().IsRegular() {
		return "", errNotRegular
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return "", err
	}
	if int64(len(data)) > limit {
		return "", fmt.Errorf("%s: larger than %d bytes", path, limit)
	}
	return string(data), nil
}
