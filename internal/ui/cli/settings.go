package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/pflag"

	"trocar"
	"trocar/internal/ui/output"
	"trocar/result"
)

// settings are the flags of a run, as given.
type settings struct {
	program string // -e
	list    bool
	verbose bool
	quiet   bool
	help    bool
	version bool
	info    bool

	pid       string
	process   int   // of pid
	others    []int // of pid
	thread    int   // --tid
	command   string
	words     []string // of command
	started   *trocar.Command
	follow    bool
	container string
	dwarfPIDs []string
	usdtFile  bool

	output    string
	format    string
	buffering string

	warnings   int // how often -k was given
	noWarnings bool
	unsafe     bool
	noInlined  bool
	dryRun     bool

	includeDirs []string
	includes    []string
	debugInfo   []string
	traceable   string
	noFeatures  []string
	filter      string
	stages      []string

	mode               string
	test, bench, fmtIt bool
	ahead              string // --aot

	declarations bool // list: those of functions

	// Of commands that write the script themselves.
	bare bool // no empty lines before maps
	made bool // the script was made by a command
	full bool // lines are not cut to the width of a terminal
	// compiled: nothing is wrong with the script.
	compiled bool
	asked    asked
	locks    bool // stacks are of waits, of which those for locks are shown, or all
	allWaits bool
	drawn    *drawn // stacks are shown as a table or a picture; nil: as the script shows them
	// controls: the script prints control characters of its own.
	controls bool
}

func (s *settings) register(f *pflag.FlagSet) {
	f.StringVarP(&s.program, "execute", "e", "", "run this program")
	f.BoolVarP(&s.list, "list", "l", false, "list probe points, or those that a script attaches to; -lv: with arguments")
	f.BoolVarP(&s.verbose, "verbose", "v", false, "print the location of each probe")
	f.BoolVarP(&s.help, "help", "h", false, "show this help")
	f.BoolVarP(&s.version, "version", "V", false, "show the version")
	f.BoolVar(&s.info, "info", false, "show the features of this kernel")
	f.StringVarP(&s.pid, "pid", "p", "", "trace only this process, and exit with it; several: -p 12,34")
	f.IntVar(&s.thread, "tid", 0, "trace only this thread, and exit with its process")
	f.StringVarP(&s.command, "cmd", "c", "", "run this command when probes are attached, and exit with it")
	f.StringVar(&s.container, "container", "", "trace the processes of this container")
	f.BoolVar(&s.follow, "follow", false, "also trace the child processes of -p or -c")
	f.StringArrayVar(&s.dwarfPIDs, "dwarf-pid", nil, "accepted for compatibility; has no effect")
	f.BoolVar(&s.usdtFile, "usdt-file-activation", false, "accepted for compatibility; has no effect")
	s.registerOutput(f)
	f.BoolVarP(&s.quiet, "quiet", "q", false, "do not report attached probes")
	f.CountVarP(&s.warnings, "warnings", "k", "warn about failed reads and map lookups")
	f.BoolVar(&s.noWarnings, "no-warnings", false, "do not print warnings")
	f.BoolVar(&s.unsafe, "unsafe", false, "allow functions that change the system: system(), signal(), writes")
	f.BoolVar(&s.dryRun, "dry-run", false, "attach all probes, then exit")
	f.StringArrayVarP(&s.includeDirs, "include-dir", "I", nil, "add a directory to search for C headers")
	f.StringArrayVar(&s.includes, "include", nil, "include this C header first")
	f.StringArrayVar(&s.debugInfo, "debuginfo", nil, "directories to search for debug files")
	f.StringVar(&s.traceable, "traceable-functions", "", "file that lists the kernel's traceable functions")
	f.StringSliceVar(&s.noFeatures, "no-feature", nil,
		"do not use this feature: uprobe_multi, kprobe_multi, kprobe_session, or one that doctor lists")
	f.BoolVar(&s.noInlined, "no-inlined", false, "do not probe inlined instances of functions")
	f.StringVar(&s.filter, "probe-filter", "", "attach only probes whose names match this regular expression")
	f.StringSliceVarP(&s.stages, "debug", "d", nil, "print a compiler stage: "+strings.Join(stages, ", ")+", all")
	f.StringVar(&s.mode, "mode", "", "codegen, compiler-bench, bench, test or format")
	f.BoolVar(&s.test, "test", false, "run the test probes")
	f.BoolVar(&s.bench, "bench", false, "run the bench probes")
	f.BoolVar(&s.fmtIt, "fmt", false, "print the formatted script")

	f.StringVar(&s.ahead, "aot", "", "write an executable that runs the script")

	// bpftrace's, without a meaning here: kernel types are always known, and there is no LLVM.
	f.BoolP("btf", "b", false, "")
	f.Bool("verify-llvm-ir", false, "")
	for _, name := range []string{"btf", "verify-llvm-ir"} {
		f.Lookup(name).Hidden = true
	}
}

// registerOutput adds the flags that say how results are written.
func (s *settings) registerOutput(f *pflag.FlagSet) {
	formats, bufferings := output.Names(), output.Bufferings()
	f.StringVarP(&s.format, "format", "f", formats[0], "output format: "+strings.Join(formats, ", "))
	f.StringVarP(&s.output, "output", "o", "", "write output to this file")
	f.StringVarP(&s.buffering, "buffering", "B", bufferings[0], "output buffering: "+strings.Join(bufferings, ", "))
}

// machine tells whether results are written for programs, so that messages are records among them.
func (s *settings) machine() bool {
	f, err := output.Lookup(s.format)
	return err == nil && f.Machine
}

// stages are what -d shows, in the order of the pipeline.
var stages = []string{"ast", "types", "ir", "bytecode", "verifier"}

