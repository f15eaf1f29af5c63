package match

import (
	"bytes"
	"strings"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/opener"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
)

// entryInstead is the way out where returns cannot be probed.
const entryInstead = "probe the entry with uprobe"

// cdeclScope is the scope of code of 32 bits whose arguments are all on the stack; nil for other code.
func cdeclScope(obj *objfile.File) *probe.Scope {
	arch := obj.Arch()
	if arch == nil || len(arch.C.Args) > 0 {
		return nil
	}
	s := &probe.Scope{}
	for i := range 10 {
		s.ArgN = append(s.ArgN, arch.StackArg(i))
		s.ArgNTypes = append(s.ArgNTypes, types.TUint32)
	}
	return s
}

// scriptOf tells the interpreter of a script.
func (fs *files) scriptOf(name string) (interpreter string, ok bool) {
	paths := []string{name}
	if !strings.Contains(name, "/") {
		paths = fs.root.LookPath(name, fs.pathVar())
	}
	if len(paths) == 0 {
		return "", false
	}
	f, err := opener.Root{}.Open(fs.inRoot(paths[0]))
	if err != nil {
		return "", false
	}
	defer f.Close()
	var head [128]byte
	n, _ := f.Read(head[:])
	line, _, _ := bytes.Cut(head[:n], []byte("\n"))
	words := strings.Fields(strings.TrimPrefix(string(line), "#!"))
	if !bytes.HasPrefix(line, []byte("#!")) || len(words) == 0 {
		return "", false
	}
	return strings.Join(words, " "), true
}
