package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"trocar"
	"trocar/internal/order"
)

// started starts the request's command.
func (a *app) started(ctx context.Context, r *trocar.Request) (*trocar.Command, error) {
	c, err := promptly(ctx, func() (*trocar.Command, error) {
		return trocar.Start(ctx, trocar.CommandLine{
			Words: r.Target.Command, Env: os.Environ(), Until: r.Awaits(), Stacks: r.Stacks(), Waits: func() {
				fmt.Fprintf(a.err, "%s: the command has not come to what may contain %s yet (if it starts other "+
					"processes that do: trace these with -p)\n", a.name, strings.Join(r.Awaits(), ", "))
			},
		})
	})
	if err == nil {
		c.Hold(&r.Target)
	}
	return c, err
}

// compile starts the request's command, if it has one that is not started yet (c), and compiles the request for this
// machine.
func (a *app) compile(
	ctx context.Context, r trocar.Request, c *trocar.Command,
) (*trocar.Program, *trocar.Command, error) {
	m, err := trocar.Inspect(ctx)
	if err != nil {
		return nil, nil, err
	}
	if len(r.Target.Command) > 0 && c == nil {
		if c, err = a.started(ctx, &r); err != nil {
			return nil, nil, err
		}
	}
	p, err := promptly(ctx, func() (*trocar.Program, error) { return trocar.Compile(ctx, r, m) })
	if err != nil {
		if c != nil {
			_ = c.Close()
		}
		return nil, nil, err
	}
	return p, c, nil
}

// compilations is how often the script is compiled to see how long that takes.
const compilations = 21

// timeCompiling is the mode compiler-bench: the script is compiled and not run.
func (a *app) timeCompiling(ctx context.Context, s *settings, r trocar.Request) error {
	if len(r.Target.Command) > 0 {
		return usageErrorf("USAGE: --mode compiler-bench runs nothing: it cannot be used with -c")
	}
	var took []time.Duration
	for range compilations {
		begin := time.Now()
		program, _, err := a.compile(ctx, r, nil)
		if err != nil {
			return a.fail(s, s.made, err)
		}
		took = append(took, time.Since(begin))
		program.Close()
	}
	order.By(took, cmp.Compare[time.Duration])
	fmt.Fprintf(a.out, "compiled %d times: minimum %v, median %v, maximum %v\n",
		compilations, took[0], took[compilations/2], took[compilations-1])
	return nil
}
