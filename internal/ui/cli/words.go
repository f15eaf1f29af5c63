package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trocar/internal/near"
	"trocar/result"
)

// What users write instead of what they mean: flags in front of the command, names that are nearly right.

// commandFirst puts flags that stand in front of a command behind its name: "-q trace f" is "trace -q f". A command is
// the first word that is no flag and no flag's value, unless it follows -e or -l or is a file: then it is a script, or
// its parameter.
func (a *app) commandFirst(root *cobra.Command, args []string) []string {
	if len(args) == 0 || !strings.HasPrefix(args[0], "-") || !slices.ContainsFunc(args, isCommand) {
		return args
	}
	sets := []*pflag.FlagSet{root.Flags()}
	for _, c := range commands() {
		sets = append(sets, c.make(a).Flags())
	}
	for i := 0; i < len(args); i++ {
		switch word := args[i]; {
		case word == "--" || word == "-":
			return args
		case !strings.HasPrefix(word, "-"):
			if _, err := os.Stat(word); err == nil || !isCommand(word) {
				return args
			}
			return append(append([]string{word}, args[:i]...), args[i+1:]...)
		default:
			takes, script := next(sets, word)
			if script {
				return args
			}
			if takes {
				i++
			}
		}
	}
	return args
}

// next tells whether the word behind a flag is its value, and whether the flag makes other words a script's.
func next(sets []*pflag.FlagSet, word string) (takes, script bool) {
	lookup := func(find func(*pflag.FlagSet) *pflag.Flag) *pflag.Flag {
		for _, set := range sets {
			if f := find(set); f != nil {
				return f
			}
		}
		return nil
	}
	of := func(f *pflag.Flag, behind bool) (bool, bool) {
		return f != nil && f.NoOptDefVal == "" && !behind, f != nil && (f.Name == "execute" || f.Name == "list")
	}
	if name, ok := strings.CutPrefix(word, "--"); ok {
		name, _, has := strings.Cut(name, "=")
		return of(lookup(func(s *pflag.FlagSet) *pflag.Flag { return s.Lookup(name) }), has)
	}
	for at := 1; at < len(word); at++ {
		f := lookup(func(s *pflag.FlagSet) *pflag.Flag { return s.ShorthandLookup(word[at : at+1]) })
		if takes, script = of(f, at+1 < len(word)); script || f == nil || f.NoOptDefVal == "" {
			return takes, script // what follows in the word is the value
		}
	}
	return false, false
}

// hinted is an error with a way out.
type hinted struct {
	err  error
	hint string
}

func (e *hinted) Error() string { return e.err.Error() }
func (e *hinted) Unwrap() error { return e.err }

// noScript says that a script could not be opened. A word without a folder or an ending was hardly meant as one.
func (a *app) noScript(path string, err error) error {
	said := fmt.Errorf("failed to open file '%s': %s", path, reason(err))
	if a.name == "bpftrace" || !errors.Is(err, os.ErrNotExist) || strings.ContainsAny(path, "./") {
		return said
	}
	names := []string{"help", "completion"}
	for _, c := range commands() {
		names = append(names, c.name)
	}
	hint := fmt.Sprintf("there is no command '%s' either; %s --help lists the commands", path, a.name)
	if isCommand(path) {
		hint = fmt.Sprintf("'%s' is a command: give it first, its flags behind it", path)
	} else if n := near.Names(path, names); len(n) > 0 {
		hint = fmt.Sprintf("there is no command '%s' either; did you mean %s?", path, near.List(n))
	}
	return &hinted{said, hint}
}

// wrongFlag says what is wrong with a flag, and which one may have been meant.
func (a *app) wrongFlag(cmd *cobra.Command, err error) error {
	if !cmd.HasParent() && len(a.args) > 0 && !strings.HasPrefix(a.args[0], "-") {
		// What stands in front would be a script, but the flags are none of a script.
		if _, missing := os.Stat(a.args[0]); missing != nil {
			return &statusError{exitUsage, a.noScript(a.args[0], missing)}
		}
	}
	hint := fmt.Sprintf("%s --help lists the flags", cmd.CommandPath())
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		name := unknown.GetSpecifiedName()
		var own []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				own = append(own, f.Name)
			}
		})
		if n := near.Names(name, own); len(n) > 0 {
			hint = fmt.Sprintf("did you mean --%s?", strings.Join(n, " or --"))
		} else if others := a.commandsWith(name); len(others) > 0 {
			hint = fmt.Sprintf("--%s is a flag of %s", name, strings.Join(others, ", "))
		}
	} else if unknown != nil && len(unknown.GetSpecifiedShortnames()) == 1 {
		if others := a.commandsWith(unknown.GetSpecifiedName()); len(others) > 0 {
			hint = fmt.Sprintf("-%s is a flag of %s", unknown.GetSpecifiedName(), strings.Join(others, ", "))
		}
	}
	var bad *pflag.InvalidValueError
	if number := (*strconv.NumError)(nil); errors.As(err, &bad) && errors.As(err, &number) {
		why := "it takes a whole number"
		if errors.Is(number, strconv.ErrRange) {
			why = "the number is too large"
		}
		err = errors.New(result.Messagef("--%s %s: %s", bad.GetFlag().Name, bad.GetValue(), why))
	}
	return &statusError{exitUsage, &hinted{err, hint}}
}

// commandsWith are the commands that have a flag.
func (a *app) commandsWith(flag string) (names []string) {
	for _, c := range commands() {
		f := c.make(a).Flags().Lookup(flag)
		if len(flag) == 1 {
			f = c.make(a).Flags().ShorthandLookup(flag)
		}
		if f != nil && !f.Hidden {
			names = append(names, c.name)
		}
	}
	return names
}
