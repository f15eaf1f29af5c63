package flame

import (
	"fmt"
	"slices"
	"strings"
)

// form is one way to write stacks to a file.
type form struct {
	suffix string // of the file
	encode func(*Profile) ([]byte, error)
	diff   bool // it can show how a profile differs from an earlier one
}

// forms are all that there are. A new one is a file of its own and a row here.
func forms() []form {
	return []form{
		{".folded", func(p *Profile) ([]byte, error) { return p.AppendFolded(nil), nil }, true},
		{".svg", func(p *Profile) ([]byte, error) { return p.appendSVG(nil), nil }, true},
		{".html", (*Profile).html, true},
		{".pb.gz", (*Profile).pprof, false},
		{".speedscope.json", (*Profile).speedscope, false},
	}
}

// Form is the form that a file's name tells by its end; "": none.
func Form(path string) string {
	for _, f := range forms() {
		if strings.HasSuffix(path, f.suffix) {
			return f.suffix
		}
	}
	return ""
}

// Differs tells whether a form can show how stacks differ from earlier ones.
func Differs(name string) bool {
	return slices.ContainsFunc(forms(), func(f form) bool { return f.suffix == name && f.diff })
}

// Encode is the content of a file of a form.
func (p *Profile) Encode(name string) ([]byte, error) {
	for _, f := range forms() {
		if f.suffix == name {
			return f.encode(p)
		}
	}
	return nil, fmt.Errorf("no form of stacks is called %q", name)
}
