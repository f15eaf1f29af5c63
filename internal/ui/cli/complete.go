package cli

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"trocar"
	"trocar/internal/ui/output"
)

// Completion must answer while one types: what is not found in completeTime is left out.
const (
	completeTime = 400 * time.Millisecond
	mostComplete = 200
)

// within collects what find gives in a time, as long as there is room.
func within(limit time.Duration, find func(add func(string))) []string {
	var mu sync.Mutex
	var words []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		find(func(word string) {
			mu.Lock()
			defer mu.Unlock()
			if len(words) < mostComplete {
				words = append(words, word)
			}
		})
	}()
	select {
	case <-done:
	case <-time.After(limit):
	}
	mu.Lock()
	defer mu.Unlock()
	return words[:len(words):len(words)]
}

// completions sets what the flags and words of the commands that name functions are completed with.
func (r *recipeFlags) completions(cmd *cobra.Command) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if at := cmd.ArgsLenAtDash(); at >= 0 && at < len(args) { // cobra puts one behind all words
			return nil, cobra.ShellCompDirectiveDefault // a command
		}
		return r.functionNames(cmd.Context(), prefix, completeTime), cobra.ShellCompDirectiveNoFileComp
	}
	for flag, find := range map[string]func(prefix string) []string{
		"pid":       processNames,
		"comm":      threadNames,
		"container": containerNames,
		"format":    func(string) []string { return formatNames() },
		"buffering": func(string) []string { return output.Bufferings() },
	} {
		_ = cmd.RegisterFlagCompletionFunc(flag, func(
			_ *cobra.Command, _ []string, prefix string,
		) ([]string, cobra.ShellCompDirective) {
			return find(prefix), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// functionNames are the functions of what is traced that begin so.
func (r *recipeFlags) functionNames(ctx context.Context, prefix string, limit time.Duration) []string {
	path, name := r.q.Path, prefix
	if path == "" && r.command != "" {
		path, _, _ = strings.Cut(r.command, " ")
	}
	lib := ""
	if at := strings.LastIndexByte(prefix, ':'); at > 0 && prefix[at-1] != ':' && !strings.Contains(prefix, "::") {
		lib, path, name = prefix[:at+1], prefix[:at], prefix[at+1:]
	}
	pid, _ := strconv.Atoi(r.pid)
	if path == "" && pid > 0 {
		path = "/proc/" + strconv.Itoa(pid) + "/exe"
	}
	if path == "" || strings.ContainsAny(name, `*?"`) {
		return nil
	}
	return within(limit, func(add func(string)) {
		m, err := trocar.Inspect(ctx)
		if err != nil {
			return
		}
		list := trocar.ListRequest{Pattern: "uprobe:" + path + ":" + quotedName(name) + "*", PID: pid, Files: r.files()}
		_, _ = trocar.List(ctx, list, m, func(l trocar.Listed) {
			if f := functionOf(l.Name); strings.HasPrefix(f, name) {
				add(lib + f)
			}
		})
	})
}

// quotedName puts a name in quotes where an attach point needs them.
func quotedName(name string) string {
	if strings.ContainsAny(name, " ():<>,&") {
		return `"` + name + `"`
	}
	return name
}

// functionOf is the function of a listed point, "uprobe:/path:name" or with the name in quotes.
func functionOf(point string) string {
	parts := strings.SplitN(point, ":", 3)
	if len(parts) < 3 {
		return ""
	}
	return strings.Trim(parts[2], `"`)
}

// formatNames are the formats with what each is for.
func formatNames() (words []string) {
	for _, f := range output.Formats() {
		words = append(words, f.Name+"\t"+f.Help)
	}
	return words
}

func processNames(prefix string) []string {
	return within(completeTime, func(add func(string)) {
		trocar.Processes(func(p trocar.Process) {
			if id := strconv.Itoa(p.PID); strings.HasPrefix(id, prefix) {
				add(id + "\t" + p.Comm)
			}
		})
	})
}

func threadNames(prefix string) []string {
	seen := map[string]bool{}
	return within(completeTime, func(add func(string)) {
		trocar.Processes(func(p trocar.Process) {
			if strings.HasPrefix(p.Comm, prefix) && !seen[p.Comm] {
				seen[p.Comm] = true
				add(p.Comm)
			}
		})
	})
}

func containerNames(prefix string) []string {
	return within(completeTime, func(add func(string)) {
		for _, id := range trocar.Containers() {
			if strings.HasPrefix(id, prefix) {
				add(id)
			}
		}
	})
}
