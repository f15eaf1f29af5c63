package trocar

import (
	"context"
	"fmt"
	"io"

	"trocar/internal/kernel"
	"trocar/result"
)

// Hooks are called while a request is compiled and run, from the goroutine that runs it, Errors from others. Each may
// be nil.
type Hooks struct {
	// Warning is given what is to be said of the script before it runs. Only Run calls it: after Compile there is
	// Program.Warnings.
	Warning func(Diagnostic)
	// Progress is told how many points of all are attached.
	Progress func(done, total int)
	// VerifierLog is given what the kernel's verifier says of each BPF program.
	VerifierLog func(program, text string)
	// Keeper is a command, with arguments, whose program calls Keep with a further argument, a number. It is started where
	// a run has so many BPF programs that the kernel is not to free them all at once, and frees them in groups when the
	// run has ended or this process was killed. Nil: nobody does that if it is killed.
	Keeper []string
	// EachFailure tells the user how each failed read of memory is shown; "": that is not said.
	EachFailure string
	// Asked: the script was written for a question; nothing is said of its own words.
	Asked bool
	// InParts: maps whose keys have stacks may be given entry by entry, in any order, a key perhaps more than once, and
	// the frames are good for the call only. Then a profile of a whole machine takes little memory.
	InParts bool
	// Errors is where commands of a script's system() write their errors.
	Errors io.Writer
}

// Keep is all that a process does that was started as Hooks.Keeper, with the number that it was given.
func Keep(programs int) { kernel.Keep(programs) }

// Exit is how a run ended.
type Exit struct {
	Code    int         // of the script's exit(); 1 if a test probe failed, else 0
	Command *ExitStatus // of the command; nil: there is none, or it was still running
}

// Run loads, attaches and reads until the script exits, the process or command ends, or ctx is done, which is no
// error; then it detaches, runs the end probes, and gives the maps to the sink. It may be called once. The command is
// that for which the program was compiled, nil if there is none: it is released when all is attached, and has ended
// when Run returns. Errors are the sink's, or say what the kernel refuses (see Unavailable), with no trace of the
// program left in it.
func (p *Program) Run(ctx context.Context, c *Command, sink result.Sink, h Hooks) (Exit, error) {
	defer p.Close()
	if c != nil {
		defer c.Close()
	}
	switch {
	case !p.machine.running:
		return Exit{}, fmt.Errorf("%w: the program was compiled for another one", ErrMachine)
	case p.req.Target.Held != 0 && (c == nil || c.PID() != p.req.Target.Held), c != nil && p.req.Target.Held == 0:
		return Exit{}, fmt.Errorf("%w: the program was compiled for another command", ErrRequest)
	}
	return p.run(ctx, c, sink, h)
}

// totals gives the totals' lines.
func (p *Program) totals(value func(name string) int64) (texts []string) {
	for i := range p.req.Totals {
		if text := p.req.Totals[i].text(value(p.req.Totals[i].Map)); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// Run does all that a request asks for on this machine: it starts the command, if there is one, with an environment
// (see CommandLine), compiles, and runs until the end. Errors are those of Start, Compile and Program.Run.
func Run(ctx context.Context, r Request, env []string, sink result.Sink, h Hooks) (Exit, error) {
	m, err := Inspect(ctx)
	if err != nil {
		return Exit{}, err
	}
	var c *Command
	if len(r.Target.Command) > 0 && r.Target.Held == 0 {
		if c, err = Start(ctx, CommandLine{Words: r.Target.Command, Env: env}); err != nil {
			return Exit{}, err
		}
		defer c.Close()
		r.Target.Held = c.PID()
	}
	p, err := Compile(ctx, r, m)
	if err != nil {
		return Exit{}, err
	}
	if h.Warning != nil {
		for _, d := range p.Warnings() {
			h.Warning(d)
		}
	}
	return p.Run(ctx, c, sink, h)
}
