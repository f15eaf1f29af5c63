package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"trocar"
	"trocar/internal/ui/flame"
	"trocar/result"
)

func newLocks(a *app) *cobra.Command {
	return questionCommand{
		kind: trocar.QuestionLocks, short: "Show how long threads wait for locks, by lock and by call stack",
		long: `The time from when a thread finds a lock taken until it runs on, of the locks of C (POSIX and C11), C++, Rust and
Go, and those that runtimes have of them, by the lock's address and by the stack that waits. Nothing is told, and next to
nothing is spent, when a lock is free. What else threads wait for in the same way, such as condition variables, is added
up in one line at the end; --all shows it, too. A thread that spins for a lock does not wait.
Waits that have not ended count as far as they go. Without a target, all processes are traced, but trocar itself;
goroutines only of the one that is given.
` + picturesHelp + "\n" + diffHelp + `

    trocar locks -p 812 --for 10s
    trocar locks -p 812 --min 1ms -i 5s --top 3
    trocar locks -o locks.html -- ./server -v`,
		flags: func(r *recipeFlags, cmd *cobra.Command) {
			span(cmd.Flags(), &r.q.Min, "min", "", "only waits of at least this long, such as 1ms")
			cmd.Flags().BoolVar(&r.allWaits, "all", false, "also show waits for other things than locks")
			r.every(cmd)
			r.compares(cmd)
		},
	}.make(a)
}

// waits has waits for locks told from others.
func (k *sink) waits() {
	if !k.s.locks {
		return
	}
	k.locks = &flame.Locks{Sink: k.Sink, All: k.s.allWaits}
	for _, w := range trocar.Waits() {
		k.locks.Waits = append(k.locks.Waits, flame.Wait(w))
	}
	k.Sink = k.locks
}

// others says what was waited for but locks.
func (k *sink) others() {
	if k.locks == nil {
		return
	}
	if text := k.locks.Others(); text != "" {
		k.diagnostic(trocar.Diagnostic{
			Severity: result.Info, Text: fmt.Sprintf("waits for other things are left out: %s", text),
			Hints: []string{"--all shows them"},
		})
	}
}
