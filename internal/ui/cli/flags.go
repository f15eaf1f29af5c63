package cli

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trocar"
	"trocar/result"
)

// A flag whose value means nothing is refused, never taken for a flag that is not given: the empty $PID of a command
// that found nothing would trace all processes, and a time that is zero would be no limit.

// rule finds what is wrong with the value of a flag; nil is right. The name is as the user may have written it.
type rule func(name, value string) error

// rules are those of all flags of all commands, by name: a name means the same everywhere, but where the command stands
// before it. Flags without a value have none. What depends on several flags, or on what is found by them, is looked at
// by the commands.
func rules() map[string]rule {
	return map[string]rule{
		"execute":             anything, // a program may be empty; it is the script's to say so
		"pid":                 validPID,
		"tid":                 number(1, 0x400000),
		"cmd":                 notBlank("a command"),
		"exe":                 notEmpty("the path of a program or library"),
		"container":           notEmpty("the name or ID of a container"),
		"comm":                validComm,
		"dwarf-pid":           validPID,
		"output":              notEmpty("a file"),
		"format":              notEmpty("a format"),
		"buffering":           notEmpty("a mode"),
		"include-dir":         folders,
		"include":             notEmpty("a C header"),
		"debuginfo":           eachOf(":", folders),
		"traceable-functions": readable,
		"no-feature":          eachOf(",", notEmpty("a feature")),
		"probe-filter":        validFilter,
		"debug":               eachOf(",", notEmpty("a compiler stage")),
		"mode":                notEmpty("a mode"),
		"aot":                 notEmpty("a file"),
		"args":                notBlank("an expression"),
		"result":              notBlank("an expression"),
		"if":                  notBlank("an expression"),
		"by":                  notBlank("an expression"),
		"linear":              validLinear,
		"frequency":           number(1, 10000),
		"min":                 duration(0),
		"older":               duration(0),
		"for":                 duration(time.Microsecond),
		"interval":            duration(time.Microsecond),
		"strlen":              number(1, 1<<16),
		"depth":               number(0, 100),
		"top":                 number(1, 1<<31-1),
		"lines":               number(1, 1<<31-1),
		"info lines":          sourceLines,
		"type":                notBlank("the name of a type"),
		"vars":                notBlank("the name of a function"),
		"map":                 readable,
		"dir":                 notEmpty("a directory"),
		"diff":                readable,
	}
}

// checkFlags applies the rules to the flags that are given.
func checkFlags(cmd *cobra.Command) error {
	all := rules()
	var wrong error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if wrong != nil || !hasValue(f) {
			return
		}
		check := all[cmd.Name()+" "+f.Name]
		if check == nil {
			check = all[f.Name]
		}
		if f.Name == "debuginfo" && cmd.Flags().Lookup("execute") != nil {
			check = eachOf(":", notEmpty("a folder")) // as bpftrace has it; a missing one is reported (missingFolders)
		}
		if check == nil {
			wrong = usageErrorf("--%s cannot be checked", f.Name)
			return
		}
		for _, value := range valuesOf(f) {
			if err := check(flagName(f), value); err != nil {
				wrong = &statusError{exitUsage, err}
				return
			}
		}
	})
	return wrong
}

// hasValue tells whether a flag takes a value that anything could be wrong with: pflag itself reads truth values.
func hasValue(f *pflag.Flag) bool { return f.Value.Type() != "bool" && f.Value.Type() != "count" }

// valuesOf are the values that were given to a flag.
func valuesOf(f *pflag.Flag) []string {
	if several, ok := f.Value.(pflag.SliceValue); ok {
		if values := several.GetSlice(); len(values) > 0 {
			return values
		}
		return []string{""} // of a list that is empty
	}
	return []string{f.Value.String()}
}

// flagName is how messages call a flag: as most write it.
func flagName(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}

func anything(string, string) error { return nil }

// notEmpty wants a value. The usual reason for an empty one is a variable of the shell that is not set.
func notEmpty(what string) rule {
	return func(name, value string) error {
		if value == "" {
			return fmt.Errorf("%s requires %s, but its value is empty (an empty shell variable?); "+
				"leave the flag out if it is not wanted", name, what)
		}
		return nil
	}
}

// notBlank wants something besides blanks.
func notBlank(what string) rule {
	return func(name, value string) error { return notEmpty(what)(name, strings.TrimSpace(value)) }
}

