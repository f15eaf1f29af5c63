package cli

import (
	"github.com/spf13/cobra"

	"trocar"
)

func newLeaks(a *app) *cobra.Command {
	return questionCommand{
		kind: trocar.QuestionLeaks, short: "Show memory that is allocated and not freed, by call stack",
		long: `Allocations by the malloc family, operator new and mmap are traced, in all libraries that the process has loaded, from
the moment of attaching. Blocks that have not been freed at the end, or with -i at each interval, are shown. They include
those that the program still uses: --older leaves out recent ones. A region of mmap counts as unmapped when munmap is
called with its start address.
` + picturesHelp + "\n" + diffHelp + `

    trocar leaks -p 812 --for 60s --older 10s
    trocar leaks -p 812 -i 10s --older 5s --top 3
    trocar leaks -o leaks.html -- ./server -v`,
		flags: func(r *recipeFlags, cmd *cobra.Command) {
			span(cmd.Flags(), &r.q.Older, "older", "", "only blocks that were allocated at least this long ago, such as 5s")
			r.every(cmd)
			r.compares(cmd)
		},
	}.make(a)
}
