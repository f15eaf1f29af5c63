package jvm

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"trocar/internal/process/runtimes"
	"trocar/internal/process/target"
)

// Runtime is Java's. It has no code in files: methods are compiled while the program runs.
func Runtime() runtimes.Runtime {
	return runtimes.Runtime{
		Name: "Java", Open: func(runtimes.File) runtimes.Code { return nil }, Inside: inside,
		Waits: []runtimes.Wait{ // HotSpot's
			{Function: "ObjectMonitor::enter", Kind: "monitor", Own: true},
			{Function: "ObjectMonitor::EnterI", Kind: "monitor", Own: true},
		},
		Methods: methodsOf, Types: typesOf,
	}
}

// process is a virtual machine at work.
type process struct {
	pid     target.PID
	inner   int    // its id in its own namespace
	version string // "": unknown
	flags   flags
	err     error // of the last command: it is not asked again
	made    *made
	asked   bool // the file that asks it to listen is still there
}

// flags are those of its start that matter to us.
type flags struct {
	framePointers, noAttach, methodProbes bool
}

func inside(pid int) runtimes.Process {
	id := target.PID(pid)
	maps, err := id.Maps()
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(maps, func(m target.Mapping) bool {
		return m.Perm&target.Exec != 0 && m.IsFile() && path.Base(m.Path) == "libjvm.so"
	})
	if i < 0 {
		return nil
	}
	p := &process{pid: id, version: version(id, maps[i].Path)}
	if ids, err := id.NSPIDs(); err != nil {
		p.err = err
	} else {
		p.inner = ids[len(ids)-1]
	}
	options, err := id.Args()
	if err != nil {
		p.err = err
	}
	for _, name := range []string{"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"} {
		if v, _, err := id.Env(name); err == nil {
			options = append(options, strings.Fields(v)...)
		}
	}
	p.flags = parseFlags(options)
	return p
}

// parseFlags finds the flags; of several the last counts.
func parseFlags(options []string) (f flags) {
	for _, o := range options {
		name, ok := strings.CutPrefix(o, "-XX:")
		if !ok || len(name) < 2 {
			continue
		}
		on := name[0] == '+'
		switch name[1:] {
		case "PreserveFramePointer":
			f.framePointers = on
		case "DisableAttachMechanism":
			f.noAttach = on
		case "DTraceMethodProbes", "ExtendedDTraceProbes":
			f.methodProbes = on
		}
	}
	return f
}

var versionLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^JAVA_VERSION="([0-9A-Za-z.+_-]{1,40})"`)
})

// version is what the file "release" of the JDK says, which lies above lib/server/libjvm.so.
func version(pid target.PID, library string) string {
	root, err := pid.Root()
	if err != nil {
		return ""
	}
	f, err := root.Open(filepath.Join(path.Dir(library), "../../release"))
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return ""
	}
	if m := versionLine().FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}

// major is the number of the release, 0 if it is not known: "1.8.0_302" is 8.
func (p *process) major() int {
	n, _ := strconv.Atoi(p.version[:len(p.version)-len(strings.TrimLeft(p.version, "0123456789"))])
	if n == 1 {
		return 8
	}
	return n
}

const framePointers = "Java's compiler uses the frame pointer for other things, so that call stacks may end at the " +
	"first Java method: start java with -XX:+PreserveFramePointer"

func (p *process) About() runtimes.About {
	a := runtimes.About{Version: p.version}
	a.Has = append(a.Has, "events of the virtual machine: list the probes usdt:*libjvm.so:*")
	switch why := p.refusal(); {
	case why != nil:
		a.Lacks = append(a.Lacks, "names of Java methods in call stacks: "+why.Error())
	default:
		a.Has = append(a.Has, "names of compiled Java methods in call stacks")
	}
	if !p.flags.framePointers {
		a.Lacks = append(a.Lacks, "whole call stacks: "+framePointers)
		a.Stacks = framePointers
	}
	if !p.flags.methodProbes {
		a.Lacks = append(a.Lacks, "the probes method__entry and method__return: start java with -XX:+DTraceMethodProbes, "+
			"which makes it many times slower")
	}
	a.Has = append(a.Has, "calls of compiled Java methods with arguments and results: method:CLASS.METHOD, "+
		"methodret:CLASS.METHOD, four places at a time", "calls of interpreted Java methods with arguments")
	return a
}

// refusal is why the virtual machine may not be asked for names; nil: it may.
func (p *process) refusal() error {
	switch n := p.major(); {
	case p.flags.noAttach:
		return fmt.Errorf("java was started with -XX:+DisableAttachMechanism: start it without")
	case n != 0 && n < 17:
		return fmt.Errorf("version %s of Java cannot write them: it takes JDK 17 or later, or an agent that writes "+
			"/tmp/perf-%d.map", p.version, p.inner)
	}
	st, err := readStatus(p.pid)
	if err != nil {
		return err
	}
	if st.stopped {
		return fmt.Errorf("the process is stopped")
	}
	return nil
}

// status is what /proc/PID/status says of rights and signals.
type status struct {
	uid, gid    int // effective
	catchesQuit bool
	stopped     bool
}

func readStatus(pid target.PID) (status, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return status{}, err
	}
	return parseStatus(text)
}

func parseStatus(text []byte) (st status, err error) {
	found := 0
	const fields = 4
	for line := range bytes.Lines(text) {
		name, rest, _ := strings.Cut(string(line), ":")
		words := strings.Fields(rest)
		switch {
		case name == "State" && len(words) > 0:
			st.stopped = words[0] == "T" || words[0] == "t"
		case name == "Uid" && len(words) == 4:
			st.uid, err = strconv.Atoi(words[1])
		case name == "Gid" && len(words) == 4:
			st.gid, err = strconv.Atoi(words[1])
		case name == "SigCgt" && len(words) == 1:
			var caught uint64
			caught, err = strconv.ParseUint(words[0], 16, 64)
			st.catchesQuit = caught&(1<<2) != 0 // SIGQUIT is 3
		default:
			continue
		}
		if err != nil {
			return st, err
		}
		found++
	}
	if found != fields {
		return st, fmt.Errorf("its status cannot be read")
	}
	return st, nil
}
