// Package packages knows which package of the system a file came with, and in which one its debug information is. It
// reads what dpkg has written about packages that are installed, in the root that the file belongs to; of other systems
// it knows how to ask.
package packages

import (
	"bytes"
	"io"
	"strings"

	"trocar/internal/binary/opener"
)

// dpkg keeps a list of files for each package there: NAME.list, or NAME:ARCHITECTURE.list.
const (
	dpkg       = "/var/lib/dpkg/info"
	listSuffix = ".list"
	maxList    = 32 << 20
)

// renamed are debug packages that are not called after dpkg's rule, NAME-dbgsym.
var renamed = map[string]string{"libc6": "libc6-dbg"}

// Debug says how to get the debug information of a file, for "install it: …"; "": it is not known.
func Debug(path string) string {
	root := opener.Of(path)
	resolved, err := root.Resolve(path)
	if err != nil {
		return ""
	}
	inner := root.Path(resolved)
	if owner := owner(root, inner); owner != "" {
		if name := renamed[owner]; name != "" {
			return "install " + name
		}
		return "install " + owner + "-dbgsym"
	}
	if root.Exists("/usr/bin/dnf") {
		return "run dnf debuginfo-install " + inner
	}
	return ""
}

// DebugOr is Debug, or what is said where it is not known.
func DebugOr(path string) string {
	if way := Debug(path); way != "" {
		return way
	}
	return "install its debug symbols"
}

// owner is dpkg's package that a file came with.
func owner(root opener.Root, path string) string {
	names, err := root.ReadDir(dpkg)
	if err != nil {
		return ""
	}
	// Where /lib is a link to /usr/lib, packages may name either.
	lines := [][]byte{[]byte("\n" + path + "\n")}
	if merged, ok := strings.CutPrefix(path, "/usr"); ok {
		lines = append(lines, []byte("\n"+merged+"\n"))
	}
	for _, name := range names {
		pkg, ok := strings.CutSuffix(name, listSuffix)
		if !ok {
			continue
		}
		f, err := root.Open(dpkg + "/" + name)
		if err != nil {
			continue
		}
		text, _ := io.ReadAll(io.LimitReader(f, maxList))
		f.Close()
		for _, line := range lines {
			if bytes.Contains(text, line) {
				pkg, _, _ = strings.Cut(pkg, ":")
				return pkg
			}
		}
	}
	return ""
}
