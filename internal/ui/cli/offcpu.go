package cli

import (
	"github.com/spf13/cobra"

	"trocar"
)

func newOffCPU(a *app) *cobra.Command {
	return questionCommand{
		kind: trocar.QuestionOffCPU, short: "Show how long threads wait, by system call and by stack",
		long: `A wait lasts from when a thread leaves the CPU until it runs again. It is shown with the system call that waits, such as
futex or read; [kernel] is a page fault or a kernel thread, and [CPU] a thread that could run but had to leave the CPU to
others. Waits that have not ended count up to now; those that began before the probes were attached are not seen. Without
a target, all processes except trocar itself are traced.
` + picturesHelp + "\n" + diffHelp + `

    trocar offcpu -p 812 --for 10s
    trocar offcpu -p 812 --min 1ms -i 5s --top 3
    trocar offcpu -o waits.html -- ./server -v`,
		flags: func(r *recipeFlags, cmd *cobra.Command) {
			span(cmd.Flags(), &r.q.Min, "min", "", "only waits of at least this long, such as 1ms")
			r.every(cmd)
			r.compares(cmd)
		},
	}.make(a)
}
