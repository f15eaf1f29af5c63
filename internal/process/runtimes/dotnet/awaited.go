package dotnet

import (
	"io"
	"os"
	"path"
	"strings"
)

// A command has none of .NET's code at its first instruction. It is held when the runtime maps the first assembly that
// the program's own refers to, which comes behind that and its own library: by then the runtime can be asked, has the
// program in memory, and none of its methods is compiled. Its first thread does all of that.

// Starts tells whether a command, by its words and the file of its program, starts a program of .NET: by its name in
// the words, since others execute what comes behind theirs, or in a script.
func Starts(file string, words []string) bool {
	const mostScript = 64 << 10
	text := strings.Join(append([]string{file}, words...), " ")
	if f, err := os.Open(file); err == nil {
		head := make([]byte, mostScript)
		n, _ := io.ReadFull(f, head)
		f.Close()
		if script := string(head[:n]); strings.HasPrefix(script, "#!") {
			text += " " + script
		}
	}
	for word := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune(" \t\n\"'`;&|()", c) }) {
		word = strings.TrimSuffix(word, suffix)
		// What a script names may begin with a variable, and be beside it.
		for _, name := range []string{word, path.Join(path.Dir(file), path.Base(word))} {
			if _, err := os.Stat(name + ".runtimeconfig.json"); err == nil {
				return true
			}
		}
	}
	return false
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
