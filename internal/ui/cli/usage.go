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
	fmt.Fprintf(w, "\nCOMMANDS (%s help COMMAND for details):\n", a.name)
	for _, c := range commands() {
		fmt.Fprintf(w, "    %-10s %s\n", c.name, c.make(a).Short)
	}
	fmt.Fprintf(w, "    %-10s %s\n", "completion", "Print a completion script for a shell")
}

const usageText = `%[1]s - trace running programs, with scripts in bpftrace's language

USAGE:
    %[1]s [flags] FILE [ARGS]       run a script file ("-": standard input)
    %[1]s [flags] -e 'PROGRAM'      run this program
    %[1]s -l [PATTERN|FILE]         list probe points, or those that a script attaches to
    %[1]s COMMAND …                 see below
    named parameters of a script come after "--":  %[1]s FILE -- --name=value

FLAGS:
    -e PROGRAM             run this program
    -l, --list             list probe points; -lv: with arguments
    -v, --verbose          print the location of each probe
    -h, --help             show this help
    -V, --version          show the version
        --info             show the features of this kernel

    -p, --pid PID[,PID]    trace only this process, or these, and exit with the last one
        --tid TID          trace only this thread, and exit with its process
    -c, --cmd COMMAND      run this command when probes are attached, and exit with it; it is
                           split into words as by a shell
        --follow           also trace its child processes, and exit with the last one
        --container NAME   trace the processes of this container, given by name or ID;
                           processes that enter it later (docker exec) are not traced
        --usdt-file-activation
                           accepted for compatibility; has no effect
        --dwarf-pid PID    accepted for compatibility; has no effect

    -o, --output FILE      write output to this file
    -f FORMAT              output format: %[2]s
    -B MODE                output buffering: %[3]s
    -q, --quiet            do not report attached probes
    -k, --warnings         warn about failed reads and map lookups
        --no-warnings      do not print warnings

    -I DIR                 add a directory to search for C headers
        --include FILE     include this C header first
        --debuginfo DIR[:DIR]
                           directories to search for debug files
        --traceable-functions FILE
                           file that lists the kernel's traceable functions

        --unsafe           allow functions that change the system: system(), signal(), writes
        --no-feature NAME[,NAME]
                           do not use this feature: uprobe_multi, or one that doctor lists
        --no-inlined       do not probe inlined instances of functions
        --probe-filter REGEX
                           attach only probes whose names match
        --test, --bench    run the script's test or bench probes
        --fmt              print the formatted script
        --mode MODE        codegen, compiler-bench (time the compiler), bench, test, format
        --aot FILE         write an executable that runs the script
        --dry-run          attach all probes, then exit
    -d, --debug STAGE      print a compiler stage: ast, types, ir, bytecode, verifier, all

EXIT STATUS:
    0 success, 1 tracing failed, 2 wrong usage or script, 3 no probe matched,
    4 not permitted or not supported by this kernel; exit(N) in a script exits with N,
    with a command, its own status is returned (127 not found, 126 not executable); a
    command that still runs when tracing ends is terminated, and its status is ignored

EXAMPLES:
    %[1]s -e 'uprobe:libc:malloc { @[comm] = count() }'
        count allocations by command name, in all processes
    %[1]s -p 812 -e 'uprobe:libc:malloc { @ = hist(arg0) }'
        distribution of the sizes that one process allocates
    %[1]s -e 'uretprobe:bash:readline { printf("%%s\n", str(retval)) }'
        print the lines typed into bash
    %[1]s -c './server' -e 'uprobe:./server:handle { @[ustack] = count() }'
        count the call stacks that lead to a function
    %[1]s -l 'uprobe:libc:*alloc*'
        list the functions that can be traced
`
