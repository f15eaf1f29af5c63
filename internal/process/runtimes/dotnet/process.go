package dotnet

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"trocar/internal/process/runtimes"
	"trocar/internal/process/target"
)

// process is the runtime at work.
type process struct {
	pid   target.PID
	inner int    // its id in its own namespace
	start uint64 // when it was started
	uid   uint32
	tmp   string // the folder that it has its socket in
	maps  string // and the one of its perf map
	env   settings
	// patience is how long the runtime may take for a command.
	patience time.Duration
	err      error    // of the last command: it is not asked again
	live     bool     // the perf map is kept up
	held     *os.File // the perf map that is ours to end
	notes    notes
	mapped   []target.Mapping // see Mapped
	looked   time.Time        // when that was
}

// settings are those of its start that matter to us.
type settings struct {
	mute      bool   // DOTNET_EnableDiagnostics=0
	perfMap   bool   // it writes a perf map by itself
	elsewhere string // where to, if it is not /tmp
}

const (
	// CodeMemory is the name of the memory that compiled code lies in.
	CodeMemory = "/memfd:doublemapper"
	// Library is the runtime's own, where that is not in the program.
	Library = "libcoreclr.so"
)

func inside(pid int) runtimes.Process {
	id := target.PID(pid)
	maps, err := id.Maps()
	if err != nil {
		return nil
	}
	found := false
	for i := range maps {
		m := &maps[i]
		found = found || m.IsFile() && m.Perm&target.Exec != 0 &&
			(path.Base(m.Path) == Library || m.Path == CodeMemory)
	}
	if !found {
		return nil
	}
	p := &process{pid: id, tmp: "/tmp", maps: "/tmp", patience: patience}
	p.err = p.look()
	return p
}

// look finds out what is needed to ask the runtime.
func (p *process) look() error {
	ids, err := p.pid.NSPIDs()
	if err != nil {
		return err
	}
	p.inner = ids[len(ids)-1]
	stat, err := p.pid.Stat()
	if err != nil {
		return err
	}
	p.start = stat.Start
	if p.uid, err = p.pid.UID(); err != nil {
		return err
	}
	if tmp, ok, err := p.pid.Env("TMPDIR"); err != nil {
		return err
	} else if ok && tmp != "" {
		p.tmp = path.Clean("/" + tmp)
	}
	p.env, err = readSettings(func(name string) (string, bool, error) { return p.pid.Env(name) })
	return err
}

// readSettings reads the settings, which have either of two prefixes.
func readSettings(env func(string) (string, bool, error)) (s settings, err error) {
	get := func(name string) string {
		for _, prefix := range []string{"DOTNET_", "COMPlus_"} {
			if v, ok, e := env(prefix + name); e != nil {
				err = e
			} else if ok {
				return v
			}
		}
		return ""
	}
	zero := func(v string) bool { return v != "" && strings.Trim(v, "0") == "" }
	s.mute = zero(get("EnableDiagnostics")) || zero(get("EnableDiagnostics_IPC"))
	switch get("PerfMapEnabled") {
	case "1", "3":
		s.perfMap = true
	}
	s.elsewhere = get("PerfMapJitDumpPath")
	return s, err
}

// refusal is why the runtime may not be asked for anything; nil: it may.
func (p *process) refusal() error {
	if p.err != nil {
		return p.err
	}
	if p.env.mute {
		return errors.New("the program was started with DOTNET_EnableDiagnostics=0: start it without")
	}
	stat, err := p.pid.Stat()
	switch {
	case err != nil:
		return err
	case stat.Dead():
		return errors.New("the process has ended")
	case stat.Stopped() && p.stopped():
		return errors.New("the process is stopped")
	case stat.Start != p.start:
		return errors.New("the process has ended, and another one has its id")
	}
	return nil
}

// stopped tells whether no thread of the process runs, and so none that would answer: of a command that is held only
// the first one is.
func (p *process) stopped() bool {
	threads, err := p.pid.Threads()
	return err != nil || !slices.ContainsFunc(threads, func(tid int) bool {
		stat, err := target.PID(tid).Stat()
		return err == nil && !stat.Stopped()
	})
}

func (p *process) About() (a runtimes.About) {
	a.Has = append(a.Has, "methods that were compiled ahead of time, by name: trocar list -p PID 'NAMESPACE.TYPE::*'")
	const names = "names in call stacks of methods that are compiled at run time"
	told, err := p.facts()
	switch {
	case err == nil && told.entry != "":
		a.Version = told.version + ", program " + told.entry
	case err == nil:
		a.Version = told.version
	default:
		p.err = err
	}
	switch why := p.mapRefusal(); {
	case err != nil && !p.env.perfMap:
		a.Lacks = append(a.Lacks, names+": "+err.Error())
	case why != nil:
		a.Lacks = append(a.Lacks, names+": "+why.Error())
	case told.version != "" && !atLeast(told.version, 8) && !p.env.perfMap:
		a.Lacks = append(a.Lacks, names+": it takes .NET 8 or later, or a start with DOTNET_PerfMapEnabled=3")
	default:
		a.Has = append(a.Has, names)
	}
	if told.version != "" && !atLeast(told.version, 9) {
		a.Lacks = append(a.Lacks, "types and fields of objects: it takes .NET 9 or later")
	} else if err == nil {
		a.Has = append(a.Has, "types and fields of objects: trocar trace -p PID --args x=ARG.FIELD 'NAMESPACE.TYPE::METHOD'")
	}
	a.Has = append(a.Has, "methods that are compiled at run time, also again when they are called often, by name: as "+
		"many at a time as the CPU has debug registers (4)")
	return a
}

// facts asks the runtime what it is.
func (p *process) facts() (facts, error) {
	if err := p.refusal(); err != nil {
		return facts{}, err
	}
	reply, err := p.ask(processInfo)
	if err != nil {
		return facts{}, err
	}
	return parseFacts(reply)
}

// atLeast tells whether a version is this one or a later one: 8 can be asked for a perf map, 9 describes its
// structures.
func atLeast(version string, major int) bool {
	first, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(first)
	return err == nil && n >= major
}

// mapRefusal is why the perf map of the process cannot be read.
func (p *process) mapRefusal() error {
	if p.env.elsewhere != "" && path.Clean(p.env.elsewhere) != "/tmp" {
		return fmt.Errorf("the program was started with DOTNET_PerfMapJitDumpPath=%s, where its perf map is not looked for",
			printable(p.env.elsewhere))
	}
	return nil
}
