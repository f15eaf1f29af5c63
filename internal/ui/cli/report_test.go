package cli

import (
	"strings"
	"testing"

	"trocar"
)

func TestReport(t *testing.T) {
	r := &trocar.Report{
		Release: "6.1.0-9", CPU: "arm64", OnlineCPUs: 2, PossibleCPUs: 4, MissingCaps: []string{"CAP_BPF", "CAP_PERFMON"},
		Sysctls: []trocar.Sysctl{{Name: "kernel.kptr_restrict", Value: "1"}}, RingSize: 4 << 20, TracefsOK: true,
		Features: []trocar.Feature{{Name: "bpf_loop", Since: "5.17", OK: true}, {Name: "uprobe sessions", Since: "6.13"}},
		Sources:  []trocar.EventSource{{Name: "cpu", Use: "hardware"}},
	}
	var b strings.Builder
	writeReport(&b, r)
	for _, want := range []string{
		"  kernel: 6.1.0-9\n", "  architecture: arm64\n", "  CPUs: 2 online, 4 possible\n", "  kernel.kptr_restrict: 1\n",
		"  capabilities: missing CAP_BPF, CAP_PERFMON\n", "  bpf_loop: yes\n",
		"  uprobe sessions: not known without CAP_BPF, CAP_PERFMON\n",
		"  cpu: no (for hardware)\n", "  tracefs: not mounted; a detached mount is used\n", "  ring buffer: 4096 KB\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	b.Reset()
	r.MissingCaps = nil
	r.Features = append(r.Features, trocar.Feature{Name: "registers", Since: "6.0", Needs: "CAP_SYS_NICE"})
	writeReport(&b, r)
	for _, want := range []string{
		"  uprobe sessions: no (Linux 6.13)\n", "  registers: no (needs CAP_SYS_NICE)\n",
		"  capabilities: all but CAP_SYS_NICE (registers)\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
