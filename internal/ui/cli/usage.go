package cli

import (
	"fmt"
	"io"
	"strings"

	"trocar/internal/ui/output"
)

// usage is the help of the default command. It is written by hand, grouped by what one wants to do.
func (a *app) usage(w io.Writer) {
	fmt.Fprintf(w, usageText, a.name, strings.Join(output.Names(), ", "), strings.Join(output.Bufferings(), ", "))
	if a.name == "bpftrace" {
		return
	}
	fmt.Fprintf(w, "\nCOMMANDS (%s help COMMAND tells more):\n", a.name)
	for _, c := range commands() {
		fmt.Fprintf(w, "    %-10s %s\n", c.name, c.make(a).Short)
	}
	fmt.Fprintf(w, "    %-10s %s\n", "completion", "Write a shell's completion script")
}

const usageText = `%[1]s - see inside running programs, with scripts in bpftrace's language

USAGE:
    %[1]s [flags] FILE [ARGS]       run a script file ("-": from stdin)
    %[1]s [flags] -e 'PROGRAM'      run this program
    %[1]s -l [PATTERN|FILE]         list probe points, or what a script attaches to
    %[1]s COMMAND …                 see below
    named parameters of a script stand behind "--":  %[1]s FILE -- --name=value

FLAGS:
    -e PROGRAM             run this program
    -l, --list             list probe points; -lv: with their arguments
    -v, --verbose          tell where the probes are
    -h, --help             show this help
    -V, --version          show the version
        --info             show what this kernel can do

    -p, --pid PID          trace only this process, and end with it
    -c, --cmd COMMAND      run this command, held until attached, and end with it
        --follow           trace the processes that it starts, too, and end with the last
        --container NAME   trace the processes of this container, by its name or id; what is started
                           in it from outside (docker exec) later is not among them
        --usdt-file-activation
                           activate USDT semaphores by file, which is always done here
        --dwarf-pid PID    not available: stacks are walked by frame pointers only

    -o, --output FILE      write results to this file
    -f FORMAT              form of results: %[2]s
    -B MODE                buffering of results: %[3]s
    -q, --quiet            no word of attaching
    -k, --warnings         tell of reads and map look-ups that fail
        --no-warnings      no warnings

    -I DIR                 a directory of C headers
        --include FILE     a C header to include first
        --debuginfo DIR[:DIR]
                           directories of debug files
        --traceable-functions FILE
                           the kernel's traceable functions

        --unsafe           allow what changes the system: system(), signal(), writes
        --no-feature NAME[,NAME]
                           do without: uprobe_multi, or a feature that doctor names
        --no-inlined       probe only functions' own code, not where they were inlined
        --probe-filter REGEX
                           only probes whose names match
        --test, --bench    run the script's test or bench probes
        --fmt              show the script in the standard form
        --mode MODE        codegen, compiler-bench (how long compiling takes), bench, test, format
        --aot FILE         write a file that runs the script
        --dry-run          attach all, then end
    -d, --debug STAGE      show a stage: ast, types, ir, bytecode, verifier, all

EXIT STATUS:
    0 done, 1 failed while tracing, 2 wrong usage or script, 3 nothing matched,
    4 not permitted or not in this kernel; exit(N) in a script gives N

EXAMPLES:
    %[1]s -e 'uprobe:libc:malloc { @[comm] = count() }'
        who allocates how often, in all processes
    %[1]s -p 812 -e 'uprobe:libc:malloc { @ = hist(arg0) }'
        sizes that one process asks for
    %[1]s -e 'uretprobe:bash:readline { printf("%%s\n", str(retval)) }'
        what is typed into bash
    %[1]s -c './server' -e 'uprobe:./server:handle { @[ustack] = count() }'
        from where a function is called
    %[1]s -l 'uprobe:libc:*alloc*'
        what there is to trace
`
