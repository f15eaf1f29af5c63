package session

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"trocar/internal/binary/objfile"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes"
	"trocar/internal/process/symbolize"
	"trocar/result"
)

// Some runtimes compile functions anew that are called often, and leave the code that is in files, with its probes. A
// function that is called all the time then looks like one that is never called.

// renewed asks the runtimes of the traced processes which of the probed functions they have compiled anew, and gives
// those that were not told yet.
func (s *Session) renewed() (names []string, errs []error) {
	probed := s.renewable()
	if len(probed) == 0 {
		return nil, nil
	}
	for _, pid := range append([]int{s.running()}, s.in.Others...) {
		for _, r := range s.names.runtimes {
			if !r.Renews {
				continue
			}
			at := r.Inside(pid)
			if at == nil {
				continue
			}
			s.renews = true
			if err := at.Names(); err != nil {
				errs = append(errs, err)
				continue
			}
			symbolize.Generated(pid, func(_, _ uint64, name string) {
				if text, ok := r.Readable(name); ok {
					names = append(names, overload(text, probed[function(text)])...)
				}
			})
			if err := at.Close(); err != nil {
				errs = append(errs, err)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), errs
}

// renewable are the probed functions that may be compiled anew, without those that were told, by what tells them.
func (s *Session) renewable() map[string][]string {
	probed := map[string][]string{}
	for _, p := range s.in.Points {
		// Names of C++ look like those of methods.
		method := objfile.IsMethod(p.Func) && strings.EqualFold(path.Ext(p.Path), ".dll")
		if (p.Kind == probe.Uprobe || p.AtReturn) && method && !s.toldRenewed[p.Func] {
			probed[function(p.Func)] = append(probed[function(p.Func)], p.Func)
		}
	}
	return probed
}

// overload is which of several functions with one name and as many parameters a name in a perf map means: all that it
// may, where their parameters are named in several ways.
func overload(text string, probed []string) (names []string) {
	if slices.Contains(probed, text) {
		return []string{text}
	}
	for _, own := range probed {
		if !keywords(text) || !keywords(own) {
			names = append(names, own)
		}
	}
	return names
}

// keywords tells whether parameters are of types that have keywords (int, string), which are named in one way.
func keywords(name string) bool {
	return strings.Trim(name[len(objfile.MethodBare(name)):], "abcdefghijklmnopqrstuvwxyz,()") == ""
}

// function is what tells a function: its name, and how many parameters it has. Those of generic code are named in
// several ways.
func function(name string) string {
	bare := objfile.MethodBare(name)
	params := strings.Trim(name[len(bare):], "()")
	n, depth := 0, 0
	for _, c := range params {
		switch {
		case n == 0:
			n = 1
		case c == '<', c == '[':
			depth++
		case c == '>', c == ']':
			depth--
		case c == ',' && depth == 0:
			n++
		}
	}
	return bare + "/" + strconv.Itoa(n)
}

// findRenewed looks for them beside, when the probes are attached: runtimes take their time to answer.
func (s *Session) findRenewed() {
	found := make(chan *result.Notice, 2)
	s.renewing = found
	if s.running() == 0 { // nobody is asked: a command is at its end when it can be told
		renews := slices.ContainsFunc(s.names.runtimes, func(r runtimes.Runtime) bool { return r.Renews })
		kept := s.command != nil && os.Getenv(counting) == "0" // which the command inherits
		if renews && !kept && len(s.renewable()) > 0 {
			found <- &result.Notice{Blind: true, Diagnostic: result.Diagnostic{
				Severity: result.Info,
				Text: "methods that are called often are compiled again, and calls of that code are not seen: for a process " +
					"(-p PID) it is told which are",
				Hints: []string{keepsCode},
			}}
		}
		close(found)
		return
	}
	s.background.Go(func() {
		defer close(found)
		names, errs := s.renewed()
		s.toldRenewed = map[string]bool{}
		for _, name := range names {
			s.toldRenewed[name] = true
		}
		if len(errs) > 0 {
			found <- &result.Notice{Blind: true, Diagnostic: result.Diagnostic{
				Severity: result.Info,
				Text: result.Messagef("whether the runtime has compiled the methods again, and runs that code instead, is not "+
					"known: %v", errs[0]),
			}}
		}
		if len(names) > 0 {
			found <- renewedNotice(names, "before the trace", "calls of that code are not seen")
		}
	})
}

// tellRenewed tells of those that were compiled anew while they were traced.
func (s *Session) tellRenewed() error {
	if s.renewing != nil {
		for e := range s.renewing { // it may just be looking
			if err := s.emit(e); err != nil {
				return err
			}
		}
	}
	if !s.renews {
		return nil
	}
	names, _ := s.renewed() // what goes wrong was told, or the process has ended
	if len(names) == 0 {
		return nil
	}
	return s.emit(renewedNotice(names, "during the trace", "calls after that were not seen"))
}

const (
	counting  = "DOTNET_TC_CallCounting"
	keepsCode = "a start with " + counting + "=0 keeps the code that is seen"
)

// renewedNotice says what has become of functions.
func renewedNotice(names []string, when, unseen string) *result.Notice {
	was := "was"
	if len(names) > 1 {
		was = "were"
	}
	few := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if len(names) > maxNamed {
		few += " and " + strconv.Itoa(len(names)-maxNamed) + " more"
	}
	return &result.Notice{Blind: true, Diagnostic: result.Diagnostic{
		Severity: result.Warning, Text: result.Messagef("%s %s compiled again %s, as methods that are called "+
			"often are: %s", few, was, when, unseen),
		Hints: []string{keepsCode},
	}}
}