// eachOf applies a rule to each part of a list.
func eachOf(separator string, each rule) rule {
	return func(name, value string) error {
		for part := range strings.SplitSeq(value, separator) {
			if err := each(name, part); err != nil {
				return err
			}
		}
		return nil
	}
}

// validPID refuses what would be no process in particular: without -p, all are traced.
func validPID(name, value string) error {
	if value != "" && strings.Contains(value, ",") {
		return eachOf(",", validPID)(name, value)
	}
	switch pid, err := parsePID(value); {
	case value == "":
		return fmt.Errorf("%s requires a process ID, but its value is empty: what should have given it, such as "+
			"$(pgrep NAME), has found no process; to trace all processes, leave %[1]s out", name)
	case err != nil:
		return err
	case pid == 0:
		return fmt.Errorf("%s 0: there is no process 0; to trace all processes, leave %[1]s out", name)
	}
	return nil
}

// maxComm is the length of a thread's name: TASK_COMM_LEN of the kernel (include/linux/sched.h), less the NUL.
const maxComm = 15

func validComm(name, value string) error {
	if len(value) > maxComm {
		return fmt.Errorf("%s %q: the kernel keeps %d bytes of a thread's name, so that no thread has this one; "+
			"use %q", name, value, maxComm, value[:maxComm])
	}
	return notEmpty("the name of a thread")(name, value)
}

func validFilter(name, value string) error {
	if err := notEmpty("a regular expression")(name, value); err != nil {
		return err
	}
	if _, err := regexp.Compile(value); err != nil {
		return usageErrorf("Invalid --probe-filter regex '%s': %v", value, err) // bpftrace's words
	}
	return nil
}

func validLinear(_, value string) error {
	_, err := parseLinear(value)
	return err
}

// missingFolders reports folders of --debuginfo that are not there. Scripts of bpftrace's users run all the same.
func (a *app) missingFolders(s *settings) {
	for _, dir := range s.debugDirs() {
		if err := folders("--debuginfo", dir); err != nil {
			a.plain(s).diagnostic(trocar.Diagnostic{Severity: result.Warning, Text: result.ShownLine(err.Error())})
		}
	}
}

// folders wants a directory that exists.
func folders(name, value string) error {
	if err := notEmpty("a directory")(name, value); err != nil {
		return err
	}
	switch info, err := os.Stat(value); {
	case err != nil:
		return fmt.Errorf("%s %s: %s", name, value, reason(err))
	case !info.IsDir():
		return fmt.Errorf("%s %s: this is not a directory", name, value)
	}
	return nil
}

// readable wants a file that can be read.
func readable(name, value string) error {
	if err := notEmpty("a file")(name, value); err != nil {
		return err
	}
	// A FIFO that nobody writes to would be waited for; /dev/null is a list with nothing in it.
	info, err := os.Stat(value)
	if err == nil && !info.Mode().IsRegular() && value != os.DevNull {
		return fmt.Errorf("%s %s: this is not a regular file", name, value)
	}
	if err == nil {
		var f *os.File
		if f, err = os.Open(value); err == nil {
			f.Close()
		}
	}
	if err != nil {
		return fmt.Errorf("%s %s: %s", name, value, reason(err))
	}
	return nil
}

// duration wants a time of at least so much.
func duration(least time.Duration) rule {
	return func(name, value string) error {
		switch d, err := parseTime(value); {
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		case d < 0:
			return fmt.Errorf("%s %s: a time is not negative", name, value)
		case d < least:
			return fmt.Errorf("%s %s: the shortest time is %v; for no limit, leave %[1]s out", name, value, least)
		}
		return nil
	}
}

// number wants an integer in a range.
func number(least, most int64) rule {
	return func(name, value string) error {
		var n int64
		if _, err := fmt.Sscan(value, &n); err != nil || n < least || n > most {
			return fmt.Errorf("%s %s: the number must be from %d to %d", name, value, least, most)
		}
		return nil
	}
}

// sourceLines wants FILE, FILE:N or FILE:N-M.
func sourceLines(name, value string) error {
	if err := notBlank("source lines, such as server.c:40-60")(name, value); err != nil {
		return err
	}
	_, _, _, err := parseLines(value)
	return err
}
