// Package node knows Node.js in a running process: whether its engine, V8, was started so that it writes the names of
// the functions that it compiles.
package node

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"trocar/internal/process/runtimes"
	"trocar/internal/process/target"
)

// Runtime is JavaScript's in Node.js. It has no code in files but built-in functions, which are probed as others.
func Runtime() runtimes.Runtime {
	return runtimes.Runtime{
		Name: "Node.js", Open: func(runtimes.File) runtimes.Code { return nil }, Inside: inside,
	}
}

// process is Node.js at work.
type process struct{ names bool }

var program = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^node(js|[0-9]+)?$|^libnode\.so`)
})

func inside(pid int) runtimes.Process {
	id := target.PID(pid)
	maps, err := id.Maps()
	if err != nil {
		return nil
	}
	if !slices.ContainsFunc(maps, func(m target.Mapping) bool {
		return m.Perm&target.Exec != 0 && m.IsFile() && program().MatchString(path.Base(m.Path))
	}) {
		return nil
	}
	options, err := id.Args()
	if err != nil {
		return nil
	}
	if v, _, err := id.Env("NODE_OPTIONS"); err == nil {
		options = append(options, strings.Fields(v)...)
	}
	return &process{named(options)}
}

// named tells whether V8 was told to write names: it takes its options with _ and - alike.
func named(options []string) bool {
	return slices.ContainsFunc(options, func(o string) bool {
		o = strings.ReplaceAll(o, "_", "-")
		return o == "--perf-basic-prof" || o == "--perf-basic-prof-only-functions"
	})
}

const noNames = "JavaScript functions have no names in call stacks: start node with --perf-basic-prof (it cannot be " +
	"switched on in a running process), and with --interpreted-frames-native-stack for functions that are not compiled yet"

func (p *process) About() (a runtimes.About) {
	if p.names {
		a.Has = append(a.Has, "names of compiled JavaScript functions in call stacks")
	} else {
		a.Lacks = append(a.Lacks, "names: "+noNames)
		a.Stacks = noNames
	}
	a.Lacks = append(a.Lacks, "probes on JavaScript functions by name: not supported")
	return a
}

// Names are written by V8 itself, or not at all.
func (p *process) Names() error { return nil }

// Close has nothing to take back.
func (p *process) Close() error { return nil }