// stageNames are bpftrace's names of stages that have another here.
var stageNames = map[string]string{
	"parse": "ast", "codegen": "ir", "codegen-opt": "ir", "dis": "bytecode", "libbpf": "verifier",
}

// debugDirs are the folders of --debuginfo, which may be given several times and name several.
func (s *settings) debugDirs() (dirs []string) {
	for _, d := range s.debugInfo {
		dirs = append(dirs, strings.Split(d, ":")...)
	}
	return dirs
}

// check finds what is wrong with the flags by themselves.
func (s *settings) check() error {
	if s.command != "" && s.pid != "" {
		return usageErrorf("USAGE: Cannot use both -c and -p.")
	}
	var err error
	if s.words, err = trocar.SplitCommand(s.command); err != nil {
		return &statusError{exitUsage, err}
	}
	if s.container != "" {
		if err := s.enter(); err != nil {
			return err
		}
	}
	if s.pid != "" {
		for i, text := range strings.Split(s.pid, ",") {
			pid, err := parsePID(text)
			switch {
			case err != nil:
				return err
			case i == 0:
				s.process = pid
			case pid != s.process && !slices.Contains(s.others, pid):
				s.others = append(s.others, pid)
			}
		}
	}
	if s.thread != 0 {
		if err := s.ofThread(); err != nil {
			return err
		}
	}
	if s.follow && s.command == "" && s.process == 0 && !s.bare {
		return usageErrorf("USAGE: --follow requires -p or -c")
	}
	if s.warnings > 1 {
		return usageErrorf("USAGE: -k is given once; it warns about all failed reads and map lookups")
	}
	if s.warnings > 0 && s.noWarnings {
		return usageErrorf("USAGE: -k, --warnings conflicts with --no-warnings")
	}
	if _, err := output.ParseBuffering(s.buffering); err != nil {
		return usageErrorf("USAGE: -B must be either 'line', 'full', or 'none'.") // bpftrace's words
	}
	if _, err := output.Lookup(s.format); err != nil {
		// bpftrace's words
		return usageErrorf("Invalid output format \"%s\"\nValid formats: '%s'", s.format,
			strings.Join(output.Names(), "', '"))
	}
	if err := s.checkMode(); err != nil {
		return err
	}
	return s.checkStages()
}

// ofThread finds the process of the thread.
func (s *settings) ofThread() error {
	if s.command != "" || len(s.others) > 0 || s.follow || s.container != "" {
		return usageErrorf("USAGE: --tid names a thread, so -c, --follow, --container and several processes cannot be " +
			"used with it.")
	}
	pid, err := trocar.ProcessOf(s.thread)
	switch {
	case err != nil:
		return &statusError{exitNoMatch, fmt.Errorf("no thread %d", s.thread)}
	case s.process != 0 && s.process != pid:
		return usageErrorf("USAGE: thread %d is of process %d, not of %d", s.thread, pid, s.process)
	}
	s.process = pid
	return nil
}

// enter finds the container's first process, from which all others descend.
func (s *settings) enter() error {
	if s.pid != "" || s.command != "" {
		return usageErrorf("USAGE: --container names the processes, so -p and -c cannot be used with it.")
	}
	pid, err := trocar.Container(s.container)
	switch {
	case errors.Is(err, trocar.ErrNoContainer):
		return &statusError{exitNoMatch, err}
	case err != nil:
		return &statusError{exitFailed, err}
	}
	s.pid, s.follow = strconv.Itoa(pid), true
	return nil
}

// checkMode joins --mode and its short forms.
func (s *settings) checkMode() error {
	for _, short := range []struct {
		given bool
		name  string
		mode  string
	}{{s.test, "--test", "test"}, {s.bench, "--bench", "bench"}, {s.fmtIt, "--fmt", "format"}} {
		if !short.given {
			continue
		}
		if s.mode != "" && s.mode != short.mode {
			return usageErrorf("USAGE: %s conflicts with existing --mode", short.name)
		}
		s.mode = short.mode
	}
	if !slices.Contains([]string{"", "codegen", "compiler-bench", "bench", "test", "format"}, s.mode) {
		return usageErrorf("USAGE: --mode can only be 'codegen', 'compiler-bench', 'bench', 'test' or 'format'.")
	}
	return nil
}

func (s *settings) checkStages() error {
	var known []string
	for _, name := range s.stages {
		if own, ok := stageNames[name]; ok {
			name = own
		}
		switch {
		case name == "all":
			known = slices.Clone(stages)
		case !slices.Contains(stages, name):
			return usageErrorf("USAGE: invalid option for -d: %s (valid: %s, all)", name, strings.Join(stages, ", "))
		case !slices.Contains(known, name):
			known = append(known, name)
		}
	}
	s.stages = known
	return nil
}

// parsePID reads a process id as bpftrace does, with its words.
func parsePID(text string) (int, error) {
	pid, err := strconv.ParseUint(text, 0, 63)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		if text != "" && text[0] >= '0' && text[0] <= '9' {
			return 0, usageErrorf("Failed to parse pid: invalid trailing bytes: %s", text)
		}
		err := errors.New(result.Messagef("Failed to parse pid: invalid integer: %s", text))
		if text != "" {
			hint := "a process by its name: -p $(pgrep -n " + shellquote.Join(text) + ")"
			return 0, &statusError{exitUsage, &hinted{err, hint}}
		}
		return 0, &statusError{exitUsage, err}
	}
	// PID_MAX_LIMIT of a 64-bit kernel (include/linux/threads.h).
	if err != nil || pid > 0x400000 {
		return 0, usageErrorf("Pid out of range: %s", text)
	}
	return int(pid), nil
}
