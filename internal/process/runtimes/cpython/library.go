package cpython

import (
	"path"
	"slices"
	"strings"

	"trocar/internal/binary/objfile"
	"trocar/internal/process/target"
)

// Await has a command whose interpreter is in a library go on until the dynamic loader has mapped that. It does nothing
// with others.
func Await(c *target.Child) error {
	pid := c.PID()
	maps, err := pid.Maps()
	if err != nil || !inLibrary(pid, maps) {
		return nil
	}
	return c.AdvanceMapped(func(file string) bool {
		if !isLibrary(path.Base(file)) {
			return false
		}
		maps, err := pid.Maps()
		return err == nil && slices.ContainsFunc(maps, func(m target.Mapping) bool {
			return m.Perm&target.Exec != 0 && isLibrary(path.Base(m.Path))
		})
	})
}

// inLibrary tells whether the program asks for a library with the interpreter.
func inLibrary(pid target.PID, maps []target.Mapping) bool {
	at := slices.IndexFunc(maps, func(m target.Mapping) bool { return m.IsFile() }) // the loader comes behind it
	if at < 0 {
		return false
	}
	f, err := pid.OpenMapped(&maps[at])
	if err != nil {
		return false
	}
	defer f.Close()
	file, err := objfile.OpenFile(f, maps[at].Path)
	if err != nil {
		return false
	}
	defer file.Close()
	return slices.ContainsFunc(file.Needed(), isLibrary)
}

func isLibrary(name string) bool { return strings.HasPrefix(name, "libpython3.") }
