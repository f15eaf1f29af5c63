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
		long: `A wait lasts from when a thread finds a lock taken until it continues. Locks of C (POSIX and C11), C++, Rust and Go are
shown, and those that runtimes build on them, by the lock's address and by the waiting call stack. Taking a free lock is
not shown and costs next to nothing; a thread that spins does not wait. Other waits of the same kind, such as those for
condition variables, are summed up in one line at the end; --all shows them too.
Waits that have not ended count up to now. Without a target, all processes except trocar itself are traced; goroutines
are traced only with -p or a command.
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
