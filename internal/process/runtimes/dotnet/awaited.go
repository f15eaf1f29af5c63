package dotnet

import (
	"bytes"
	"io"
	"os"
	"path"
	"strings"
)

// A command has none of .NET's code at its first instruction. It is held when the runtime maps the first assembly that
// the program's own refers to, which comes behind that and its own library: by then the runtime can be asked, has the
// program in memory, and none of its methods is compiled. Its first thread does all of that.

// Starts tells whether a command, by its words and the file of its program, starts a program of .NET, as far as is
// known: a script may, too, and others execute what comes behind their names.
func Starts(file string, words []string) bool {
	for _, word := range append([]string{file}, words...) {
		for _, word := range strings.Fields(word) {
			if _, err := os.Stat(strings.TrimSuffix(word, suffix) + ".runtimeconfig.json"); err == nil {
				return true
			}
		}
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 2)
	_, err = io.ReadFull(f, head)
	return err == nil && bytes.Equal(head, []byte("#!"))
}

const suffix = ".dll"

// Awaited is the program that a command starts.
type Awaited struct {
	begun   bool   // the runtime has mapped its library
	program string // and this
}

// Begins tells whether the program begins with the file that a process has just mapped, and which that is.
func (a *Awaited) Begins(file string) (program string, ok bool) {
	switch {
	case path.Base(file) == library+suffix:
		a.begun = true
	case !a.begun || !strings.HasSuffix(file, suffix):
	case a.program == "":
		a.program = file
	default:
		return a.program, file != a.program
	}
	return "", false
}
